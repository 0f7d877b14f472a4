/* Seconder: the second factor of a login.
 *
 * What holds for every function here:
 *
 * Status      A function that can fail returns a seconder_status. SECONDER_OK is 0 and is the only
 *             success. Nobody may be let in after any other status. What a description says of a
 *             status is not all: an argument that cannot be right is always SECONDER_INVALID_ARGUMENT, and a
 *             call may end with every status from SECONDER_UNAUTHORIZED on (interface 7).
 * Errors      The last argument may be the address of a seconder_error pointer, or NULL. It is set
 *             to NULL first, and to an error of its own for every status but SECONDER_OK. Free it
 *             with seconder_error_free() before its address is given again.
 * Handles     A pointer that a function gives through its out argument belongs to the caller until
 *             the _free() function of its type. It is set to NULL first and stays NULL for every
 *             status but SECONDER_OK. An out argument may be NULL only where it says so. Every
 *             _free() function takes NULL, and free() is never right for anything of this library.
 * Text in     NUL-terminated UTF-8, copied before the function returns. NULL is SECONDER_INVALID_ARGUMENT
 *             for what is required, and is as good as absent for what is not.
 * Ids         of users and devices are the numbers that the service gave, 1 to 9223372036854775807.
 * Text out    NUL-terminated UTF-8 that belongs to the handle it was asked of and goes with it.
 *             NULL where the service does not tell. A number that it does not tell is 0.
 * Options     A struct and its size: `&options, sizeof options`, or `NULL, 0` for the defaults. Zero
 *             in a field is its default, so begin with `= {0}`. A size that no version of this
 *             header has is SECONDER_INVALID_ARGUMENT, and nothing of the struct is read. A struct of a newer
 *             version is SECONDER_INVALID_ARGUMENT when it asks for what this library does not know.
 * Structs     that are only read may grow at their end in a later minor version: use them through
 *             the pointer that was given.
 * Functions   of the program are given data of the program's own, which may be NULL. What frees the
 *             data may be NULL too, and runs exactly once, whether the call that took it succeeds or
 *             not. Where the size of the options is wrong, nothing of them is read, and it does not
 *             run.
 * Parts       A build of the library may lack the engine or the client of a remote service. It
 *             has every function all the same; one that needs what is not there is SECONDER_INVALID_ARGUMENT.
 * Threads     A service, a verifier and a totp may be used by many threads at once. Other handles may
 *             be read by many threads at once. Each is freed by one, when no other uses it; that a
 *             handle was freed before is not noticed. No function starts a thread, installs a signal
 *             handler or reads an environment variable. A thread must not be cancelled, by
 *             pthread_cancel(), while it is in one: that ends the process.
 * Forks       A remote service may be used in the child too, on connections of the child's own. An
 *             engine on a database may not, and the child can open none while the parent has one
 *             open: open services after the fork, in the parent too.
 * Unloading   The shared library stays in memory after dlclose(). A module that links the static one
 *             and can be unloaded is linked with -z nodelete.
 * Memory      When there is none left the process ends, by abort(): no status can say so.
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

/* The bool of <stdbool.h> is newer than C89, of which clang would complain. */
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
 * What was asked for is done. From seconder_verify(), seconder_check_phone_verification() and
 * seconder_totp_check() it says that the code was checked and is right.
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
#define SECONDER_INVALID_ARGUMENT 10

/**
 * The operator: the service does not accept the API key. This says nothing about the user, so a
 * lock-out must not count it.
 */
#define SECONDER_UNAUTHORIZED 11

/**
 * The service looked at the call and said no.
 */
#define SECONDER_REJECTED 12

/**
 * Nobody yet: wait, then repeat.
 */
#define SECONDER_RATE_LIMITED 13

/**
 * The network or the service: there was no answer in time.
 */
#define SECONDER_UNAVAILABLE 14

/**
 * The service: there was an answer that makes no sense. The URL may be wrong.
 */
#define SECONDER_INVALID_RESPONSE 15

/**
 * Nobody: a callback was not signed by the service with this API key.
 */
#define SECONDER_INVALID_CALLBACK 16

/**
 * The operator: the database cannot be opened, read or written.
 */
#define SECONDER_STORAGE 17

/**
 * The makers of this library.
 */
#define SECONDER_INTERNAL 18

/**
 * The program: its own function ended the wait of seconder_wait_for_approval().
 */
#define SECONDER_STOPPED 19

/**
 * An error that tells of no stage: no call broke off on its way.
 */
#define SECONDER_STAGE_NONE 0

/**
 * The host name was being looked up.
 */
#define SECONDER_STAGE_DNS 1

/**
 * The connection was being made.
 */
#define SECONDER_STAGE_CONNECT 2

/**
 * The service's certificate was being checked.
 */
#define SECONDER_STAGE_TLS 3

/**
 * The request may have been sent, whole or in part.
 */
#define SECONDER_STAGE_RESPONSE 4

/**
 * A code was being handed to what delivers it.
 */
#define SECONDER_STAGE_DELIVERY 5

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
#define SECONDER_NOT_PROVIDED 0

/**
 * A remote service answers in JSON.
 */
#define SECONDER_FORMAT_JSON 1

/**
 * A remote service answers in XML.
 */
#define SECONDER_FORMAT_XML 2

/**
 * The present generation of the interface: the API key is in a header (interface 9).
 */
#define SECONDER_GENERATION_CURRENT 1

/**
 * The older generation: the API key is a parameter, and some replies have other words.
 */
#define SECONDER_GENERATION_OLDER 2

/**
 * No call is repeated: every wait is the program's, as SECONDER_RATE_LIMITED.
 */
#define SECONDER_REPEATS_NONE 1

/**
 * Calls that only ask are repeated: seconder_app_details(), seconder_user_status(),
 * seconder_app_stats(), seconder_phone_info() and seconder_check_approval().
 */
#define SECONDER_REPEATS_QUESTIONS 2

/**
 * Every call is repeated. A service that said "wait" after it had sent an SMS then does it twice.
 */
#define SECONDER_REPEATS_ALL 3

/**
 * HMAC-SHA-1, which every authenticator app knows (RFC 6238).
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
 * Before an approval lets anyone in, compare its user_id with the user who logs in: an approved
 * request of somebody else proves nothing.
 */
typedef struct seconder_approval seconder_approval;

/**
 * A user who is being asked.
 */
typedef struct seconder_approval_created seconder_approval_created;

/**
 * The requests that a device's user can still answer.
 */
typedef struct seconder_approval_requests seconder_approval_requests;

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
 * What answers the calls: an engine in this process, or a client of a remote service.
 */
typedef struct seconder_service seconder_service;

/**
 * A callback on its way to the application (interface 6). It lives until the function that it was
 * given to returns.
 */
typedef struct seconder_signed_callback seconder_signed_callback;

/**
 * What the application used.
 */
typedef struct seconder_statistics seconder_statistics;

/**
 * A text that was made for the caller: a code, a signature, a URI. It is wiped when it is freed.
 */
typedef struct seconder_text seconder_text;

/**
 * A secret that an authenticator app and a service share, and how codes are made of it. It may be
 * used by many threads at once.
 */
typedef struct seconder_totp seconder_totp;

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
 * Checks callbacks. Make one, keep it, and share it between threads.
 */
typedef struct seconder_verifier seconder_verifier;

/**
 * What came of a call: SECONDER_OK, or why not. New numbers may come; none but 0 is a success.
 */
typedef int32_t seconder_status;

/**
 * The names that a service of this interface uses where the interface document says `svc`. NULL in
 * a field is the name that comes of `word`, and the document's own where that is NULL too.
 */
typedef struct seconder_names {
    /**
     * What the service is called where the document says `svc`: with "acme", headers are
     * X-Acme-..., ids acme_id and the browser acme_chrome. 1 to 32 lower-case letters and digits
     * of ASCII that begin with a letter.
     */
    const char *word;
    /**
     * The first part of the paths of approval requests: a word as above. Default: "push".
     */
    const char *push_path;
    /**
     * What the names of the headers begin with: 1 to 32 letters, digits and dashes of ASCII.
     * Default: "X-Svc-".
     */
    const char *header_prefix;
    /**
     * The field that names a user, in bodies and callbacks: 1 to 32 lower-case letters, digits and
     * underscores of ASCII that begin with a letter. Default: "svc_id".
     */
    const char *id_field;
    /**
     * The browser among the devices, written as `id_field`. Default: "svc_chrome".
     */
    const char *chrome_device;
} seconder_names;

/**
 * Carries a message to a phone. 0 says that it is on its way; any other number, that it could not
 * be sent.
 *
 * It runs inside the call that sends, on the thread of that call, and for many threads at once
 * when many call. It must return: no longjmp() and no C++ exception may leave it.
 */
typedef int32_t (*seconder_deliver)(const struct seconder_message *message, void *deliver_userdata);

/**
 * Frees what a function of the program works with. It runs exactly once with the data that were
 * given beside it, on whichever thread ends their use. No longjmp() and no C++ exception may leave
 * it.
 */
typedef void (*seconder_userdata_free)(void *userdata);

/**
 * Posts a callback to the application. 0 says that the application took it; any other number, that
 * it did not.
 *
 * It runs inside the call that answers an approval request, on the thread of that call, and for
 * many threads at once when many call. It must return: no longjmp() and no C++ exception may leave
 * it.
 */
typedef int32_t (*seconder_post)(const struct seconder_signed_callback *callback,
                                 void *post_userdata);

/**
 * How a service is opened. Nothing of it is read from the environment, and every text is copied. A
 * remote service does without the options of an engine, and an engine without those of a remote service
 * .
 */
typedef struct seconder_open_options {
    /**
     * Service remote: how long a call may take from its first step to its last, in milliseconds,
     * at most 3600000. Default: 10000.
     */
    uint32_t timeout_ms;
    /**
     * Service remote: which calls are repeated when it says "wait" and the wait ends in time,
     * one of SECONDER_REPEATS_... Default: SECONDER_REPEATS_QUESTIONS.
     */
    int32_t repeats;
    /**
     * Service remote: the format it is asked for, SECONDER_FORMAT_JSON or SECONDER_FORMAT_XML.
     * Default: JSON.
     */
    int32_t format;
    /**
     * Service remote: the generation of the interface it is spoken to in (interface 9),
     * SECONDER_GENERATION_CURRENT or SECONDER_GENERATION_OLDER. Default: the current one.
     */
    int32_t generation;
    /**
     * Service remote: a file of certificates in PEM to trust in place of the system's: of
     * authorities, or the service's own.
     */
    const char *ca_file;
    /**
     * Service remote: the keys by which it is known, one of which must be shown: each is
     * "sha256/" and the SHA-256 of the key (SubjectPublicKeyInfo) in Base64. Without `ca_file` they
     * are all that is trusted; with it, both must hold.
     */
    const char *const *pins;
    /**
     * How many keys there are at `pins`.
     */
    size_t pins_count;
    /**
     * Service remote: a file in PEM with the certificate that this client shows, followed by
     * those of the authorities that lead to one which the service trusts. Goes with `client_key`.
     */
    const char *client_certificate;
    /**
     * A file in PEM with the private key of `client_certificate`, not locked with a password.
     */
    const char *client_key;
    /**
     * Service remote: a proxy to go through, as "http://host:port" or
     * "http://user:password@host:port". Default: none.
     */
    const char *proxy;
    /**
     * Service remote: name servers to ask, in this order, in place of those of /etc/resolv.conf:
     * IP addresses with a port or without, such as "192.0.2.1:5353" and "[2001:db8::1]:53".
     */
    const char *const *name_servers;
    /**
     * How many servers there are at `name_servers`.
     */
    size_t name_servers_count;
    /**
     * Both: the names that the service uses where the interface document says `svc`. Default: the
     * document's.
     */
    const struct seconder_names *names;
    /**
     * The size of the struct at `names`: `sizeof *names`.
     */
    size_t names_size;
    /**
     * Engine: the application's name in messages and authenticator apps, 1 to 64 bytes without
     * colons and line feeds. Default: the name that the database holds, and "Seconder" in a new one.
     */
    const char *application_name;
    /**
     * Engine: where the answers to approval requests are posted (interface 6), an https: URL or an
     * http: one of this machine. Default: the URL that the database holds, and none in a new one.
     */
    const char *callback_url;
    /**
     * Engine: how many digits the codes by SMS and voice have, 6 to 10. Default: as the database has
     * it, and 7 in a new one.
     */
    uint32_t token_length;
    /**
     * Engine: how many digits the codes of authenticator apps have that are enrolled from now on, 6
     * to 8. Default: 6, which every app knows.
     */
    uint32_t authenticator_digits;
    /**
     * Engine: how long such an app shows a code, in seconds, 1 to 3600. Default: 30, which every app
     * knows.
     */
    uint32_t authenticator_period;
    /**
     * Service remote: allows `http://` to this machine itself. For tests: the API key then
     * travels in the clear.
     */
    bool allow_loopback_http;
    /**
     * Engine: what carries SMS and voice calls. Default: a folder of text files beside the database,
     * named as the database with `.spool` for `.db`.
     */
    seconder_deliver deliver;
    /**
     * What the deliver function is given. It must bear use by many threads at once.
     */
    void *deliver_userdata;
    /**
     * Runs exactly once with `deliver_userdata`, when nothing can use it any more: at the latest
     * when the last service that shares it is freed, and before seconder_open() returns when it
     * fails.
     */
    seconder_userdata_free deliver_userdata_free;
    /**
     * Engine: what posts callbacks. Default: HTTPS within 15 s, trusting the system's authorities.
     */
    seconder_post post;
    /**
     * What the post function is given. It must bear use by many threads at once.
     */
    void *post_userdata;
    /**
     * Runs exactly once with `post_userdata`, as `deliver_userdata_free` does with its own.
     */
    seconder_userdata_free post_userdata_free;
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
     * The address that asks for it, IPv4 or IPv6.
     */
    const char *user_ip;
} seconder_delete_user_options;

/**
 * Options of seconder_register_activity().
 */
typedef struct seconder_register_activity_options {
    /**
     * Whatever belongs to the activity: the text of a JSON object, at most 16 KiB.
     */
    const char *data;
    /**
     * The address the user acted from, IPv4 or IPv6.
     */
    const char *user_ip;
} seconder_register_activity_options;

/**
 * Options of seconder_user_status().
 */
typedef struct seconder_user_status_options {
    /**
     * The address that asks, IPv4 or IPv6.
     */
    const char *user_ip;
} seconder_user_status_options;

/**
 * Options of seconder_request_sms().
 */
typedef struct seconder_request_sms_options {
    /**
     * Makes the code valid for this action alone; the same must be given to seconder_verify(). 1 to
     * 128 bytes without control characters.
     */
    const char *action;
    /**
     * What the message says of the action: 1 to 1024 bytes.
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
     * Makes the code valid for this action alone; the same must be given to seconder_verify(). 1 to
     * 128 bytes without control characters.
     */
    const char *action;
    /**
     * What the voice says of the action: 1 to 1024 bytes.
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
     * What the app shows beside the code, 1 to 1024 bytes. Default: the user's e-mail.
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
     * What else the user is shown: the text of a JSON object, at most 16 KiB.
     */
    const char *details;
    /**
     * What the user is not shown, and the application gets back: the text of a JSON object, at most
     * 16 KiB.
     */
    const char *hidden_details;
    /**
     * Pictures to show, at most 16 KiB in JSON; when there are any, one has `res` = "default".
     */
    const struct seconder_logo *logos;
    /**
     * How many pictures there are at `logos`.
     */
    size_t logos_count;
    /**
     * How long the request can be answered, in seconds, 1 to 315360000. Default: 86400.
     * SECONDER_FOREVER is for ever.
     */
    int64_t seconds_to_expire;
} seconder_create_approval_options;

/**
 * Says whether a wait goes on. 0 lets it go on; any other number ends it.
 *
 * It is asked about every 100 ms, on the thread that waits, but not while a question is on its way
 * to a remote service. It must return: no longjmp() and no C++ exception may leave it.
 */
typedef int32_t (*seconder_stop)(void *stop_userdata);

/**
 * Options of seconder_wait_for_approval().
 */
typedef struct seconder_wait_for_approval_options {
    /**
     * What can end the wait, such as a look at a flag that a signal handler sets. Default: nothing
     * but the deadline.
     */
    seconder_stop stop;
    /**
     * What the stop function is given. It is used until seconder_wait_for_approval() returns.
     */
    void *stop_userdata;
} seconder_wait_for_approval_options;

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
     * The address of the user who asks, IPv4 or IPv6.
     */
    const char *user_ip;
} seconder_phone_info_options;

/**
 * Options of seconder_app_details().
 */
typedef struct seconder_app_details_options {
    /**
     * The address that asks, IPv4 or IPv6.
     */
    const char *user_ip;
} seconder_app_details_options;

/**
 * Options of seconder_app_stats().
 */
typedef struct seconder_app_stats_options {
    /**
     * The address that asks, IPv4 or IPv6.
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
 * An approval request as a device shows it.
 */
typedef struct seconder_approval_request {
    /**
     * The request's name.
     */
    const char *uuid;
    /**
     * What the user is asked.
     */
    const char *message;
    /**
     * What else the user is shown: the text of a JSON object.
     */
    const char *details;
    /**
     * When the request can be answered no longer, in Unix seconds, or SECONDER_FOREVER.
     */
    int64_t expires_at;
} seconder_approval_request;

/**
 * A callback as it was received (interface 5.5). A missing text may be NULL.
 */
typedef struct seconder_callback {
    /**
     * The callback URL as it is configured with the service: scheme included, no parameters. Never
     * take it from the request's Host. NULL where a verifier was told the URL.
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
 * A callback whose signature held, as a replay function is asked about it. It lives until the
 * function returns.
 */
typedef struct seconder_replay_entry {
    /**
     * Its signature, which covers all of it, the nonce included: 44 characters of Base64.
     */
    const char *key;
    /**
     * The time that seconder_verifier_verify() was given, in Unix seconds.
     */
    uint64_t now;
    /**
     * The last second at which the callback is fresh, after which it can be forgotten; 0 when
     * freshness was not asked for, so that it must be remembered for ever.
     */
    uint64_t until;
} seconder_replay_entry;

/**
 * Remembers callbacks, for an application of several processes: such as a table with a unique key.
 * SECONDER_YES says that the callback is here for the first time, and is remembered from now on;
 * SECONDER_NO, that it was received before; any other number, that the memory cannot tell, so that
 * the callback is not believed and seconder_verifier_verify() gives SECONDER_STORAGE.
 *
 * Looking and remembering are one step: of two threads with one callback, one is told SECONDER_YES.
 * It runs inside seconder_verifier_verify(), on its thread, and for many threads at once when many
 * verify. It must return: no longjmp() and no C++ exception may leave it.
 */
typedef int32_t (*seconder_replay)(const struct seconder_replay_entry *callback,
                                   void *replay_userdata);

/**
 * Options of seconder_verifier_new().
 */
typedef struct seconder_verifier_options {
    /**
     * The callback URLs as they are configured with the service; more than one during a move, for
     * example. The `url` of a callback must then be NULL or one of them; without any, every callback
     * has to come with its own.
     */
    const char *const *urls;
    /**
     * How many URLs there are at `urls`.
     */
    size_t urls_count;
    /**
     * Refuses callbacks whose nonce is not a Unix second within so many seconds of now, before or
     * after; a few minutes allow for clocks that differ. Default: no freshness is asked for.
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
     * A memory of received callbacks in this process: how many there can be within one window of
     * freshness, each of which takes about 200 bytes. A memory that is full refuses new callbacks
     * with SECONDER_RATE_LIMITED. It needs `fresh_seconds`. Default: none, so that a callback that
     * somebody recorded is believed again.
     */
    size_t replay_capacity;
    /**
     * In place of `replay_capacity`: a memory of the program's own.
     */
    seconder_replay replay;
    /**
     * What the replay function is given. It must bear use by many threads at once.
     */
    void *replay_userdata;
    /**
     * Runs exactly once with `replay_userdata`, when nothing can use it any more: when the verifier
     * is freed, and before seconder_verifier_new() returns when it fails.
     */
    seconder_userdata_free replay_userdata_free;
} seconder_verifier_options;

/**
 * Options of seconder_totp_new().
 */
typedef struct seconder_totp_options {
    /**
     * The hash that codes are made with, one of SECONDER_ALGORITHM_... Default: SHA-1, which every
     * app knows.
     */
    int32_t algorithm;
    /**
     * How many digits a code has, 6 to 8. Default: 6.
     */
    uint32_t digits;
    /**
     * How long a code is shown, in seconds, 1 to 3600. Default: 30.
     */
    uint32_t period;
} seconder_totp_options;

/**
 * The status that the call returned. SECONDER_INVALID_ARGUMENT for NULL: no error is no permission.
 */
seconder_status seconder_error_status(const struct seconder_error *error);

/**
 * What happened and what to do about it, in English, for a log. Never NULL: for NULL it says that
 * there is no error.
 */
const char *seconder_error_message(const struct seconder_error *error);

/**
 * The HTTP status of a rejection (interface 7), else 0.
 */
int32_t seconder_error_http_status(const struct seconder_error *error);

/**
 * The service's own code of a rejection, such as "60026" (interface 7), else NULL.
 */
const char *seconder_error_service_code(const struct seconder_error *error);

/**
 * The service's own words, for SECONDER_REJECTED, SECONDER_RATE_LIMITED and SECONDER_UNAUTHORIZED; else
 * NULL. Their spelling changes over the years: decide on the status and on
 * seconder_error_service_code().
 */
const char *seconder_error_service_message(const struct seconder_error *error);

/**
 * How far a call came before it got no answer, when the status is SECONDER_UNAVAILABLE: one of
 * SECONDER_STAGE_...; else SECONDER_STAGE_NONE.
 */
int32_t seconder_error_stage(const struct seconder_error *error);

/**
 * The argument that cannot be right, by its name in the interface, when the status is
 * SECONDER_INVALID_ARGUMENT; else NULL.
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
 * Whether there was no answer because the time for the call was over.
 */
bool seconder_error_timed_out(const struct seconder_error *error);

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
 * What the text says. It belongs to the text. NULL for NULL alone.
 */
const char *seconder_text_value(const struct seconder_text *text);

/**
 * Frees a text, and wipes it. NULL is fine.
 */
void seconder_text_free(struct seconder_text *text);

/**
 * The number, in E.164: +15550100123. NULL for NULL alone.
 */
const char *seconder_message_to(const struct seconder_message *message);

/**
 * How the message travels: "sms" or "call". NULL for NULL alone.
 */
const char *seconder_message_via(const struct seconder_message *message);

/**
 * What the person reads or hears. NULL for NULL alone.
 */
const char *seconder_message_text(const struct seconder_message *message);

/**
 * The code alone. NULL for NULL alone.
 */
const char *seconder_message_code(const struct seconder_message *message);

/**
 * When the code dies, in Unix seconds.
 */
uint64_t seconder_message_expires_at(const struct seconder_message *message);

/**
 * Where the callback goes. NULL for NULL alone.
 */
const char *seconder_signed_callback_url(const struct seconder_signed_callback *callback);

/**
 * The JSON body, which does not end with a NUL. It belongs to the callback. NULL for NULL alone.
 */
const void *seconder_signed_callback_body(const struct seconder_signed_callback *callback);

/**
 * How many bytes the body has.
 */
size_t seconder_signed_callback_body_size(const struct seconder_signed_callback *callback);

/**
 * How many headers carry the signature and its nonce (interface 5.5).
 */
size_t seconder_signed_callback_header_count(const struct seconder_signed_callback *callback);

/**
 * The name of the header at `index`; NULL beyond the last.
 */
const char *seconder_signed_callback_header_name(const struct seconder_signed_callback *callback,
                                                 size_t index);

/**
 * The value of the header at `index`; NULL beyond the last.
 */
const char *seconder_signed_callback_header_value(const struct seconder_signed_callback *callback,
                                                  size_t index);

/**
 * Opens a service.
 *
 * `url` says who answers: `https://...` for a remote service, `sqlite:/path/file.db` for an
 * engine in this process, `sandbox:` for an engine that forgets and accepts every token, for the
 * tests of applications (`sandbox:?accept=0000000` accepts that token alone, and
 * `sandbox:?accept=right` checks codes as `sqlite:` does).
 *
 * `api_key` is the application's API key. A remote service needs it; for an engine it may be
 * NULL, which makes one for the first application of a new database.
 *
 * `out` is freed with seconder_service_free(). SECONDER_INVALID_ARGUMENT for a URL or an option that cannot
 * be right, or a URL that this build of the library cannot open; SECONDER_STORAGE for a database
 * that cannot be opened; SECONDER_UNAUTHORIZED when the database has no application of that API
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
 * Makes a second handle of a service, on the same connections or the same engine, whose calls have
 * another time limit or are repeated otherwise.
 *
 * `timeout_ms` is the limit of each call in milliseconds, at most 3600000; 0 keeps the service's
 * own. `repeats` is one of SECONDER_REPEATS_...; 0 keeps the service's own. An engine in this
 * process waits for nobody and repeats nothing, so that neither changes it.
 *
 * `out` is freed with seconder_service_free(), before or after `service`: each works without the
 * other. SECONDER_INVALID_ARGUMENT when one of the two is not as said.
 */
SECONDER_MUST_USE
seconder_status seconder_service_with(const struct seconder_service *service,
                                      uint32_t timeout_ms,
                                      int32_t repeats,
                                      struct seconder_service **out,
                                      struct seconder_error **error);

/**
 * Frees a service, after the last call with this handle has returned. NULL is fine.
 */
void seconder_service_free(struct seconder_service *service);

/**
 * The application's API key, for an engine in this process: callbacks are signed with it. The text
 * belongs to the service. NULL, and an error of SECONDER_INVALID_ARGUMENT, when a remote service answers.
 */
const char *seconder_api_key(const struct seconder_service *service,
                             struct seconder_error **error);

/**
 * The version of the library, such as "0.1.0". It stays as long as the library is loaded. Never
 * NULL.
 */
const char *seconder_version(void);

/**
 * Enrols a user, or adds an e-mail to the user who has this cellphone already (interface 4.1).
 *
 * `email` is name@example.com, at most 254 bytes; `cellphone`, 4 to 15 digits in groups that
 * dashes, periods or spaces may separate; `country_code`, the calling code of the number, "1" to
 * "999".
 *
 * `out` is freed with seconder_user_created_free(). SECONDER_REJECTED when the service finds fault
 * with a value, which seconder_error_field_name() names; else as the header's beginning says of
 * calls.
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
 * Removes a user from the application, with all that is known of them (interface 4.5).
 *
 * `out` may be NULL, and is freed with seconder_done_free(). SECONDER_REJECTED when there is no
 * such user; else as the header's beginning says of calls.
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
 * `type` is "password_reset", "banned", "unbanned" or "cookie_login". `out` may be NULL, and is
 * freed with seconder_done_free(). SECONDER_REJECTED when there is no such user; else as the
 * header's beginning says of calls.
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
 *
 * `out` is freed with seconder_user_status_reply_free(). SECONDER_REJECTED when there is no such
 * user; else as the header's beginning says of calls.
 */
SECONDER_MUST_USE
seconder_status seconder_user_status(const struct seconder_service *service,
                                     uint64_t user_id,
                                     const struct seconder_user_status_options *options,
                                     size_t options_size,
                                     struct seconder_user_status_reply **out,
                                     struct seconder_error **error);

/**
 * The id to keep and to give to the other calls, as `user_id`.
 */
uint64_t seconder_user_created_id(const struct seconder_user_created *user);

/**
 * What happened, in the service's words. NULL where the service does not tell.
 */
const char *seconder_user_created_message(const struct seconder_user_created *user);

/**
 * Frees the reply of seconder_create_user(). NULL is fine.
 */
void seconder_user_created_free(struct seconder_user_created *user);

/**
 * What happened, in the service's words. NULL where the service does not tell.
 */
const char *seconder_done_message(const struct seconder_done *done);

/**
 * Frees the reply of a call that only does something. NULL is fine.
 */
void seconder_done_free(struct seconder_done *done);

/**
 * The user's id.
 */
uint64_t seconder_user_status_reply_user_id(const struct seconder_user_status_reply *user);

/**
 * Whether the user has used a valid code.
 */
bool seconder_user_status_reply_confirmed(const struct seconder_user_status_reply *user);

/**
 * Whether the user has registered an app.
 */
bool seconder_user_status_reply_registered(const struct seconder_user_status_reply *user);

/**
 * The calling code of the user's number. 0 where the service does not tell.
 */
uint64_t seconder_user_status_reply_country_code(const struct seconder_user_status_reply *user);

/**
 * The user's number, masked: XXX-XXX-0123. NULL where the service does not tell.
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
 * What happened, in the service's words. NULL where the service does not tell.
 */
const char *seconder_user_status_reply_message(const struct seconder_user_status_reply *user);

/**
 * Frees the reply of seconder_user_status(). NULL is fine.
 */
void seconder_user_status_reply_free(struct seconder_user_status_reply *user);

/**
 * Sends a code by SMS (interface 4.2).
 *
 * `out` may be NULL, and is freed with seconder_code_requested_free(). SECONDER_RATE_LIMITED when the
 * user was sent one just now; SECONDER_REJECTED when there is no such user; else as the header's
 * beginning says of calls.
 */
SECONDER_MUST_USE
seconder_status seconder_request_sms(const struct seconder_service *service,
                                     uint64_t user_id,
                                     const struct seconder_request_sms_options *options,
                                     size_t options_size,
                                     struct seconder_code_requested **out,
                                     struct seconder_error **error);

/**
 * Speaks a code in a voice call (interface 4.3).
 *
 * `out` may be NULL, and is freed with seconder_code_requested_free(). SECONDER_RATE_LIMITED when the
 * user was called just now; SECONDER_REJECTED when there is no such user; else as the header's
 * beginning says of calls.
 */
SECONDER_MUST_USE
seconder_status seconder_request_call(const struct seconder_service *service,
                                      uint64_t user_id,
                                      const struct seconder_request_call_options *options,
                                      size_t options_size,
                                      struct seconder_code_requested **out,
                                      struct seconder_error **error);

/**
 * Checks the code that a user typed (interface 4.4).
 *
 * SECONDER_OK says that the code was checked and is right, and nothing else does. `token` must be
 * 6 to 12 digits and nothing else. `out` may be NULL, and is freed with
 * seconder_verification_free().
 *
 * SECONDER_TOKEN_WRONG, SECONDER_TOKEN_REUSED and SECONDER_TOKEN_NOT_CHECKED say why the code lets
 * nobody in; SECONDER_RATE_LIMITED comes after wrong codes, until the user may try again;
 * SECONDER_INVALID_ARGUMENT says that `token` is no token; else as the header's beginning says of calls.
 */
SECONDER_MUST_USE
seconder_status seconder_verify(const struct seconder_service *service,
                                const char *token,
                                uint64_t user_id,
                                const struct seconder_verify_options *options,
                                size_t options_size,
                                struct seconder_verification **out,
                                struct seconder_error **error);

/**
 * Gives a user's authenticator app a new secret. A secret that the user had before stays valid
 * until a code of the new one was right.
 *
 * `out` is freed with seconder_authenticator_enrolled_free(), which wipes the secret.
 * SECONDER_REJECTED when there is no such user; else as the header's beginning says of calls.
 */
SECONDER_MUST_USE
seconder_status seconder_enrol_authenticator(const struct seconder_service *service,
                                             uint64_t user_id,
                                             const struct seconder_enrol_authenticator_options *options,
                                             size_t options_size,
                                             struct seconder_authenticator_enrolled **out,
                                             struct seconder_error **error);

/**
 * What happened, in the service's words. NULL where the service does not tell.
 */
const char *seconder_code_requested_message(const struct seconder_code_requested *code);

/**
 * The number used, masked: +1-XXX-XXX-XX23. NULL where the service does not tell.
 */
const char *seconder_code_requested_cellphone(const struct seconder_code_requested *code);

/**
 * Whether nothing was sent because the user has an app and `force` was not given.
 */
bool seconder_code_requested_ignored(const struct seconder_code_requested *code);

/**
 * The user's latest device, when the request was ignored. NULL where it was not, or the service
 * does not tell.
 */
const char *seconder_code_requested_device(const struct seconder_code_requested *code);

/**
 * Frees the reply of seconder_request_sms() or seconder_request_call(). NULL is fine.
 */
void seconder_code_requested_free(struct seconder_code_requested *code);

/**
 * What happened, in the service's words. NULL where the service does not tell.
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
 * What the app shows beside the code. NULL where the service does not tell.
 */
const char *seconder_authenticator_enrolled_label(const struct seconder_authenticator_enrolled *enrolled);

/**
 * Who the code is for. NULL where the service does not tell.
 */
const char *seconder_authenticator_enrolled_issuer(const struct seconder_authenticator_enrolled *enrolled);

/**
 * The otpauth: URI that holds the secret. NULL for NULL alone.
 */
const char *seconder_authenticator_enrolled_uri(const struct seconder_authenticator_enrolled *enrolled);

/**
 * The same as a picture: a data: or https: URL for an `<img>`. NULL for NULL alone.
 */
const char *seconder_authenticator_enrolled_qr_code(const struct seconder_authenticator_enrolled *enrolled);

/**
 * Frees the reply of seconder_enrol_authenticator(), and wipes the secret. NULL is fine.
 */
void seconder_authenticator_enrolled_free(struct seconder_authenticator_enrolled *enrolled);

/**
 * Asks a user to approve something on their device (interface 4.12). `message` is what the user is
 * asked, 1 to 1024 bytes.
 *
 * `out` is freed with seconder_approval_created_free(). SECONDER_RATE_LIMITED when the user has too
 * many open requests, or said that the last was not theirs; SECONDER_REJECTED when there is no such
 * user; else as the header's beginning says of calls.
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
 * SECONDER_OK says that the request was found, and nothing of the answer: ask
 * seconder_approval_approved_by() of the approval at `out`, and free it with
 * seconder_approval_free(). SECONDER_REJECTED when there is no such request; else as the header's
 * beginning says of calls.
 */
SECONDER_MUST_USE
seconder_status seconder_check_approval(const struct seconder_service *service,
                                        const char *uuid,
                                        struct seconder_approval **out,
                                        struct seconder_error **error);

/**
 * The request's name, to ask for its answer with. NULL for NULL alone.
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
 * Whether this user said yes: the one question that lets anybody in. False for NULL, for any other
 * answer, for another user, and when the service does not tell who was asked.
 */
bool seconder_approval_approved_by(const struct seconder_approval *approval, uint64_t user_id);

/**
 * The request's name. NULL where the service does not tell.
 */
const char *seconder_approval_uuid(const struct seconder_approval *approval);

/**
 * The user who was asked; 0 where the service does not tell. Compare it with the user who logs in,
 * or ask seconder_approval_approved_by().
 */
uint64_t seconder_approval_user_id(const struct seconder_approval *approval);

/**
 * When the request was made, in RFC 3339. NULL where the service does not tell.
 */
const char *seconder_approval_created_at(const struct seconder_approval *approval);

/**
 * When the request last changed, in RFC 3339. NULL where the service does not tell.
 */
const char *seconder_approval_updated_at(const struct seconder_approval *approval);

/**
 * When the user answered, in RFC 3339; NULL while the request is pending.
 */
const char *seconder_approval_processed_at(const struct seconder_approval *approval);

/**
 * How long the request can be answered, in seconds, or SECONDER_FOREVER. 0 where the service does
 * not tell.
 */
int64_t seconder_approval_seconds_to_expire(const struct seconder_approval *approval);

/**
 * Whether a device was told of the request: SECONDER_YES, SECONDER_NO or SECONDER_NOT_PROVIDED.
 */
int32_t seconder_approval_notified(const struct seconder_approval *approval);

/**
 * Frees the reply of seconder_check_approval(), seconder_wait_for_approval() or
 * seconder_respond_to_approval(). NULL is fine.
 */
void seconder_approval_free(struct seconder_approval *approval);

/**
 * Waits until a user has answered an approval request, until it has expired, or for so long as
 * `deadline_ms` says, in milliseconds (0 asks once); then the status is still
 * SECONDER_APPROVAL_PENDING. A login uses a request that expires with it (`seconds_to_expire`): one
 * that is pending at the end can still be approved later.
 *
 * It sleeps in the caller's thread, and asks at first after half a second and then ever more
 * seldom, down to every 5 seconds. A service that is busy or out of reach is asked again too.
 *
 * SECONDER_OK says that the request is this user's, and nothing of the answer: ask
 * seconder_approval_approved_by() of the approval at `out`, and free it with
 * seconder_approval_free(). SECONDER_INVALID_ARGUMENT when it is the request of another user: one's own
 * approval must not open somebody else's door; SECONDER_INVALID_RESPONSE when the service does not tell
 * whose it is; SECONDER_STOPPED when the stop function ended the wait; else what kept the last
 * question from an answer.
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
 * Sends a code to a number that belongs to no user yet (interface 4.10).
 *
 * `via` is "sms" or "call"; `phone_number`, the number without its `country_code`. `out` may be
 * NULL, and is freed with seconder_phone_verification_started_free(). SECONDER_RATE_LIMITED when a code
 * was sent there just now; else as the header's beginning says of calls.
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
 * SECONDER_OK says that the code is right, and nothing else does. `verification_code` must be 4 to
 * 10 digits and nothing else. `out` may be NULL, and is freed with seconder_done_free().
 *
 * A wrong code is SECONDER_REJECTED with the service code "60022"; "60023" says that no code is
 * waiting; else as the header's beginning says of calls.
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
 *
 * `out` is freed with seconder_phone_information_free(). SECONDER_REJECTED when it is no number;
 * else as the header's beginning says of calls.
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
 * Who carries the number. NULL where the service does not tell.
 */
const char *seconder_phone_verification_started_carrier(const struct seconder_phone_verification_started *started);

/**
 * Whether the number moved from one carrier to another: SECONDER_YES, SECONDER_NO or
 * SECONDER_NOT_PROVIDED.
 */
int32_t seconder_phone_verification_started_is_ported(const struct seconder_phone_verification_started *started);

/**
 * Whether the number is a mobile one: SECONDER_YES, SECONDER_NO or SECONDER_NOT_PROVIDED.
 */
int32_t seconder_phone_verification_started_is_cellphone(const struct seconder_phone_verification_started *started);

/**
 * What happened, in the service's words. NULL where the service does not tell.
 */
const char *seconder_phone_verification_started_message(const struct seconder_phone_verification_started *started);

/**
 * How long the code lives, in seconds, or SECONDER_FOREVER. 0 where the service does not tell.
 */
int64_t seconder_phone_verification_started_seconds_to_expire(const struct seconder_phone_verification_started *started);

/**
 * The verification's own name. NULL where the service does not tell.
 */
const char *seconder_phone_verification_started_uuid(const struct seconder_phone_verification_started *started);

/**
 * Frees the reply of seconder_start_phone_verification(). NULL is fine.
 */
void seconder_phone_verification_started_free(struct seconder_phone_verification_started *started);

/**
 * The kind of number: "voip", "landline", "cellphone" or "unknown". NULL for NULL alone.
 */
const char *seconder_phone_information_type(const struct seconder_phone_information *phone);

/**
 * Who carries the number. NULL where the service does not tell.
 */
const char *seconder_phone_information_provider(const struct seconder_phone_information *phone);

/**
 * Whether the number moved from one carrier to another: SECONDER_YES, SECONDER_NO or
 * SECONDER_NOT_PROVIDED.
 */
int32_t seconder_phone_information_ported(const struct seconder_phone_information *phone);

/**
 * What happened, in the service's words. NULL where the service does not tell.
 */
const char *seconder_phone_information_message(const struct seconder_phone_information *phone);

/**
 * Frees the reply of seconder_phone_info(). NULL is fine.
 */
void seconder_phone_information_free(struct seconder_phone_information *phone);

/**
 * Asks what the service knows of the application (interface 4.7).
 *
 * `out` is freed with seconder_application_free(). SECONDER_UNAUTHORIZED when the API key is not
 * accepted; else as the header's beginning says of calls.
 */
SECONDER_MUST_USE
seconder_status seconder_app_details(const struct seconder_service *service,
                                     const struct seconder_app_details_options *options,
                                     size_t options_size,
                                     struct seconder_application **out,
                                     struct seconder_error **error);

/**
 * Asks how much the application used, month by month (interface 4.9).
 *
 * `out` is freed with seconder_statistics_free(). SECONDER_UNAUTHORIZED when the API key is not
 * accepted; else as the header's beginning says of calls.
 */
SECONDER_MUST_USE
seconder_status seconder_app_stats(const struct seconder_service *service,
                                   const struct seconder_app_stats_options *options,
                                   size_t options_size,
                                   struct seconder_statistics **out,
                                   struct seconder_error **error);

/**
 * The application's number. 0 where the service does not tell.
 */
uint64_t seconder_application_app_id(const struct seconder_application *application);

/**
 * The name that users see in messages. NULL for NULL alone.
 */
const char *seconder_application_name(const struct seconder_application *application);

/**
 * What was booked with the service. NULL where the service does not tell.
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
 * What happened, in the service's words. NULL where the service does not tell.
 */
const char *seconder_application_message(const struct seconder_application *application);

/**
 * Frees the reply of seconder_app_details(). NULL is fine.
 */
void seconder_application_free(struct seconder_application *application);

/**
 * The application's number. 0 where the service does not tell.
 */
uint64_t seconder_statistics_app_id(const struct seconder_statistics *statistics);

/**
 * How many months the service says there are. Count with seconder_statistics_stat_count().
 */
uint64_t seconder_statistics_count(const struct seconder_statistics *statistics);

/**
 * How many months there are to look at.
 */
size_t seconder_statistics_stat_count(const struct seconder_statistics *statistics);

/**
 * The month at `index`, the oldest first; NULL beyond the last. It belongs to the statistics.
 */
const struct seconder_monthly_statistic *seconder_statistics_stat(const struct seconder_statistics *statistics,
                                                                  size_t index);

/**
 * How many users the application has now. 0 where the service does not tell.
 */
uint64_t seconder_statistics_total_users(const struct seconder_statistics *statistics);

/**
 * What happened, in the service's words. NULL where the service does not tell.
 */
const char *seconder_statistics_message(const struct seconder_statistics *statistics);

/**
 * Frees the reply of seconder_app_stats(). NULL is fine.
 */
void seconder_statistics_free(struct seconder_statistics *statistics);

/**
 * Registers a device for a user, with an engine in this process (interface 2.2).
 *
 * `device_type` is "android", "android_tablet", "ios" or "svc_chrome". `out` is freed with
 * seconder_device_free(). SECONDER_REJECTED when there is no such user; SECONDER_INVALID_ARGUMENT when a
 * remote service answers, or an argument cannot be right.
 */
SECONDER_MUST_USE
seconder_status seconder_register_device(const struct seconder_service *service,
                                         uint64_t user_id,
                                         const char *device_type,
                                         struct seconder_device **out,
                                         struct seconder_error **error);

/**
 * Lists the approval requests that a device's user can still answer, the oldest first, with an
 * engine in this process.
 *
 * `device_secret` is that of seconder_device_secret(). `out` is freed with
 * seconder_approval_requests_free(). SECONDER_INVALID_ARGUMENT when the device does not prove itself or a
 * remote service answers.
 */
SECONDER_MUST_USE
seconder_status seconder_open_approvals(const struct seconder_service *service,
                                        uint64_t device_id,
                                        const char *device_secret,
                                        struct seconder_approval_requests **out,
                                        struct seconder_error **error);

/**
 * Answers an approval request from a device, with an engine in this process, and posts the callback
 * before it returns (interface 6).
 *
 * `response` is "approve", "deny", or "report", which denies and snoozes requests for the user for 5 minutes.
 * `out`, the request as it is then, may be NULL, and is freed with seconder_approval_free().
 * SECONDER_REJECTED when the request is not the device's to answer, or no longer; SECONDER_INVALID_ARGUMENT
 * when the device does not prove itself or a remote service answers.
 */
SECONDER_MUST_USE
seconder_status seconder_respond_to_approval(const struct seconder_service *service,
                                             const char *uuid,
                                             uint64_t device_id,
                                             const char *device_secret,
                                             const char *response,
                                             struct seconder_approval **out,
                                             struct seconder_error **error);

/**
 * The device's id.
 */
uint64_t seconder_device_id(const struct seconder_device *device);

/**
 * What the device proves itself with. It is told this once: keep it in the device. It belongs to
 * `device`. NULL for NULL alone.
 */
const char *seconder_device_secret(const struct seconder_device *device);

/**
 * Frees the reply of seconder_register_device(), and wipes the secret. NULL is fine.
 */
void seconder_device_free(struct seconder_device *device);

/**
 * How many requests there are.
 */
size_t seconder_approval_requests_count(const struct seconder_approval_requests *requests);

/**
 * The request at `index`, the oldest first; NULL beyond the last. It belongs to `requests`.
 */
const struct seconder_approval_request *seconder_approval_requests_get(const struct seconder_approval_requests *requests,
                                                                       size_t index);

/**
 * Frees the reply of seconder_open_approvals(). NULL is fine.
 */
void seconder_approval_requests_free(struct seconder_approval_requests *requests);

/**
 * Checks a callback's signature and reads it (interface 5.5). `api_key` is the application's, which
 * the service signs with; `received` needs a `url`. For freshness, a memory of what was received
 * before and several URLs, see seconder_verifier_new().
 *
 * SECONDER_OK says that the service sent it, and nothing of the answer: ask
 * seconder_event_approved_by() of the event at `out`, and free it with seconder_event_free().
 * SECONDER_INVALID_CALLBACK says that nothing of it is to be believed: answer it with status 401.
 * SECONDER_INVALID_ARGUMENT says that the key or a field of `received` cannot be right.
 */
SECONDER_MUST_USE
seconder_status seconder_callback_verify(const char *api_key,
                                         const struct seconder_callback *received,
                                         size_t received_size,
                                         struct seconder_event **out,
                                         struct seconder_error **error);

/**
 * Checks a callback's signature, whatever its parameters mean, and gives those that it covers: the
 * text of a JSON object. `api_key` is the application's.
 *
 * `out` is freed with seconder_text_free(). SECONDER_INVALID_CALLBACK says that nothing of it is to be
 * believed; SECONDER_INVALID_ARGUMENT, that the key or a field of `received` cannot be right.
 */
SECONDER_MUST_USE
seconder_status seconder_callback_verify_parameters(const char *api_key,
                                                    const struct seconder_callback *received,
                                                    size_t received_size,
                                                    struct seconder_text **out,
                                                    struct seconder_error **error);

/**
 * Signs a JSON body that is posted to `url`, as a service does (interface 5.5). `nonce` is a text
 * without `|`, and usually begins with the Unix second.
 *
 * `out`, the value of the header X-Svc-Signature, is freed with seconder_text_free().
 * SECONDER_INVALID_CALLBACK when the body is not a JSON object, names a field twice, or has more than any callback
 * has; SECONDER_INVALID_ARGUMENT for a key, a nonce or a URL that no signature can hold.
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
 * Signs a query that is asked for at `url` with GET, as a service does (interface 5.5).
 * seconder_callback_query() makes the query of a JSON body.
 *
 * `out`, the value of the header X-Svc-Signature, is freed with seconder_text_free().
 * SECONDER_INVALID_ARGUMENT for a key, a nonce or a URL that no signature can hold, and for a query that is
 * not percent-encoded UTF-8.
 */
SECONDER_MUST_USE
seconder_status seconder_callback_sign_query(const char *api_key,
                                             const char *nonce,
                                             const char *url,
                                             const char *query,
                                             struct seconder_text **out,
                                             struct seconder_error **error);

/**
 * Writes the parameters of a JSON body as a query, sorted and encoded as they are signed
 * (interface 5.5).
 *
 * `out` is freed with seconder_text_free(). SECONDER_INVALID_CALLBACK when the body is not a JSON object, names a
 * field twice, or has more than any callback has.
 */
SECONDER_MUST_USE
seconder_status seconder_callback_query(const void *body,
                                        size_t body_size,
                                        struct seconder_text **out,
                                        struct seconder_error **error);

/**
 * Whether this user said yes: the one question that lets anybody in. False for NULL, for any other
 * answer, for another user, and when the service does not tell who answered.
 */
bool seconder_event_approved_by(const struct seconder_event *event, uint64_t user_id);

/**
 * The approval request's name. NULL for NULL alone.
 */
const char *seconder_event_uuid(const struct seconder_event *event);

/**
 * How the user answered: one of SECONDER_APPROVAL_..., of which only SECONDER_APPROVAL_APPROVED lets
 * anyone in. SECONDER_APPROVAL_UNKNOWN for NULL.
 */
int32_t seconder_event_status(const struct seconder_event *event);

/**
 * The user who answered; 0 where the service does not tell. Compare it with the user who logs in, or
 * ask seconder_event_approved_by().
 */
uint64_t seconder_event_user_id(const struct seconder_event *event);

/**
 * The device that answered; NULL where the service does not tell. It belongs to the event.
 */
const struct seconder_device_info *seconder_event_device(const struct seconder_event *event);

/**
 * Everything that was received and signed: the text of a JSON object. Empty objects and lists are
 * left out, because no signature covers them. Nor does one cover whether a value is a number or its
 * text, or null or an empty text: decide on none of these. NULL for NULL alone.
 */
const char *seconder_event_parameters(const struct seconder_event *event);

/**
 * Frees the event of seconder_callback_verify() or seconder_verifier_verify(). NULL is fine.
 */
void seconder_event_free(struct seconder_event *event);

/**
 * Makes a verifier of the callbacks that are signed with the application's API key (interface 5.5).
 *
 * `out` may be used by many threads at once and is freed with seconder_verifier_free().
 * SECONDER_INVALID_ARGUMENT for an option that cannot be right.
 */
SECONDER_MUST_USE
seconder_status seconder_verifier_new(const char *api_key,
                                      const struct seconder_verifier_options *options,
                                      size_t options_size,
                                      struct seconder_verifier **out,
                                      struct seconder_error **error);

/**
 * Checks a callback and reads it (interface 5.5). `now` is the time in Unix seconds, which matters
 * only where freshness or a memory was asked for.
 *
 * SECONDER_OK says that the service sent it, and nothing of the answer: ask
 * seconder_event_approved_by() of the event at `out`, and free it with seconder_event_free().
 * SECONDER_INVALID_CALLBACK says that nothing of it is to be believed, because its signature does not hold, it
 * is stale, or it was received before: answer it with status 401. SECONDER_INVALID_ARGUMENT says that the key
 * or a field of `received` cannot be right; SECONDER_RATE_LIMITED and SECONDER_STORAGE, that the memory
 * of received callbacks is full or cannot tell.
 */
SECONDER_MUST_USE
seconder_status seconder_verifier_verify(const struct seconder_verifier *verifier,
                                         const struct seconder_callback *received,
                                         size_t received_size,
                                         uint64_t now,
                                         struct seconder_event **out,
                                         struct seconder_error **error);

/**
 * Checks the signature alone, whatever the parameters mean and however old they are, and gives those
 * that it covers: the text of a JSON object.
 *
 * `out` is freed with seconder_text_free(). SECONDER_INVALID_CALLBACK says that nothing of it is to be
 * believed; SECONDER_INVALID_ARGUMENT, that the key or a field of `received` cannot be right.
 */
SECONDER_MUST_USE
seconder_status seconder_verifier_parameters(const struct seconder_verifier *verifier,
                                             const struct seconder_callback *received,
                                             size_t received_size,
                                             struct seconder_text **out,
                                             struct seconder_error **error);

/**
 * Frees a verifier, after the last call with it has returned. NULL is fine.
 */
void seconder_verifier_free(struct seconder_verifier *verifier);

/**
 * Takes the bytes of a secret, 16 to 128 of them (RFC 4226, section 4), which are copied.
 *
 * `out` is freed with seconder_totp_free(). SECONDER_INVALID_ARGUMENT names what is out of its range.
 */
SECONDER_MUST_USE
seconder_status seconder_totp_new(const void *secret,
                                  size_t secret_size,
                                  const struct seconder_totp_options *options,
                                  size_t options_size,
                                  struct seconder_totp **out,
                                  struct seconder_error **error);

/**
 * Reads an otpauth://totp/ URI, such as that of seconder_authenticator_enrolled_uri().
 *
 * `out` is freed with seconder_totp_free(). SECONDER_INVALID_ARGUMENT when it is none, has no secret in
 * Base32, or has a value out of its range.
 */
SECONDER_MUST_USE
seconder_status seconder_totp_from_uri(const char *uri,
                                       struct seconder_totp **out,
                                       struct seconder_error **error);

/**
 * Writes the URI that carries the secret into an app, which shows `issuer` and `label`. Whoever sees
 * it can make the user's codes.
 *
 * `out` is freed with seconder_text_free(), which wipes it. SECONDER_INVALID_ARGUMENT for an argument that is
 * NULL or not UTF-8.
 */
SECONDER_MUST_USE
seconder_status seconder_totp_uri(const struct seconder_totp *totp,
                                  const char *issuer,
                                  const char *label,
                                  struct seconder_text **out,
                                  struct seconder_error **error);

/**
 * Makes the code that an app shows at a time, in Unix seconds (RFC 6238).
 *
 * `out` is freed with seconder_text_free(), which wipes it. SECONDER_INVALID_ARGUMENT when `totp` is NULL.
 */
SECONDER_MUST_USE
seconder_status seconder_totp_code(const struct seconder_totp *totp,
                                   uint64_t unix_seconds,
                                   struct seconder_text **out,
                                   struct seconder_error **error);

/**
 * Checks a code at a time, in Unix seconds. The steps right before and after are accepted too, for
 * clocks that go wrong.
 *
 * `last_step` is the memory of used codes: the step of the user's last accepted code, 0 before the
 * first. A code of that step or of one before it is never accepted. SECONDER_OK says that the code is
 * right, and nothing else does; `*last_step` is then the code's step. Store it, in a way that of two
 * logins with one code only one succeeds, before anybody is let in. For any other status it stays as
 * it was.
 *
 * SECONDER_TOKEN_WRONG when the code is none of the present ones, SECONDER_TOKEN_REUSED when its step
 * was used; SECONDER_INVALID_ARGUMENT when `token` is not 6 to 12 digits, or `totp` or `last_step` is NULL. It
 * counts no wrong tries: that is the caller's.
 */
SECONDER_MUST_USE
seconder_status seconder_totp_check(const struct seconder_totp *totp,
                                    const char *token,
                                    uint64_t unix_seconds,
                                    uint64_t *last_step,
                                    struct seconder_error **error);

/**
 * The bytes of the secret, for storage. They belong to `totp`. NULL for NULL alone.
 */
const void *seconder_totp_secret(const struct seconder_totp *totp);

/**
 * How many bytes the secret has.
 */
size_t seconder_totp_secret_size(const struct seconder_totp *totp);

/**
 * The hash that codes are made with: one of SECONDER_ALGORITHM_...; 0 for NULL.
 */
int32_t seconder_totp_algorithm(const struct seconder_totp *totp);

/**
 * How many digits a code has.
 */
uint32_t seconder_totp_digits(const struct seconder_totp *totp);

/**
 * How long a code is shown, in seconds.
 */
uint64_t seconder_totp_period(const struct seconder_totp *totp);

/**
 * Frees a secret, and wipes it. NULL is fine.
 */
void seconder_totp_free(struct seconder_totp *totp);

/**
 * Whether a text has the form of a token: 6 to 12 ASCII digits, nothing trimmed. It says nothing
 * of whether the token is right. SECONDER_INVALID_ARGUMENT, and an error that says what is wrong, when it
 * has not; for NULL too.
 */
SECONDER_MUST_USE
seconder_status seconder_check_token(const char *text,
                                     struct seconder_error **error);

/**
 * Whether a text has the form of a user's id: 1 to 9223372036854775807, in decimal digits without
 * sign or leading zero. SECONDER_INVALID_ARGUMENT, and an error that says what is wrong, when it has not;
 * for NULL too.
 */
SECONDER_MUST_USE
seconder_status seconder_check_user_id(const char *text,
                                       struct seconder_error **error);

/**
 * Whether a text has the form of an approval request's uuid: 1 to 64 letters, digits and dashes of
 * ASCII. SECONDER_INVALID_ARGUMENT, and an error that says what is wrong, when it has not; for NULL too.
 */
SECONDER_MUST_USE
seconder_status seconder_check_uuid(const char *text,
                                    struct seconder_error **error);

/**
 * Whether a text has the form of a phone number without its calling code: 4 to 15 digits, in
 * groups that dashes, periods or spaces may separate. SECONDER_INVALID_ARGUMENT, and an error that says
 * what is wrong, when it has not; for NULL too.
 */
SECONDER_MUST_USE
seconder_status seconder_check_phone_number(const char *text,
                                            struct seconder_error **error);

#ifdef __cplusplus
}
#endif

#ifdef SECONDER_OLD_CLANG
#pragma clang diagnostic pop
#undef SECONDER_OLD_CLANG
#endif

#endif /* SECONDER_H */
