/* A function of the program receives a line for each call of a handle. */
#include "check.h"

struct log {
    seconder_status status;
    char line[512];
    uint64_t duration_us;
    int lines;
    int freed;
    const seconder_service *service;
};

static void log_call(seconder_status status, const char *line, uint64_t duration_us, void *userdata)
{
    struct log *log = userdata;
    log->status = status;
    log->duration_us = duration_us;
    log->lines++;
    CHECK(strlen(line) < sizeof log->line && strchr(line, '\n') == NULL);
    strcpy(log->line, line);
    /* A call that the function makes is not logged, so it does not call itself. */
    if (log->service != NULL) {
        seconder_user_status_reply *reply = NULL;
        seconder_error *why = NULL;
        CHECK(seconder_user_status(log->service, 12345, NULL, 0, &reply, &why) ==
              SECONDER_REJECTED);
        seconder_error_free(why);
    }
}

static void free_log(void *userdata)
{
    ((struct log *)userdata)->freed++;
}

static bool begins(const struct log *log, const char *with)
{
    if (strncmp(log->line, with, strlen(with)) != 0)
        fprintf(stderr, "%s\n", log->line);
    return strncmp(log->line, with, strlen(with)) == 0;
}

static void calls(seconder_service *service, struct log *log)
{
    seconder_user_created *user = NULL;
    seconder_verify_options force = {0};
    char expected[128];
    uint64_t id;
    EXPECT(SECONDER_OK, seconder_create_user(service, "ada@example.com", "555-010-0123", "1", NULL,
                                             0, &user, &error));
    id = seconder_user_created_user_id(user);
    snprintf(expected, sizeof expected, "call=create_user outcome=ok user_id=%llu duration_ms=",
             (unsigned long long)id);
    CHECK(log->lines == 1 && log->status == SECONDER_OK && begins(log, expected));
    CHECK(log->duration_us > 0);
    force.force = true;
    EXPECT(SECONDER_TOKEN_WRONG,
           seconder_verify(service, id, "7654321", &force, sizeof force, NULL, &error));
    snprintf(expected, sizeof expected, "call=verify outcome=token_wrong user_id=%llu code=60020 ",
             (unsigned long long)id);
    CHECK(log->lines == 2 && log->status == SECONDER_TOKEN_WRONG && begins(log, expected));
    EXPECT(SECONDER_REJECTED, seconder_user_status(service, 12345, NULL, 0,
                                                   &(seconder_user_status_reply *){NULL}, &error));
    CHECK(begins(log, "call=user_status outcome=rejected user_id=12345 http_status=404 code="));
    EXPECT(SECONDER_REJECTED,
           seconder_register_device(service, 12345, "ios", &(seconder_device *){NULL}, &error));
    CHECK(begins(log, "call=register_device outcome=rejected user_id=12345 "));
    CHECK(log->lines == 4 && log->status == SECONDER_REJECTED);
    /* An argument that is none is no call. */
    EXPECT(SECONDER_TOKEN_MALFORMED, seconder_verify(service, id, "../sms", NULL, 0, NULL, &error));
    CHECK(log->lines == 4);
    seconder_user_created_free(user);
}

int main(void)
{
    struct log first = {0}, second = {0}, unused = {0};
    seconder_service *other = NULL;
    seconder_service *service = open_or_die("sandbox:?accept=0000000", NULL, NULL);
    EXPECT(SECONDER_OK, seconder_set_log(service, log_call, &first, free_log, &error));
    calls(service, &first);
    first.service = service;
    EXPECT(SECONDER_OK, seconder_clear_sandbox(service, &error));
    CHECK(first.lines == 5 && begins(&first, "call=clear_sandbox outcome=ok duration_ms="));
    first.service = NULL;

    /* A second handle has the function, until it gets one of its own. */
    EXPECT(SECONDER_OK, seconder_service_with(service, 0, 0, &other, &error));
    EXPECT(SECONDER_OK, seconder_clear_sandbox(other, &error));
    CHECK(first.lines == 6);
    EXPECT(SECONDER_OK, seconder_set_log(other, log_call, &second, free_log, &error));
    EXPECT(SECONDER_OK, seconder_clear_sandbox(other, &error));
    CHECK(first.lines == 6 && first.freed == 0 && second.lines == 1);
    EXPECT(SECONDER_OK, seconder_set_log(service, NULL, &unused, free_log, &error));
    CHECK(first.freed == 1 && unused.freed == 1);
    EXPECT(SECONDER_OK, seconder_clear_sandbox(service, &error));
    CHECK(first.lines == 6 && second.freed == 0);
    EXPECT_INVALID("service", seconder_set_log(NULL, log_call, &unused, free_log, &error));
    CHECK(unused.freed == 2 && unused.lines == 0);
    seconder_service_free(other);
    CHECK(second.freed == 1 && first.freed == 1);
    seconder_service_free(service);
    return 0;
}
