// A login with a second factor, by the C library: npm install koffi && node login.mjs
import koffi from "koffi";

// The functions of seconder.h that this program calls.
const library = koffi.load("libseconder.so.0");
const free = {};
for (const handle of ["service", "user_created", "verification", "error"]) {
  koffi.opaque(`seconder_${handle}`);
  free[handle] = library.func(`void seconder_${handle}_free(seconder_${handle} *handle)`);
}
const VerifyOptions = koffi.struct("seconder_verify_options", { force: "bool", action: "str", user_ip: "str" });
const seconder = {
  open_text: library.func(`int32_t seconder_open_text(const char *url, const char *api_key, const char *options,
    _Out_ seconder_service **out, _Out_ seconder_error **error)`),
  create_user: library.func(`int32_t seconder_create_user(const seconder_service *service, const char *email,
    const char *cellphone, const char *country_code, const void *options, size_t options_size,
    _Out_ seconder_user_created **out, _Out_ seconder_error **error)`),
  user_id: library.func("uint64_t seconder_user_created_user_id(const seconder_user_created *user_created)"),
  verify: library.func(`int32_t seconder_verify(const seconder_service *service, uint64_t user_id, const char *token,
    const seconder_verify_options *options, size_t options_size,
    _Out_ seconder_verification **out, _Out_ seconder_error **error)`),
  message: library.func("const char *seconder_error_message(const seconder_error *error)"),
};
const OK = 0;

// Returns the handle of a call, and throws an error for every status but OK.
function call(name, ...parameters) {
  const [out, error] = [[null], [null]];
  if (seconder[name](...parameters, out, error) === OK) return out[0];
  const message = seconder.message(error[0]);
  free.error(error[0]);
  throw new Error(message);
}

const service = call("open_text", "sandbox:?accept=0000000", null, "application_name=Example");
try {
  const user = call("create_user", service, "ada@example.com", "555-010-0123", "1", null, 0);
  const userId = BigInt(seconder.user_id(user)); // koffi's result is a number up to 2^53, and a BigInt above.
  free.user_created(user);
  for (const code of ["0000000", "1111111"]) {
    try {
      const options = [{ force: true }, koffi.sizeof(VerifyOptions)]; // The code of a new user is checked too.
      free.verification(call("verify", service, userId, code, ...options));
      console.log(`${code}: Welcome, Ada.`);
    } catch (error) {
      console.log(`${code}: Access denied: ${error.message}`);
    }
  }
} finally {
  free.service(service);
}
