/* Seconder: the second factor of a login.
 *
 * These rules hold for every function:
 *
 * Status      A function that can fail returns a seconder_status. SECONDER_OK is 0 and is the only
 *             success: never let anyone in after any other status. The description of a function
 *             does not list every status: an invalid argument is always SECONDER_INVALID_ARGUMENT,
 *             and a call may end with any status from SECONDER_UNAUTHORIZED to SECONDER_CANCELLED
 *             (interface 7).
 * Errors      The last argument may be the address of a seconder_error pointer, or NULL. The
 *             pointer is set to NULL first, and to a new error for every status but SECONDER_OK.
 *             Free it with seconder_error_free() before its address is passed again.
 * Handles     A pointer that a function returns through its `out` argument is owned by the caller
 *             until it is passed to the _free() function of its type. It is set to NULL first and
 *             stays NULL for every status but SECONDER_OK. `out` must not be NULL unless its
 *             description says so. Every _free() function accepts NULL. Never pass anything from
 *             this library to free().
 * Text in     NUL-terminated UTF-8, copied before the function returns. NULL is
 *             SECONDER_INVALID_ARGUMENT for a required text, and means that an optional one is
 *             absent.
 * Ids         of users and devices are the numbers that the service assigned, 1 to
 *             9223372036854775807.
 * Text out    NUL-terminated UTF-8, owned by the handle that it was read from and valid until that
 *             handle is freed. NULL if the service does not provide the text. A number that the
 *             service does not provide is 0.
 * Options     A struct and its size: `&options, sizeof options`, or `NULL, 0` for the defaults.
 *             Zero in a field selects its default, so start with `= {0}`. A size that no version of
 *             this header has is SECONDER_INVALID_ARGUMENT, and nothing is read from the struct. A
 *             struct of a newer version is SECONDER_INVALID_ARGUMENT if it sets an option that this
 *             library does not know.
 * Structs     that are only read may grow at their end in a later minor version: access them only
 *             through the returned pointer.
 * Functions   of the program are called with userdata of the program's choice, which may be NULL.
 *             The function that frees the userdata may be NULL too. It runs exactly once, whether
 *             the call that received it succeeds or fails. If the size of the options is invalid,
 *             nothing is read from them and it does not run.
 * Parts       A build of the library may omit the engine or the client of a remote service. It
 *             still has every function; one that needs an omitted part returns
 *             SECONDER_INVALID_ARGUMENT.
 * Threads     A service, a verifier and a totp may be used by many threads at once. Other handles
 *             may be read by many threads at once. A handle must be freed by one thread, once, when
 *             no other thread uses it; a double free is not detected. No function starts a thread,
 *             installs a signal handler or reads an environment variable. A thread must not be
 *             cancelled with pthread_cancel() inside a function of this library: that ends the
 *             process. seconder_service_cancel() ends its calls instead; it is the only function
 *             that a signal handler may call.
 * Forks       A remote service may also be used in a forked child, which gets its own connections.
 *             An engine cannot be: the child opens one of its own, also on a database that the
 *             parent has open. The child can open none if another thread of the parent was in a
 *             call of an engine at the time of the fork.
 * Unloading   The shared library stays in memory after dlclose(). A module that links the static
 *             library and can be unloaded must be linked with -z nodelete.
 * Memory      If memory runs out, the process ends with abort(): no status reports it.
 *
 * A reference such as "interface 4.2" in a description is to a section of the man page
 * seconder-interface(7). What daemons need to know is in seconder-daemon(3). */
#ifndef SECONDER_H
#define SECONDER_H

#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>

/* The version of this header; seconder_version() returns the version of the library. */
#define SECONDER_VERSION_MAJOR 0
#define SECONDER_VERSION_MINOR 1
#define SECONDER_VERSION_PATCH 0
/* One number, for comparisons: a later version has a higher one. */
#define SECONDER_VERSION_NUMBER \
    (SECONDER_VERSION_MAJOR << 16 | SECONDER_VERSION_MINOR << 8 | SECONDER_VERSION_PATCH)
#define SECONDER_VERSION "0.1.0"

/* The codes of seconder_error_service_code(): text, to be compared with strcmp(). Services send
 * others too. */
/** The service code for: of no particular kind. */
#define SECONDER_CODE_UNSPECIFIC "60000"
/** The service code for: invalid API key. */
#define SECONDER_CODE_INVALID_API_KEY "60001"
/** The service code for: invalid request. */
#define SECONDER_CODE_INVALID_REQUEST "60002"
/** The service code for: too many requests. */
#define SECONDER_CODE_TOO_MANY_REQUESTS "60003"
/** The service code for: a parameter is missing or invalid. */
#define SECONDER_CODE_INVALID_PARAMETER "60004"
/** The service code for: SMS is not enabled. */
#define SECONDER_CODE_SMS_NOT_ENABLED "60007"
/** The service code for: the code was used before. */
#define SECONDER_CODE_TOKEN_REUSED "60019"
/** The service code for: the code is wrong. */
#define SECONDER_CODE_TOKEN_WRONG "60020"
/** The service code for: the code of a phone verification is wrong. */
#define SECONDER_CODE_VERIFICATION_CODE_WRONG "60022"
/** The service code for: no phone verification is pending. */
#define SECONDER_CODE_VERIFICATION_NOT_FOUND "60023"
/** The service code for: no information about the number. */
#define SECONDER_CODE_PHONE_UNKNOWN "60025"
/** The service code for: no such user. */
#define SECONDER_CODE_USER_NOT_FOUND "60026"
/** The service code for: a field of a user is not valid. */
#define SECONDER_CODE_INVALID_USER "60027"
/** The service code for: the phone number is not valid. */
#define SECONDER_CODE_INVALID_PHONE_NUMBER "60033"
/** The service code for: no such approval request. */
#define SECONDER_CODE_APPROVAL_NOT_FOUND "60049"
/** The service code for: the approval request was answered or has expired. */
#define SECONDER_CODE_APPROVAL_NOT_PENDING "60079"
/** The service code for: the number is a landline's. */
#define SECONDER_CODE_LANDLINE "60082"
/** The service code for: logins without the service are not allowed. */
#define SECONDER_CODE_OFFLINE_NOT_ALLOWED "offline_not_allowed"
/** The service code for: the code is not the one that was accepted just now. */
#define SECONDER_CODE_NO_CODE_ACCEPTED "no_code_accepted"
/** The service code for: no machine was given the codes of these logins. */
#define SECONDER_CODE_OFFLINE_NOT_PREPARED "offline_not_prepared"
/** The service code for: no authenticator app is pending. */
#define SECONDER_CODE_NO_PENDING_AUTHENTICATOR "no_pending_authenticator"
/** The service code for: no such authenticator app. */
#define SECONDER_CODE_AUTHENTICATOR_NOT_FOUND "authenticator_not_found"
/** The service code for: no such device. */
#define SECONDER_CODE_DEVICE_NOT_FOUND "device_not_found"
/** The service code for: the service has no public URL for devices. */
#define SECONDER_CODE_NO_PUBLIC_URL "no_public_url"
/** The service code for: no messages are sent to the country of the number. */
#define SECONDER_CODE_COUNTRY_NOT_ALLOWED "country_not_allowed"
/** The service code for: the provider refuses the phone number, as one that does not exist or cannot be reached. */
#define SECONDER_CODE_NUMBER_REFUSED "number_refused"
/** The service code for: locked after too many wrong codes, or by an operator, until the user is unlocked. */
#define SECONDER_CODE_FACTOR_LOCKED "factor_locked"
/** The service code for: too many wrong API keys from the address of the request. */
#define SECONDER_CODE_TOO_MANY_WRONG_KEYS "too_many_wrong_keys"
/** The service code for: the browser is not remembered. */
#define SECONDER_CODE_NOT_RECOGNISED "not_recognised"

/* Makes the compiler warn if a status is ignored. */
#if defined(__GNUC__)
#define SECONDER_MUST_USE __attribute__((warn_unused_result))
#else
#define SECONDER_MUST_USE
#endif

/* bool is newer than C89, so clang would warn about it in C89 programs. */
#if defined(__clang__) && !defined(__cplusplus) && \
    (!defined(__STDC_VERSION__) || __STDC_VERSION__ < 199901L)
#define SECONDER_OLD_CLANG
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wc99-extensions"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The call succeeded. From seconder_verify(), seconder_confirm_authenticator(),
 * seconder_check_phone_verification() and seconder_totp_check() it means that the code was checked
 * and is correct, from seconder_recognise() that the browser is recognised, and from seconder_login()
 * that a code is correct or the user approved the login.
 */
#define SECONDER_OK 0

/**
 * The code is wrong, or is no longer valid: of a user, or of a number that
 * seconder_check_phone_verification() checks.
 */
#define SECONDER_TOKEN_WRONG 1

/**
 * The code was correct but has already been used.
 */
#define SECONDER_TOKEN_REUSED 2

/**
 * The code was not checked, because the user was never confirmed and `force` was not set.
 */
#define SECONDER_TOKEN_NOT_CHECKED 3

/**
 * The user typed something that cannot be a code: it has other characters than digits, or the wrong length.
 * Nothing was sent and no code was compared, so it does not count as a wrong code: ask the user to
 * type it again.
 */
#define SECONDER_TOKEN_MALFORMED 4

/**
 * From seconder_recognise(): the browser is not recognised, so ask the user for the second factor.
 */
#define SECONDER_NOT_RECOGNISED 5

/**
 * An argument is invalid, which is for the caller to fix. Nothing was sent and nothing was
 * changed.
 */
#define SECONDER_INVALID_ARGUMENT 10

/**
 * The service does not accept the API key, which is for the operator to fix. It says nothing about
 * the user, so a lock-out must not count it.
 */
#define SECONDER_UNAUTHORIZED 11

/**
 * The service understood the call and rejected it.
 */
#define SECONDER_REJECTED 12

/**
 * The call was rate limited: wait, then retry.
 */
#define SECONDER_RATE_LIMITED 13

/**
 * The network or the service failed: there was no response in time.
 */
#define SECONDER_UNAVAILABLE 14

/**
 * The service's response could not be parsed, or contradicts itself. The URL may be wrong.
 */
#define SECONDER_INVALID_RESPONSE 15

/**
 * A callback must not be trusted: it was not signed by the service with this API key, or a
 * verifier found it stale or received before. No action is needed.
 */
#define SECONDER_INVALID_CALLBACK 16

/**
 * The database cannot be opened, read or written, or was removed or replaced while it was open, which
 * is for the operator to fix. In the latter case, open the service again.
 */
#define SECONDER_STORAGE 17

/**
 * An internal error, for the developers of this library to fix.
 */
#define SECONDER_INTERNAL 18

/**
 * The stop function that was passed to seconder_wait_for_approval() ended that one wait.
 */
#define SECONDER_STOPPED 19

/**
 * seconder_service_cancel() ended the call, as it does every call of the handle.
 * seconder_error_retry_safe() says whether the request may have been sent.
 */
#define SECONDER_CANCELLED 20

/**
 * From seconder_login(): the user did not give a right code or approve the login, or the service or a
 * limit of the application rejected the user.
 */
#define SECONDER_LOGIN_DENIED 30

/**
 * From seconder_login(): the user has too many wrong attempts, and may try again later.
 */
#define SECONDER_LOGIN_LOCKED 31

/**
 * From seconder_login(): the service does not know the user.
 */
#define SECONDER_LOGIN_UNENROLLED 32

/**
 * From seconder_login(): the user cannot be asked, or has not answered.
 */
#define SECONDER_LOGIN_NO_ANSWER 33

/**
 * From seconder_login(): the configuration excepts the user or the network from the second factor.
 * Nothing was checked.
 */
#define SECONDER_LOGIN_EXCEPTED 34

/**
 * From seconder_login(): the user is unknown to the service, and the configuration says
 * `unenrolled=ignore`; or the service could not be asked, and it says `on_trouble=ignore`. Nothing was
 * checked.
 */
#define SECONDER_LOGIN_IGNORED 35

/**
 * From seconder_login(): the configuration, the map of users or a file of theirs has errors, or the
 * service does not accept the API key or this process, which is for the operator to fix.
 */
#define SECONDER_LOGIN_MISCONFIGURED 36

/**
 * No stage: the error is not SECONDER_UNAVAILABLE.
 */
#define SECONDER_STAGE_NONE 0

/**
 * The host name was being resolved.
 */
#define SECONDER_STAGE_DNS 1

/**
 * The connection was being established.
 */
#define SECONDER_STAGE_CONNECT 2

/**
 * The TLS handshake was under way and the service's certificate was being verified.
 */
#define SECONDER_STAGE_TLS 3

/**
 * The request may have been sent, in whole or in part.
 */
#define SECONDER_STAGE_RESPONSE 4

/**
 * A code was being handed to the gateway or function that delivers it.
 */
#define SECONDER_STAGE_DELIVERY 5

/**
 * The socket of a `unix:` URL may not be used by this process, or does not belong to a trusted service.
 * Nothing was sent. Waiting does not help: an operator has to act.
 */
#define SECONDER_STAGE_ACCESS 6

/**
 * A status of an approval request that this library does not know. It does not let the user in.
 */
#define SECONDER_APPROVAL_UNKNOWN 0

/**
 * Not answered yet.
 */
#define SECONDER_APPROVAL_PENDING 1

/**
 * The user approved the request. The only status that lets anyone in.
 */
#define SECONDER_APPROVAL_APPROVED 2

/**
 * The user denied the request.
 */
#define SECONDER_APPROVAL_DENIED 3

/**
 * The request expired before the user answered.
 */
#define SECONDER_APPROVAL_EXPIRED 4

/**
 * No choice: the default applies.
 */
#define SECONDER_DEFAULT 0

/**
 * Yes, for an option that has a default, and from a replay function.
 */
#define SECONDER_YES 1

/**
 * No, in the same places. It is not 0, because 0 is the default: only a program that sets an option
 * or answers a question of the library uses it. No function returns it.
 */
#define SECONDER_NO 2

/**
 * The remote service responds in JSON.
 */
#define SECONDER_FORMAT_JSON 1

/**
 * The remote service responds in XML.
 */
#define SECONDER_FORMAT_XML 2

/**
 * The current generation of the interface: the API key is sent in a header (interface 9).
 */
#define SECONDER_GENERATION_CURRENT 1

/**
 * The older generation: the API key is sent as a parameter, and some replies use other names.
 */
#define SECONDER_GENERATION_OLDER 2

/**
 * Callbacks are sent by POST, with a JSON body (interface 6).
 */
#define SECONDER_CALLBACK_METHOD_POST 1

/**
 * Callbacks are sent by GET, with their parameters as the query of the URL.
 */
#define SECONDER_CALLBACK_METHOD_GET 2

/**
 * No call is retried: every request to wait is returned as SECONDER_RATE_LIMITED.
 */
#define SECONDER_REPEATS_NONE 1

/**
 * Calls that change nothing are retried: seconder_app_details(), seconder_user_status(),
 * seconder_app_stats(), seconder_phone_info(), seconder_phone_verification_status(),
 * seconder_check_approval(), seconder_find_user(), seconder_devices() and seconder_recognise().
 */
#define SECONDER_REPEATS_QUESTIONS 2

/**
 * Every call is retried. If a service asks to wait after it has already sent an SMS, it then sends
 * a second one.
 */
#define SECONDER_REPEATS_ALL 3

/**
 * From a deliver or post function: the message or callback was accepted.
 */
#define SECONDER_OUTCOME_SENT 0

/**
 * From a deliver or post function: it was not accepted, and no attempt will succeed.
 */
#define SECONDER_OUTCOME_PERMANENT 1

/**
 * From a deliver or post function: it was not accepted, and a later attempt may succeed.
 */
#define SECONDER_OUTCOME_RETRY 2

/**
 * From a deliver or post function: it may have been accepted, because the connection was lost before a
 * response arrived. Another attempt carries the same id.
 */
#define SECONDER_OUTCOME_AMBIGUOUS 3

/**
 * From a deliver or post function: nothing was attempted, such as because no more messages are taken in
 * this second. It counts as no attempt.
 */
#define SECONDER_OUTCOME_NOT_ATTEMPTED 4

/**
 * From a deliver function: the provider refuses the number, as one that does not exist or cannot be reached.
 * The call is rejected with SECONDER_ERROR_CODE_NUMBER_REFUSED, because the caller has to correct the number.
 */
#define SECONDER_OUTCOME_NUMBER_REFUSED 5

/**
 * From a lookup function: the number is a mobile phone's.
 */
#define SECONDER_LINE_TYPE_MOBILE 1

/**
 * From a lookup function: it is a landline's, which receives calls and no SMS.
 */
#define SECONDER_LINE_TYPE_LANDLINE 2

/**
 * From a lookup function: it is a VoIP number.
 */
#define SECONDER_LINE_TYPE_VOIP 3

/**
 * From a lookup function: anybody can use it for a while, such as one on a website that shows its
 * messages.
 */
#define SECONDER_LINE_TYPE_DISPOSABLE 4

/**
 * HMAC-SHA-1, which every authenticator app supports (RFC 6238).
 */
#define SECONDER_ALGORITHM_SHA1 1

/**
 * HMAC-SHA-256.
 */
#define SECONDER_ALGORITHM_SHA256 2

/**
 * HMAC-SHA-512.
 */
#define SECONDER_ALGORITHM_SHA512 3

/**
 * In place of a number of seconds: no expiry.
 */
#define SECONDER_FOREVER -1

/**
 * The kind of a prompt: a question. What the user types must not be seen.
 */
#define SECONDER_PROMPT_ECHO_OFF 1

/**
 * A question. What the user types may be seen.
 */
#define SECONDER_PROMPT_ECHO_ON 2

/**
 * A text that informs the user.
 */
#define SECONDER_PROMPT_INFO 3

/**
 * A text about something that failed.
 */
#define SECONDER_PROMPT_ERROR 4

/**
 * No text: the user is waited for, who may press Enter to give up an approval request.
 */
#define SECONDER_PROMPT_WAIT 5

/**
 * The password that the user typed in one field with the code (`first_pass=with_code`), for the program
 * to check. It is not to be shown, and comes last, only if the second factor is right or not required.
 */
#define SECONDER_PROMPT_PASSWORD 6

/**
 * From a converse function: the user can no longer answer. The login ends.
 */
#define SECONDER_CONVERSE_NO_ANSWER 0

/**
 * From a converse function: the text was shown, or the question was answered by
 * seconder_prompt_set_answer(), or the user who is waited for has pressed Enter, or the program has
 * taken the password.
 */
#define SECONDER_CONVERSE_DONE 1

/**
 * From a converse function: the user has not answered yet, or not pressed Enter. The function is called
 * again with the same prompt.
 */
#define SECONDER_CONVERSE_NOT_YET 2

/**
 * To a journal function: the decision about a login and its reason.
 */
#define SECONDER_JOURNAL_NOTICE 1

/**
 * To a journal function: something that the operator has to mend.
 */
#define SECONDER_JOURNAL_ERROR 2

/**
 * The service's record of an application (interface 2.3).
 */
typedef struct seconder_application seconder_application;

/**
 * The service's record of an approval request (interface 2.6).
 *
 * Before letting a user in, call seconder_approval_approved_by() with the user who is logging in:
 * an approval by another user proves nothing.
 */
typedef struct seconder_approval seconder_approval;

/**
 * An approval request that was created.
 */
typedef struct seconder_approval_created seconder_approval_created;

/**
 * The requests that a device's user can still answer.
 */
typedef struct seconder_approval_requests seconder_approval_requests;

/**
 * A page of decisions, the latest first.
 */
typedef struct seconder_audit_page seconder_audit_page;

/**
 * The secret for the user's app. Anyone who has it can generate the user's codes.
 */
typedef struct seconder_authenticator_enrolled seconder_authenticator_enrolled;

/**
 * The reply for a browser that is recognised. Any other outcome returns none.
 */
typedef struct seconder_browser_check seconder_browser_check;

/**
 * A code that was sent, or was not needed.
 */
typedef struct seconder_code_requested seconder_code_requested;

/**
 * A device that was registered for a user, with what it needs to answer approval requests.
 */
typedef struct seconder_device seconder_device;

/**
 * An invitation. Anyone who has its link or its code can register a device.
 */
typedef struct seconder_device_invited seconder_device_invited;

/**
 * The reply to a call that returns only a message.
 */
typedef struct seconder_done seconder_done;

/**
 * The reason that a call failed. It never contains an API key, a token, a code or a secret.
 */
typedef struct seconder_error seconder_error;

/**
 * An answer to an approval request, sent by the service itself.
 */
typedef struct seconder_event seconder_event;

/**
 * The factors of a user (interface 2.7). None of these is a secret. A service that leaves one of
 * them out says nothing: an empty list would mean that the user has none.
 */
typedef struct seconder_factors seconder_factors;

/**
 * The user who has a login name, and what the user can log in with.
 */
typedef struct seconder_found_user seconder_found_user;

/**
 * The result of seconder_run_jobs().
 */
typedef struct seconder_jobs_run seconder_jobs_run;

/**
 * A message to a phone. It is valid until the deliver function returns.
 */
typedef struct seconder_message seconder_message;

/**
 * The hashes by which a machine checks codes while the service is unreachable. Anyone who has them
 * can find the codes by trying all of them.
 */
typedef struct seconder_offline_prepared seconder_offline_prepared;

/**
 * The service's record of a phone number.
 */
typedef struct seconder_phone_information seconder_phone_information;

/**
 * The line behind a number, filled in by the lookup function. It is valid until that returns.
 */
typedef struct seconder_phone_line seconder_phone_line;

/**
 * The service's record of a number's verification.
 */
typedef struct seconder_phone_verification_record seconder_phone_verification_record;

/**
 * A verification that was started: a code was sent to the number.
 */
typedef struct seconder_phone_verification_started seconder_phone_verification_started;

/**
 * A text for a user who logs in. It is valid until the converse function returns, and wiped then.
 */
typedef struct seconder_prompt seconder_prompt;

/**
 * The recovery codes of a user. Anyone who has one can log in with it once.
 */
typedef struct seconder_recovery_codes seconder_recovery_codes;

/**
 * The devices that a user has registered.
 */
typedef struct seconder_registered_devices seconder_registered_devices;

/**
 * A browser that is remembered.
 */
typedef struct seconder_remembered seconder_remembered;

/**
 * The messages that a sandbox has sent.
 */
typedef struct seconder_sent_messages seconder_sent_messages;

/**
 * A service: an engine in this process, or a client of a remote service.
 */
typedef struct seconder_service seconder_service;

/**
 * A callback on its way to the application (interface 6). It is valid until the post function
 * returns.
 */
typedef struct seconder_signed_callback seconder_signed_callback;

/**
 * The application's usage.
 */
typedef struct seconder_statistics seconder_statistics;

/**
 * A text that belongs to the caller: a code, a signature, a URI. It is wiped when it is freed.
 */
typedef struct seconder_text seconder_text;

/**
 * A secret that an authenticator app and a service share, with the parameters for generating codes
 * from it. It may be used by many threads at once.
 */
typedef struct seconder_totp seconder_totp;

/**
 * An enrolled user.
 */
typedef struct seconder_user_created seconder_user_created;

/**
 * The service's record of a user (interface 2.2).
 */
typedef struct seconder_user_status_reply seconder_user_status_reply;

/**
 * The reply for a code that was checked and is correct. Any other outcome returns none.
 */
typedef struct seconder_verification seconder_verification;

/**
 * Verifies callbacks. Create one, keep it, and share it between threads.
 */
typedef struct seconder_verifier seconder_verifier;

/**
 * The outcome of a call: SECONDER_OK, or the kind of failure. New numbers may be added; only 0 is
 * a success.
 */
typedef int32_t seconder_status;

/**
 * The names that a service uses where the interface document says `svc`. A NULL field selects the
 * name derived from `word`, and the document's own name if `word` is NULL too.
 */
typedef struct seconder_names {
    /**
     * The word that replaces `svc`: with "acme", headers are X-Acme-..., ids acme_id and the
     * browser acme_chrome. 1 to 32 lower-case ASCII letters and digits, starting with a letter.
     */
    const char *word;
    /**
     * The first segment of the paths of approval requests: a word as above. Default: "push".
     */
    const char *push_path;
    /**
     * The prefix of header names: 1 to 32 ASCII letters, digits and dashes. Default: "X-Svc-".
     */
    const char *header_prefix;
    /**
     * The field that identifies a user in bodies and callbacks: 1 to 32 lower-case ASCII letters,
     * digits and underscores, starting with a letter. Default: "svc_id".
     */
    const char *id_field;
    /**
     * The device type of the browser, in the same form as `id_field`. Default: "svc_chrome".
     */
    const char *chrome_device;
} seconder_names;

/**
 * Delivers a message to a phone: a code, or the install message to a new user. It returns
 * SECONDER_OUTCOME_SENT, which is 0, if the message was accepted for delivery;
 * SECONDER_OUTCOME_RETRY if it was not sent, and a later attempt may succeed;
 * SECONDER_OUTCOME_NOT_ATTEMPTED if nothing was attempted, because no more are sent in this second;
 * SECONDER_OUTCOME_AMBIGUOUS if it may have been sent; SECONDER_OUTCOME_NUMBER_REFUSED if the provider
 * refuses the number; and SECONDER_OUTCOME_PERMANENT or any other number if it was not sent, and no
 * attempt will succeed.
 *
 * After SECONDER_OUTCOME_RETRY, SECONDER_OUTCOME_NOT_ATTEMPTED and SECONDER_OUTCOME_AMBIGUOUS, the
 * call that requests the code succeeds: further attempts are made by seconder_run_jobs(), which the
 * program has to call. All attempts to send a message have the same seconder_message_id().
 *
 * It runs inside the call that sends the message, on the same thread, and on several threads at
 * once if several make such calls. It must return normally: it must not be left by longjmp() or a
 * C++ exception. It should return within 30 seconds: one that takes longer than a minute counts as
 * ended by a crash, and seconder_run_jobs() may send the message again.
 */
typedef int32_t (*seconder_deliver)(const struct seconder_message *message, void *deliver_userdata);

/**
 * Frees the userdata of a function of the program. It runs exactly once, with the userdata that it
 * was passed along with, on whichever thread ends its use. It must not be left by longjmp() or a
 * C++ exception.
 */
typedef void (*seconder_userdata_free)(void *userdata);

/**
 * Posts a callback to the application. It returns SECONDER_OUTCOME_SENT, which is 0, if the
 * application accepted the callback; SECONDER_OUTCOME_PERMANENT if the callback must not be posted
 * again; and SECONDER_OUTCOME_RETRY, SECONDER_OUTCOME_NOT_ATTEMPTED, SECONDER_OUTCOME_AMBIGUOUS or any
 * other number if it is to be posted again, which seconder_run_jobs() does.
 *
 * It runs inside the call that answers an approval request, on the same thread, and on several
 * threads at once if several make such calls. It must return normally: it must not be left by
 * longjmp() or a C++ exception. It should return within 30 seconds: one that takes longer than a
 * minute counts as ended by a crash, and seconder_run_jobs() may post the callback again.
 */
typedef int32_t (*seconder_post)(const struct seconder_signed_callback *callback,
                                 void *post_userdata);

/**
 * Looks up a number, in E.164 format: +15550100123. It says what is known by the functions
 * seconder_phone_line_set_...() on `line`, and returns 0; also if nothing is known of the number. Any
 * other number means that the look-up failed: nothing is known then, and the number is not looked up
 * again for a minute. No call fails because of it.
 *
 * It runs inside the call that needs it, on the same thread, and on several threads at once if
 * several make such calls. It must return within seconds, and normally: it must not be left by
 * longjmp() or a C++ exception.
 */
typedef int32_t (*seconder_lookup)(const char *number,
                                   const struct seconder_phone_line *line,
                                   void *lookup_userdata);

/**
 * Options of seconder_open(). Nothing is read from the environment, and every text is copied.
 * An option says which URLs it is for: "Remote service" is https: (and http: to this machine)
 * and unix:, "Network" the former alone, "Socket" the latter alone, "Engine" is sqlite:,
 * postgres: and sandbox:. An option that is set and has no effect with the URL is
 * SECONDER_INVALID_ARGUMENT, so that no program relies on it.
 */
typedef struct seconder_open_options {
    /**
     * Network: the token of an operator, in place of an API key. The URL is then the address at
     * which the service listens for operators, and the role of the operator decides which
     * operations and calls are permitted.
     */
    const char *operator_token;
    /**
     * Network: a PEM file of certificates to trust instead of the system's. These are of
     * authorities, or the service's own if it is self-signed. Without a file or a pin, the
     * system's authorities are trusted.
     */
    const char *ca_file;
    /**
     * Network: pinned public keys, each as "sha256/" and the SHA-256 of the key
     * (SubjectPublicKeyInfo) in Base64. The service must present one of them. Without `ca_file`,
     * only they are trusted; with it, both must match.
     */
    const char *const *pins;
    /**
     * The number of texts at `pins`, at most 1000.
     */
    size_t pins_count;
    /**
     * Network: a PEM file with the certificate that this client presents. It is followed by the
     * intermediate certificates up to an authority that the service trusts. It requires
     * `client_key`. Default: no certificate.
     */
    const char *client_certificate;
    /**
     * Network: a PEM file with the private key of `client_certificate`, not encrypted with a
     * password.
     */
    const char *client_key;
    /**
     * Network and engine: a proxy for the connections, as "http://host:port" or
     * "http://user:password@host:port". Special characters are written as "%XX". Connections are
     * tunnelled with CONNECT, so the proxy sees only encrypted bytes; it also resolves the
     * service's name. An engine sends its callbacks and push messages to other machines through
     * it, but resolves their hosts itself, because it checks the addresses. Default: no proxy. The
     * environment is never consulted.
     */
    const char *proxy;
    /**
     * Network and engine: the name servers that resolve the host of the URL, or of the proxy, in
     * place of those in /etc/resolv.conf. Only they and /etc/hosts are used, not LDAP, multicast
     * DNS and other sources in nsswitch.conf. An engine resolves the hosts of callbacks and push
     * messages with them, and its database server. They are queried in this order. Each is an IP
     * address, with a port if it is not 53: "192.0.2.1", "192.0.2.1:5353", "[2001:db8::1]:53". The
     * word "system" alone has the system's resolver used, with every source in nsswitch.conf: on
     * another thread, which goes on after the time-out if the resolver does.
     */
    const char *const *name_servers;
    /**
     * The number of texts at `name_servers`, at most 1000.
     */
    size_t name_servers_count;
    /**
     * The names that the service uses where the interface document says "svc". Default: for a
     * remote service, the document's; for an engine, those stored in the database, and the
     * document's in a new one. A database that was created with other names is rejected, because
     * its clients depend on them.
     */
    const struct seconder_names *names;
    /**
     * The size of the struct at `names`: `sizeof *names`.
     */
    size_t names_size;
    /**
     * `sqlite:` and `postgres:`: the file with the keys that seal the secrets in the database. In
     * a copied database, no secret, code or API key can be used without it. A database that was
     * created with one is SECONDER_STORAGE without it, or with another one. Default for `sqlite:`:
     * the file next to the database that is named like it with ".keys" at the end; it is created
     * with a new database, readable by its owner only. With `postgres:` it is required: "seconder
     * keyring create" makes the file, and each machine has a copy of it.
     */
    const char *keyring;
    /**
     * Engine: the name in messages and authenticator apps. It has 1 to 64 bytes without colons and
     * line feeds. Default: the name stored in the database; "Seconder" in a new one.
     */
    const char *application_name;
    /**
     * Engine: the URL to which callbacks with the responses to approval requests are posted
     * (interface 6). It is an https: URL, or an http: URL of this machine. An empty text removes
     * the stored one. Default: the URL stored in the database; none in a new one.
     */
    const char *callback_url;
    /**
     * Engine: the PEM file with the authorities to trust when callbacks are posted, instead of the
     * system's. It may also be the application's own certificate. Every process that uses the
     * database reads the file when it posts a callback. A function of the program that posts
     * callbacks decides itself whom to trust. An empty path removes the stored one. Default: the
     * file stored in the database; none in a new one.
     */
    const char *callback_ca_file;
    /**
     * Engine: the link to the app that a new user receives by SMS (interface 4.1). It is an https:
     * URL of at most 2048 characters. An empty text removes the stored one. Default: the link
     * stored in the database. A new one has none, and then no message is sent.
     */
    const char *install_link;
    /**
     * Engine: the limits to change, as NAME=VALUE, such as number_day=10 or countries=1+44. They
     * are separated by spaces or commas. Default: those stored in the database, also for names
     * that are not given.
     */
    const char *limits;
    /**
     * Engine: the application's own texts of messages, by language and kind, as JSON. They replace
     * those that are stored, and an empty text removes them. Default: those stored in the
     * database; where there is none, the text that is built in.
     */
    const char *texts;
    /**
     * Engine: the domain of the page on which users enter codes, such as example.com. Each SMS
     * with a code then ends with a line such as "@example.com #123456", by which browsers offer
     * the code on pages of this domain, and on no others. An empty text removes the stored one.
     * Default: the domain stored in the database; none in a new one.
     */
    const char *otp_domain;
    /**
     * Engine: the product that was booked, for the details of the application: 1 to 64 bytes.
     * Default: the text stored in the database; "embedded" in a new one.
     */
    const char *plan;
    /**
     * Engine: the picture that approval requests show which have none of their own (interface
     * 4.12). It is an https: URL of at most 2048 characters. An empty text removes the stored one.
     * Default: the URL stored in the database; none in a new one.
     */
    const char *logo;
    /**
     * Engine: further hosts of push services to which messages for phones are posted. They are in
     * addition to the push services of browser vendors: "push.example" and "*.push.example",
     * separated by spaces; "127.0.0.1:8080" for one on this machine. Default: none.
     */
    const char *push_hosts;
    /**
     * Remote service: the total time that a call may take. That is name resolution, the
     * connection, the TLS handshake, the request, the response, and all waits between retries.
     * More than 0 and at most an hour. In milliseconds. Default: 10 seconds.
     */
    uint32_t timeout_ms;
    /**
     * Remote service: the calls that are retried if the service asks to wait and the wait fits
     * into the time limit. SECONDER_REPEATS_NONE, SECONDER_REPEATS_QUESTIONS or
     * SECONDER_REPEATS_ALL. Default: those that change nothing.
     */
    int32_t repeats;
    /**
     * Socket: the number of the user who runs the service, as "id -u NAME" prints it. Before
     * anything is sent, the user who listens on the socket is checked: root, the user of this
     * process and this one are trusted, and everyone else is SECONDER_UNAVAILABLE. Default: only
     * the first two.
     */
    uint32_t service_uid;
    /**
     * Remote service: the format of responses: SECONDER_FORMAT_JSON or SECONDER_FORMAT_XML.
     * Default: json.
     */
    int32_t format;
    /**
     * Remote service: the generation of the interface that is used (interface 9):
     * SECONDER_GENERATION_CURRENT or SECONDER_GENERATION_OLDER. Default: the current one.
     */
    int32_t generation;
    /**
     * Engine: the method of callbacks: post, with a JSON body, or get, with the parameters as the
     * query of the URL. SECONDER_CALLBACK_METHOD_POST or SECONDER_CALLBACK_METHOD_GET. Default:
     * the method stored in the database; post in a new one.
     */
    int32_t callback_method;
    /**
     * Engine: allows callbacks to addresses that are not of the public Internet: SECONDER_YES or
     * SECONDER_NO. These are addresses of private networks, and of this machine by a name other
     * than localhost. Otherwise no callback is sent to such an address, whatever the name in the
     * URL resolves to. A URL with localhost or a loopback address leads to this machine in any
     * case, and nowhere else. A function of the program that posts callbacks decides itself.
     * Default: what is stored in the database; no in a new one.
     */
    int32_t callback_private;
    /**
     * Engine: the generation of the bodies that a server replies with: current, or older for
     * clients of 2012. It does not depend on the generation of the requests (interface 9): older
     * clients read "success" as text. SECONDER_GENERATION_CURRENT or SECONDER_GENERATION_OLDER.
     * Default: the one stored in the database; the current one in a new one.
     */
    int32_t replies;
    /**
     * Engine: the number of days, 1 to 7, for which login machines may check the codes of
     * authenticator apps offline. They do so while they cannot reach the service; -1 forbids it.
     * Default: the number stored in the database; 0 in a new one.
     */
    int32_t offline_days;
    /**
     * Engine: makes the details of the application say that it has an app of its own: SECONDER_YES
     * or SECONDER_NO. Default: what is stored in the database; no in a new one.
     */
    int32_t white_label;
    /**
     * Engine: allows SMS: SECONDER_YES or SECONDER_NO. Without them, codes can be spoken in calls.
     * Default: what is stored in the database; yes in a new one.
     */
    int32_t sms_enabled;
    /**
     * Engine: sends codes by SMS and calls also to users who have an app, unless a call sets
     * `force`: SECONDER_YES or SECONDER_NO. See interface 4.2. Default: what is stored in the
     * database; no in a new one.
     */
    int32_t force_codes;
    /**
     * Engine: the number of seconds for which approval requests remain open that do not set it, 10
     * to 86400. See `seconds_to_expire` in interface 4.12. Default: the number stored in the
     * database; 86400 in a new one.
     */
    uint32_t approval_seconds;
    /**
     * Engine: the number of digits of codes by SMS and voice, 6 to 10. Default: the number stored
     * in the database; 7 in a new one.
     */
    uint32_t token_length;
    /**
     * Engine: the number of digits of the codes of authenticator apps that are enrolled from now
     * on, 6 to 8. Apps that were enrolled before keep theirs. Default: the number stored in the
     * database; 6 in a new one, which every app supports.
     */
    uint32_t authenticator_digits;
    /**
     * Engine: the number of seconds for which such an app shows a code, 1 to 3600. Default: the
     * time stored in the database; 30 in a new one, which every app supports.
     */
    uint32_t authenticator_period;
    /**
     * Network: allows "http://" URLs of this machine. For tests: the API key is then sent in the
     * clear.
     */
    bool allow_loopback_http;
    /**
     * Remote service: sends `details`, `hidden_details` and `data` in a JSON body if they hold
     * anything but texts. It is for services that are known to read JSON. Default: a form, which
     * every service reads, and in which numbers and flags become text; nulls, empty lists and
     * empty objects are left out; and a name that is empty or has brackets is
     * SECONDER_INVALID_ARGUMENT.
     */
    bool nested_as_json;
    /**
     * `sqlite:` and `postgres:`: requires that the database exists: a file that is missing, and a
     * database without tables, is SECONDER_STORAGE. With it, a mistyped path is an error rather
     * than a new database without users. Default: the file or the tables are created.
     */
    bool must_exist;
    /**
     * Engine: the function that delivers SMS and voice calls. Default for `sqlite:`: messages are
     * written as text files to a folder next to the database, named like the database with
     * ".spool" for ".db"; a file is removed after its code has expired. With `postgres:` there is
     * no default, and requesting a code fails; a sandbox delivers nothing.
     */
    seconder_deliver deliver;
    /**
     * Passed to `deliver`. It must be safe to use from many threads at once.
     */
    void *deliver_userdata;
    /**
     * Called exactly once with `deliver_userdata`, when nothing can use it any longer: at the
     * latest when the last service that shares it is freed, and before seconder_open() returns if
     * it fails.
     */
    seconder_userdata_free deliver_userdata_free;
    /**
     * Engine: the function that posts callbacks. Default: HTTPS within 15 s, trusting
     * `callback_ca_file` or else the system's authorities.
     */
    seconder_post post;
    /**
     * Passed to `post`. It must be safe to use from many threads at once.
     */
    void *post_userdata;
    /**
     * Called exactly once with `post_userdata`, when nothing can use it any longer: at the latest
     * when the last service that shares it is freed, and before seconder_open() returns if it
     * fails.
     */
    seconder_userdata_free post_userdata_free;
    /**
     * Engine: the function that looks numbers up: their carrier, their type, and whether they were
     * ported. The number of lookups is limited by "lookup_day" of `limits`, and a result is used
     * again for some days. Default: only the information in numbering plans is known.
     */
    seconder_lookup lookup;
    /**
     * Passed to `lookup`. It must be safe to use from many threads at once.
     */
    void *lookup_userdata;
    /**
     * Called exactly once with `lookup_userdata`, when nothing can use it any longer: at the
     * latest when the last service that shares it is freed, and before seconder_open() returns if
     * it fails.
     */
    seconder_userdata_free lookup_userdata_free;
} seconder_open_options;

/**
 * Logs a call that has just ended.
 *
 * `status` is what the call returned. `line` is ASCII without a line feed, such as
 * "call=verify outcome=token_wrong user_id=7 http_status=401 code=60020 attempts=1
 * duration_ms=12.345"; what is not known is left out, and a later version may add names at the
 * end. It is valid until the function returns, and never contains a token, a code, a key, a phone
 * number, an e-mail address or a message. `duration_us` is how long the call took, in
 * microseconds.
 *
 * It runs on the thread that made the call, before the call returns, and on several threads at
 * once if several make calls. It may call this library; its own calls are not logged. It must
 * return normally: it must not be left by longjmp() or a C++ exception.
 */
typedef void (*seconder_log)(seconder_status status,
                             const char *line,
                             uint64_t duration_us,
                             void *log_userdata);

/**
 * Options of seconder_create_user().
 */
typedef struct seconder_create_user_options {
    /**
     * Sends a new user a text message with a link to the app. Its outcome is
     * seconder_user_created_install_message(). SECONDER_DEFAULT, which means yes, SECONDER_YES or
     * SECONDER_NO.
     */
    int32_t send_install_link_via_sms;
    /**
     * Rejects a number that a user has already, or, in a call without a number, the address of a
     * user without one. Nothing is changed then. If a service does not say whether the user is
     * new, the call fails with SECONDER_INVALID_RESPONSE, though the service may have enrolled the
     * user. SECONDER_DEFAULT, which means no, SECONDER_YES or SECONDER_NO.
     */
    int32_t new_only;
} seconder_create_user_options;

/**
 * Options of seconder_delete_user(), seconder_app_details(), seconder_user_status(),
 * seconder_app_stats(), seconder_phone_info() and seconder_set_number().
 */
typedef struct seconder_call_options {
    /**
     * The IP address from which the request originates. IPv4 or IPv6 text.
     */
    const char *user_ip;
} seconder_call_options;

/**
 * Options of seconder_register_activity().
 */
typedef struct seconder_register_activity_options {
    /**
     * Additional data about the activity: a JSON object as text, at most 16 KiB. A remote service
     * receives it as `nested_as_json` of seconder_open_options describes.
     */
    const char *data;
    /**
     * The user's IP address during the activity. IPv4 or IPv6 text.
     */
    const char *user_ip;
} seconder_register_activity_options;

/**
 * Options of seconder_request_sms() and seconder_request_call().
 */
typedef struct seconder_request_code_options {
    /**
     * Makes the code valid only for this action, which must also be passed to seconder_verify(). 1
     * to 128 bytes without control characters.
     */
    const char *action;
    /**
     * The description of the action in the message. 1 to 1024 bytes.
     */
    const char *action_message;
    /**
     * The language of the message, such as "de". A service that lacks it uses its own. Default: as
     * configured with the service.
     */
    const char *locale;
    /**
     * Sends the code even if the user has an app. SECONDER_DEFAULT, SECONDER_YES or SECONDER_NO.
     * Default: as configured with the service, no at first.
     */
    int32_t force;
    /**
     * The IP address from which the request originates, which a service may limit. IPv4 or IPv6
     * text.
     */
    const char *user_ip;
} seconder_request_code_options;

/**
 * Options of seconder_verify().
 */
typedef struct seconder_verify_options {
    /**
     * Checks the code even if the user is not confirmed yet.
     */
    bool force;
    /**
     * The action that the code was sent for. 1 to 128 bytes without control characters.
     */
    const char *action;
    /**
     * The IP address from which the request originates. IPv4 or IPv6 text.
     */
    const char *user_ip;
} seconder_verify_options;

/**
 * The device that generated or received a code, or answered an approval request (interface 2.5).
 * Services omit unknown fields, and a field of an unexpected type, such as a date as text, is left
 * out.
 */
typedef struct seconder_device_info {
    /**
     * The device's number. 0 if the service does not provide it.
     */
    uint64_t id;
    /**
     * The IP address at which it was last seen. NULL if the service does not provide it.
     */
    const char *ip;
    /**
     * The city of that address. NULL if the service does not provide it.
     */
    const char *city;
    /**
     * The region of that address. NULL if the service does not provide it.
     */
    const char *region;
    /**
     * The country of that address. NULL if the service does not provide it.
     */
    const char *country;
    /**
     * "android", "ios", "sms" and similar; "authenticator" or "recovery_code" from this project's
     * service. NULL if the service does not provide it.
     */
    const char *os_type;
    /**
     * The number under which it was registered. 0 if the service does not provide it.
     */
    uint64_t registration_device_id;
    /**
     * The IP address from which it was registered. NULL if the service does not provide it.
     */
    const char *registration_ip;
    /**
     * The city of that address. NULL if the service does not provide it.
     */
    const char *registration_city;
    /**
     * The region of that address. NULL if the service does not provide it.
     */
    const char *registration_region;
    /**
     * The country of that address. NULL if the service does not provide it.
     */
    const char *registration_country;
    /**
     * The way in which the user's number was verified on registration. NULL if the service does
     * not provide it.
     */
    const char *registration_method;
    /**
     * When it was registered, in Unix seconds. 0 if the service does not provide it.
     */
    int64_t registration_date;
    /**
     * When the account was last recovered, in Unix seconds. 0 if the service does not provide it.
     */
    int64_t last_account_recovery_at;
} seconder_device_info;

/**
 * Options of seconder_enrol_authenticator().
 */
typedef struct seconder_enrol_authenticator_options {
    /**
     * The label that the app shows with the code, without a colon. 1 to 1024 bytes. Default: the
     * user's e-mail address, with a space for each colon.
     */
    const char *label;
    /**
     * The width and height of the QR code, 100 to 1000 pixels. Default: 300.
     */
    uint64_t qr_size;
} seconder_enrol_authenticator_options;

/**
 * An authenticator app of a user.
 */
typedef struct seconder_authenticator {
    /**
     * Its id, for seconder_remove_authenticator().
     */
    const char *id;
    /**
     * True if a code of it was accepted. Until then it is pending.
     */
    bool confirmed;
    /**
     * The label that it was enrolled with, if one was given. NULL if the service does not provide
     * it.
     */
    const char *label;
    /**
     * When it was enrolled, in Unix seconds. 0 if the service does not provide it.
     */
    int64_t created_at;
} seconder_authenticator;

/**
 * A device that a user has registered for approval requests.
 */
typedef struct seconder_registered_device {
    /**
     * Its id, for seconder_remove_device().
     */
    uint64_t id;
    /**
     * "android", "android_tablet", "ios" or "svc_chrome". NULL if the service does not provide it.
     */
    const char *type;
    /**
     * When it was registered, in Unix seconds. 0 if the service does not provide it.
     */
    int64_t created_at;
} seconder_registered_device;

/**
 * Options of seconder_invite_device().
 */
typedef struct seconder_invite_device_options {
    /**
     * The width and height of the QR code, 100 to 1000 pixels. Default: 300.
     */
    uint64_t qr_size;
} seconder_invite_device_options;

/**
 * Options of seconder_remember().
 */
typedef struct seconder_remember_options {
    /**
     * The number of days, 1 to 400. Default: 30.
     */
    uint64_t days;
} seconder_remember_options;

/**
 * A logo to show with an approval request.
 */
typedef struct seconder_logo {
    /**
     * "default", "low", "med" or "high".
     */
    const char *res;
    /**
     * The URL of the picture.
     */
    const char *url;
} seconder_logo;

/**
 * Options of seconder_create_approval().
 */
typedef struct seconder_create_approval_options {
    /**
     * Further details shown to the user: names and texts, without characters that XML cannot have.
     * Other values reach a remote service as `data` of seconder_register_activity_options
     * describes. A JSON object as text, at most 16 KiB.
     */
    const char *details;
    /**
     * Details not shown to the user, and returned to the application. Sent as `details` are. A
     * JSON object as text, at most 16 KiB.
     */
    const char *hidden_details;
    /**
     * Logos to show, at most 16 KiB in JSON. If there are any, one must have `res` = "default".
     */
    const struct seconder_logo *logos;
    /**
     * The number of values at `logos`, at most 1000.
     */
    size_t logos_count;
    /**
     * The time that the request remains open, in seconds, 1 to 315360000, or SECONDER_FOREVER.
     * Default: 86400.
     */
    int64_t seconds_to_expire;
    /**
     * The number of digits of a number that the reply carries, the application shows, and the user
     * has to type on the device to approve the request: 2, 3 or 6, or -1 for none. An engine
     * raises a smaller number to the application's. Default: as the application has it, none at
     * first.
     */
    int64_t number_digits;
} seconder_create_approval_options;

/**
 * Decides whether a wait continues. It returns 0 to continue, and any other number to end the
 * wait.
 *
 * It is called about every 100 ms, on the waiting thread, but not while a request to a remote
 * service is in progress. It must return normally: it must not be left by longjmp() or a C++
 * exception.
 */
typedef int32_t (*seconder_stop)(void *stop_userdata);

/**
 * Options of seconder_wait_for_approval().
 */
typedef struct seconder_wait_for_approval_options {
    /**
     * A function that can end the wait, for example by reading a flag that a signal handler sets.
     * Default: only the deadline ends it.
     */
    seconder_stop stop;
    /**
     * Passed to the stop function. It is used until seconder_wait_for_approval() returns.
     */
    void *stop_userdata;
    /**
     * Also accepts a request whose user the service does not name: for a service that provides only
     * the status. Check the answer with seconder_approval_approved_unbound(), which says why this
     * is weaker and what the program has to do instead. A request of another user is still
     * rejected.
     */
    bool unbound;
} seconder_wait_for_approval_options;

/**
 * Options of seconder_prepare_offline().
 */
typedef struct seconder_prepare_offline_options {
    /**
     * The number of days, 1 to 7, and at most as many as the service allows. Default: 3.
     */
    uint64_t days;
    /**
     * The machine that keeps the hashes, for the service's records. 1 to 1024 bytes.
     */
    const char *machine;
} seconder_prepare_offline_options;

/**
 * A login that was accepted while the service was unreachable.
 */
typedef struct seconder_offline_login {
    /**
     * The step of the code.
     */
    uint64_t step;
    /**
     * When the code was accepted, in Unix seconds.
     */
    uint64_t time;
} seconder_offline_login;

/**
 * Options of seconder_report_offline().
 */
typedef struct seconder_report_offline_options {
    /**
     * The machine, for the service's records. 1 to 1024 bytes.
     */
    const char *machine;
} seconder_report_offline_options;

/**
 * What a machine keeps of the reply of seconder_prepare_offline(), and of whom it is.
 */
typedef struct seconder_offline_codes {
    /**
     * The user who logs in.
     */
    uint64_t user_id;
    /**
     * The number of digits of a code: seconder_offline_prepared_digits().
     */
    uint64_t digits;
    /**
     * The seconds of a step: seconder_offline_prepared_period().
     */
    uint64_t period;
    /**
     * The step of the first hash: seconder_offline_prepared_first_step().
     */
    uint64_t first_step;
    /**
     * When the codes must no longer be used, in Unix seconds: seconder_offline_prepared_expires_at().
     */
    uint64_t expires_at;
    /**
     * The key of the hashes: seconder_offline_prepared_hash_key().
     */
    const char *hash_key;
    /**
     * The hashes: seconder_offline_prepared_hashes().
     */
    const char *hashes;
} seconder_offline_codes;

/**
 * Options of seconder_start_phone_verification().
 */
typedef struct seconder_start_phone_verification_options {
    /**
     * The language of the message, such as "de". A service that lacks it uses its own. Default: as
     * configured with the service.
     */
    const char *locale;
    /**
     * The number of digits of the code, 4 to 10. Default: as configured with the service.
     */
    uint64_t code_length;
    /**
     * The IP address from which the request originates, which a service may limit. IPv4 or IPv6
     * text.
     */
    const char *user_ip;
} seconder_start_phone_verification_options;

/**
 * Options of seconder_phone_verification_status().
 */
typedef struct seconder_phone_verification_status_options {
    /**
     * The id of the verification, from seconder_phone_verification_started_uuid(). 1 to 64
     * letters, digits and dashes of ASCII.
     */
    const char *uuid;
    /**
     * The number without its calling code, whose latest verification is meant. 4 to 15 digits in
     * groups that dashes, periods or spaces may separate.
     */
    const char *phone_number;
    /**
     * The calling code of the number. "1" to "999".
     */
    const char *country_code;
} seconder_phone_verification_status_options;

/**
 * The application's usage in one month, in UTC (interface 2.4).
 */
typedef struct seconder_monthly_statistic {
    /**
     * The English name of the month.
     */
    const char *month;
    /**
     * The year.
     */
    uint64_t year;
    /**
     * The number of API calls by the application. 0 if the service does not provide it.
     */
    uint64_t api_calls_count;
    /**
     * The number of codes and approvals that let a user in. 0 if the service does not provide it.
     */
    uint64_t auths_count;
    /**
     * The number of voice calls made. 0 if the service does not provide it.
     */
    uint64_t calls_count;
    /**
     * The number of SMS sent.
     */
    uint64_t sms_count;
    /**
     * The number of users enrolled.
     */
    uint64_t users_count;
} seconder_monthly_statistic;

/**
 * An approval request as shown on a device.
 */
typedef struct seconder_approval_request {
    /**
     * The request's uuid.
     */
    const char *uuid;
    /**
     * The question to show to the user.
     */
    const char *message;
    /**
     * Further details to show to the user: a JSON object as text.
     */
    const char *details;
    /**
     * When the request expires, in Unix seconds, or SECONDER_FOREVER.
     */
    int64_t expires_at;
    /**
     * The number of digits that the user has to type to approve it; 0 for none.
     */
    uint32_t number_digits;
} seconder_approval_request;

/**
 * Options of seconder_audit(): which decisions to read.
 */
typedef struct seconder_audit_options {
    /**
     * Only decisions about this user. 0: about everybody.
     */
    uint64_t user_id;
    /**
     * Only decisions from this time on, in Unix seconds. 0: from the first one on.
     */
    uint64_t since;
    /**
     * Only decisions before this time, in Unix seconds. 0: up to the latest.
     */
    uint64_t until;
    /**
     * Only decisions with this verdict, such as "wrong", or with one of several that have commas in between; one that
     * does not exist is an invalid argument. NULL: all.
     */
    const char *verdict;
    /**
     * The value of seconder_audit_page_next() of the page before. NULL: the first page.
     */
    const char *after;
    /**
     * The most decisions on a page, 1 to 1000. Default: 100.
     */
    uint64_t most;
    /**
     * Only decisions of this call, such as "verify". NULL: all.
     */
    const char *call;
    /**
     * Only decisions of calls that had this IPv4 or IPv6 address of the user. NULL: all.
     */
    const char *user_ip;
    /**
     * Only decisions that the operator, or the user of the machine, of this name made. NULL: all.
     */
    const char *operator_name;
} seconder_audit_options;

/**
 * A decision of the engine. It has no secret and no code.
 */
typedef struct seconder_audit_entry {
    /**
     * When, in milliseconds since the Unix epoch, by the clock of the process that decided.
     */
    int64_t time_ms;
    /**
     * Distinguishes the decisions of one user and millisecond.
     */
    int64_t nonce;
    /**
     * The application.
     */
    int64_t app_id;
    /**
     * The user. 0 for a number that belongs to no user, and for the application.
     */
    uint64_t user_id;
    /**
     * The number of such decisions that it stands for. Decisions that change nothing, such as guesses that
     * have to wait, are recorded at most once a minute for each user and kind.
     */
    uint64_t times;
    /**
     * The call, without `seconder_`, such as "verify"; "open" for the opening of the database.
     */
    const char *call;
    /**
     * The decision, such as "right", "wrong" or "refused".
     */
    const char *verdict;
    /**
     * The reason, such as "other_action"; for "configured" the names of what was changed. NULL if the
     * verdict says it all.
     */
    const char *reason;
    /**
     * "code", "authenticator" or "recovery_code"; several are joined by "+". NULL if there was none.
     */
    const char *factor;
    /**
     * The number, masked. NULL if there was none.
     */
    const char *number;
    /**
     * The address of the user. NULL if the call has none.
     */
    const char *user_ip;
    /**
     * The limit that was reached. NULL if none was.
     */
    const char *over_limit;
    /**
     * The name of the operator with a token who did it, or of the user of the machine who ran the command. NULL if
     * the application did.
     */
    const char *operator_name;
    /**
     * The id of the request, as it is in the log of the service. NULL for what no request made.
     */
    const char *request_id;
} seconder_audit_entry;

/**
 * A message that a sandbox has sent, as if to a phone.
 */
typedef struct seconder_sent_message {
    /**
     * The user whom the call concerned; 0 if it concerned none, such as the verification of a number.
     */
    uint64_t user_id;
    /**
     * Identifies the message: 16 hexadecimal digits.
     */
    const char *id;
    /**
     * The phone number, in E.164 format: +15550100123.
     */
    const char *to;
    /**
     * The channel: "sms" or "call".
     */
    const char *via;
    /**
     * The text to be read or heard.
     */
    const char *text;
    /**
     * The language of the text, with its region if it is known: "en-GB", "ar".
     */
    const char *language;
    /**
     * The code on its own, empty for the install message to a new user.
     */
    const char *code;
    /**
     * When the code expires, in Unix seconds; 0 if there is no code.
     */
    uint64_t expires_at;
} seconder_sent_message;

/**
 * A callback as it was received (interface 5.5). A text that is missing may be NULL.
 */
typedef struct seconder_callback {
    /**
     * The callback URL as configured with the service, including the scheme and without
     * parameters. Never take it from the request's Host header. May be NULL if a verifier has the
     * URL.
     */
    const char *url;
    /**
     * The request's method: "POST" or "GET".
     */
    const char *method;
    /**
     * The raw query of a GET request, without the `?`.
     */
    const char *query;
    /**
     * The raw body of a POST request, which need not be NUL-terminated.
     */
    const void *body;
    /**
     * The size of `body` in bytes.
     */
    size_t body_size;
    /**
     * The header X-Svc-Signature.
     */
    const char *signature;
    /**
     * The header X-Svc-Signature-Nonce.
     */
    const char *nonce;
} seconder_callback;

/**
 * A callback whose signature was verified, as passed to a replay function. It is valid until the
 * function returns.
 */
typedef struct seconder_replay_entry {
    /**
     * Its signature, which covers the whole callback including the nonce: 44 characters of Base64.
     */
    const char *key;
    /**
     * The `now` that was passed to seconder_verifier_verify(), in Unix seconds.
     */
    uint64_t now;
    /**
     * The last second at which the callback is fresh, after which it can be forgotten; 0 if
     * freshness is not checked, so that it must be remembered forever.
     */
    uint64_t until;
} seconder_replay_entry;

/**
 * Remembers callbacks, for an application of several processes, in a table with a unique key for
 * example. It returns SECONDER_YES if the callback was received for the first time, and is
 * remembered from now on; SECONDER_NO if it was received before; any other number if this cannot
 * be determined, in which case the callback is rejected and seconder_verifier_verify() returns
 * SECONDER_STORAGE.
 *
 * The check and the insertion must be atomic: of two threads with the same callback, only one may
 * receive SECONDER_YES. It runs inside seconder_verifier_verify(), on the same thread, and on
 * several threads at once if several verify callbacks. It must return normally: it must not be
 * left by longjmp() or a C++ exception.
 */
typedef int32_t (*seconder_replay)(const struct seconder_replay_entry *callback,
                                   void *replay_userdata);

/**
 * Options of seconder_verifier_new().
 */
typedef struct seconder_verifier_options {
    /**
     * The callback URLs as configured with the service; more than one during a move, for example.
     * The `url` of a callback must then be NULL or one of them; without any, every callback must
     * have its own `url`.
     */
    const char *const *urls;
    /**
     * The number of URLs at `urls`, at most 1000.
     */
    size_t urls_count;
    /**
     * Rejects callbacks whose nonce is not a time in Unix seconds within this many seconds of now,
     * before or after; a few minutes allow for clocks that differ. Default: freshness is not
     * checked.
     */
    uint32_t fresh_seconds;
    /**
     * The names that the service uses where the interface document says `svc`. Default: the
     * document's.
     */
    const struct seconder_names *names;
    /**
     * The size of the struct at `names`: `sizeof *names`.
     */
    size_t names_size;
    /**
     * The capacity of a memory of received callbacks in this process: how many there can be within
     * one window of freshness, at about 200 bytes each. When it is full, new callbacks are
     * rejected with SECONDER_RATE_LIMITED. Requires `fresh_seconds`. Default: no memory, so that a
     * recorded callback can be replayed.
     */
    size_t replay_capacity;
    /**
     * The program's own memory of received callbacks, instead of `replay_capacity`.
     */
    seconder_replay replay;
    /**
     * Passed to the replay function. It must be safe to use from many threads at once.
     */
    void *replay_userdata;
    /**
     * Called exactly once with `replay_userdata`, when nothing can use it any longer: when the
     * verifier is freed, and before seconder_verifier_new() returns if it fails.
     */
    seconder_userdata_free replay_userdata_free;
} seconder_verifier_options;

/**
 * Options of seconder_totp_new().
 */
typedef struct seconder_totp_options {
    /**
     * The hash with which codes are generated, one of SECONDER_ALGORITHM_... Default: SHA-1, which
     * every app supports.
     */
    int32_t algorithm;
    /**
     * The number of digits of a code, 6 to 8. Default: 6.
     */
    uint32_t digits;
    /**
     * The time for which a code is shown, in seconds, 1 to 3600. Default: 30.
     */
    uint32_t period;
} seconder_totp_options;

/**
 * Reaches the user who logs in: shows the text of the prompt or waits, as seconder_prompt_kind()
 * requires, and returns one of SECONDER_CONVERSE_.... Any number that it should not return is taken for
 * SECONDER_CONVERSE_NO_ANSWER, so a function returns that for a kind that it does not know.
 *
 * It runs inside seconder_login(), on the same thread, and may take as long as the user does. One that
 * returns SECONDER_CONVERSE_NOT_YET at least every 100 ms lets seconder_service_cancel() end a login
 * that waits for the user. It must return normally: it must not be left by longjmp() or a C++ exception.
 */
typedef int32_t (*seconder_converse)(const struct seconder_prompt *prompt, void *converse_userdata);

/**
 * Writes a line for the operator, such as to syslog: one SECONDER_JOURNAL_NOTICE for each login, such as
 * "login of ada by ftpd from 192.0.2.7: accepted (by a code)", and any SECONDER_JOURNAL_ERROR before it.
 *
 * `line` is UTF-8 without a line feed, never contains what the user typed, a code or a key, and is valid
 * until the function returns. It runs inside seconder_login(), on the same thread. It must return
 * normally: it must not be left by longjmp() or a C++ exception.
 */
typedef void (*seconder_journal)(int32_t kind, const char *line, void *journal_userdata);

/**
 * Options of seconder_login().
 */
typedef struct seconder_login_options {
    /**
     * The service's user of the login name, if the program knows it. Default: it is looked up as the key
     * `users` says, by default in the file /etc/seconder/users.
     */
    uint64_t user_id;
    /**
     * The address of the machine that the user comes from: for the key `trusted_networks`, the user's
     * phone and the log. Default: not known.
     */
    const char *remote;
    /**
     * The name of the program, such as "ftpd", for the user's phone and the log. Default: "a program".
     */
    const char *program;
    /**
     * The text that the user typed before: a password, a code, or both in one field, as the key
     * `first_pass` says. Default: none.
     */
    const char *typed;
    /**
     * The absolute path of a configuration: seconder-pam.conf(5). Default: no file is read, and each key
     * has its default.
     */
    const char *config_file;
    /**
     * Keys of the configuration that override the file, each as "key=value", such as "users=directory".
     */
    const char *const *settings;
    /**
     * The number of texts at `settings`, at most 1000.
     */
    size_t settings_count;
    /**
     * The function that writes for the operator. Default: nothing is written.
     */
    seconder_journal journal;
    /**
     * Passed to the journal function. It is used until seconder_login() returns.
     */
    void *journal_userdata;
    /**
     * Set if texts reach the user only with the next question. A user who is to approve the login on the
     * phone is then asked to press Enter afterwards, instead of being waited for.
     */
    bool holds_text_back;
    /**
     * Set if the user has given the answer to the first question already, so that nothing is sent before
     * it is asked.
     */
    bool answered;
} seconder_login_options;

/**
 * The name of a status as in the header, such as "SECONDER_OK", for a log. "unknown" for a number
 * that is no status of this version. Never NULL.
 */
const char *seconder_status_name(seconder_status status);

/**
 * The status that the call returned. SECONDER_INVALID_ARGUMENT for NULL, so that a missing error
 * is never taken for success.
 */
seconder_status seconder_error_status(const struct seconder_error *error);

/**
 * Says what happened and what to do about it, in English, for a log. Never NULL, and at most 8192
 * bytes: for a NULL argument the message is "no error".
 */
const char *seconder_error_message(const struct seconder_error *error);

/**
 * The number of invalid fields, as found by the service or by the check of the arguments.
 */
size_t seconder_error_field_count(const struct seconder_error *error);

/**
 * The name of the field at `index`, as in the interface; NULL if `index` is out of range.
 */
const char *seconder_error_field_name(const struct seconder_error *error, size_t index);

/**
 * The fault of the field at `index`; NULL if `index` is out of range.
 */
const char *seconder_error_field_text(const struct seconder_error *error, size_t index);

/**
 * The HTTP status of a rejection (interface 7), otherwise 0.
 */
int32_t seconder_error_http_status(const struct seconder_error *error);

/**
 * The service's own error code, such as "60026" (interface 7), for SECONDER_REJECTED,
 * SECONDER_RATE_LIMITED, SECONDER_UNAUTHORIZED, SECONDER_TOKEN_WRONG and SECONDER_TOKEN_REUSED.
 * NULL for others, and if the service sent none. An engine in this process has the codes that a
 * remote service sends.
 */
const char *seconder_error_service_code(const struct seconder_error *error);

/**
 * The name of the limit that was reached, such as "cool_down", "wrong_codes" or "country_day", if
 * the status is SECONDER_RATE_LIMITED and the service says which: interface 8 lists them. NULL if
 * not. Services of other projects do not say it, and a later version may have more names.
 */
const char *seconder_error_limit(const struct seconder_error *error);

/**
 * Returns whether the limit that was reached is one of the whole application: "country_day",
 * "application_day" or "key_rate". Its users cannot do anything about it, but the operator can
 * raise it.
 */
bool seconder_error_is_operator_limit(const struct seconder_error *error);

/**
 * The service's own message, for SECONDER_REJECTED, SECONDER_RATE_LIMITED and
 * SECONDER_UNAUTHORIZED. NULL for others. Its wording changes over the years, so decide on the
 * status and on the service's code instead.
 */
const char *seconder_error_service_message(const struct seconder_error *error);

/**
 * The stage at which the call failed, if the status is SECONDER_UNAVAILABLE: one of
 * SECONDER_STAGE_...; otherwise SECONDER_STAGE_NONE.
 */
int32_t seconder_error_stage(const struct seconder_error *error);

/**
 * The name of the invalid argument or option, if the status is SECONDER_INVALID_ARGUMENT or
 * SECONDER_TOKEN_MALFORMED. NULL for others.
 */
const char *seconder_error_parameter(const struct seconder_error *error);

/**
 * Returns whether the same call can be retried without the risk that it takes effect twice.
 */
bool seconder_error_retry_safe(const struct seconder_error *error);

/**
 * Returns whether the call failed because its time limit was reached.
 */
bool seconder_error_timed_out(const struct seconder_error *error);

/**
 * The time to wait before a retry, in whole seconds, rounded up, as in the message; 0 if that is
 * not known.
 */
uint64_t seconder_error_retry_after(const struct seconder_error *error);

/**
 * Frees an error. NULL is fine.
 */
void seconder_error_free(struct seconder_error *error);

/**
 * The characters of the text. NULL only for a NULL argument.
 */
const char *seconder_text_value(const struct seconder_text *text);

/**
 * Frees a text, and wipes it. NULL is fine.
 */
void seconder_text_free(struct seconder_text *text);

/**
 * Identifies the message: 16 hexadecimal digits. It is the same in each attempt to send the
 * message, so that a provider can recognise one that it has accepted before. NULL only for a NULL
 * argument.
 */
const char *seconder_message_id(const struct seconder_message *message);

/**
 * The phone number, in E.164 format: +15550100123. NULL only for a NULL argument.
 */
const char *seconder_message_to(const struct seconder_message *message);

/**
 * The channel: "sms" or "call". NULL only for a NULL argument.
 */
const char *seconder_message_via(const struct seconder_message *message);

/**
 * The text to be read or heard. NULL only for a NULL argument.
 */
const char *seconder_message_text(const struct seconder_message *message);

/**
 * The language of the text, with its region if it is known: "en-GB", "ar". NULL only for a NULL
 * argument.
 */
const char *seconder_message_language(const struct seconder_message *message);

/**
 * The code on its own, empty for the install message to a new user. NULL only for a NULL argument.
 */
const char *seconder_message_code(const struct seconder_message *message);

/**
 * When the code expires, in Unix seconds; 0 if there is no code.
 */
uint64_t seconder_message_expires_at(const struct seconder_message *message);

/**
 * For the deliver function, before it returns SECONDER_OUTCOME_SENT: the id that the provider gave to
 * the message, which is kept with it. NULL or an empty text: none.
 */
void seconder_message_set_provider_id(const struct seconder_message *message,
                                      const char *id);

/**
 * For the deliver function, before it returns SECONDER_OUTCOME_RETRY or
 * SECONDER_OUTCOME_NOT_ATTEMPTED: no other attempt is made earlier than after so many milliseconds. A message whose code has expired by then has failed for good.
 */
void seconder_message_set_retry_after_ms(const struct seconder_message *message,
                                         uint64_t after_ms);

/**
 * For the deliver function, before it returns anything but SECONDER_OUTCOME_SENT: what went wrong, in
 * words without the code, which become part of the error of the call. NULL: the number that is
 * returned.
 */
void seconder_message_set_reason(const struct seconder_message *message,
                                 const char *reason);

/**
 * The method to send the callback by, "POST" or "GET" (the option `callback_method`). NULL only
 * for a NULL argument.
 */
const char *seconder_signed_callback_method(const struct seconder_signed_callback *signed_callback);

/**
 * The URL to send the callback to, without the query. NULL only for a NULL argument.
 */
const char *seconder_signed_callback_url(const struct seconder_signed_callback *signed_callback);

/**
 * The query to send by GET, without the question mark; empty for a POST. NULL only for a NULL
 * argument.
 */
const char *seconder_signed_callback_query(const struct seconder_signed_callback *signed_callback);

/**
 * The JSON body, owned by the callback. It is not NUL-terminated, and empty for a GET. NULL only for a
 * NULL argument.
 */
const void *seconder_signed_callback_body(const struct seconder_signed_callback *callback);

/**
 * The size of the body in bytes.
 */
size_t seconder_signed_callback_body_size(const struct seconder_signed_callback *callback);

/**
 * The number of headers. They carry the signature and its nonce (interface 5.5), which are new in each
 * attempt, and as Seconder-Delivery an id that is the same in all attempts to post the callback.
 */
size_t seconder_signed_callback_header_count(const struct seconder_signed_callback *callback);

/**
 * The name of the header at `index`; NULL if `index` is out of range.
 */
const char *seconder_signed_callback_header_name(const struct seconder_signed_callback *callback,
                                                 size_t index);

/**
 * The value of the header at `index`; NULL if `index` is out of range.
 */
const char *seconder_signed_callback_header_value(const struct seconder_signed_callback *callback,
                                                  size_t index);

/**
 * For the post function, before it returns SECONDER_OUTCOME_RETRY or SECONDER_OUTCOME_NOT_ATTEMPTED:
 * the callback is not posted again earlier than after so many milliseconds.
 */
void seconder_signed_callback_set_retry_after_ms(const struct seconder_signed_callback *callback,
                                                 uint64_t after_ms);

/**
 * For the post function, before it returns anything but SECONDER_OUTCOME_SENT: what went wrong, in
 * words, which are kept with the callback. NULL: the number that is returned.
 */
void seconder_signed_callback_set_reason(const struct seconder_signed_callback *callback,
                                         const char *reason);

/**
 * For the lookup function: the name of the carrier. NULL or an empty text: not known.
 */
void seconder_phone_line_set_carrier(const struct seconder_phone_line *line, const char *carrier);

/**
 * For the lookup function: what is at the other end, one of SECONDER_LINE_TYPE_.... Any other number:
 * not known.
 */
void seconder_phone_line_set_kind(const struct seconder_phone_line *line,
                                  int32_t kind);

/**
 * For the lookup function: whether the number was ported from another carrier, SECONDER_YES or
 * SECONDER_NO. Any other number: not known.
 */
void seconder_phone_line_set_ported(const struct seconder_phone_line *line, int32_t ported);

/**
 * Opens a service.
 *
 * `url` selects the service: `https://...` for a remote service, `unix:/path/of.sock` for a service
 * on this machine by its Unix socket, `sqlite:/path/file.db` for an engine in this process,
 * `postgres://user@host/database` for one on a database that several processes and machines share
 * (docs/scale.md has its parameters; the option `keyring` is required),
 * `sandbox:` for an engine that keeps nothing and accepts every token, for the tests of applications
 * (`sandbox:?accept=0000000` accepts that token alone, and `sandbox:?accept=right` checks codes as
 * `sqlite:` does). A sandbox that does not check codes has
 * no waits and caps, and accepts 0000 for every phone number. With `clear_every`, as in
 * `sandbox:?accept=0000000&clear_every=86400`, a sandbox is emptied every that many seconds, 1 to
 * 31536000, when a call begins; seconder_clear_sandbox() empties it at once.
 *
 * `api_key` is the application's API key. A service on the network requires it; for an engine it may
 * be NULL, which generates one for the first application of a new database. A service on this
 * machine recognises the user of this process instead: it must be NULL for `unix:`.
 *
 * Free `out` with seconder_service_free(). SECONDER_INVALID_ARGUMENT for an invalid URL or option,
 * an option that has no effect with the URL, or a URL that this build of the library cannot open;
 * SECONDER_STORAGE for a database that cannot be opened, or does not exist although the option
 * `must_exist` is set; SECONDER_UNAUTHORIZED if the database has no application with that API key;
 * SECONDER_UNAVAILABLE if a file of certificates cannot be read because the process has no
 * descriptors or memory left. Nothing is sent before the first call.
 */
SECONDER_MUST_USE
seconder_status seconder_open(const char *url,
                              const char *api_key,
                              const struct seconder_open_options *options,
                              size_t options_size,
                              struct seconder_service **out,
                              struct seconder_error **error);

/**
 * Opens a service as seconder_open() does, with options that are written as text: for languages
 * that can call C, and cannot make a struct of it.
 *
 * `options` has a line for each option: the name of the field in seconder_open_options, `=`, and the
 * value. The time limit is `timeout` instead, in seconds, as in `timeout=2.5`; constants are words in
 * small letters, as in `format=xml` and `callback_method=get`; flags are `yes` or `no`; the values of
 * a list have spaces between them; `names` is the word in place of `svc`. Functions cannot be written.
 * It may be NULL. A line that cannot be understood, an unknown name, and an option that is there
 * twice are SECONDER_INVALID_ARGUMENT with the line's number, and so is all that seconder_open()
 * rejects.
 *
 * Free `out` with seconder_service_free().
 */
SECONDER_MUST_USE
seconder_status seconder_open_text(const char *url,
                                   const char *api_key,
                                   const char *options,
                                   struct seconder_service **out,
                                   struct seconder_error **error);

/**
 * Creates a second handle of a service, sharing its connections or its engine, with another time
 * limit or another choice of retries.
 *
 * `timeout_ms` is the time limit of each call in milliseconds, at most 3600000; 0 keeps the one of
 * `service`. `repeats` is one of SECONDER_REPEATS_...; 0 keeps the one of `service`. Neither affects
 * an engine in this process, which waits for no response and retries nothing, unless a call meets a fault
 * of seconder_sandbox_fail(). The new handle has the log function of `service`, and is not cancelled even
 * if `service` is.
 *
 * Free `out` with seconder_service_free(), before or after `service`: the handles are independent
 * of each other. SECONDER_INVALID_ARGUMENT if `timeout_ms` or `repeats` is out of range.
 */
SECONDER_MUST_USE
seconder_status seconder_service_with(const struct seconder_service *service,
                                      uint32_t timeout_ms,
                                      int32_t repeats,
                                      struct seconder_service **out,
                                      struct seconder_error **error);

/**
 * Ends the calls under way with this handle, on whichever threads, and every later one, with
 * SECONDER_CANCELLED. A call that waits for the network ends within 100 ms, and so does
 * seconder_wait_for_approval(); a call that an engine in this process has begun is completed.
 * seconder_error_retry_safe() on the error says whether the request may have been sent: if not, the
 * call has had no effect.
 *
 * A handle stays cancelled, so that a call cannot slip through by beginning a moment later. To be
 * able to cancel one call alone, make it with a handle of its own by seconder_service_with(): other
 * handles of the service are not affected, and keep their connections. The service can be used
 * again with another handle, also with one made from the cancelled one.
 *
 * It may be called from any thread and in a signal handler: it only stores a flag. NULL is fine.
 * The handle must not be freed yet.
 */
void seconder_service_cancel(const struct seconder_service *service);

/**
 * Frees a service. The last call with this handle must have returned. NULL is fine.
 *
 * If the program has closed descriptors of the database, nothing is written, and the log function
 * gets SECONDER_STORAGE and a line with "call=close".
 */
void seconder_service_free(struct seconder_service *service);

/**
 * The application's API key as it is now, with which an engine in this process signs callbacks. The
 * text is owned by the service, also after the key was replaced. NULL, and an error with
 * SECONDER_INVALID_ARGUMENT, if the service is a remote one.
 */
const char *seconder_api_key(const struct seconder_service *service, struct seconder_error **error);

/**
 * The version of the library, such as "0.1.0". Valid as long as the library is loaded. Never NULL.
 */
const char *seconder_version(void);

/**
 * The parts of this build, with spaces between them: "client engine postgres" in the full library,
 * whose databases may be in SQLite or PostgreSQL, and "client" in the one without an engine. Valid as long as the
 * library is loaded. Never NULL.
 */
const char *seconder_parts(void);

/**
 * Sets the function that logs each call of this handle, and of handles that
 * seconder_service_with() makes from it later. NULL removes it. Other handles keep theirs.
 *
 * A wait by seconder_wait_for_approval() is one call. What only reads or opens a service is not
 * logged (seconder_service_free() is, as "call=close", if the program has closed descriptors of the
 * database), and neither is an argument that is rejected before there is a call, such as a NULL, or a
 * token with a letter.
 *
 * `log_userdata_free` is called exactly once with `log_userdata`, when nothing can use it any longer:
 * after another function was set and the calls under way have ended, at the latest when the last
 * handle that shares the function is freed; and before this returns if it fails.
 * SECONDER_INVALID_ARGUMENT if `service` is NULL. It never blocks: SECONDER_INTERNAL if another
 * thread was setting a function when this process was forked.
 */
SECONDER_MUST_USE
seconder_status seconder_set_log(const struct seconder_service *service,
                                 seconder_log function,
                                 void *log_userdata,
                                 seconder_userdata_free log_userdata_free,
                                 struct seconder_error **error);

/**
 * The service's message. NULL if the service does not provide it.
 */
const char *seconder_done_message(const struct seconder_done *done);

/**
 * Frees the reply of seconder_delete_user() and similar calls. NULL is fine.
 */
void seconder_done_free(struct seconder_done *done);

/**
 * Enrols a user, or adds an e-mail address to the user who already has this cellphone (interface
 * 4.1). Without a number, enrols a user by the e-mail address, or returns the user without a
 * number who has it: for an application that has authenticator apps only.
 *
 * The person who typed the number or the address need not have it. Verify the number first, with
 * seconder_start_phone_verification() and seconder_check_phone_verification(), or the address by
 * an e-mail, and set `new_only`. Otherwise the second factor of the user who has it becomes the
 * one of the person who typed it.
 *
 * `email` is one of the user's e-mail addresses: name@example.com, at most 254 bytes. It
 * identifies a user without a phone number. `cellphone` is the phone number, which identifies the
 * user: 4 to 15 digits in groups that dashes, periods or spaces may separate. Two calls with the
 * same number return the same user. A user without one is sent no codes. It may be NULL.
 * `country_code` is the calling code of the number: "1" to "999". It may be NULL.
 *
 * Free `out` with seconder_user_created_free(). SECONDER_REJECTED if the service rejects a value,
 * which seconder_error_field_name() names; with `new_only`, that is `cellphone` if a user has the
 * number already, and without a number `email` if a user without one has the address. Other
 * statuses are as described at the top of the header.
 */
SECONDER_MUST_USE
seconder_status seconder_create_user(const struct seconder_service *service,
                                     const char *email,
                                     const char *cellphone,
                                     const char *country_code,
                                     const struct seconder_create_user_options *options,
                                     size_t options_size,
                                     struct seconder_user_created **out,
                                     struct seconder_error **error);

/**
 * The id to store and to pass to the other calls.
 */
uint64_t seconder_user_created_user_id(const struct seconder_user_created *user_created);

/**
 * Returns whether the call enrolled the user. False for a user who was there before, who may be
 * another person than the one who typed the number. False also if the service does not say: only a
 * service of Seconder does. seconder_user_created_created_known() says whether it does.
 */
bool seconder_user_created_created(const struct seconder_user_created *user_created);

/**
 * Returns whether the service provides the value of seconder_user_created_created().
 */
bool seconder_user_created_created_known(const struct seconder_user_created *user_created);

/**
 * The service's message. NULL if the service does not provide it.
 */
const char *seconder_user_created_message(const struct seconder_user_created *user_created);

/**
 * The outcome of the text message with a link to the app. "sent": it was sent; "queued": it could
 * not be sent yet, and is attempted again; "not_configured": it is not sent, because the
 * application has no link to an app, or SMS is not enabled for it; "not_requested": it is not
 * sent, because the call does not request it, or the user was there before; "failed": it could not
 * be sent. NULL if the service does not say: only a service of Seconder does.
 */
const char *seconder_user_created_install_message(const struct seconder_user_created *user_created);

/**
 * Frees the reply of seconder_create_user(). NULL is fine.
 */
void seconder_user_created_free(struct seconder_user_created *user_created);

/**
 * Removes a user and all data about the user from the application (interface 4.5).
 *
 * `user_id` is the user to remove.
 *
 * `out` may be NULL; otherwise free it with seconder_done_free(). SECONDER_REJECTED if there is no
 * such user. Other statuses are as described at the top of the header.
 */
SECONDER_MUST_USE
seconder_status seconder_delete_user(const struct seconder_service *service,
                                     uint64_t user_id,
                                     const struct seconder_call_options *options,
                                     size_t options_size,
                                     struct seconder_done **out,
                                     struct seconder_error **error);

/**
 * Reports a user's activity to the service, for fraud detection (interface 4.6).
 *
 * `user_id` is the user whom the activity is about. `type` is the kind of activity:
 * "password_reset", "banned", "unbanned" or "cookie_login".
 *
 * `out` may be NULL; otherwise free it with seconder_done_free(). SECONDER_REJECTED if there is no
 * such user. Other statuses are as described at the top of the header.
 */
SECONDER_MUST_USE
seconder_status seconder_register_activity(const struct seconder_service *service,
                                           uint64_t user_id,
                                           const char *type,
                                           const struct seconder_register_activity_options *options,
                                           size_t options_size,
                                           struct seconder_done **out,
                                           struct seconder_error **error);

/**
 * Requests the service's record of a user (interface 4.8).
 *
 * `user_id` is the user whose record is returned.
 *
 * Free `out` with seconder_user_status_reply_free(). SECONDER_REJECTED if there is no such user.
 * Other statuses are as described at the top of the header.
 */
SECONDER_MUST_USE
seconder_status seconder_user_status(const struct seconder_service *service,
                                     uint64_t user_id,
                                     const struct seconder_call_options *options,
                                     size_t options_size,
                                     struct seconder_user_status_reply **out,
                                     struct seconder_error **error);

/**
 * The user's id.
 */
uint64_t seconder_user_status_reply_user_id(const struct seconder_user_status_reply *user_status_reply);

/**
 * Returns whether the user has used a valid code.
 */
bool seconder_user_status_reply_confirmed(const struct seconder_user_status_reply *user_status_reply);

/**
 * Returns whether the user has registered an app.
 */
bool seconder_user_status_reply_registered(const struct seconder_user_status_reply *user_status_reply);

/**
 * The calling code of the user's number. 0 if the service does not provide it.
 */
uint64_t seconder_user_status_reply_country_code(const struct seconder_user_status_reply *user_status_reply);

/**
 * The user's number, masked: "XXX-XXX-0123". NULL if the service does not provide it.
 */
const char *seconder_user_status_reply_phone_number(const struct seconder_user_status_reply *user_status_reply);

/**
 * The number of values that seconder_user_status_reply_device() returns.
 */
size_t seconder_user_status_reply_device_count(const struct seconder_user_status_reply *user_status_reply);

/**
 * The types of device that generate or receive codes: "android", "android_tablet", "ios",
 * "svc_chrome", "sms". Returns the one at `index`, owned by the handle; NULL if `index` is out of
 * range.
 */
const char *seconder_user_status_reply_device(const struct seconder_user_status_reply *user_status_reply,
                                              size_t index);

/**
 * Returns whether the user has a hardware token.
 */
bool seconder_user_status_reply_has_hard_token(const struct seconder_user_status_reply *user_status_reply);

/**
 * Returns whether the user's account is disabled.
 */
bool seconder_user_status_reply_account_disabled(const struct seconder_user_status_reply *user_status_reply);

/**
 * The factors that protect the account. Owned by the handle. NULL if the service does not say:
 * only a service of Seconder does.
 */
const struct seconder_factors *seconder_user_status_reply_factors(const struct seconder_user_status_reply *user_status_reply);

/**
 * When the user was created, in Unix seconds. 0 if the service does not say: only a service of
 * Seconder does.
 */
int64_t seconder_user_status_reply_created_at(const struct seconder_user_status_reply *user_status_reply);

/**
 * The service's message. NULL if the service does not provide it.
 */
const char *seconder_user_status_reply_message(const struct seconder_user_status_reply *user_status_reply);

/**
 * Frees the reply of seconder_user_status(). NULL is fine.
 */
void seconder_user_status_reply_free(struct seconder_user_status_reply *user_status_reply);

/**
 * Finds the user who has a login name, and what the user can log in with (interface 4.17).
 *
 * `login` is the login name: 1 to 64 letters, digits and the characters _ . @ + - of ASCII,
 * beginning with a letter, a digit or _; a $ may be at the end.
 *
 * Free `out` with seconder_found_user_free(). SECONDER_REJECTED with the service code "60026" if
 * no user has the name, and with another one if the service has no such call. Other statuses are
 * as described at the top of the header.
 */
SECONDER_MUST_USE
seconder_status seconder_find_user(const struct seconder_service *service,
                                   const char *login,
                                   struct seconder_found_user **out,
                                   struct seconder_error **error);

/**
 * The user's id.
 */
uint64_t seconder_found_user_user_id(const struct seconder_found_user *found_user);

/**
 * The login name. NULL only for a NULL argument.
 */
const char *seconder_found_user_login(const struct seconder_found_user *found_user);

/**
 * Returns whether the user has used a valid code.
 */
bool seconder_found_user_confirmed(const struct seconder_found_user *found_user);

/**
 * Returns whether the user has a confirmed authenticator app.
 */
bool seconder_found_user_authenticator(const struct seconder_found_user *found_user);

/**
 * The number of values that seconder_found_user_device() returns.
 */
size_t seconder_found_user_device_count(const struct seconder_found_user *found_user);

/**
 * The types of device that generate or receive codes, as in the status of a user: "android",
 * "android_tablet", "ios", "svc_chrome", "sms". Returns the one at `index`, owned by the handle;
 * NULL if `index` is out of range.
 */
const char *seconder_found_user_device(const struct seconder_found_user *found_user, size_t index);

/**
 * The number of recovery codes that the user has left.
 */
uint64_t seconder_found_user_recovery_codes_left(const struct seconder_found_user *found_user);

/**
 * The service's message. NULL if the service does not provide it.
 */
const char *seconder_found_user_message(const struct seconder_found_user *found_user);

/**
 * Frees the reply of seconder_find_user(). NULL is fine.
 */
void seconder_found_user_free(struct seconder_found_user *found_user);

/**
 * Gives a user a login name (interface 4.18). A user has one at most.
 *
 * `user_id` is the user who gets the name. `login` is the login name: 1 to 64 letters, digits and
 * the characters _ . @ + - of ASCII, beginning with a letter, a digit or _; a $ may be at the end.
 *
 * `out` may be NULL; otherwise free it with seconder_done_free(). SECONDER_REJECTED if there is no
 * such user, if another user has the name, or if the user has another one: remove that first.
 * Other statuses are as described at the top of the header.
 */
SECONDER_MUST_USE
seconder_status seconder_set_login(const struct seconder_service *service,
                                   uint64_t user_id,
                                   const char *login,
                                   struct seconder_done **out,
                                   struct seconder_error **error);

/**
 * Takes a login name from the user who has it (interface 4.19).
 *
 * `login` is the login name: 1 to 64 letters, digits and the characters _ . @ + - of ASCII,
 * beginning with a letter, a digit or _; a $ may be at the end.
 *
 * `out` may be NULL; otherwise free it with seconder_done_free(). SECONDER_REJECTED if no user has
 * the name. Other statuses are as described at the top of the header.
 */
SECONDER_MUST_USE
seconder_status seconder_remove_login(const struct seconder_service *service,
                                      const char *login,
                                      struct seconder_done **out,
                                      struct seconder_error **error);

/**
 * Creates a set of recovery codes for a user, in place of any that the user has (interface 4.20).
 * Show them to the user, who keeps them on paper: each is right once, as the token of
 * seconder_verify(), and they are returned only here.
 *
 * `user_id` is the user who gets the codes.
 *
 * Free `out` with seconder_recovery_codes_free(), which wipes it. SECONDER_REJECTED if there is no
 * such user. Other statuses are as described at the top of the header.
 */
SECONDER_MUST_USE
seconder_status seconder_create_recovery_codes(const struct seconder_service *service,
                                               uint64_t user_id,
                                               struct seconder_recovery_codes **out,
                                               struct seconder_error **error);

/**
 * The number of values that seconder_recovery_codes_code() returns.
 */
size_t seconder_recovery_codes_code_count(const struct seconder_recovery_codes *recovery_codes);

/**
 * The codes, of 12 digits each. Returns the one at `index`, owned by the handle; NULL if `index`
 * is out of range.
 */
const char *seconder_recovery_codes_code(const struct seconder_recovery_codes *recovery_codes,
                                         size_t index);

/**
 * The service's message. NULL if the service does not provide it.
 */
const char *seconder_recovery_codes_message(const struct seconder_recovery_codes *recovery_codes);

/**
 * Frees the reply of seconder_create_recovery_codes(), and wipes it. NULL is fine.
 */
void seconder_recovery_codes_free(struct seconder_recovery_codes *recovery_codes);

/**
 * Sends a code by SMS (interface 4.2).
 *
 * `user_id` is the user to whom the code is sent.
 *
 * `out` may be NULL; otherwise free it with seconder_code_requested_free(). SECONDER_RATE_LIMITED
 * if the user was sent an SMS for this action a moment ago, or too many codes; SECONDER_REJECTED
 * if there is no such user, or if codes cannot be sent by SMS. Other statuses are as described at
 * the top of the header.
 */
SECONDER_MUST_USE
seconder_status seconder_request_sms(const struct seconder_service *service,
                                     uint64_t user_id,
                                     const struct seconder_request_code_options *options,
                                     size_t options_size,
                                     struct seconder_code_requested **out,
                                     struct seconder_error **error);

/**
 * Sends a code by voice call (interface 4.3).
 *
 * `user_id` is the user to whom the code is sent.
 *
 * `out` may be NULL; otherwise free it with seconder_code_requested_free(). SECONDER_RATE_LIMITED
 * if the user was called for this action a moment ago, or sent too many codes; an SMS a moment ago
 * does not matter, and the call says the same code. SECONDER_REJECTED if there is no such user, or
 * if codes cannot be sent by voice call. Other statuses are as described at the top of the header.
 */
SECONDER_MUST_USE
seconder_status seconder_request_call(const struct seconder_service *service,
                                      uint64_t user_id,
                                      const struct seconder_request_code_options *options,
                                      size_t options_size,
                                      struct seconder_code_requested **out,
                                      struct seconder_error **error);

/**
 * The service's message. NULL if the service does not provide it.
 */
const char *seconder_code_requested_message(const struct seconder_code_requested *code_requested);

/**
 * The number used, masked: "+1-XXX-XXX-XX23". NULL if the service does not provide it.
 */
const char *seconder_code_requested_cellphone(const struct seconder_code_requested *code_requested);

/**
 * Returns whether nothing was sent because the user has an app and the code was not forced.
 */
bool seconder_code_requested_ignored(const struct seconder_code_requested *code_requested);

/**
 * The user's latest device, if the request was ignored. NULL if the service does not provide it.
 */
const char *seconder_code_requested_device(const struct seconder_code_requested *code_requested);

/**
 * After how many seconds another request for the same action by the same channel is accepted, even
 * if the code is not used. 0 also if nothing was sent, or if the service does not say: only a
 * service of Seconder does. seconder_code_requested_resend_after_known() says whether it does.
 */
uint64_t seconder_code_requested_resend_after(const struct seconder_code_requested *code_requested);

/**
 * Returns whether the service provides the value of seconder_code_requested_resend_after().
 */
bool seconder_code_requested_resend_after_known(const struct seconder_code_requested *code_requested);

/**
 * Frees the reply of seconder_request_sms() or seconder_request_call(). NULL is fine.
 */
void seconder_code_requested_free(struct seconder_code_requested *code_requested);

/**
 * Checks the code that a user typed (interface 4.4).
 *
 * Only SECONDER_OK means that the code was checked and is correct. SECONDER_TOKEN_WRONG,
 * SECONDER_TOKEN_REUSED and SECONDER_TOKEN_NOT_CHECKED say why it was not accepted. Without
 * `force`, the code of a user who is not confirmed yet is not checked.
 *
 * `user_id` is the user to verify. `token` is the code that the user typed: 6 to 12 digits and
 * nothing else. Any other text is SECONDER_TOKEN_MALFORMED.
 *
 * `out` may be NULL; otherwise free it with seconder_verification_free(). SECONDER_RATE_LIMITED
 * after wrong codes, until the user may try again. Other statuses are as described at the top of
 * the header.
 */
SECONDER_MUST_USE
seconder_status seconder_verify(const struct seconder_service *service,
                                uint64_t user_id,
                                const char *token,
                                const struct seconder_verify_options *options,
                                size_t options_size,
                                struct seconder_verification **out,
                                struct seconder_error **error);

/**
 * The service's message. NULL if the service does not provide it.
 */
const char *seconder_verification_message(const struct seconder_verification *verification);

/**
 * The device that generated or received the code, if the service provides it (interface 2.5).
 * Owned by the handle. NULL if the service does not provide it.
 */
const struct seconder_device_info *seconder_verification_device(const struct seconder_verification *verification);

/**
 * Frees the reply of seconder_verify() or seconder_confirm_authenticator(). NULL is fine.
 */
void seconder_verification_free(struct seconder_verification *verification);

/**
 * Issues a new secret for a user's authenticator app, with a QR code. A previous secret remains
 * valid until a code of the new one has been accepted: check one with
 * seconder_confirm_authenticator().
 *
 * `user_id` is the user whose app gets the secret.
 *
 * Free `out` with seconder_authenticator_enrolled_free(), which wipes it. SECONDER_REJECTED if
 * there is no such user. Other statuses are as described at the top of the header.
 */
SECONDER_MUST_USE
seconder_status seconder_enrol_authenticator(const struct seconder_service *service,
                                             uint64_t user_id,
                                             const struct seconder_enrol_authenticator_options *options,
                                             size_t options_size,
                                             struct seconder_authenticator_enrolled **out,
                                             struct seconder_error **error);

/**
 * The label that the app shows with the code. NULL if the service does not provide it.
 */
const char *seconder_authenticator_enrolled_label(const struct seconder_authenticator_enrolled *authenticator_enrolled);

/**
 * The name of the application that the code is for. NULL if the service does not provide it.
 */
const char *seconder_authenticator_enrolled_issuer(const struct seconder_authenticator_enrolled *authenticator_enrolled);

/**
 * The "otpauth:" URI that contains the secret. NULL only for a NULL argument.
 */
const char *seconder_authenticator_enrolled_uri(const struct seconder_authenticator_enrolled *authenticator_enrolled);

/**
 * The URI as a QR code: a "data:" or "https:" URL for an `<img>`. NULL only for a NULL argument.
 */
const char *seconder_authenticator_enrolled_qr_code(const struct seconder_authenticator_enrolled *authenticator_enrolled);

/**
 * Frees the reply of seconder_enrol_authenticator(), and wipes it. NULL is fine.
 */
void seconder_authenticator_enrolled_free(struct seconder_authenticator_enrolled *authenticator_enrolled);

/**
 * Checks a code of the authenticator app that seconder_enrol_authenticator() has enrolled last, if
 * it is still pending, and of no other factor (interface 4.23). The right one makes it the user's
 * app, in place of an earlier one. seconder_verify() accepts any code of the user, such as one by
 * SMS, so it does not show that the user has scanned the new secret.
 *
 * Only SECONDER_OK means that the code was checked and is correct. SECONDER_TOKEN_WRONG and
 * SECONDER_TOKEN_REUSED say why it was not accepted.
 *
 * `user_id` is the user who scanned the secret. `code` is the code that the user typed: 6 to 12
 * digits and nothing else. Any other text is SECONDER_TOKEN_MALFORMED.
 *
 * `out` may be NULL; otherwise free it with seconder_verification_free(). SECONDER_RATE_LIMITED
 * after wrong codes, until the user may try again; SECONDER_REJECTED with the service code
 * "no_pending_authenticator" if no app of the user is pending. Other statuses are as described at
 * the top of the header.
 */
SECONDER_MUST_USE
seconder_status seconder_confirm_authenticator(const struct seconder_service *service,
                                               uint64_t user_id,
                                               const char *code,
                                               struct seconder_verification **out,
                                               struct seconder_error **error);

/**
 * Returns whether codes can be sent to the user's number by SMS.
 */
bool seconder_factors_sms(const struct seconder_factors *factors);

/**
 * The number of values that seconder_factors_authenticator() returns.
 */
size_t seconder_factors_authenticator_count(const struct seconder_factors *factors);

/**
 * The user's authenticator apps, oldest first: at most one that is confirmed, and one that is
 * pending. Returns the one at `index`, owned by the handle; NULL if `index` is out of range.
 */
const struct seconder_authenticator *seconder_factors_authenticator(const struct seconder_factors *factors,
                                                                    size_t index);

/**
 * The number of values that seconder_factors_device() returns.
 */
size_t seconder_factors_device_count(const struct seconder_factors *factors);

/**
 * The devices that the user has registered for approval requests, oldest first. Returns the one at
 * `index`, owned by the handle; NULL if `index` is out of range.
 */
const struct seconder_registered_device *seconder_factors_device(const struct seconder_factors *factors,
                                                                 size_t index);

/**
 * The number of recovery codes that the user has left.
 */
uint64_t seconder_factors_recovery_codes(const struct seconder_factors *factors);

/**
 * Returns whether codes by SMS and voice are not checked, after too many wrong ones in a row,
 * until seconder_unlock_user(); false if the service does not say.
 */
bool seconder_factors_codes_locked(const struct seconder_factors *factors);

/**
 * Returns whether the codes of authenticator apps are not checked, until seconder_unlock_user().
 */
bool seconder_factors_authenticators_locked(const struct seconder_factors *factors);

/**
 * Returns whether recovery codes are not checked, until seconder_unlock_user().
 */
bool seconder_factors_recovery_codes_locked(const struct seconder_factors *factors);

/**
 * Removes an authenticator app of a user, confirmed or pending (interface 4.24). Its codes are
 * wrong from then on, except on machines that have prepared logins without the service (interface
 * 4.21). A user who has no app and no device left is sent codes by SMS again. Removing a confirmed
 * app also forgets the remembered browsers of the user.
 *
 * `user_id` is the user who has the app. `authenticator_id` is the app, by its id in
 * seconder_factors: 1 to 64 letters, digits and dashes of ASCII.
 *
 * `out` may be NULL; otherwise free it with seconder_done_free(). SECONDER_REJECTED with the
 * service code "authenticator_not_found" if the user has no such app. Other statuses are as
 * described at the top of the header.
 */
SECONDER_MUST_USE
seconder_status seconder_remove_authenticator(const struct seconder_service *service,
                                              uint64_t user_id,
                                              const char *authenticator_id,
                                              struct seconder_done **out,
                                              struct seconder_error **error);

/**
 * Lists the devices that a user has registered for approval requests (interface 4.25).
 *
 * `user_id` is the user whose devices are listed.
 *
 * Free `out` with seconder_registered_devices_free(). SECONDER_REJECTED if there is no such user.
 * Other statuses are as described at the top of the header.
 */
SECONDER_MUST_USE
seconder_status seconder_devices(const struct seconder_service *service,
                                 uint64_t user_id,
                                 struct seconder_registered_devices **out,
                                 struct seconder_error **error);

/**
 * The number of values that seconder_registered_devices_device() returns.
 */
size_t seconder_registered_devices_device_count(const struct seconder_registered_devices *registered_devices);

/**
 * The devices, oldest first. Returns the one at `index`, owned by the handle; NULL if `index` is
 * out of range.
 */
const struct seconder_registered_device *seconder_registered_devices_device(const struct seconder_registered_devices *registered_devices,
                                                                            size_t index);

/**
 * The service's message. NULL if the service does not provide it.
 */
const char *seconder_registered_devices_message(const struct seconder_registered_devices *registered_devices);

/**
 * Frees the reply of seconder_devices(). NULL is fine.
 */
void seconder_registered_devices_free(struct seconder_registered_devices *registered_devices);

/**
 * Removes a registered device of a user (interface 4.26). Its secret is void from then on, and the
 * remembered browsers of the user are forgotten. Approval requests stay open for the user's other
 * devices; a user who has no app and no device left is sent codes by SMS again.
 *
 * `user_id` is the user who has the device. `device_id` is the device, by its id in
 * seconder_factors.
 *
 * `out` may be NULL; otherwise free it with seconder_done_free(). SECONDER_REJECTED with the
 * service code "device_not_found" if the user has no such device. Other statuses are as described
 * at the top of the header.
 */
SECONDER_MUST_USE
seconder_status seconder_remove_device(const struct seconder_service *service,
                                       uint64_t user_id,
                                       uint64_t device_id,
                                       struct seconder_done **out,
                                       struct seconder_error **error);

/**
 * Lets a user try codes again after too many wrong ones (interface 4.30). The counts of wrong
 * codes of all factors start again at 0, so it ends waits too. Codes that were sent have the tries
 * that they had.
 *
 * `user_id` is the user who may try again.
 *
 * `out` may be NULL; otherwise free it with seconder_done_free(). SECONDER_REJECTED if there is no
 * such user. Other statuses are as described at the top of the header.
 */
SECONDER_MUST_USE
seconder_status seconder_unlock_user(const struct seconder_service *service,
                                     uint64_t user_id,
                                     struct seconder_done **out,
                                     struct seconder_error **error);

/**
 * Makes an invitation, by which a user registers a phone that approves logins and shows codes
 * (interface 4.31). It can be used once, within ten minutes.
 *
 * `user_id` is the user who registers the phone.
 *
 * Free `out` with seconder_device_invited_free(), which wipes it. SECONDER_REJECTED with the
 * service code "no_public_url" if the service has no public URL, by which phones reach it, and if
 * there is no such user. Other statuses are as described at the top of the header.
 */
SECONDER_MUST_USE
seconder_status seconder_invite_device(const struct seconder_service *service,
                                       uint64_t user_id,
                                       const struct seconder_invite_device_options *options,
                                       size_t options_size,
                                       struct seconder_device_invited **out,
                                       struct seconder_error **error);

/**
 * The link that the user opens on the phone. NULL only for a NULL argument.
 */
const char *seconder_device_invited_link(const struct seconder_device_invited *device_invited);

/**
 * The code in the link, which can be typed too: ten letters and digits in two groups. NULL only
 * for a NULL argument.
 */
const char *seconder_device_invited_code(const struct seconder_device_invited *device_invited);

/**
 * The link as a QR code: a "data:" URL for an `<img>`. NULL only for a NULL argument.
 */
const char *seconder_device_invited_qr_code(const struct seconder_device_invited *device_invited);

/**
 * For how long the invitation is valid, in seconds.
 */
uint64_t seconder_device_invited_expires_in(const struct seconder_device_invited *device_invited);

/**
 * Frees the reply of seconder_invite_device(), and wipes it. NULL is fine.
 */
void seconder_device_invited_free(struct seconder_device_invited *device_invited);

/**
 * Remembers the browser of a user who has just proven the second factor, and returns a token for a
 * cookie of it (interface 4.27). seconder_recognise() accepts the token in place of the second
 * factor until it expires or seconder_forget() revokes it.
 *
 * The service does not check that there was a proof: the application calls this only after one,
 * and only for users who ask for it. The cookie should be "Secure", "HttpOnly" and "SameSite=Lax".
 * A user has at most 20 remembered browsers: for a further one, the oldest is forgotten.
 *
 * `user_id` is the user whose browser it is.
 *
 * Free `out` with seconder_remembered_free(), which wipes it. SECONDER_REJECTED if there is no
 * such user. Other statuses are as described at the top of the header.
 */
SECONDER_MUST_USE
seconder_status seconder_remember(const struct seconder_service *service,
                                  uint64_t user_id,
                                  const struct seconder_remember_options *options,
                                  size_t options_size,
                                  struct seconder_remembered **out,
                                  struct seconder_error **error);

/**
 * The token for the browser's cookie: at most 200 letters, digits, dashes, dots and underscores of
 * ASCII. It is returned only here. Anyone who has it needs no second factor. NULL only for a NULL
 * argument.
 */
const char *seconder_remembered_token(const struct seconder_remembered *remembered);

/**
 * When the token expires, in Unix seconds.
 */
uint64_t seconder_remembered_expires_at(const struct seconder_remembered *remembered);

/**
 * The service's message. NULL if the service does not provide it.
 */
const char *seconder_remembered_message(const struct seconder_remembered *remembered);

/**
 * Frees the reply of seconder_remember(), and wipes it. NULL is fine.
 */
void seconder_remembered_free(struct seconder_remembered *remembered);

/**
 * Checks the token of a remembered browser (interface 4.28).
 *
 * Only SECONDER_OK means that the browser is recognised: this application remembered it for this
 * user, and the token has neither expired nor been revoked. If not, the status is
 * SECONDER_NOT_RECOGNISED: request the second factor.
 *
 * It counts as no code, confirms no user, and does not extend the life of the token.
 *
 * `user_id` is the user who logs in. `token` is the token of the browser's cookie, which may be
 * any text.
 *
 * `out` may be NULL; otherwise free it with seconder_browser_check_free().
 * SECONDER_INVALID_RESPONSE if the service's reply does not say clearly whether the browser is
 * recognised; SECONDER_REJECTED if the service has no such call. Other statuses are as described
 * at the top of the header.
 */
SECONDER_MUST_USE
seconder_status seconder_recognise(const struct seconder_service *service,
                                   uint64_t user_id,
                                   const char *token,
                                   struct seconder_browser_check **out,
                                   struct seconder_error **error);

/**
 * The user whose browser it is, who is the user of the call.
 */
uint64_t seconder_browser_check_user_id(const struct seconder_browser_check *browser_check);

/**
 * The service's message. NULL if the service does not provide it.
 */
const char *seconder_browser_check_message(const struct seconder_browser_check *browser_check);

/**
 * Frees the reply of seconder_recognise(). NULL is fine.
 */
void seconder_browser_check_free(struct seconder_browser_check *browser_check);

/**
 * Forgets one remembered browser of a user, or all of them (interface 4.29). Their tokens are void
 * from then on. Without a token, it forgets all of them: for a user who changes the password,
 * loses a phone or asks to be logged out everywhere.
 *
 * `user_id` is the user whose browser it is. `token` is the token of the browser to forget;
 * without one, all browsers of the user are forgotten. A token that is not recognised is no error,
 * since there is nothing to forget. It may be NULL.
 *
 * `out` may be NULL; otherwise free it with seconder_done_free(). SECONDER_REJECTED if no token is
 * given and there is no such user. Other statuses are as described at the top of the header.
 */
SECONDER_MUST_USE
seconder_status seconder_forget(const struct seconder_service *service,
                                uint64_t user_id,
                                const char *token,
                                struct seconder_done **out,
                                struct seconder_error **error);

/**
 * Asks a user to approve something on their device (interface 4.12). An engine keeps the five
 * latest requests of a user open: a further one makes the oldest expire.
 *
 * `user_id` is the user to ask. `message` is the question shown to the user: 1 to 1024 bytes.
 *
 * Free `out` with seconder_approval_created_free(), which wipes it. SECONDER_RATE_LIMITED if the
 * user reported the last request as not theirs; SECONDER_REJECTED if there is no such user. Other
 * statuses are as described at the top of the header.
 */
SECONDER_MUST_USE
seconder_status seconder_create_approval(const struct seconder_service *service,
                                         uint64_t user_id,
                                         const char *message,
                                         const struct seconder_create_approval_options *options,
                                         size_t options_size,
                                         struct seconder_approval_created **out,
                                         struct seconder_error **error);

/**
 * The id of the request, for seconder_check_approval(). NULL only for a NULL argument.
 */
const char *seconder_approval_created_uuid(const struct seconder_approval_created *approval_created);

/**
 * The service's message. An engine's says if the user has no device that could respond. NULL if
 * the service does not provide it.
 */
const char *seconder_approval_created_message(const struct seconder_approval_created *approval_created);

/**
 * The number that the application shows and the user types on the device. NULL if the request
 * needs no number.
 */
const char *seconder_approval_created_number(const struct seconder_approval_created *approval_created);

/**
 * Frees the reply of seconder_create_approval(), and wipes it. NULL is fine.
 */
void seconder_approval_created_free(struct seconder_approval_created *approval_created);

/**
 * Requests a user's response to an approval request (interface 4.13).
 *
 * SECONDER_OK means that the request was found, not that the user approved it: call
 * seconder_approval_approved_by() on the reply.
 *
 * `uuid` is the id of the approval request, from seconder_create_approval(): 1 to 64 letters,
 * digits and dashes of ASCII.
 *
 * Free `out` with seconder_approval_free(). SECONDER_REJECTED if there is no such request. Other
 * statuses are as described at the top of the header.
 */
SECONDER_MUST_USE
seconder_status seconder_check_approval(const struct seconder_service *service,
                                        const char *uuid,
                                        struct seconder_approval **out,
                                        struct seconder_error **error);

/**
 * The user's response: one of SECONDER_APPROVAL_..., of which only SECONDER_APPROVAL_APPROVED lets
 * anyone in. SECONDER_APPROVAL_UNKNOWN for NULL.
 */
int32_t seconder_approval_status(const struct seconder_approval *approval);

/**
 * The id of the request. NULL if the service does not provide it.
 */
const char *seconder_approval_uuid(const struct seconder_approval *approval);

/**
 * The user to whom the request was sent. Compare it with the user who logs in, or call
 * seconder_approval_approved_by(). 0 if the service does not provide it.
 */
uint64_t seconder_approval_user_id(const struct seconder_approval *approval);

/**
 * One of the user's e-mail addresses. NULL if the service does not provide it.
 */
const char *seconder_approval_user_email(const struct seconder_approval *approval);

/**
 * The id of the application that sent the request, a text of the service's own. NULL if the
 * service does not provide it.
 */
const char *seconder_approval_app_id(const struct seconder_approval *approval);

/**
 * The number of that application. 0 if the service does not provide it.
 */
uint64_t seconder_approval_app_serial_id(const struct seconder_approval *approval);

/**
 * The name of that application. NULL if the service does not provide it.
 */
const char *seconder_approval_app_name(const struct seconder_approval *approval);

/**
 * The question shown to the user. NULL if the service does not provide it.
 */
const char *seconder_approval_message(const struct seconder_approval *approval);

/**
 * The details shown to the user. A JSON object as text, "{}" if it is empty. NULL only for a NULL
 * argument.
 */
const char *seconder_approval_details(const struct seconder_approval *approval);

/**
 * The details not shown to the user. A JSON object as text, "{}" if it is empty. NULL only for a
 * NULL argument.
 */
const char *seconder_approval_hidden_details(const struct seconder_approval *approval);

/**
 * The number of values that seconder_approval_logo() returns.
 */
size_t seconder_approval_logo_count(const struct seconder_approval *approval);

/**
 * The logos shown with the request. Returns the one at `index`, owned by the handle; NULL if
 * `index` is out of range.
 */
const struct seconder_logo *seconder_approval_logo(const struct seconder_approval *approval,
                                                   size_t index);

/**
 * When the request was created, in RFC 3339. NULL if the service does not provide it.
 */
const char *seconder_approval_created_at(const struct seconder_approval *approval);

/**
 * When the request last changed, in RFC 3339. NULL if the service does not provide it.
 */
const char *seconder_approval_updated_at(const struct seconder_approval *approval);

/**
 * When the user responded, in RFC 3339; NULL while the request is pending.
 */
const char *seconder_approval_processed_at(const struct seconder_approval *approval);

/**
 * The time that the request remains open, in seconds, or SECONDER_FOREVER. 0 if the service does
 * not provide it.
 */
int64_t seconder_approval_seconds_to_expire(const struct seconder_approval *approval);

/**
 * Returns whether a device was notified of the request. False also if the service does not say.
 * seconder_approval_notified_known() says whether it does.
 */
bool seconder_approval_notified(const struct seconder_approval *approval);

/**
 * Returns whether the service provides the value of seconder_approval_notified().
 */
bool seconder_approval_notified_known(const struct seconder_approval *approval);

/**
 * Frees the reply of seconder_check_approval(), seconder_wait_for_approval() or
 * seconder_respond_to_approval(). NULL is fine.
 */
void seconder_approval_free(struct seconder_approval *approval);

/**
 * Returns whether this user approved the request. Only this check may let anyone in, unless the service
 * never provides the user: see seconder_approval_approved_unbound(). False for NULL, for any other
 * answer, for another user, and if the service does not say which user was asked.
 */
bool seconder_approval_approved_by(const struct seconder_approval *approval,
                                   uint64_t user_id);

/**
 * Returns whether the request is approved, and the service names this user or none: for a service that
 * provides only the status. This is weaker than seconder_approval_approved_by(), which nothing
 * replaces where the service provides the user.
 *
 * An approval without a user says that somebody approved some request. If the uuid comes from the
 * browser, attackers approve a request of their own and present its uuid in another user's login.
 * So keep the uuid on the server, in the session of the login for whose user it was created; take
 * it from there alone; and delete it once it was used. A user is recognised only under the names
 * that `names` of seconder_open_options sets, so these must be the service's.
 *
 * False for NULL, for any other answer, and for another user.
 */
bool seconder_approval_approved_unbound(const struct seconder_approval *approval,
                                        uint64_t user_id);

/**
 * Waits until a user has answered an approval request, until it has expired, or until
 * `deadline_ms` milliseconds have passed (0 checks once), in which case the status is still
 * SECONDER_APPROVAL_PENDING. A login should use a request that expires with it
 * (`seconds_to_expire`): one that is still pending at the end can be approved later.
 *
 * It sleeps in the caller's thread. It polls at once, again after half a second, and then at
 * growing intervals of up to 5 seconds. It continues to poll if the service is busy or
 * unreachable.
 *
 * SECONDER_OK means that the request is this user's, not that the user approved: check that with
 * seconder_approval_approved_by() on the approval at `out`, and free it with
 * seconder_approval_free(). SECONDER_INVALID_ARGUMENT if the request belongs to another user,
 * whose approval must not let this user in; SECONDER_INVALID_RESPONSE if the service does not say
 * whose request it is, unless `unbound` is set; SECONDER_STOPPED if the stop function ended
 * this wait; SECONDER_CANCELLED if seconder_service_cancel() ended the calls of `service`;
 * otherwise the status with which the last poll failed.
 */
SECONDER_MUST_USE
seconder_status seconder_wait_for_approval(const struct seconder_service *service,
                                           const char *uuid,
                                           uint64_t user_id,
                                           uint32_t deadline_ms,
                                           const struct seconder_wait_for_approval_options *options,
                                           size_t options_size,
                                           struct seconder_approval **out,
                                           struct seconder_error **error);

/**
 * Prepares logins of a user while the service is unreachable: returns a hash of each code that the
 * user's authenticator app will show in the next days (interface 4.21). The secret stays with the
 * service. A machine must accept a step once, and none before it, and report each login with
 * seconder_report_offline().
 *
 * The call requires the code of the app that the service has accepted just now, so only someone
 * who was given that code can prepare anything, and once. The service must allow it:
 * `offline_days` of seconder_open_options. A wrong code counts as a wrong code of
 * seconder_verify() does.
 *
 * `user_id` is the user who logs in. `token` is the code of the app that was accepted in the last
 * five minutes: 6 to 12 digits and nothing else. Any other text is SECONDER_TOKEN_MALFORMED.
 *
 * Free `out` with seconder_offline_prepared_free(), which wipes it. SECONDER_REJECTED if the
 * service does not allow it, if the code is not the one that was accepted last, such as a code by
 * SMS, if the user's app has not shown a right code yet, or if there is no such user;
 * SECONDER_RATE_LIMITED after wrong codes. Other statuses are as described at the top of the
 * header.
 */
SECONDER_MUST_USE
seconder_status seconder_prepare_offline(const struct seconder_service *service,
                                         uint64_t user_id,
                                         const char *token,
                                         const struct seconder_prepare_offline_options *options,
                                         size_t options_size,
                                         struct seconder_offline_prepared **out,
                                         struct seconder_error **error);

/**
 * The number of the authenticator app that generates the codes, for seconder_report_offline().
 */
uint64_t seconder_offline_prepared_authenticator_id(const struct seconder_offline_prepared *offline_prepared);

/**
 * The number of digits of a code.
 */
uint64_t seconder_offline_prepared_digits(const struct seconder_offline_prepared *offline_prepared);

/**
 * The time that the app shows a code, in seconds. A step is a time in Unix seconds divided by it.
 */
uint64_t seconder_offline_prepared_period(const struct seconder_offline_prepared *offline_prepared);

/**
 * The step that was used last. No code of it, or of an earlier step, may be accepted.
 */
uint64_t seconder_offline_prepared_last_step(const struct seconder_offline_prepared *offline_prepared);

/**
 * The step of the first hash; each further hash is of the next step.
 */
uint64_t seconder_offline_prepared_first_step(const struct seconder_offline_prepared *offline_prepared);

/**
 * When the hashes must no longer be used, in Unix seconds.
 */
uint64_t seconder_offline_prepared_expires_at(const struct seconder_offline_prepared *offline_prepared);

/**
 * The key of the hashes: 32 bytes in Base64. NULL only for a NULL argument.
 */
const char *seconder_offline_prepared_hash_key(const struct seconder_offline_prepared *offline_prepared);

/**
 * The hashes, 8 bytes each, in Base64. Each is the first 8 bytes of HMAC-SHA-256 with the key
 * seconder_offline_prepared_hash_key(), of the text "seconder offline code", a zero byte, the
 * user's id and the step as 8 bytes each with the most significant first, and the digits of the
 * code. NULL only for a NULL argument.
 */
const char *seconder_offline_prepared_hashes(const struct seconder_offline_prepared *offline_prepared);

/**
 * The service's message. NULL if the service does not provide it.
 */
const char *seconder_offline_prepared_message(const struct seconder_offline_prepared *offline_prepared);

/**
 * Frees the reply of seconder_prepare_offline(), and wipes it. NULL is fine.
 */
void seconder_offline_prepared_free(struct seconder_offline_prepared *offline_prepared);

/**
 * Reports the logins that a machine has accepted while the service was unreachable (interface
 * 4.22). The service marks their codes as used, and records each login as an activity of the user.
 *
 * A machine reports a login until a report of it was acknowledged; a login that is reported twice
 * is recorded once.
 *
 * `user_id` is the user who logged in. `authenticator_id` is the authenticator app, by
 * seconder_offline_prepared_authenticator_id(). `logins` is a list of 1 to 100 logins.
 * `logins_count` is their number.
 *
 * `out` may be NULL; otherwise free it with seconder_done_free(). SECONDER_REJECTED if there is no
 * such user, and with the service code "offline_not_prepared" if the service has not prepared
 * these logins. Other statuses are as described at the top of the header.
 */
SECONDER_MUST_USE
seconder_status seconder_report_offline(const struct seconder_service *service,
                                        uint64_t user_id,
                                        uint64_t authenticator_id,
                                        const struct seconder_offline_login *logins,
                                        size_t logins_count,
                                        const struct seconder_report_offline_options *options,
                                        size_t options_size,
                                        struct seconder_done **out,
                                        struct seconder_error **error);

/**
 * Checks a code of a user's authenticator app while the service is unreachable, at a given time, in
 * Unix seconds. Codes of the steps immediately before and after are accepted too, to allow for
 * inaccurate clocks.
 *
 * `codes_size` is sizeof(seconder_offline_codes). `last_step` prevents replay: it begins with
 * seconder_offline_prepared_last_step(), and a code of that step or of an earlier one is never
 * accepted. Only SECONDER_OK means that the code is correct; `*last_step` is then set to the code's
 * step. Before letting anyone in, store it, together with the login for seconder_report_offline(),
 * so that only one of two logins with the same code succeeds. For any other status it is unchanged.
 *
 * SECONDER_TOKEN_WRONG if the code is not one of the current ones, SECONDER_TOKEN_REUSED if its step
 * has been used; SECONDER_TOKEN_MALFORMED if `token` is not 6 to 12 digits;
 * SECONDER_INVALID_ARGUMENT if an argument is NULL, and if the codes cannot be used: their time is
 * over, or a field has a value that no reply has. Wrong codes are not counted: limiting them is the
 * caller's responsibility.
 */
SECONDER_MUST_USE
seconder_status seconder_offline_check(const struct seconder_offline_codes *codes,
                                       size_t codes_size,
                                       const char *token,
                                       uint64_t unix_seconds,
                                       uint64_t *last_step,
                                       struct seconder_error **error);

/**
 * Sends a code to a number that belongs to no user yet (interface 4.10).
 *
 * `via` is the channel that delivers the code: "sms" or "call". `phone_number` is the number
 * without its calling code: 4 to 15 digits in groups that dashes, periods or spaces may separate.
 * `country_code` is the calling code of the number: "1" to "999".
 *
 * `out` may be NULL; otherwise free it with seconder_phone_verification_started_free().
 * SECONDER_RATE_LIMITED if a code was sent to the number by the same channel a moment ago, or too
 * often; SECONDER_REJECTED if the number cannot be reached by this channel. Other statuses are as
 * described at the top of the header.
 */
SECONDER_MUST_USE
seconder_status seconder_start_phone_verification(const struct seconder_service *service,
                                                  const char *via,
                                                  const char *phone_number,
                                                  const char *country_code,
                                                  const struct seconder_start_phone_verification_options *options,
                                                  size_t options_size,
                                                  struct seconder_phone_verification_started **out,
                                                  struct seconder_error **error);

/**
 * The number's carrier. NULL if the service does not provide it.
 */
const char *seconder_phone_verification_started_carrier(const struct seconder_phone_verification_started *phone_verification_started);

/**
 * Returns whether the number was ported from another carrier. False also if the service does not
 * say. seconder_phone_verification_started_is_ported_known() says whether it does.
 */
bool seconder_phone_verification_started_is_ported(const struct seconder_phone_verification_started *phone_verification_started);

/**
 * Returns whether the service provides the value of
 * seconder_phone_verification_started_is_ported().
 */
bool seconder_phone_verification_started_is_ported_known(const struct seconder_phone_verification_started *phone_verification_started);

/**
 * Returns whether the number is a mobile number. False also if the service does not say.
 * seconder_phone_verification_started_is_cellphone_known() says whether it does.
 */
bool seconder_phone_verification_started_is_cellphone(const struct seconder_phone_verification_started *phone_verification_started);

/**
 * Returns whether the service provides the value of
 * seconder_phone_verification_started_is_cellphone().
 */
bool seconder_phone_verification_started_is_cellphone_known(const struct seconder_phone_verification_started *phone_verification_started);

/**
 * The service's message. NULL if the service does not provide it.
 */
const char *seconder_phone_verification_started_message(const struct seconder_phone_verification_started *phone_verification_started);

/**
 * The time that the code remains valid, in seconds, or SECONDER_FOREVER. 0 if the service does not
 * provide it.
 */
int64_t seconder_phone_verification_started_seconds_to_expire(const struct seconder_phone_verification_started *phone_verification_started);

/**
 * The id of the verification. NULL if the service does not provide it.
 */
const char *seconder_phone_verification_started_uuid(const struct seconder_phone_verification_started *phone_verification_started);

/**
 * After how many seconds another code can be sent to the number by the same channel, even if this
 * one is not used. 0 also if the service does not say: only a service of Seconder does.
 * seconder_phone_verification_started_resend_after_known() says whether it does.
 */
uint64_t seconder_phone_verification_started_resend_after(const struct seconder_phone_verification_started *phone_verification_started);

/**
 * Returns whether the service provides the value of
 * seconder_phone_verification_started_resend_after().
 */
bool seconder_phone_verification_started_resend_after_known(const struct seconder_phone_verification_started *phone_verification_started);

/**
 * Frees the reply of seconder_start_phone_verification(). NULL is fine.
 */
void seconder_phone_verification_started_free(struct seconder_phone_verification_started *phone_verification_started);

/**
 * Checks the code that was sent to a number by seconder_start_phone_verification(). Only
 * SECONDER_OK means that the code is right.
 *
 * `phone_number` is the number without its calling code: 4 to 15 digits in groups that dashes,
 * periods or spaces may separate. `country_code` is the calling code of the number: "1" to "999".
 * `verification_code` is the code that the user typed: 4 to 10 digits and nothing else. Any other
 * text is SECONDER_TOKEN_MALFORMED.
 *
 * `out` may be NULL; otherwise free it with seconder_done_free(). SECONDER_TOKEN_WRONG if the code
 * is wrong; SECONDER_REJECTED with status 404 and the service code "60023" if no code is pending.
 * Other statuses are as described at the top of the header.
 */
SECONDER_MUST_USE
seconder_status seconder_check_phone_verification(const struct seconder_service *service,
                                                  const char *phone_number,
                                                  const char *country_code,
                                                  const char *verification_code,
                                                  struct seconder_done **out,
                                                  struct seconder_error **error);

/**
 * Changes the phone number of a user, who proves to hold the new one by the code of
 * seconder_start_phone_verification() (interface 4.32). The code is used up.
 *
 * The user keeps the id, the authenticator apps, the devices and the recovery codes. Codes that
 * were sent to the former number are wrong from then on, remembered browsers are forgotten, and
 * the devices of the user are notified.
 *
 * `user_id` is the user who gets the number. `phone_number` is the new number without its calling
 * code: 4 to 15 digits in groups that dashes, periods or spaces may separate. `country_code` is
 * the calling code of the number: "1" to "999". `verification_code` is the code that was sent to
 * the new number: 4 to 10 digits and nothing else. Any other text is SECONDER_TOKEN_MALFORMED.
 *
 * `out` may be NULL; otherwise free it with seconder_done_free(). SECONDER_TOKEN_WRONG if the code
 * is wrong; SECONDER_REJECTED with status 404 and the service code "60023" if no code is pending,
 * with 409 if another user has the number, and if there is no such user. Other statuses are as
 * described at the top of the header.
 */
SECONDER_MUST_USE
seconder_status seconder_set_number(const struct seconder_service *service,
                                    uint64_t user_id,
                                    const char *phone_number,
                                    const char *country_code,
                                    const char *verification_code,
                                    const struct seconder_call_options *options,
                                    size_t options_size,
                                    struct seconder_done **out,
                                    struct seconder_error **error);

/**
 * Requests the state of a number's verification, which seconder_start_phone_verification() began.
 * It is identified either by its `uuid` or by the number.
 *
 * It is for display: a user proves to hold a number by seconder_check_phone_verification() alone,
 * since anyone may have verified the number before.
 *
 * Free `out` with seconder_phone_verification_record_free(). SECONDER_REJECTED with the service
 * code "60023" if there is no such verification. Other statuses are as described at the top of the
 * header.
 */
SECONDER_MUST_USE
seconder_status seconder_phone_verification_status(const struct seconder_service *service,
                                                   const struct seconder_phone_verification_status_options *options,
                                                   size_t options_size,
                                                   struct seconder_phone_verification_record **out,
                                                   struct seconder_error **error);

/**
 * The state of the verification. "pending": the code was sent and can still be checked;
 * "verified": the code was right; "expired": the code was not entered in time, or wrong codes were
 * entered too often; "unknown": a status that this library does not know. NULL only for a NULL
 * argument.
 */
const char *seconder_phone_verification_record_status(const struct seconder_phone_verification_record *phone_verification_record);

/**
 * The time that the code remains valid, in seconds; 0 unless the verification is pending. 0 if the
 * service does not provide it.
 */
uint64_t seconder_phone_verification_record_seconds_to_expire(const struct seconder_phone_verification_record *phone_verification_record);

/**
 * The service's message. NULL if the service does not provide it.
 */
const char *seconder_phone_verification_record_message(const struct seconder_phone_verification_record *phone_verification_record);

/**
 * Frees the reply of seconder_phone_verification_status(). NULL is fine.
 */
void seconder_phone_verification_record_free(struct seconder_phone_verification_record *phone_verification_record);

/**
 * Requests the type of a phone number (interface 4.11).
 *
 * `phone_number` is the number without its calling code: 4 to 15 digits in groups that dashes,
 * periods or spaces may separate. `country_code` is the calling code of the number: "1" to "999".
 *
 * Free `out` with seconder_phone_information_free(). SECONDER_REJECTED if it is not a phone
 * number. Other statuses are as described at the top of the header.
 */
SECONDER_MUST_USE
seconder_status seconder_phone_info(const struct seconder_service *service,
                                    const char *phone_number,
                                    const char *country_code,
                                    const struct seconder_call_options *options,
                                    size_t options_size,
                                    struct seconder_phone_information **out,
                                    struct seconder_error **error);

/**
 * The service's message. NULL if the service does not provide it.
 */
const char *seconder_phone_information_message(const struct seconder_phone_information *phone_information);

/**
 * The type of the number. "voip": a number reached over the Internet; "landline": a number that
 * receives no SMS; "cellphone": a mobile number; "unknown": none of these for certain. NULL only
 * for a NULL argument.
 */
const char *seconder_phone_information_type(const struct seconder_phone_information *phone_information);

/**
 * The number's carrier. NULL if the service does not provide it.
 */
const char *seconder_phone_information_provider(const struct seconder_phone_information *phone_information);

/**
 * Returns whether the number was ported from another carrier. False also if the service does not
 * say. seconder_phone_information_ported_known() says whether it does.
 */
bool seconder_phone_information_ported(const struct seconder_phone_information *phone_information);

/**
 * Returns whether the service provides the value of seconder_phone_information_ported().
 */
bool seconder_phone_information_ported_known(const struct seconder_phone_information *phone_information);

/**
 * Frees the reply of seconder_phone_info(). NULL is fine.
 */
void seconder_phone_information_free(struct seconder_phone_information *phone_information);

/**
 * Requests the service's record of the application (interface 4.7).
 *
 * Free `out` with seconder_application_free(). SECONDER_UNAUTHORIZED if the service does not
 * accept the API key. Other statuses are as described at the top of the header.
 */
SECONDER_MUST_USE
seconder_status seconder_app_details(const struct seconder_service *service,
                                     const struct seconder_call_options *options,
                                     size_t options_size,
                                     struct seconder_application **out,
                                     struct seconder_error **error);

/**
 * The application's number. 0 if the service does not provide it.
 */
uint64_t seconder_application_app_id(const struct seconder_application *application);

/**
 * The name shown to users in messages. NULL only for a NULL argument.
 */
const char *seconder_application_name(const struct seconder_application *application);

/**
 * The application's plan with the service. NULL if the service does not provide it.
 */
const char *seconder_application_plan(const struct seconder_application *application);

/**
 * Returns whether codes can be sent by SMS.
 */
bool seconder_application_sms_enabled(const struct seconder_application *application);

/**
 * Returns whether codes can be sent by voice call.
 */
bool seconder_application_phone_calls_enabled(const struct seconder_application *application);

/**
 * Returns whether approval requests can be sent.
 */
bool seconder_application_push_enabled(const struct seconder_application *application);

/**
 * Returns whether the application's own app is used.
 */
bool seconder_application_white_label(const struct seconder_application *application);

/**
 * The service's message. NULL if the service does not provide it.
 */
const char *seconder_application_message(const struct seconder_application *application);

/**
 * Frees the reply of seconder_app_details(). NULL is fine.
 */
void seconder_application_free(struct seconder_application *application);

/**
 * Requests the application's usage, month by month (interface 4.9).
 *
 * Free `out` with seconder_statistics_free(). SECONDER_UNAUTHORIZED if the service does not accept
 * the API key. Other statuses are as described at the top of the header.
 */
SECONDER_MUST_USE
seconder_status seconder_app_stats(const struct seconder_service *service,
                                   const struct seconder_call_options *options,
                                   size_t options_size,
                                   struct seconder_statistics **out,
                                   struct seconder_error **error);

/**
 * The application's number. 0 if the service does not provide it.
 */
uint64_t seconder_statistics_app_id(const struct seconder_statistics *statistics);

/**
 * The number of months, as the service counts them. 0 if the service does not provide it.
 */
uint64_t seconder_statistics_count(const struct seconder_statistics *statistics);

/**
 * The service's message. NULL if the service does not provide it.
 */
const char *seconder_statistics_message(const struct seconder_statistics *statistics);

/**
 * The number of values that seconder_statistics_stat() returns.
 */
size_t seconder_statistics_stat_count(const struct seconder_statistics *statistics);

/**
 * The months, oldest first. Returns the one at `index`, owned by the handle; NULL if `index` is
 * out of range.
 */
const struct seconder_monthly_statistic *seconder_statistics_stat(const struct seconder_statistics *statistics,
                                                                  size_t index);

/**
 * The current number of the application's users. 0 if the service does not provide it.
 */
uint64_t seconder_statistics_total_users(const struct seconder_statistics *statistics);

/**
 * Frees the reply of seconder_app_stats(). NULL is fine.
 */
void seconder_statistics_free(struct seconder_statistics *statistics);

/**
 * Registers a device for a user, with an engine in this process (interface 2.2).
 *
 * `device_type` is "android", "android_tablet", "ios" or "svc_chrome". Free `out` with
 * seconder_device_free(). SECONDER_REJECTED if there is no such user; SECONDER_INVALID_ARGUMENT if
 * the service is a remote one, or an argument is invalid.
 */
SECONDER_MUST_USE
seconder_status seconder_register_device(const struct seconder_service *service,
                                         uint64_t user_id,
                                         const char *device_type,
                                         struct seconder_device **out,
                                         struct seconder_error **error);

/**
 * Lists the approval requests that a device's user can still answer, oldest first, with an engine
 * in this process.
 *
 * `device_secret` comes from seconder_device_secret(). Free `out` with
 * seconder_approval_requests_free(). SECONDER_INVALID_ARGUMENT if the device's id or secret is
 * wrong, or the service is a remote one.
 */
SECONDER_MUST_USE
seconder_status seconder_open_approvals(const struct seconder_service *service,
                                        uint64_t device_id,
                                        const char *device_secret,
                                        struct seconder_approval_requests **out,
                                        struct seconder_error **error);

/**
 * Answers an approval request from a device, with an engine in this process, and posts the
 * callback before returning (interface 6).
 *
 * `response` is "approve", "deny", or "report", which denies the request and snoozes further ones
 * for the user for 5 minutes. `number` is what the user typed on the phone, and may be NULL: only
 * approving a request that has a number needs it (see seconder_approval_created_number()). `out`
 * receives the request with its new status; it may be NULL, otherwise free it with
 * seconder_approval_free(). SECONDER_REJECTED if the device cannot answer this request, or can no
 * longer do so, or if the number is wrong, which denies the request the second time;
 * SECONDER_INVALID_ARGUMENT if the device's id or secret is wrong, if `number` is missing or cannot be the one of
 * the request, which changes nothing, or the service is a remote one.
 */
SECONDER_MUST_USE
seconder_status seconder_respond_to_approval(const struct seconder_service *service,
                                             const char *uuid,
                                             uint64_t device_id,
                                             const char *device_secret,
                                             const char *response,
                                             const char *number,
                                             struct seconder_approval **out,
                                             struct seconder_error **error);

/**
 * Empties a sandbox: removes every user, code, device, approval request and activity, the statistics
 * and the messages, and ends the faults. The application keeps its API key, the ids of users are not
 * given again, and the time goes on.
 *
 * SECONDER_INVALID_ARGUMENT if the service is not a sandbox: a database is never emptied.
 */
SECONDER_MUST_USE
seconder_status seconder_clear_sandbox(const struct seconder_service *service,
                                       struct seconder_error **error);

/**
 * Copies the database file of an engine in this process, as of one moment, into the new file `path`,
 * which only its owner can read.
 *
 * Calls of other threads go on meanwhile. The copy is checked and on disk when this returns; after an
 * error, there is no copy. Put it back with `seconder restore`; the keyring is not in it. SECONDER_STORAGE
 * if the file exists or cannot be written, or if the database is damaged or not in a file;
 * SECONDER_INVALID_ARGUMENT if the service is a remote one.
 */
SECONDER_MUST_USE
seconder_status seconder_backup(const struct seconder_service *service,
                                const char *path,
                                struct seconder_error **error);

/**
 * The device's id.
 */
uint64_t seconder_device_id(const struct seconder_device *device);

/**
 * The secret that authenticates the device. It is provided only once: store it on the device. NULL
 * only for a NULL argument.
 */
const char *seconder_device_secret(const struct seconder_device *device);

/**
 * Frees the reply of seconder_register_device(), and wipes the secret. NULL is fine.
 */
void seconder_device_free(struct seconder_device *device);

/**
 * The number of values that seconder_approval_requests_request() returns.
 */
size_t seconder_approval_requests_request_count(const struct seconder_approval_requests *approval_requests);

/**
 * The requests, oldest first. Returns the one at `index`, owned by the handle; NULL if `index` is
 * out of range.
 */
const struct seconder_approval_request *seconder_approval_requests_request(const struct seconder_approval_requests *approval_requests,
                                                                           size_t index);

/**
 * Frees the reply of seconder_open_approvals(). NULL is fine.
 */
void seconder_approval_requests_free(struct seconder_approval_requests *approval_requests);

/**
 * Reads what an engine in this process has decided, the latest first, page by page: the audit.
 *
 * Each page reads a limited number of rows by their keys, so it may hold fewer decisions than `most`,
 * also none, although more follow: read on until seconder_audit_page_next() is NULL. Decisions are
 * kept for the days of the limit `audit_days`, also those about a user who was deleted. Free `out`
 * with seconder_audit_page_free(). SECONDER_STORAGE if the database cannot be read;
 * SECONDER_INVALID_ARGUMENT if the service is a remote one, or for an `after` that no page returned.
 */
SECONDER_MUST_USE
seconder_status seconder_audit(const struct seconder_service *service,
                               const struct seconder_audit_options *options,
                               size_t options_size,
                               struct seconder_audit_page **out,
                               struct seconder_error **error);

/**
 * The number of values that seconder_audit_page_entry() returns.
 */
size_t seconder_audit_page_entry_count(const struct seconder_audit_page *audit_page);

/**
 * The decisions, the latest first. There may be none although more follow. Returns the one at
 * `index`, owned by the handle; NULL if `index` is out of range.
 */
const struct seconder_audit_entry *seconder_audit_page_entry(const struct seconder_audit_page *audit_page,
                                                             size_t index);

/**
 * The value to pass as `after` to read on. NULL at the end.
 */
const char *seconder_audit_page_next(const struct seconder_audit_page *audit_page);

/**
 * Frees a page of seconder_audit(). NULL is fine.
 */
void seconder_audit_page_free(struct seconder_audit_page *audit_page);

/**
 * Sends messages and posts callbacks whose next attempt is due, with an engine in this process: jobs
 * that failed before and are to be repeated, and jobs of a process that was killed.
 *
 * Nothing does so by itself. A program whose deliver function returns SECONDER_OUTCOME_RETRY or
 * SECONDER_OUTCOME_AMBIGUOUS, or that has a callback URL, calls this every few seconds, on a thread of
 * its own or from a timer. Several processes can do so on one database: each message is sent by one of
 * them. After `budget_ms` milliseconds, or once the handle is cancelled, no further attempt begins.
 *
 * A message is repeated until its code has expired, and never sent once the code is void: after 2, 4,
 * 8 and so on, at most 60 seconds, or later if seconder_message_set_retry_after_ms() asks for it. A
 * callback is posted again after 5 seconds, 5 minutes, 30 minutes, 2 hours, 5 hours and 10 hours. Each
 * of these waits is up to a quarter shorter or longer.
 *
 * What failed to be sent is no failure of this call. `out` may be NULL; otherwise free it with
 * seconder_jobs_run_free(). SECONDER_STORAGE if the database cannot be read or written;
 * SECONDER_INVALID_ARGUMENT if the service is a remote one.
 */
SECONDER_MUST_USE
seconder_status seconder_run_jobs(const struct seconder_service *service,
                                  uint32_t budget_ms,
                                  struct seconder_jobs_run **out,
                                  struct seconder_error **error);

/**
 * The number of messages and callbacks that were sent.
 */
uint32_t seconder_jobs_run_sent(const struct seconder_jobs_run *jobs_run);

/**
 * The number of messages and callbacks that have to wait for another attempt.
 */
uint32_t seconder_jobs_run_waiting(const struct seconder_jobs_run *jobs_run);

/**
 * The number of messages and callbacks that failed for good.
 */
uint32_t seconder_jobs_run_failed(const struct seconder_jobs_run *jobs_run);

/**
 * Returns whether the budget was used up, or the handle was cancelled, so that there may be more
 * to send at once.
 */
bool seconder_jobs_run_more(const struct seconder_jobs_run *jobs_run);

/**
 * Frees the reply of seconder_run_jobs(). NULL is fine.
 */
void seconder_jobs_run_free(struct seconder_jobs_run *jobs_run);

/**
 * Carries out an operation of an operator, with an engine in this process, or on a service that was
 * opened with `operator_token`.
 *
 * `operation` is its name, such as "jobs.list", and `parameters` a JSON object; NULL for none. Free
 * `out`, the reply as a JSON object, with seconder_text_free(). A name that no operation has, and one
 * that none of its parameters has, is SECONDER_INVALID_ARGUMENT, with an error that lists those that
 * there are. So is a remote service that was opened without a token. A token that is not accepted is
 * SECONDER_REJECTED with status 401, and one that does not permit it with 403. Other statuses are as described at the top of the
 * header.
 */
SECONDER_MUST_USE
seconder_status seconder_operate(const struct seconder_service *service,
                                 const char *operation,
                                 const char *parameters,
                                 struct seconder_text **out,
                                 struct seconder_error **error);

/**
 * Reads the messages that a sandbox in this process has sent to a user, or all of them if `user_id` is 0, for the
 * tests of an application: the latest 10000.
 *
 * A sandbox sends nothing. If the application has a deliver function, it contains what that function has accepted.
 * Free `out` with seconder_sent_messages_free(). SECONDER_INVALID_ARGUMENT if the service is not a sandbox.
 */
SECONDER_MUST_USE
seconder_status seconder_sandbox_messages(const struct seconder_service *service,
                                          uint64_t user_id,
                                          struct seconder_sent_messages **out,
                                          struct seconder_error **error);

/**
 * Moves the time of a sandbox on, at most ten years at once: codes expire, waits end. Otherwise it passes as on the
 * machine.
 *
 * The program's own clock is not moved. SECONDER_INVALID_ARGUMENT if the service is not a sandbox.
 */
SECONDER_MUST_USE
seconder_status seconder_sandbox_advance(const struct seconder_service *service,
                                         uint64_t seconds,
                                         struct seconder_error **error);

/**
 * Lets calls of a sandbox fail, with the errors of a remote service, until seconder_sandbox_end_faults().
 *
 * `fault` is "timeout", "lost" (the call is carried out, and its response is lost), "rate_limited", "unauthorized",
 * "invalid_response", "undelivered" (the message cannot be delivered), "storage", "status" (500), or "latency" (1
 * second). `calls` are the names of the calls that meet it, such as "verify,request_sms"; NULL: all. `times` is how many
 * calls meet it; 0: no limit. Of several faults, a call meets the latest.
 *
 * No call takes real time: what it waits for passes in the sandbox. SECONDER_INVALID_ARGUMENT if the service is not a
 * sandbox, or an argument is invalid.
 */
SECONDER_MUST_USE
seconder_status seconder_sandbox_fail(const struct seconder_service *service,
                                      const char *fault,
                                      const char *calls,
                                      uint64_t times,
                                      struct seconder_error **error);

/**
 * Ends the faults of a sandbox. SECONDER_INVALID_ARGUMENT if the service is not a sandbox.
 */
SECONDER_MUST_USE
seconder_status seconder_sandbox_end_faults(const struct seconder_service *service,
                                            struct seconder_error **error);

/**
 * Responds to the latest open approval request of a user of a sandbox, as on the user's phone. A user without a
 * device gets one.
 *
 * `response` is "approve", "deny" or "report", and `number` what the user typed, as for
 * seconder_respond_to_approval(). SECONDER_REJECTED with status 404 if the user has no open request;
 * SECONDER_INVALID_ARGUMENT if the service is not a sandbox, or an argument is invalid.
 */
SECONDER_MUST_USE
seconder_status seconder_sandbox_respond(const struct seconder_service *service,
                                         uint64_t user_id,
                                         const char *response,
                                         const char *number,
                                         struct seconder_error **error);

/**
 * Carries out any other operation of a test on a sandbox, such as "authenticator_code" with {"user_id":1}.
 *
 * docs/sandbox.md has their names, and the parameters and replies, which are JSON objects; `parameters` may be NULL
 * for none. There is no "reset": seconder_clear_sandbox() empties the sandbox. Free `out` with seconder_text_free().
 * SECONDER_REJECTED with status 404 if there is nothing of what was asked for; SECONDER_INVALID_ARGUMENT if the
 * service is not a sandbox, or a name is unknown, with an error that lists those that there are.
 */
SECONDER_MUST_USE
seconder_status seconder_sandbox_operate(const struct seconder_service *service,
                                         const char *name,
                                         const char *parameters,
                                         struct seconder_text **out,
                                         struct seconder_error **error);

/**
 * The number of values that seconder_sent_messages_message() returns.
 */
size_t seconder_sent_messages_message_count(const struct seconder_sent_messages *sent_messages);

/**
 * The messages, the newest first. Returns the one at `index`, owned by the handle; NULL if `index`
 * is out of range.
 */
const struct seconder_sent_message *seconder_sent_messages_message(const struct seconder_sent_messages *sent_messages,
                                                                   size_t index);

/**
 * Frees the reply of seconder_sandbox_messages(). NULL is fine.
 */
void seconder_sent_messages_free(struct seconder_sent_messages *sent_messages);

/**
 * Verifies a callback's signature and parses it (interface 5.5). `api_key` is the application's
 * API key, with which the service signs; `received` must have a `url`. For freshness, replay
 * protection and several URLs, see seconder_verifier_new().
 *
 * SECONDER_OK means that the service sent the callback, not that the user approved: check that
 * with seconder_event_approved_by() on the event at `out`, and free it with seconder_event_free().
 * SECONDER_INVALID_CALLBACK means that nothing in it may be trusted: respond with status 401.
 * SECONDER_INVALID_ARGUMENT means that the key or a field of `received` is invalid.
 */
SECONDER_MUST_USE
seconder_status seconder_callback_verify(const char *api_key,
                                         const struct seconder_callback *received,
                                         size_t received_size,
                                         struct seconder_event **out,
                                         struct seconder_error **error);

/**
 * Verifies a callback's signature without interpreting its parameters, and returns the parameters
 * that the signature covers, as the text of a JSON object. `api_key` is the application's API key.
 *
 * Free `out` with seconder_text_free(). SECONDER_INVALID_CALLBACK means that nothing in the
 * callback may be trusted; SECONDER_INVALID_ARGUMENT, that the key or a field of `received` is
 * invalid.
 */
SECONDER_MUST_USE
seconder_status seconder_callback_verify_parameters(const char *api_key,
                                                    const struct seconder_callback *received,
                                                    size_t received_size,
                                                    struct seconder_text **out,
                                                    struct seconder_error **error);

/**
 * Signs a JSON body that is posted to `url`, as a service does (interface 5.5). `nonce` is a text
 * without `|`, which usually starts with the time in Unix seconds.
 *
 * `out` receives the value of the header X-Svc-Signature; free it with seconder_text_free().
 * SECONDER_INVALID_ARGUMENT if the body is not a JSON object, has a duplicate field, or is larger
 * than any callback, and for a key, a nonce or a URL that cannot be signed.
 */
SECONDER_MUST_USE
seconder_status seconder_callback_sign(const char *api_key,
                                       const char *nonce,
                                       const char *url,
                                       const void *body,
                                       size_t body_size,
                                       struct seconder_text **out,
                                       struct seconder_error **error);

/**
 * Signs the query of a GET request to `url`, as a service does (interface 5.5).
 * seconder_callback_query() converts a JSON body to such a query.
 *
 * `out` receives the value of the header X-Svc-Signature; free it with seconder_text_free().
 * SECONDER_INVALID_ARGUMENT for a key, a nonce or a URL that cannot be signed, and for a query
 * that is not percent-encoded UTF-8.
 */
SECONDER_MUST_USE
seconder_status seconder_callback_sign_query(const char *api_key,
                                             const char *nonce,
                                             const char *url,
                                             const char *query,
                                             struct seconder_text **out,
                                             struct seconder_error **error);

/**
 * Converts the parameters of a JSON body to a query, sorted and encoded as they are signed
 * (interface 5.5).
 *
 * Free `out` with seconder_text_free(). SECONDER_INVALID_ARGUMENT if the body is not a JSON
 * object, has a duplicate field, or is larger than any callback.
 */
SECONDER_MUST_USE
seconder_status seconder_callback_query(const void *body,
                                        size_t body_size,
                                        struct seconder_text **out,
                                        struct seconder_error **error);

/**
 * Returns whether this user approved the request. This is the only check that may let anyone in. False for
 * NULL, for any other answer, for another user, and if the service does not say which user
 * answered.
 */
bool seconder_event_approved_by(const struct seconder_event *event,
                                uint64_t user_id);

/**
 * The device that answered, owned by the event; NULL if the service does not provide it.
 */
const struct seconder_device_info *seconder_event_device(const struct seconder_event *event);

/**
 * All parameters that were received and signed, as the text of a JSON object. Empty objects and lists
 * are omitted, because the signature does not cover them. It does not distinguish a number from its
 * text, or null from an empty text either: do not rely on these differences. NULL only for a NULL
 * argument.
 */
const char *seconder_event_parameters(const struct seconder_event *event);

/**
 * The approval request's uuid. NULL only for a NULL argument.
 */
const char *seconder_event_uuid(const struct seconder_event *event);

/**
 * The user's answer: one of SECONDER_APPROVAL_..., and only SECONDER_APPROVAL_APPROVED lets anyone
 * in. SECONDER_APPROVAL_UNKNOWN for an answer that this library does not know.
 */
int32_t seconder_event_status(const struct seconder_event *event);

/**
 * The id of the user who answered; 0 if the service does not provide it. Compare it with the user
 * who is logging in, or ask whether that user approved.
 */
uint64_t seconder_event_user_id(const struct seconder_event *event);

/**
 * Frees the event of seconder_callback_verify() or seconder_verifier_verify(). NULL is fine.
 */
void seconder_event_free(struct seconder_event *event);

/**
 * Creates a verifier of callbacks signed with the application's API key (interface 5.5).
 *
 * `out` may be used by many threads at once; free it with seconder_verifier_free().
 * SECONDER_INVALID_ARGUMENT for an invalid API key or option.
 */
SECONDER_MUST_USE
seconder_status seconder_verifier_new(const char *api_key,
                                      const struct seconder_verifier_options *options,
                                      size_t options_size,
                                      struct seconder_verifier **out,
                                      struct seconder_error **error);

/**
 * Verifies and parses a callback (interface 5.5). `now` is the time in Unix seconds, which matters
 * only if the verifier checks freshness or has a memory.
 *
 * SECONDER_OK means that the service sent the callback, not that the user approved: check that
 * with seconder_event_approved_by() on the event at `out`, and free it with seconder_event_free().
 * SECONDER_INVALID_CALLBACK means that nothing in it may be trusted, because its signature is
 * invalid, it is stale, or it was received before: respond with status 401.
 * SECONDER_INVALID_ARGUMENT means that the key or a field of `received` is invalid;
 * SECONDER_RATE_LIMITED, that the memory of received callbacks is full; SECONDER_STORAGE, that it
 * could not be consulted.
 */
SECONDER_MUST_USE
seconder_status seconder_verifier_verify(const struct seconder_verifier *verifier,
                                         const struct seconder_callback *received,
                                         size_t received_size,
                                         uint64_t now,
                                         struct seconder_event **out,
                                         struct seconder_error **error);

/**
 * Verifies the signature alone, without interpreting the parameters or checking their age, and
 * returns the parameters that the signature covers, as the text of a JSON object.
 *
 * Free `out` with seconder_text_free(). SECONDER_INVALID_CALLBACK means that nothing in the
 * callback may be trusted; SECONDER_INVALID_ARGUMENT, that the key or a field of `received` is
 * invalid.
 */
SECONDER_MUST_USE
seconder_status seconder_verifier_parameters(const struct seconder_verifier *verifier,
                                             const struct seconder_callback *received,
                                             size_t received_size,
                                             struct seconder_text **out,
                                             struct seconder_error **error);

/**
 * Frees a verifier. The last call with it must have returned. NULL is fine.
 */
void seconder_verifier_free(struct seconder_verifier *verifier);

/**
 * Creates a totp from the bytes of a secret, 10 to 128 of them, which are copied. A new secret should
 * have 20 (RFC 4226, section 4); shorter ones are for apps that users have already.
 *
 * Free `out` with seconder_totp_free(). SECONDER_INVALID_ARGUMENT if an argument or option is out
 * of range.
 */
SECONDER_MUST_USE
seconder_status seconder_totp_new(const void *secret,
                                  size_t secret_size,
                                  const struct seconder_totp_options *options,
                                  size_t options_size,
                                  struct seconder_totp **out,
                                  struct seconder_error **error);

/**
 * Parses an otpauth://totp/ URI, such as the one of seconder_authenticator_enrolled_uri(). The secret may
 * have lower case, padding, spaces and dashes.
 *
 * Free `out` with seconder_totp_free(). SECONDER_INVALID_ARGUMENT if it is not such a URI, has no
 * secret in Base32, or has a value that is out of range.
 */
SECONDER_MUST_USE
seconder_status seconder_totp_from_uri(const char *uri,
                                       struct seconder_totp **out,
                                       struct seconder_error **error);

/**
 * Returns the otpauth: URI that transfers the secret to an app, which then shows `issuer` and
 * `label`. Anyone who sees the URI can generate the user's codes.
 *
 * Free `out` with seconder_text_free(), which wipes it. SECONDER_INVALID_ARGUMENT for an argument
 * that is NULL or not UTF-8, and for an issuer or a label with a colon, which separates the two.
 */
SECONDER_MUST_USE
seconder_status seconder_totp_uri(const struct seconder_totp *totp,
                                  const char *issuer,
                                  const char *label,
                                  struct seconder_text **out,
                                  struct seconder_error **error);

/**
 * Returns the code that an app shows at a given time, in Unix seconds (RFC 6238).
 *
 * Free `out` with seconder_text_free(), which wipes it. SECONDER_INVALID_ARGUMENT if `totp` is
 * NULL.
 */
SECONDER_MUST_USE
seconder_status seconder_totp_code(const struct seconder_totp *totp,
                                   uint64_t unix_seconds,
                                   struct seconder_text **out,
                                   struct seconder_error **error);

/**
 * Checks a code at a given time, in Unix seconds. Codes of the steps immediately before and after
 * are accepted too, to allow for inaccurate clocks.
 *
 * `last_step` prevents replay: it is the step of the user's last accepted code, 0 before the
 * first. A code of that step or of an earlier one is never accepted. Only SECONDER_OK means that
 * the code is correct; `*last_step` is then set to the code's step. Before letting anyone in,
 * store it so that only one of two logins with the same code succeeds. For any other status it is
 * unchanged.
 *
 * SECONDER_TOKEN_WRONG if the code is not one of the current ones, SECONDER_TOKEN_REUSED if its
 * step has been used; SECONDER_TOKEN_MALFORMED if `token` is not 6 to 12 digits;
 * SECONDER_INVALID_ARGUMENT if `totp`, `token` or `last_step` is NULL. Wrong codes are not
 * counted: limiting them is the caller's responsibility.
 */
SECONDER_MUST_USE
seconder_status seconder_totp_check(const struct seconder_totp *totp,
                                    const char *token,
                                    uint64_t unix_seconds,
                                    uint64_t *last_step,
                                    struct seconder_error **error);

/**
 * The bytes of the secret, for storage, owned by `totp`. NULL only for a NULL argument.
 */
const void *seconder_totp_secret(const struct seconder_totp *totp);

/**
 * The size of the secret in bytes.
 */
size_t seconder_totp_secret_size(const struct seconder_totp *totp);

/**
 * The hash with which codes are generated: one of SECONDER_ALGORITHM_....
 */
int32_t seconder_totp_algorithm(const struct seconder_totp *totp);

/**
 * The number of digits of a code.
 */
uint32_t seconder_totp_digits(const struct seconder_totp *totp);

/**
 * The time for which a code is shown, in seconds.
 */
uint64_t seconder_totp_period(const struct seconder_totp *totp);

/**
 * Frees a secret, and wipes it. NULL is fine.
 */
void seconder_totp_free(struct seconder_totp *totp);

/**
 * Says whether a text has the form of a token: 6 to 12 ASCII digits, without trimming. It says nothing
 * about whether the token is right: seconder_verify() does. False for NULL.
 */
bool seconder_is_well_formed_token(const char *text);

/**
 * Says whether a text has the form of a user's id: 1 to 9223372036854775807, in decimal digits without
 * sign or leading zero. False for NULL.
 */
bool seconder_is_well_formed_user_id(const char *text);

/**
 * Says whether a text has the form of an approval request's uuid: 1 to 64 ASCII letters, digits and
 * dashes. False for NULL.
 */
bool seconder_is_well_formed_uuid(const char *text);

/**
 * Says whether a text has the form of a phone number without its calling code: 4 to 15 digits, in groups
 * that dashes, periods or spaces may separate. False for NULL.
 */
bool seconder_is_well_formed_phone_number(const char *text);

/**
 * The kind of the prompt, one of SECONDER_PROMPT_...; 0 for a NULL argument.
 */
int32_t seconder_prompt_kind(const struct seconder_prompt *prompt);

/**
 * The text to show, in English, without a line feed at its end: a question ends with a space. Empty for
 * SECONDER_PROMPT_WAIT. NULL only for a NULL argument.
 */
const char *seconder_prompt_text(const struct seconder_prompt *prompt);

/**
 * For SECONDER_PROMPT_WAIT: how long the function is to wait at most for the user, in milliseconds.
 * One that cannot notice that the user presses Enter, or hangs up, need not wait. 0 for other kinds.
 */
uint32_t seconder_prompt_wait_ms(const struct seconder_prompt *prompt);

/**
 * Returns whether the function was called with this prompt before, and returned
 * SECONDER_CONVERSE_NOT_YET: its text is on the screen already.
 */
bool seconder_prompt_repeated(const struct seconder_prompt *prompt);

/**
 * For the converse function, before it returns SECONDER_CONVERSE_DONE for a question: what the user
 * typed, without the end of the line. It is copied, and the copy is wiped; the program wipes its own. An
 * empty text is an answer too. NULL means no answer.
 */
void seconder_prompt_set_answer(const struct seconder_prompt *prompt,
                                const char *text);

/**
 * Asks a user who logs in for the second factor, and decides: in one call, what pam_seconder(8) and
 * seconder-login(8) do. It finds the service's user of the login name; offers the factors that the user
 * has; sends a code, or an approval request whose response it waits for; and checks codes. With the key
 * `offline=yes`, it also prepares logins for when the service cannot be reached, and checks codes itself
 * then. The configuration has the keys of the PAM module's: seconder-pam.conf(5).
 *
 * `service` makes the calls. The keys that say how to connect to a service, such as `url`, are errors
 * then. NULL: the service that the configuration names is opened for this login.
 *
 * `login` is the login name, which the user may have chosen: one that no user can have is denied.
 * `converse` reaches the user, and is passed `converse_userdata`. NULL: the user cannot be asked, and
 * only what was `typed` before is checked.
 *
 * Only SECONDER_OK lets the user in: a code was checked and is right, or the user approved the login.
 * SECONDER_LOGIN_DENIED, SECONDER_LOGIN_LOCKED, SECONDER_LOGIN_UNENROLLED and SECONDER_LOGIN_NO_ANSWER
 * are for the user; SECONDER_LOGIN_MISCONFIGURED and SECONDER_INVALID_RESPONSE are for the operator; and
 * after SECONDER_UNAVAILABLE, another attempt may succeed. SECONDER_LOGIN_EXCEPTED and
 * SECONDER_LOGIN_IGNORED mean that nothing was checked because the configuration says so: a program may
 * let such users in with their password alone. SECONDER_CANCELLED if seconder_service_cancel() ended the
 * calls of `service`. The message of the error has the decision and its reason, for a log.
 *
 * It returns when the login has ended, and so takes as long as the user does. Many threads may log users
 * in at once. Files of the configuration must belong to root or to the effective user of the process, and
 * the folder of the key `offline_cache` to the latter. The accounts of the machine are read as by
 * getpwnam(3). No program is started, so the value `command:` of the key `users` is an error: set `user_id`
 * instead. SECONDER_INVALID_ARGUMENT on other systems than Linux.
 */
SECONDER_MUST_USE
seconder_status seconder_login(const struct seconder_service *service,
                               const char *login,
                               seconder_converse converse,
                               void *converse_userdata,
                               const struct seconder_login_options *options,
                               size_t options_size,
                               struct seconder_error **error);

#ifdef __cplusplus
}
#endif

#ifdef SECONDER_OLD_CLANG
#pragma clang diagnostic pop
#undef SECONDER_OLD_CLANG
#endif

#endif /* SECONDER_H */
