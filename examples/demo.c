/* The second factor of a login in C: enrol a user, send a code, check it, ask for an approval.
 *
 *     cc examples/demo.c -Iinclude -Ltarget/release/install -lseconder -lpthread -o demo
 *
 * Everything runs in this process, on a database in a temporary folder. With the URL and the API
 * key of a remote service, the same calls go to that service. */
#define _XOPEN_SOURCE 700
#include <arpa/inet.h>
#include <dirent.h>
#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "seconder.h"

static char folder[] = "/tmp/seconder-demo-XXXXXX";
static seconder_error *error;

/* Continues only if a call returned the expected status. */
static void expect(seconder_status wanted, seconder_status got, const char *what)
{
    printf("%s: %s\n", what, got == SECONDER_OK ? "done" : seconder_error_message(error));
    seconder_error_free(error);
    error = NULL;
    if (got != wanted) {
        printf("This should not have happened: status %d in place of %d.\n", got, wanted);
        exit(EXIT_FAILURE);
    }
}

static void expect_that(bool holds, const char *what)
{
    printf("%s: %s\n", what, holds ? "yes" : "no, and that should not have happened");
    if (!holds)
        exit(EXIT_FAILURE);
}

/* Without a deliver function, messages are written to files beside the database. The last one by
 * name is the newest, and contains the code in a line such as "Code: 1234567". */
static void read_sms(const char *spool, char *code, size_t size)
{
    struct dirent **files;
    char path[4096], line[512];
    int count = scandir(spool, &files, NULL, alphasort);
    expect_that(count > 2, "There is a message in the spool folder");
    snprintf(path, sizeof path, "%s/%s", spool, files[count - 1]->d_name);
    while (count > 0)
        free(files[--count]);
    free(files);

    FILE *file = fopen(path, "r");
    expect_that(file != NULL, "It can be read");
    while (fgets(line, sizeof line, file) != NULL && line[0] != '\n')
        if (strncmp(line, "Code: ", 6) == 0)
            snprintf(code, size, "%.*s", (int)strcspn(line + 6, "\r\n"), line + 6);
    fclose(file);
}

/* A minimal web server that receives one callback. In an application this is a route. */
struct listener {
    int socket;
    char url[64], request[65536];
    size_t size;
};

static void start_listening(struct listener *listener)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof address;
    struct timeval patience = {.tv_sec = 10};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listener->socket = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(listener->socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    bool listens = bind(listener->socket, (struct sockaddr *)&address, length) == 0 &&
                   listen(listener->socket, 1) == 0 &&
                   getsockname(listener->socket, (struct sockaddr *)&address, &length) == 0;
    expect_that(listens, "The application waits for callbacks");
    snprintf(listener->url, sizeof listener->url, "http://127.0.0.1:%d/callback",
             ntohs(address.sin_port));
}

static void header(const char *request, const char *name, char *value, size_t size)
{
    const char *line = request;
    *value = '\0';
    while ((line = strstr(line, "\r\n")) != NULL && strncmp(line += 2, "\r\n", 2) != 0) {
        size_t length = strlen(name);
        if (strncasecmp(line, name, length) == 0 && line[length] == ':') {
            line += length + 1 + strspn(line + length + 1, " ");
            snprintf(value, size, "%.*s", (int)strcspn(line, "\r\n"), line);
        }
    }
}

static const char *body_of(const struct listener *listener)
{
    const char *end = strstr(listener->request, "\r\n\r\n");
    return end == NULL ? NULL : end + 4;
}

static void *receive_callback(void *argument)
{
    static const char reply[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    struct listener *listener = argument;
    int connection = accept(listener->socket, NULL, NULL);
    char length[32];
    ssize_t more;
    if (connection < 0)
        return NULL;
    do {
        char *end = listener->request + listener->size;
        more = read(connection, end, sizeof listener->request - 1 - listener->size);
        listener->size += more > 0 ? (size_t)more : 0;
        header(listener->request, "Content-Length", length, sizeof length);
    } while (more > 0 && (body_of(listener) == NULL ||
                          strlen(body_of(listener)) < strtoul(length, NULL, 10)));
    if (write(connection, reply, sizeof reply - 1) < 0)
        perror("answering the callback");
    close(connection);
    return NULL;
}

/* How an application handles a callback: it trusts nothing in it before SECONDER_OK is returned,
 * and lets nobody in unless the status is approved and the user is the one who is logging in. */
static void check_callback(const char *api_key, const struct listener *listener, uint64_t user_id)
{
    char signature[128], nonce[128];
    seconder_event *event = NULL;
    header(listener->request, "X-Svc-Signature", signature, sizeof signature);
    header(listener->request, "X-Svc-Signature-Nonce", nonce, sizeof nonce);
    const char *body = body_of(listener);
    expect_that(body != NULL, "A callback came");

    seconder_callback received = {
        .url = listener->url, /* as configured, never from the request */
        .method = "POST",
        .body = body,
        .body_size = (size_t)(listener->request + listener->size - body),
        .signature = signature,
        .nonce = nonce,
    };
    expect(SECONDER_OK,
           seconder_callback_verify(api_key, &received, sizeof received, &event, &error),
           "The callback's signature is checked");
    expect_that(seconder_event_status(event) == SECONDER_APPROVAL_APPROVED &&
                    seconder_event_user_id(event) == user_id,
                "The callback says that this user approved");
    seconder_event_free(event);

    received.nonce = "another";
    expect(SECONDER_INVALID_CALLBACK,
           seconder_callback_verify(api_key, &received, sizeof received, &event, &error),
           "The same callback with another nonce");
}

/* Enrols nobody before a code proves that the number is theirs, and no user who is known: whoever
 * types the number of somebody else must not get that user's id. */
static uint64_t sign_up(seconder_service *service, const char *spool)
{
    const seconder_create_user_options options = {.new_only = SECONDER_YES};
    seconder_user_created *user = NULL;
    char code[32] = "";
    expect(SECONDER_OK,
           seconder_start_phone_verification(service, "sms", "555-010-0123", "1", NULL, 0, NULL,
                                             &error),
           "A code is sent to the number that was typed");
    read_sms(spool, code, sizeof code);
    expect(SECONDER_OK,
           seconder_check_phone_verification(service, "555-010-0123", "1", code, NULL, &error),
           "The number is theirs");
    expect(SECONDER_OK,
           seconder_create_user(service, "ada@example.com", "555-010-0123", "1", &options,
                                sizeof options, &user, &error),
           "A user is enrolled");
    uint64_t user_id = seconder_user_created_user_id(user);
    seconder_user_created_free(user);
    expect(SECONDER_REJECTED,
           seconder_create_user(service, "eve@example.com", "555-010-0123", "1", &options,
                                sizeof options, &user, &error),
           "Somebody else with the same number");
    return user_id;
}

static void codes(seconder_service *service, uint64_t user_id, const char *spool)
{
    char code[16] = "";
    seconder_verify_options force = {.force = true};

    expect(SECONDER_OK, seconder_request_sms(service, user_id, NULL, 0, NULL, &error),
           "A code is sent by SMS");
    read_sms(spool, code, sizeof code);

    /* A user who never used a code is not confirmed, and their codes are checked only with
     * `force`. */
    expect(SECONDER_TOKEN_NOT_CHECKED,
           seconder_verify(service, user_id, code, NULL, 0, NULL, &error),
           "The code of a user who is not confirmed");
    expect(SECONDER_OK,
           seconder_verify(service, user_id, code, &force, sizeof force, NULL, &error),
           "The same code, checked regardless");
    expect(SECONDER_TOKEN_REUSED,
           seconder_verify(service, user_id, code, NULL, 0, NULL, &error),
           "The same code again");
    expect(SECONDER_TOKEN_MALFORMED,
           seconder_verify(service, user_id, "../sms", NULL, 0, NULL, &error),
           "Something that is not a token");
}

static void authenticator(seconder_service *service, uint64_t user_id)
{
    seconder_authenticator_enrolled *enrolled = NULL;
    seconder_totp *app = NULL;
    seconder_text *code = NULL;
    expect(SECONDER_OK,
           seconder_enrol_authenticator(service, user_id, NULL, 0, &enrolled, &error),
           "An authenticator app gets a secret");
    expect(SECONDER_OK,
           seconder_totp_from_uri(seconder_authenticator_enrolled_uri(enrolled), &app, &error),
           "The app scans the secret");
    seconder_authenticator_enrolled_free(enrolled);
    expect(SECONDER_OK, seconder_totp_code(app, (uint64_t)time(NULL), &code, &error),
           "The app makes a code");
    seconder_totp_free(app);
    expect(SECONDER_OK,
           seconder_verify(service, user_id, seconder_text_value(code), NULL, 0, NULL, &error),
           "The app's code");
    seconder_text_free(code);
}

static void approval(seconder_service *service, uint64_t user_id, struct listener *listener)
{
    pthread_t thread;
    seconder_device *device = NULL;
    seconder_approval_created *created = NULL;
    seconder_approval *approval = NULL;
    seconder_create_approval_options options = {
        .details = "{\"From\": \"Oslo\"}",
        .seconds_to_expire = 300,
        .number_digits = 2,
    };
    expect(SECONDER_OK,
           seconder_register_device(service, user_id, "android", &device, &error),
           "The user registers a device");
    expect(SECONDER_OK,
           seconder_create_approval(service, user_id, "Log in to Example?", &options,
                                    sizeof options, &created, &error),
           "The user is asked to approve a login");
    const char *uuid = seconder_approval_created_uuid(created);

    /* The user reads the number on the login page, and types it on the device. The callback is
     * posted during the response to the request, so a thread must already listen. */
    expect_that(pthread_create(&thread, NULL, receive_callback, listener) == 0, "A thread listens");
    expect(SECONDER_OK,
           seconder_respond_to_approval(service, uuid, seconder_device_id(device),
                                        seconder_device_secret(device), "approve",
                                        seconder_approval_created_number(created), NULL, &error),
           "The user approves on the device");
    pthread_join(thread, NULL);
    check_callback(seconder_api_key(service, NULL), listener, user_id);

    expect(SECONDER_OK, seconder_check_approval(service, uuid, &approval, &error),
           "The service is asked how the user answered");
    expect_that(seconder_approval_approved_by(approval, user_id),
                "The service says that this user approved");
    seconder_approval_free(approval);
    seconder_approval_created_free(created);
    seconder_device_free(device);
}

static int remove_one(const char *path, const struct stat *unused, int kind, struct FTW *where)
{
    (void)unused, (void)kind, (void)where;
    return remove(path);
}

static void clean_up(void)
{
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
    static struct listener listener;
    char url[64], spool[64];
    seconder_service *service = NULL;
    seconder_open_options options = {.application_name = "Example"};

    printf("Seconder %s\n", seconder_version());
    expect_that(mkdtemp(folder) != NULL, "There is a fresh folder");
    atexit(clean_up);
    snprintf(url, sizeof url, "sqlite:%s/demo.db", folder);
    snprintf(spool, sizeof spool, "%s/demo.spool", folder);
    start_listening(&listener);
    options.callback_url = listener.url;

    expect(SECONDER_OK, seconder_open(url, NULL, &options, sizeof options, &service, &error),
           "A service is opened on a new database");
    uint64_t user_id = sign_up(service, spool);
    codes(service, user_id, spool);
    authenticator(service, user_id);
    approval(service, user_id, &listener);

    /* The first wrong codes are free; after more of them the user must wait before the next. */
    expect(SECONDER_TOKEN_WRONG,
           seconder_verify(service, user_id, "0000000", NULL, 0, NULL, &error), "A wrong code");
    seconder_service_free(service);
    close(listener.socket);
    printf("All as it should be.\n");
    return EXIT_SUCCESS;
}
