<?php
// A login with a second factor, by the C library: php login.php

// The functions of seconder.h that this program calls.
const OK = 0;
$seconder = FFI::cdef(<<<'C'
    typedef struct seconder_service seconder_service;
    typedef struct seconder_user_created seconder_user_created;
    typedef struct seconder_verification seconder_verification;
    typedef struct seconder_error seconder_error;
    typedef struct { bool force; const char *action; const char *user_ip; } seconder_verify_options;
    int32_t seconder_open_text(const char *url, const char *api_key, const char *options,
        seconder_service **out, seconder_error **error);
    int32_t seconder_create_user(const seconder_service *service, const char *email, const char *cellphone,
        const char *country_code, const void *options, size_t options_size,
        seconder_user_created **out, seconder_error **error);
    uint64_t seconder_user_created_user_id(const seconder_user_created *user_created);
    int32_t seconder_verify(const seconder_service *service, uint64_t user_id, const char *token,
        const seconder_verify_options *options, size_t options_size,
        seconder_verification **out, seconder_error **error);
    const char *seconder_error_message(const seconder_error *error);
    void seconder_error_free(seconder_error *error);
    void seconder_user_created_free(seconder_user_created *user_created);
    void seconder_verification_free(seconder_verification *verification);
    void seconder_service_free(seconder_service *service);
    C, "libseconder.so.0");

// Returns the handle of a call, and throws an exception for every status but OK.
$call = function (string $name, string $type, mixed ...$arguments) use ($seconder): FFI\CData {
    [$out, $error] = [$seconder->new("seconder_$type *"), $seconder->new("seconder_error *")];
    if ($seconder->{"seconder_$name"}(...[...$arguments, FFI::addr($out), FFI::addr($error)]) === OK) {
        return $out;
    }
    $message = $seconder->seconder_error_message($error);
    $seconder->seconder_error_free($error);
    throw new RuntimeException($message);
};

$service = $call("open_text", "service", "sandbox:?accept=0000000", null, "application_name=Example");
try {
    $user = $call("create_user", "user_created", $service, "ada@example.com", "555-010-0123", "1", null, 0);
    $user_id = $seconder->seconder_user_created_user_id($user);
    $seconder->seconder_user_created_free($user);
    $options = $seconder->new("seconder_verify_options");
    $options->force = true; // The code of a new user is checked too.
    foreach (["0000000", "1111111"] as $code) {
        try {
            $verify = [$service, $user_id, $code, FFI::addr($options), FFI::sizeof($options)];
            $seconder->seconder_verification_free($call("verify", "verification", ...$verify));
            echo "$code: Welcome, Ada.\n";
        } catch (RuntimeException $error) {
            echo "$code: Access denied: {$error->getMessage()}\n";
        }
    }
} finally {
    $seconder->seconder_service_free($service);
}
