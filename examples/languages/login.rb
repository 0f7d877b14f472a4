# A login with a second factor, by the C library: ruby login.rb
require "fiddle/import"

# The functions of seconder.h that this program calls.
module Seconder
  extend Fiddle::Importer
  dlload "libseconder.so.0"
  extern "int seconder_open_text(char *url, char *api_key, char *options, void **out, void **error)"
  extern "int seconder_create_user(void *service, char *email, char *cellphone, char *country_code, " \
         "void *options, size_t options_size, void **out, void **error)"
  extern "uint64_t seconder_user_created_user_id(void *user_created)"
  extern "int seconder_verify(void *service, uint64_t user_id, char *token, " \
         "void *options, size_t options_size, void **out, void **error)"
  extern "char *seconder_error_message(void *error)"
  %w[service user_created verification error].each { |handle| extern "void seconder_#{handle}_free(void *handle)" }

  OK = 0
  VerifyOptions = struct(["char force", "char *action", "char *user_ip"]) # C's bool has the size of a char.
  Error = Class.new(StandardError)

  # Returns the handle of a call, and raises an error for every status but OK. The message is copied.
  def self.call(name, *arguments)
    out, error = Array.new(2) { Fiddle::Pointer.malloc(Fiddle::SIZEOF_VOIDP, Fiddle::RUBY_FREE) }
    return out.ptr if send(name, *arguments, out, error) == OK

    message = seconder_error_message(error.ptr).to_s.force_encoding("UTF-8")
    seconder_error_free(error.ptr)
    raise Error, message
  end
end

service = Seconder.call(:seconder_open_text, "sandbox:?accept=0000000", nil, "application_name=Example")
begin
  user = Seconder.call(:seconder_create_user, service, "ada@example.com", "555-010-0123", "1", nil, 0)
  user_id = Seconder.seconder_user_created_user_id(user)
  Seconder.seconder_user_created_free(user)
  options = Seconder::VerifyOptions.malloc(Fiddle::RUBY_FREE)
  options.force = 1 # The code of a new user is checked too.
  %w[0000000 1111111].each do |code|
    reply = Seconder.call(:seconder_verify, service, user_id, code, options, Seconder::VerifyOptions.size)
    Seconder.seconder_verification_free(reply)
    puts "#{code}: Welcome, Ada."
  rescue Seconder::Error => error
    puts "#{code}: Access denied: #{error.message}"
  end
ensure
  Seconder.seconder_service_free(service)
end
