/* Seconder: the second factor of a login.
 *
 * What holds for every function here:
 *
 * Status      A function that can fail returns a seconder_status. SECONDER_OK is 0 and is the only
 *             success. Nobody may be let in after any other status.
 * Errors      The last argument may be the address of a seconder_error pointer, or NULL. It is set
 *             to NULL first, and to an error of its own for every status but SECONDER_OK. Free it
 *             with seconder_error_free() before its address is given again.
 * Handles     A pointer that a function gives through its out argument belongs to the caller until
 *             the _free() function of its type. It is set to NULL first and stays NULL for every
 *             status but SECONDER_OK. An out argument may be NULL only where it says so. Every
 *             _free() function takes NULL, and free() is never right for anything of this library.
 * Text in     NUL-terminated UTF-8, copied before the function returns. NULL is SECONDER_INVALID
 *             for what is required, and is as good as absent for what is not.
 * Text out    NUL-terminated UTF-8 that belongs to the handle it was asked of and goes with it.
 *             NULL where the service does not tell. A number that it does not tell is 0.
 * Options     A struct and its size: `&options, sizeof options`, or `NULL, 0` for the defaults. Zero
 *             in a field is its default, so begin with `= {0}`. A size that no version of this
 *             header has is SECONDER_INVALID, and nothing of the struct is read. A struct of a newer
 *             version is SECONDER_INVALID when it asks for what this library does not know.
 * Structs     that are only read may grow at their end in a later minor version: use them through
 *             the pointer that was given.
 * Threads     A service may be used by many threads at once. Other handles may be read by many
 *             threads at once, and are freed by one. No function starts a thread, installs a signal
 *             handler or reads an environment variable.
 *
 * "Interface" and a number in a description is a section of the interface specification. */
#ifndef SECONDER_H
#define SECONDER_H

#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>

/* The version of this header; seconder_version() tells the version of the library. */
#define SECONDER_VERSION_MAJOR 0
#define SECONDER_VERSION_MINOR 1
#define SECONDER_VERSION_PATCH 0
#define SECONDER_VERSION "0.1.0"

/* Lets the compiler warn of a status that nobody looks at. */
#if defined(__GNUC__)
#define SECONDER_MUST_USE __attribute__((warn_unused_result))
#else
#define SECONDER_MUST_USE
#endif

#ifdef __cplusplus
extern "C" {
#endif

/**
 * What was asked for is done. From seconder_verify() and seconder_check_phone_verification() it
 * says that the code was checked and is right.
 */
#define SECONDER_OK 0

/**
 * The code is not the user's, or no longer.
 */
#define SECONDER_TOKEN_WRONG 1

/**
 * The code was right once and has been used.
 */
#define SECONDER_TOKEN_REUSED 2

/**
 * The user was never confirmed and `force` was not given, so the code was not looked at.
 */
#define SECONDER_TOKEN_NOT_CHECKED 3

/**
 * The caller: an argument cannot be right. Nothing was sent and nothing was changed.
 */
#define SECONDER_INVALID 10

/**
 * The operator: the service does not accept the API key. This says nothing about the user, so a
 * lock-out must not count it.
 */
#define SECONDER_UNAUTHORIZED 11

/**
 * The service looked at the call and said no.
 */
#define SECONDER_REFUSED 12

/**
 * Nobody yet: wait, then repeat.
 */
#define SECONDER_LIMITED 13

/**
 * The network or the service: there was no answer in time.
 */
#define SECONDER_UNAVAILABLE 14

/**
 * The service: there was an answer that makes no sense. The URL may be wrong.
 */
#define SECONDER_GARBLED 15

/**
 * Nobody: a callback was not signed by the service with this API key.
 */
#define SECONDER_FORGED 16

/**
 * The operator: the database cannot be opened, read or written.
 */
#define SECONDER_STORAGE 17

/**
 * The makers of this library.
 */
#define SECONDER_INTERNAL 18

/**
 * An approval request's status that this library does not know, which lets nobody in.
 */
#define SECONDER_APPROVAL_UNKNOWN 0

/**
 * Not answered yet.
 */
#define SECONDER_APPROVAL_PENDING 1

/**
 * The user said yes. The only status that lets anyone in.
 */
#define SECONDER_APPROVAL_APPROVED 2

/**
 * The user said no.
 */
#define SECONDER_APPROVAL_DENIED 3

/**
 * Nobody answered in time.
 */
#define SECONDER_APPROVAL_EXPIRED 4

/**
 * A choice that was not made: the default.
 */
#define SECONDER_DEFAULT 0

/**
 * Yes.
 */
#define SECONDER_YES 1

/**
 * No. It is not 0: compare with the names.
 */
#define SECONDER_NO 2

/**
 * An answer that the service did not give.
 */
#define SECONDER_NOT_TOLD 0

/**
 * In place of seconds: no end.
 */
#define SECONDER_FOREVER -1

/**
 * One application of the service (interface 2.3).
 */
typedef struct seconder_application seconder_application;

/**
 * An approval request as the service knows it (interface 2.6).
 *
 * Before an approval lets anyone in, compare its svc_id with the user who logs in: an approved
 * request of somebody else proves nothing.
 */
typedef struct seconder_approval seconder_approval;

/**
 * A user who is being asked.
 */
typedef struct seconder_approval_created seconder_approval_created;

/**
 * What a user's authenticator app needs. Whoever sees it can make the user's codes.
 */
typedef struct seconder_authenticator_enrolled seconder_authenticator_enrolled;

/**
 * A code that is on its way, or was not needed.
 */
typedef struct seconder_code_requested seconder_code_requested;

/**
 * A device that was registered for a user: what it needs to answer approval requests.
 */
typedef struct seconder_device seconder_device;

/**
 * The reply of calls that only do something.
 */
typedef struct seconder_done seconder_done;

/**
 * Why a call did not do what was asked. It never holds an API key, a token, a code or a secret.
 */
typedef struct seconder_error seconder_error;

/**
 * An answer to an approval request, told by the service itself.
 */
typedef struct seconder_event seconder_event;

/**
 * A message to a phone. It lives until the function that it was given to returns.
 */
typedef struct seconder_message seconder_message;

/**
 * What the service knows of a number.
 */
typedef struct seconder_phone_information seconder_phone_information;

/**
 * A code that is on its way to a number.
 */
typedef struct seconder_phone_verification_started seconder_phone_verification_started;

/**
 * What answers the calls: an engine in this process, or a client of a service elsewhere.
 */
typedef struct seconder_service seconder_service;

/**
 * What the application used.
 */
typedef struct seconder_statistics seconder_statistics;

/**
 * An enrolled user.
 */
typedef struct seconder_user_created seconder_user_created;

/**
 * A user as the service knows them (interface 2.2).
 */
typedef struct seconder_user_status_reply seconder_user_status_reply;

/**
 * A code that was checked and is right. There is none for any other.
 */
typedef struct seconder_verification seconder_verification;

/**
 * What came of a call: SECONDER_OK, or why not. New numbers may come; none but 0 is a success.
 */
typedef int32_t seconder_status;

/**
 * Carries a message to a phone. 0 says that it is on its way; any other number, that it could not
 * be sent.
 *
 * It runs inside the call that sends, on the thread of that call, and for many threads at once
 * when many call. It must return: no longjmp() and no C++ exception may leave it.
 */
typedef int32_t (*seconder_deliver)(const struct seconder_message *message, void *deliver_userdata);

/**
 * Frees what a deliver function works with.
 */
typedef void (*seconder_deliver_userdata_free)(void *userdata);

/**
 * How a service is opened. Nothing of it is read from the environment.
 */
typedef struct seconder_open_options {
    /**
     * How long a call to a service elsewhere may take from its first step to its last, in
     * milliseconds. Default: 10000.
     */
    uint32_t timeout_ms;
    /**
     * Allows `http://` to this machine itself. For tests: the API key then travels in the clear.
     */
    bool allow_loopback_http;
    /**
     * A file of certificates in PEM to trust in place of the system's.
     */
    const char *ca_file;
    /**
     * The application's name in messages and authenticator apps, for an engine. Default: the name
     * that the database holds, and "Seconder" in a new one.
     */
    const char *application_name;
    /**
     * Where an engine posts the answers to approval requests (interface 6). Default: the URL that
     * the database holds, and none in a new one.
     */
    const char *callback_url;
    /**
     * What carries SMS and voice calls of an engine. Default: a folder of text files beside the
     * database, named as the database with `.spool` for `.db`.
     */
    seconder_deliver deliver;
    /**
     * What the deliver function is given. It must bear use by many threads at once.
     */
    void *deliver_userdata;
    /**
     * Runs exactly once with `deliver_userdata`, when nothing can use it any more: at the latest
     * when the service is freed, and before seconder_open() returns when it fails.
     */
    seconder_deliver_userdata_free deliver_userdata_free;
} seconder_open_options;

/**
 * Options of seconder_create_user().
 */
typedef struct seconder_create_user_options {
    /**
     * Whether the user gets a first text message that tells where the app is: SECONDER_DEFAULT,
     * which is yes, SECONDER_YES or SECONDER_NO. A service without such a message sends none.
     */
    int32_t send_install_link_via_sms;
} seconder_create_user_options;

/**
 * Options of seconder_delete_user().
 */
typedef struct seconder_delete_user_options {
    /**
     * The address that asks for it.
     */
    const char *user_ip;
} seconder_delete_user_options;

/**
 * Options of seconder_register_activity().
 */
typedef struct seconder_register_activity_options {
    /**
     * Whatever belongs to the activity: the text of a JSON object.
     */
    const char *data;
    /**
     * The address the user acted from.
     */
    const char *user_ip;
} seconder_register_activity_options;

/**
 * Options of seconder_user_status().
 */
typedef struct seconder_user_status_options {
    /**
     * The address that asks.
     */
    const char *user_ip;
} seconder_user_status_options;

/**
 * Options of seconder_request_sms().
 */
typedef struct seconder_request_sms_options {
    /**
     * Makes the code valid for this action alone; the same must be given to seconder_verify().
     */
    const char *action;
    /**
     * What the message says of the action.
     */
    const char *action_message;
    /**
     * Sends the code even to a user who has an app.
     */
    bool force;
} seconder_request_sms_options;

/**
 * Options of seconder_request_call().
 */
typedef struct seconder_request_call_options {
    /**
     * Makes the code valid for this action alone; the same must be given to seconder_verify().
     */
    const char *action;
    /**
     * What the voice says of the action.
     */
    const char *action_message;
    /**
     * Calls even a user who has an app.
     */
    bool force;
} seconder_request_call_options;

/**
 * Options of seconder_verify().
 */
typedef struct seconder_verify_options {
    /**
     * Checks the code even of a user who was never confirmed.
     */
    bool force;
    /**
     * The action that the code was sent for.
     */
    const char *action;
} seconder_verify_options;

/**
 * Options of seconder_enrol_authenticator().
 */
typedef struct seconder_enrol_authenticator_options {
    /**
     * What the app shows beside the code. Default: the user's e-mail.
     */
    const char *label;
    /**
     * The width and height of the QR code, 100 to 1000 pixels. Default: 300.
     */
    uint64_t qr_size;
} seconder_enrol_authenticator_options;

/**
 * What a code was made or received with, or what answered (interface 2.5). Services leave out what
 * they do not know: a text is NULL then, and a number 0.
 */
typedef struct seconder_device_info {
    /**
     * The device's number.
     */
    uint64_t id;
    /**
     * The address it was last seen at.
     */
    const char *ip;
    /**
     * The city of that address.
     */
    const char *city;
    /**
     * The region of that address.
     */
    const char *region;
    /**
     * The country of that address.
     */
    const char *country;
    /**
     * "android", "ios", "sms" and the like.
     */
    const char *os_type;
    /**
     * The number it was registered under.
     */
    uint64_t registration_device_id;
    /**
     * The address it was registered from.
     */
    const char *registration_ip;
    /**
     * The city of that address.
     */
    const char *registration_city;
    /**
     * The region of that address.
     */
    const char *registration_region;
    /**
     * The country of that address.
     */
    const char *registration_country;
    /**
     * How the user proved the number then.
     */
    const char *registration_method;
    /**
     * When it was registered, in Unix seconds.
     */
    int64_t registration_date;
    /**
     * When the account was last recovered, in Unix seconds.
     */
    int64_t last_account_recovery_at;
} seconder_device_info;

/**
 * A picture to show with an approval request.
 */
typedef struct seconder_logo {
    /**
     * "default", "low", "med" or "high".
     */
    const char *res;
    /**
     * Where the picture is.
     */
    const char *url;
} seconder_logo;

/**
 * Options of seconder_create_approval().
 */
typedef struct seconder_create_approval_options {
    /**
     * What else the user is shown: the text of a JSON object.
     */
    const char *details;
    /**
     * What the user is not shown, and the application gets back: the text of a JSON object.
     */
    const char *hidden_details;
    /**
     * Pictures to show; when there are any, one has `res` = "default".
     */
    const struct seconder_logo *logos;
    /**
     * How many pictures there are at `logos`.
     */
    size_t logos_count;
    /**
     * How long the request can be answered, in seconds. Default: 86400. SECONDER_FOREVER is for
     * ever.
     */
    int64_t seconds_to_expire;
} seconder_create_approval_options;

/**
 * Options of seconder_start_phone_verification().
 */
typedef struct seconder_start_phone_verification_options {
    /**
     * The language of the message, such as "en". A service that lacks it uses its own.
     */
    const char *locale;
    /**
     * How many digits the code has, 4 to 10. Default: as the service is set up.
     */
    uint64_t code_length;
} seconder_start_phone_verification_options;

/**
 * Options of seconder_phone_info().
 */
typedef struct seconder_phone_info_options {
    /**
     * The address of the user who asks.
     */
    const char *user_ip;
} seconder_phone_info_options;

/**
 * Options of seconder_app_details().
 */
typedef struct seconder_app_details_options {
    /**
     * The address that asks.
     */
    const char *user_ip;
} seconder_app_details_options;

/**
 * Options of seconder_app_stats().
 */
typedef struct seconder_app_stats_options {
    /**
     * The address that asks.
     */
    const char *user_ip;
} seconder_app_stats_options;

/**
 * What the application used in one month, in UTC (interface 2.4).
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
     * How many calls the application made.
     */
    uint64_t api_calls_count;
    /**
     * How many codes and approvals let somebody in.
     */
    uint64_t auths_count;
    /**
     * How many voice calls were made.
     */
    uint64_t calls_count;
    /**
     * How many SMS were sent.
     */
    uint64_t sms_count;
    /**
     * How many users were enrolled.
     */
    uint64_t users_count;
} seconder_monthly_statistic;

/**
 * A callback as it was received (interface 5.5). A missing text may be NULL.
 */
typedef struct seconder_callback {
    /**
     * The callback URL as it is configured with the service: scheme included, no parameters. Never
     * take it from the request's Host.
     */
    const char *url;
    /**
     * The request's method: "POST" or "GET".
     */
    const char *method;
    /**
     * The raw query of a GET, without the `?`.
     */
    const char *query;
    /**
     * The raw body of a POST. It need not end with a NUL.
     */
    const void *body;
    /**
     * How many bytes `body` has.
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
 * The status that the call returned. SECONDER_INVALID for NULL: no error is no permission.
 */
seconder_status seconder_error_status(const struct seconder_error *error);

/**
 * What happened and what to do about it, in English, for a log. Never NULL: for NULL it says that
 * there is no error.
 */
const char *seconder_error_message(const struct seconder_error *error);

/**
 * The HTTP status of a refusal (interface 7), else 0.
 */
int32_t seconder_error_http_status(const struct seconder_error *error);

/**
 * The service's own code of a refusal, such as "60026" (interface 7), else NULL.
 */
const char *seconder_error_service_code(const struct seconder_error *error);

/**
 * The argument that cannot be right, by its name in the interface, when the status is
 * SECONDER_INVALID; else NULL.
 */
const char *seconder_error_parameter(const struct seconder_error *error);

/**
 * How many fields the service, or the check of the arguments, found fault with.
 */
size_t seconder_error_field_count(const struct seconder_error *error);

/**
 * The name of the field at `index`, by its name in the interface; NULL beyond the last.
 */
const char *seconder_error_field_name(const struct seconder_error *error, size_t index);

/**
 * What is wrong with the field at `index`; NULL beyond the last.
 */
const char *seconder_error_field_text(const struct seconder_error *error, size_t index);

/**
 * Whether the same call can be made again without the risk that it happens twice.
 */
bool seconder_error_retry_safe(const struct seconder_error *error);

/**
 * How long to wait before the call is made again, in whole seconds, rounded up; 0 where that is
 * not known.
 */
uint64_t seconder_error_retry_after_seconds(const struct seconder_error *error);

/**
 * Frees an error. NULL is fine.
 */
void seconder_error_free(struct seconder_error *error);

/**
 * Opens a service.
 *
 * `url` says who answers: `https://...` for a service elsewhere, `sqlite:/path/file.db` for an
 * engine in this process, `sandbox:` for an engine that forgets and accepts every token, for the
 * tests of applications (`sandbox:?accept=0000000` accepts that token alone).
 *
 * `api_key` is the application's API key. A service elsewhere needs it; for an engine it may be
 * NULL, which makes one for the first application of a new database.
 *
 * SECONDER_INVALID for a URL or an option that cannot be right, SECONDER_STORAGE for a database
 * that cannot be opened, SECONDER_UNAUTHORIZED when the database has no application of that API
 * key. Nothing is sent before the first call.
 */
SECONDER_MUST_USE
seconder_status seconder_open(const char *url,
                              const char *api_key,
                              const struct seconder_open_options *options,
                              size_t options_size,
                              struct seconder_service **out,
                              struct seconder_error **error);

/**
 * Frees a service, after the last call with it has returned. NULL is fine.
 */
void seconder_service_free(struct seconder_service *service);

/**
 * The application's API key, for an engine in this process: callbacks are signed with it. The text
 * belongs to the service. NULL, and an error of SECONDER_INVALID, when a service elsewhere answers.
 */
const char *seconder_api_key(const struct seconder_service *service, struct seconder_error **error);

/**
 * The version of the library, such as "0.1.0".
 */
const char *seconder_version(void);

/**
 * The number, in E.164: +15550100123.
 */
const char *seconder_message_to(const struct seconder_message *message);

/**
 * How the message travels: "sms" or "call".
 */
const char *seconder_message_via(const struct seconder_message *message);

/**
 * What the person reads or hears.
 */
const char *seconder_message_text(const struct seconder_message *message);

/**
 * The code alone.
 */
const char *seconder_message_code(const struct seconder_message *message);

/**
 * When the code dies, in Unix seconds.
 */
uint64_t seconder_message_expires_at(const struct seconder_message *message);

/**
 * Enrols a user, or adds an e-mail to the user who has this cellphone already (interface 4.1).
 *
 * `email` is name@example.com; `cellphone`, 4 to 15 digits in groups that dashes, periods or spaces
 * may separate; `country_code`, the calling code of the number, such as "1" or "44".
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
 * Removes a user from the application, with all that is known of them (interface 4.5). `out` may
 * be NULL.
 */
SECONDER_MUST_USE
seconder_status seconder_delete_user(const struct seconder_service *service,
                                     uint64_t user_id,
                                     const struct seconder_delete_user_options *options,
                                     size_t options_size,
                                     struct seconder_done **out,
                                     struct seconder_error **error);

/**
 * Tells the service what a user did, so that fraud can be found (interface 4.6).
 *
 * `type` is "password_reset", "banned", "unbanned" or "cookie_login". `out` may be NULL.
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
 * Asks what the service knows of a user (interface 4.8).
 */
SECONDER_MUST_USE
seconder_status seconder_user_status(const struct seconder_service *service,
                                     uint64_t user_id,
                                     const struct seconder_user_status_options *options,
                                     size_t options_size,
                                     struct seconder_user_status_reply **out,
                                     struct seconder_error **error);

/**
 * The id to keep and to give to the other calls, as `svc_id` or `user_id`.
 */
uint64_t seconder_user_created_id(const struct seconder_user_created *user);

/**
 * What happened, in the service's words.
 */
const char *seconder_user_created_message(const struct seconder_user_created *user);

/**
 * Frees the reply of seconder_create_user(). NULL is fine.
 */
void seconder_user_created_free(struct seconder_user_created *user);

/**
 * What happened, in the service's words.
 */
const char *seconder_done_message(const struct seconder_done *done);

/**
 * Frees the reply of a call that only does something. NULL is fine.
 */
void seconder_done_free(struct seconder_done *done);

/**
 * The user's id.
 */
uint64_t seconder_user_status_reply_svc_id(const struct seconder_user_status_reply *user);

/**
 * Whether the user has used a valid code.
 */
bool seconder_user_status_reply_confirmed(const struct seconder_user_status_reply *user);

/**
 * Whether the user has registered an app.
 */
bool seconder_user_status_reply_registered(const struct seconder_user_status_reply *user);

/**
 * The calling code of the user's number.
 */
uint64_t seconder_user_status_reply_country_code(const struct seconder_user_status_reply *user);

/**
 * The user's number, masked: XXX-XXX-0123.
 */
const char *seconder_user_status_reply_phone_number(const struct seconder_user_status_reply *user);

/**
 * How many kinds of device the user has.
 */
size_t seconder_user_status_reply_device_count(const struct seconder_user_status_reply *user);

/**
 * What codes come from or go to: "android", "android_tablet", "ios", "svc_chrome" or "sms"; NULL
 * beyond the last.
 */
const char *seconder_user_status_reply_device(const struct seconder_user_status_reply *user,
                                              size_t index);

/**
 * Whether the user has a hardware token.
 */
bool seconder_user_status_reply_has_hard_token(const struct seconder_user_status_reply *user);

/**
 * Whether the user's account is switched off.
 */
bool seconder_user_status_reply_account_disabled(const struct seconder_user_status_reply *user);

/**
 * What happened, in the service's words.
 */
const char *seconder_user_status_reply_message(const struct seconder_user_status_reply *user);

/**
 * Frees the reply of seconder_user_status(). NULL is fine.
 */
void seconder_user_status_reply_free(struct seconder_user_status_reply *user);

/**
 * Sends a code by SMS (interface 4.2). `out` may be NULL.
 *
 * SECONDER_LIMITED when the user was sent one just now.
 */
SECONDER_MUST_USE
seconder_status seconder_request_sms(const struct seconder_service *service,
                                     uint64_t svc_id,
                                     const struct seconder_request_sms_options *options,
                                     size_t options_size,
                                     struct seconder_code_requested **out,
                                     struct seconder_error **error);

/**
 * Speaks a code in a voice call (interface 4.3). `out` may be NULL.
 *
 * SECONDER_LIMITED when the user was called just now.
 */
SECONDER_MUST_USE
seconder_status seconder_request_call(const struct seconder_service *service,
                                      uint64_t svc_id,
                                      const struct seconder_request_call_options *options,
                                      size_t options_size,
                                      struct seconder_code_requested **out,
                                      struct seconder_error **error);

/**
 * Checks the code that a user typed (interface 4.4).
 *
 * SECONDER_OK says that the code was checked and is right, and nothing else does. `token` must be
 * 6 to 12 digits and nothing else. `out` may be NULL.
 *
 * SECONDER_TOKEN_WRONG, SECONDER_TOKEN_REUSED and SECONDER_TOKEN_NOT_CHECKED say why the code lets
 * nobody in; SECONDER_LIMITED comes after wrong codes, until the user may try again.
 */
SECONDER_MUST_USE
seconder_status seconder_verify(const struct seconder_service *service,
                                const char *token,
                                uint64_t svc_id,
                                const struct seconder_verify_options *options,
                                size_t options_size,
                                struct seconder_verification **out,
                                struct seconder_error **error);

/**
 * Gives a user's authenticator app a new secret. A secret that the user had before stays valid
 * until a code of the new one was right.
 */
SECONDER_MUST_USE
seconder_status seconder_enrol_authenticator(const struct seconder_service *service,
                                             uint64_t user_id,
                                             const struct seconder_enrol_authenticator_options *options,
                                             size_t options_size,
                                             struct seconder_authenticator_enrolled **out,
                                             struct seconder_error **error);

/**
 * What happened, in the service's words.
 */
const char *seconder_code_requested_message(const struct seconder_code_requested *code);

/**
 * The number used, masked: +1-XXX-XXX-XX23.
 */
const char *seconder_code_requested_cellphone(const struct seconder_code_requested *code);

/**
 * Whether nothing was sent because the user has an app and `force` was not given.
 */
bool seconder_code_requested_ignored(const struct seconder_code_requested *code);

/**
 * The user's latest device, when the request was ignored.
 */
const char *seconder_code_requested_device(const struct seconder_code_requested *code);

/**
 * Frees the reply of seconder_request_sms() or seconder_request_call(). NULL is fine.
 */
void seconder_code_requested_free(struct seconder_code_requested *code);

/**
 * What happened, in the service's words.
 */
const char *seconder_verification_message(const struct seconder_verification *verification);

/**
 * What the code was made or received with (interface 2.5); NULL where the service does not tell.
 * It belongs to the verification.
 */
const struct seconder_device_info *seconder_verification_device(const struct seconder_verification *verification);

/**
 * Frees the reply of seconder_verify(). NULL is fine.
 */
void seconder_verification_free(struct seconder_verification *verification);

/**
 * What the app shows beside the code.
 */
const char *seconder_authenticator_enrolled_label(const struct seconder_authenticator_enrolled *enrolled);

/**
 * Who the code is for.
 */
const char *seconder_authenticator_enrolled_issuer(const struct seconder_authenticator_enrolled *enrolled);

/**
 * The otpauth: URI that holds the secret.
 */
const char *seconder_authenticator_enrolled_uri(const struct seconder_authenticator_enrolled *enrolled);

/**
 * The same as a picture: a data: or https: URL for an `<img>`.
 */
const char *seconder_authenticator_enrolled_qr_code(const struct seconder_authenticator_enrolled *enrolled);

/**
 * Frees the reply of seconder_enrol_authenticator(), and wipes the secret. NULL is fine.
 */
void seconder_authenticator_enrolled_free(struct seconder_authenticator_enrolled *enrolled);

/**
 * Asks a user to approve something on their device (interface 4.12). `message` is what the user is
 * asked, 1 to 1024 bytes.
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
 * Asks how a user answered (interface 4.13).
 *
 * SECONDER_OK says that the request was found, and nothing of the answer: only a
 * seconder_approval_status() of SECONDER_APPROVAL_APPROVED lets anyone in.
 */
SECONDER_MUST_USE
seconder_status seconder_check_approval(const struct seconder_service *service,
                                        const char *uuid,
                                        struct seconder_approval **out,
                                        struct seconder_error **error);

/**
 * The request's name, to ask for its answer with.
 */
const char *seconder_approval_created_uuid(const struct seconder_approval_created *created);

/**
 * Frees the reply of seconder_create_approval(). NULL is fine.
 */
void seconder_approval_created_free(struct seconder_approval_created *created);

/**
 * How the user answered: one of SECONDER_APPROVAL_..., of which only SECONDER_APPROVAL_APPROVED lets
 * anyone in. SECONDER_APPROVAL_UNKNOWN for NULL.
 */
int32_t seconder_approval_status(const struct seconder_approval *approval);

/**
 * The request's name.
 */
const char *seconder_approval_uuid(const struct seconder_approval *approval);

/**
 * The user who was asked. Compare it with the user who logs in.
 */
uint64_t seconder_approval_svc_id(const struct seconder_approval *approval);

/**
 * When the request was made, in RFC 3339.
 */
const char *seconder_approval_created_at(const struct seconder_approval *approval);

/**
 * When the request last changed, in RFC 3339.
 */
const char *seconder_approval_updated_at(const struct seconder_approval *approval);

/**
 * When the user answered, in RFC 3339; NULL while the request is pending.
 */
const char *seconder_approval_processed_at(const struct seconder_approval *approval);

/**
 * How long the request can be answered, in seconds, or SECONDER_FOREVER.
 */
int64_t seconder_approval_seconds_to_expire(const struct seconder_approval *approval);

/**
 * Whether a device was told of the request: SECONDER_YES, SECONDER_NO or SECONDER_NOT_TOLD.
 */
int32_t seconder_approval_notified(const struct seconder_approval *approval);

/**
 * Frees the reply of seconder_check_approval(). NULL is fine.
 */
void seconder_approval_free(struct seconder_approval *approval);

/**
 * Sends a code to a number that belongs to no user yet (interface 4.10).
 *
 * `via` is "sms" or "call"; `phone_number`, the number without its `country_code`. `out` may be
 * NULL.
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
 * Checks the code that was sent to a number by seconder_start_phone_verification().
 *
 * SECONDER_OK says that the code is right, and nothing else does. A wrong one is SECONDER_REFUSED
 * with the service code "60022"; "60023" says that no code is waiting. `verification_code` must be
 * 4 to 10 digits and nothing else. `out` may be NULL.
 */
SECONDER_MUST_USE
seconder_status seconder_check_phone_verification(const struct seconder_service *service,
                                                  const char *phone_number,
                                                  const char *country_code,
                                                  const char *verification_code,
                                                  struct seconder_done **out,
                                                  struct seconder_error **error);

/**
 * Asks what kind of number a number is (interface 4.11).
 */
SECONDER_MUST_USE
seconder_status seconder_phone_info(const struct seconder_service *service,
                                    const char *phone_number,
                                    const char *country_code,
                                    const struct seconder_phone_info_options *options,
                                    size_t options_size,
                                    struct seconder_phone_information **out,
                                    struct seconder_error **error);

/**
 * Who carries the number.
 */
const char *seconder_phone_verification_started_carrier(const struct seconder_phone_verification_started *started);

/**
 * Whether the number moved from one carrier to another: SECONDER_YES, SECONDER_NO or
 * SECONDER_NOT_TOLD.
 */
int32_t seconder_phone_verification_started_is_ported(const struct seconder_phone_verification_started *started);

/**
 * Whether the number is a mobile one: SECONDER_YES, SECONDER_NO or SECONDER_NOT_TOLD.
 */
int32_t seconder_phone_verification_started_is_cellphone(const struct seconder_phone_verification_started *started);

/**
 * What happened, in the service's words.
 */
const char *seconder_phone_verification_started_message(const struct seconder_phone_verification_started *started);

/**
 * How long the code lives, in seconds, or SECONDER_FOREVER.
 */
int64_t seconder_phone_verification_started_seconds_to_expire(const struct seconder_phone_verification_started *started);

/**
 * The verification's own name.
 */
const char *seconder_phone_verification_started_uuid(const struct seconder_phone_verification_started *started);

/**
 * Frees the reply of seconder_start_phone_verification(). NULL is fine.
 */
void seconder_phone_verification_started_free(struct seconder_phone_verification_started *started);

/**
 * The kind of number: "voip", "landline", "cellphone" or "unknown".
 */
const char *seconder_phone_information_type(const struct seconder_phone_information *phone);

/**
 * Who carries the number.
 */
const char *seconder_phone_information_provider(const struct seconder_phone_information *phone);

/**
 * Whether the number moved from one carrier to another: SECONDER_YES, SECONDER_NO or
 * SECONDER_NOT_TOLD.
 */
int32_t seconder_phone_information_ported(const struct seconder_phone_information *phone);

/**
 * What happened, in the service's words.
 */
const char *seconder_phone_information_message(const struct seconder_phone_information *phone);

/**
 * Frees the reply of seconder_phone_info(). NULL is fine.
 */
void seconder_phone_information_free(struct seconder_phone_information *phone);

/**
 * Asks what the service knows of the application (interface 4.7).
 */
SECONDER_MUST_USE
seconder_status seconder_app_details(const struct seconder_service *service,
                                     const struct seconder_app_details_options *options,
                                     size_t options_size,
                                     struct seconder_application **out,
                                     struct seconder_error **error);

/**
 * Asks how much the application used, month by month (interface 4.9).
 */
SECONDER_MUST_USE
seconder_status seconder_app_stats(const struct seconder_service *service,
                                   const struct seconder_app_stats_options *options,
                                   size_t options_size,
                                   struct seconder_statistics **out,
                                   struct seconder_error **error);

/**
 * The application's number.
 */
uint64_t seconder_application_app_id(const struct seconder_application *application);

/**
 * The name that users see in messages.
 */
const char *seconder_application_name(const struct seconder_application *application);

/**
 * What was booked with the service.
 */
const char *seconder_application_plan(const struct seconder_application *application);

/**
 * Whether codes can be sent by SMS.
 */
bool seconder_application_sms_enabled(const struct seconder_application *application);

/**
 * Whether the application's own app is used.
 */
bool seconder_application_white_label(const struct seconder_application *application);

/**
 * What happened, in the service's words.
 */
const char *seconder_application_message(const struct seconder_application *application);

/**
 * Frees the reply of seconder_app_details(). NULL is fine.
 */
void seconder_application_free(struct seconder_application *application);

/**
 * The application's number.
 */
uint64_t seconder_statistics_app_id(const struct seconder_statistics *statistics);

/**
 * How many months there are.
 */
size_t seconder_statistics_count(const struct seconder_statistics *statistics);

/**
 * The month at `index`, the oldest first; NULL beyond the last. It belongs to the statistics.
 */
const struct seconder_monthly_statistic *seconder_statistics_stat(const struct seconder_statistics *statistics,
                                                                  size_t index);

/**
 * How many users the application has now.
 */
uint64_t seconder_statistics_total_users(const struct seconder_statistics *statistics);

/**
 * What happened, in the service's words.
 */
const char *seconder_statistics_message(const struct seconder_statistics *statistics);

/**
 * Frees the reply of seconder_app_stats(). NULL is fine.
 */
void seconder_statistics_free(struct seconder_statistics *statistics);

/**
 * Registers a device for a user, with an engine in this process; SECONDER_INVALID when a service
 * elsewhere answers.
 *
 * `device_type` is "android", "android_tablet", "ios" or "svc_chrome". SECONDER_REFUSED when there
 * is no such user.
 */
SECONDER_MUST_USE
seconder_status seconder_register_device(const struct seconder_service *service,
                                         uint64_t svc_id,
                                         const char *device_type,
                                         struct seconder_device **out,
                                         struct seconder_error **error);

/**
 * Answers an approval request from a device, with an engine in this process, and posts the callback
 * before it returns; SECONDER_INVALID when a service elsewhere answers.
 *
 * `answer` is "approve", "deny", or "report", which denies and gives the user 5 minutes of quiet.
 * SECONDER_REFUSED when the request is not the device's to answer, or no longer.
 */
SECONDER_MUST_USE
seconder_status seconder_answer_approval(const struct seconder_service *service,
                                         const char *uuid,
                                         uint64_t device_id,
                                         const char *device_secret,
                                         const char *answer,
                                         struct seconder_error **error);

/**
 * The device's id.
 */
uint64_t seconder_device_id(const struct seconder_device *device);

/**
 * What the device proves itself with. It is told this once: keep it in the device.
 */
const char *seconder_device_secret(const struct seconder_device *device);

/**
 * Frees the reply of seconder_register_device(), and wipes the secret. NULL is fine.
 */
void seconder_device_free(struct seconder_device *device);

/**
 * Checks a callback's signature and reads it. `api_key` is the application's, which the service
 * signs with.
 *
 * SECONDER_OK says that the service sent it, and nothing of the answer: only a
 * seconder_event_status() of SECONDER_APPROVAL_APPROVED lets anyone in. SECONDER_FORGED says that
 * nothing of it is to be believed: answer it with status 401.
 */
SECONDER_MUST_USE
seconder_status seconder_callback_verify(const char *api_key,
                                         const struct seconder_callback *received,
                                         size_t received_size,
                                         struct seconder_event **out,
                                         struct seconder_error **error);

/**
 * The approval request.
 */
const char *seconder_event_uuid(const struct seconder_event *event);

/**
 * How the user answered: one of SECONDER_APPROVAL_..., of which only SECONDER_APPROVAL_APPROVED lets
 * anyone in. SECONDER_APPROVAL_UNKNOWN for NULL.
 */
int32_t seconder_event_status(const struct seconder_event *event);

/**
 * The user who answered. Compare it with the user who logs in.
 */
uint64_t seconder_event_svc_id(const struct seconder_event *event);

/**
 * The device that answered; NULL where the service does not tell. It belongs to the event.
 */
const struct seconder_device_info *seconder_event_device(const struct seconder_event *event);

/**
 * Everything that was received: the text of a JSON object.
 */
const char *seconder_event_parameters(const struct seconder_event *event);

/**
 * Frees the event of seconder_callback_verify(). NULL is fine.
 */
void seconder_event_free(struct seconder_event *event);

/**
 * Whether a text has the form of a token: 6 to 12 ASCII digits, nothing trimmed. It says nothing
 * of whether the token is right.
 */
SECONDER_MUST_USE
seconder_status seconder_check_token(const char *text,
                                     struct seconder_error **error);

/**
 * Whether a text has the form of a user's id: a positive 64-bit integer, in decimal digits without
 * sign or leading zero.
 */
SECONDER_MUST_USE
seconder_status seconder_check_svc_id(const char *text,
                                      struct seconder_error **error);

/**
 * Whether a text has the form of an approval request's uuid: 1 to 64 letters, digits and dashes of
 * ASCII.
 */
SECONDER_MUST_USE
seconder_status seconder_check_uuid(const char *text,
                                    struct seconder_error **error);

/**
 * Whether a text has the form of a phone number without its calling code: 4 to 15 digits, in groups
 * that dashes, periods or spaces may separate.
 */
SECONDER_MUST_USE
seconder_status seconder_check_phone_number(const char *text,
                                            struct seconder_error **error);

/**
 * The code that an authenticator app shows at a time, in Unix seconds (RFC 6238), for the tests of
 * applications.
 *
 * `uri` is the otpauth: URI that the app was enrolled with. The code and a NUL are written to
 * `buffer`, which needs 9 bytes at most; for any other status than SECONDER_OK, a NUL alone.
 */
SECONDER_MUST_USE
seconder_status seconder_totp_code(const char *uri,
                                   uint64_t unix_seconds,
                                   char *buffer,
                                   size_t buffer_size,
                                   struct seconder_error **error);

#ifdef __cplusplus
}
#endif

#endif /* SECONDER_H */
