/* Calls the service at the given URL, once for each setting of the protocol. */
#define _XOPEN_SOURCE 700
#include "check.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static void check_user(seconder_service *service)
{
    seconder_user_status_reply *status = NULL;
    EXPECT(SECONDER_OK, seconder_user_status(service, 7, NULL, 0, &status, &error));
    CHECK(seconder_user_status_reply_user_id(status) == 7);
    seconder_user_status_reply_free(status);
}

/* The time limit of the second handle applies to a service that does not respond. */
static void waits(const char *url)
{
    seconder_open_options options = {0};
    seconder_service *service, *quick = NULL;
    options.allow_loopback_http = true;
    options.timeout_ms = 60000;
    service = open_or_die(url, "key", &options);
    EXPECT(SECONDER_OK, seconder_service_with(service, 200, 0, &quick, &error));
    CHECK(seconder_verify(quick, 7, "123456", NULL, 0, NULL, &error) == SECONDER_UNAVAILABLE);
    CHECK(seconder_error_stage(error) == SECONDER_STAGE_RESPONSE);
    CHECK(seconder_error_timed_out(error) && !seconder_error_retry_safe(error));
    seconder_error_free(error);
    seconder_service_free(quick);
    seconder_service_free(service);
}

/* Calls to a busy service are retried if the program chose to. */
static void repeats(const char *url)
{
    seconder_open_options options = {0};
    seconder_service *service, *patient = NULL;
    options.allow_loopback_http = true;
    options.repeats = SECONDER_REPEATS_NONE;
    service = open_or_die(url, "key", &options);
    CHECK(seconder_user_status(service, 7, NULL, 0, NULL, &error) == SECONDER_INVALID_ARGUMENT);
    seconder_error_free(error);
    CHECK(seconder_verify(service, 7, "123456", NULL, 0, NULL, &error) == SECONDER_RATE_LIMITED);
    CHECK(same(seconder_error_service_message(error), "busy") && seconder_error_retry_safe(error));
    CHECK(seconder_error_retry_after(error) == 1);
    seconder_error_free(error);
    EXPECT(SECONDER_OK, seconder_service_with(service, 0, SECONDER_REPEATS_ALL, &patient, &error));
    EXPECT(SECONDER_OK, seconder_verify(patient, 7, "123456", NULL, 0, NULL, &error));
    seconder_service_free(patient);
    seconder_service_free(service);
}

static void formats(const char *url)
{
    seconder_open_options options = {0};
    seconder_names names = {0};
    seconder_service *service;
    options.allow_loopback_http = true;
    options.format = SECONDER_FORMAT_XML;
    options.generation = SECONDER_GENERATION_OLDER;
    service = open_or_die(url, "key", &options);
    check_user(service);
    seconder_service_free(service);
    names.word = "acme";
    options.generation = SECONDER_GENERATION_CURRENT;
    options.names = &names;
    options.names_size = sizeof names;
    service = open_or_die(url, "key", &options);
    check_user(service);
    seconder_service_free(service);
}

/* The data of an activity, in a form and in JSON. */
static void bodies(const char *url)
{
    seconder_open_options options = {0};
    seconder_register_activity_options more = {0};
    more.data = "{\"n\":1,\"a\":[true]}";
    options.allow_loopback_http = true;
    for (int nested = 0; nested < 2; nested++) {
        seconder_service *service;
        options.nested_as_json = nested;
        service = open_or_die(url, "key", &options);
        EXPECT(SECONDER_OK, seconder_register_activity(service, 7, "banned", &more, sizeof more,
                                                       NULL, &error));
        seconder_service_free(service);
    }
}

/* The record of an approval names no user. */
static void unbound(const char *url)
{
    seconder_open_options options = {0};
    seconder_wait_for_approval_options wait = {0};
    seconder_approval *approval = NULL;
    seconder_service *service;
    options.allow_loopback_http = true;
    service = open_or_die(url, "key", &options);
    EXPECT(SECONDER_INVALID_RESPONSE,
           seconder_wait_for_approval(service, "a-1", 7, 60000, &wait, sizeof wait, &approval,
                                      &error));
    wait.unbound = true;
    EXPECT(SECONDER_OK, seconder_wait_for_approval(service, "a-1", 7, 60000, &wait, sizeof wait,
                                                   &approval, &error));
    CHECK(seconder_approval_approved_unbound(approval, 7));
    CHECK(!seconder_approval_approved_by(approval, 7));
    CHECK(!seconder_approval_approved_unbound(approval, 0));
    CHECK(!seconder_approval_approved_unbound(NULL, 7));
    seconder_approval_free(approval);
    /* The service describes the same request, whichever is asked for. */
    EXPECT(SECONDER_INVALID_RESPONSE, seconder_check_approval(service, "b-2", &approval, &error));
    EXPECT(SECONDER_INVALID_RESPONSE,
           seconder_wait_for_approval(service, "b-2", 7, 60000, &wait, sizeof wait, &approval,
                                      &error));
    seconder_service_free(service);
}

/* A program takes the descriptor of the connection that is kept. The library neither uses nor closes
 * what has its number now. */
static void takes(const char *url)
{
    seconder_open_options options = {0};
    int pair[2], number, taken = -1;
    char byte = 'x';
    seconder_service *service;
    options.allow_loopback_http = true;
    service = open_or_die(url, "key", &options);
    EXPECT(SECONDER_OK, seconder_verify(service, 7, "123456", NULL, 0, NULL, &error));
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    for (number = 3; number < pair[0]; number++) {
        struct stat found;
        if (fstat(number, &found) == 0 && S_ISSOCK(found.st_mode)) {
            CHECK(taken == -1 && dup2(pair[0], number) == number);
            taken = number;
        }
    }
    /* There is something to read, which is not the library's. */
    CHECK(write(pair[1], &byte, 1) == 1);
    EXPECT(SECONDER_OK, seconder_verify(service, 7, "123456", NULL, 0, NULL, &error));
    seconder_service_free(service);
    CHECK(recv(pair[1], &byte, 1, MSG_DONTWAIT) == -1);
    CHECK(read(taken, &byte, 1) == 1 && byte == 'x');
}

int main(int count, char **arguments)
{
    CHECK(count == 3);
    if (same(arguments[1], "formats"))
        formats(arguments[2]);
    else if (same(arguments[1], "bodies"))
        bodies(arguments[2]);
    else if (same(arguments[1], "unbound"))
        unbound(arguments[2]);
    else if (same(arguments[1], "waits"))
        waits(arguments[2]);
    else if (same(arguments[1], "takes"))
        takes(arguments[2]);
    else
        repeats(arguments[2]);
    return 0;
}
