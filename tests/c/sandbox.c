/* The sandbox for the tests of applications: its URL decides which codes are correct, nothing is
 * kept, and a test reads its messages, moves its time, and makes its calls fail. */
#include "check.h"

#include <time.h>

static uint64_t enrol(const seconder_service *service)
{
    seconder_user_created *user = NULL;
    EXPECT(SECONDER_OK, seconder_create_user(service, "ada@example.com", "555-010-0123", "1", NULL,
                                             0, &user, &error));
    uint64_t id = seconder_user_created_user_id(user);
    seconder_user_created_free(user);
    return id;
}

static seconder_status verify(const seconder_service *service, uint64_t user, const char *code)
{
    seconder_verify_options options = {0};
    options.force = true;
    return seconder_verify(service, user, code, &options, sizeof options, NULL, &error);
}

static seconder_status request(const seconder_service *service, uint64_t user)
{
    return seconder_request_sms(service, user, NULL, 0, NULL, &error);
}

static seconder_status app_details(const seconder_service *service)
{
    seconder_application *application = NULL;
    seconder_status status = seconder_app_details(service, NULL, 0, &application, &error);
    seconder_application_free(application);
    return status;
}

static seconder_sent_messages *sent_to(const seconder_service *service, uint64_t user, size_t count)
{
    seconder_sent_messages *sent = GARBAGE(seconder_sent_messages);
    EXPECT(SECONDER_OK, seconder_sandbox_messages(service, user, &sent, &error));
    CHECK(seconder_sent_messages_message_count(sent) == count);
    CHECK(seconder_sent_messages_message(sent, count) == NULL);
    return sent;
}

static void messages_and_time(const seconder_service *service, uint64_t ada)
{
    seconder_sent_messages *sent = sent_to(service, 0, 0);
    const seconder_sent_message *message;
    seconder_sent_messages_free(sent);
    EXPECT(SECONDER_OK, request(service, ada));
    EXPECT(SECONDER_RATE_LIMITED, request(service, ada));
    EXPECT(SECONDER_OK, seconder_sandbox_advance(service, 30, &error));
    EXPECT(SECONDER_OK, request(service, ada));
    EXPECT(SECONDER_OK, seconder_start_phone_verification(service, "sms", "555-010-0177", "1", NULL,
                                                          0, NULL, &error));
    seconder_sent_messages_free(sent_to(service, ada + 1, 0));
    sent = sent_to(service, 0, 3);
    message = seconder_sent_messages_message(sent, 0);
    CHECK(message->user_id == 0 && same(message->to, "+15550100177"));
    seconder_sent_messages_free(sent);

    sent = sent_to(service, ada, 2);
    message = seconder_sent_messages_message(sent, 0);
    CHECK(message->user_id == ada && same(message->to, "+15550100123"));
    CHECK(same(message->via, "sms") && strncmp(message->language, "en", 2) == 0);
    CHECK(strlen(message->id) == 16 && strstr(message->text, message->code) != NULL);
    CHECK(!same(message->id, seconder_sent_messages_message(sent, 1)->id));
    CHECK(message->expires_at > (uint64_t)time(NULL));
    EXPECT(SECONDER_OK, seconder_sandbox_advance(service, 600, &error));
    EXPECT(SECONDER_TOKEN_WRONG, verify(service, ada, message->code));
    seconder_sent_messages_free(sent);

    EXPECT(SECONDER_OK, request(service, ada));
    sent = sent_to(service, ada, 3);
    EXPECT(SECONDER_OK, verify(service, ada, seconder_sent_messages_message(sent, 0)->code));
    seconder_sent_messages_free(sent);
    EXPECT_INVALID("seconds", seconder_sandbox_advance(service, 315360001, &error));
    EXPECT_INVALID("user_id", seconder_sandbox_messages(service, UINT64_MAX, &sent, &error));
}

static void faults(const seconder_service *service, uint64_t ada)
{
    seconder_service *other = NULL;
    EXPECT(SECONDER_OK, seconder_sandbox_fail(service, "timeout", "verify, app_stats", 0, &error));
    /* It takes no real time, and other handles are of the same sandbox. */
    EXPECT(SECONDER_OK, seconder_service_with(service, 3600000, 0, &other, &error));
    CHECK(verify(other, ada, "1234567") == SECONDER_UNAVAILABLE);
    CHECK(seconder_error_timed_out(error) && !seconder_error_retry_safe(error));
    seconder_error_free(error);
    seconder_service_free(other);
    EXPECT(SECONDER_OK, app_details(service));
    EXPECT(SECONDER_OK, seconder_sandbox_end_faults(service, &error));
    EXPECT(SECONDER_TOKEN_WRONG, verify(service, ada, "1234567"));

    EXPECT(SECONDER_OK, seconder_sandbox_fail(service, "unauthorized", NULL, 1, &error));
    EXPECT(SECONDER_UNAUTHORIZED, app_details(service));
    EXPECT(SECONDER_OK, app_details(service));
    EXPECT(SECONDER_OK, seconder_sandbox_fail(service, "undelivered", NULL, 0, &error));
    EXPECT(SECONDER_OK, seconder_sandbox_advance(service, 30, &error));
    CHECK(request(service, ada) == SECONDER_UNAVAILABLE);
    CHECK(seconder_error_stage(error) == SECONDER_STAGE_DELIVERY);
    seconder_error_free(error);
    EXPECT(SECONDER_OK, seconder_sandbox_end_faults(service, &error));
    EXPECT_INVALID("fault", seconder_sandbox_fail(service, "fire", NULL, 0, &error));
    EXPECT_INVALID("calls", seconder_sandbox_fail(service, "lost", "verfy", 0, &error));
}

static void approvals(const seconder_service *service, uint64_t ada)
{
    seconder_create_approval_options options = {0};
    seconder_approval_created *created = NULL;
    seconder_approval *approval = NULL;
    error = NULL;
    CHECK(seconder_sandbox_respond(service, ada, "deny", NULL, &error) == SECONDER_REJECTED);
    CHECK(seconder_error_http_status(error) == 404);
    seconder_error_free(error);
    options.number_digits = 2;
    EXPECT(SECONDER_OK, seconder_create_approval(service, ada, "Log in?", &options, sizeof options,
                                                 &created, &error));
    EXPECT_INVALID("response", seconder_sandbox_respond(service, ada, "yes", NULL, &error));
    EXPECT_INVALID("number", seconder_sandbox_respond(service, ada, "approve", NULL, &error));
    EXPECT(SECONDER_OK, seconder_sandbox_respond(service, ada, "approve",
                                                 seconder_approval_created_number(created),
                                                 &error));
    EXPECT(SECONDER_OK, seconder_check_approval(service, seconder_approval_created_uuid(created),
                                                &approval, &error));
    CHECK(seconder_approval_approved_by(approval, ada));
    seconder_approval_free(approval);
    seconder_approval_created_free(created);
}

static void operations(const seconder_service *service, uint64_t ada)
{
    char parameters[64], code[8] = "";
    const char *found;
    seconder_text *reply = NULL;
    seconder_authenticator_enrolled *enrolled = NULL;
    EXPECT(SECONDER_OK, seconder_enrol_authenticator(service, ada, NULL, 0, &enrolled, &error));
    seconder_authenticator_enrolled_free(enrolled);
    snprintf(parameters, sizeof parameters, "{\"user_id\":%lu}", (unsigned long)ada);
    EXPECT(SECONDER_OK, seconder_sandbox_operate(service, "authenticator_code", parameters, &reply,
                                                 &error));
    found = strstr(seconder_text_value(reply), "\"code\":\"");
    CHECK(found != NULL && sscanf(found, "\"code\":\"%6[0-9]\"", code) == 1);
    seconder_text_free(reply);
    EXPECT(SECONDER_OK, verify(service, ada, code));
    EXPECT(SECONDER_OK, seconder_sandbox_operate(service, "clock", NULL, &reply, &error));
    CHECK(strstr(seconder_text_value(reply), "\"still\":false") != NULL);
    seconder_text_free(reply);
    reply = GARBAGE(seconder_text);
    EXPECT_INVALID("name", seconder_sandbox_operate(service, "clok", NULL, &reply, &error));
    CHECK(reply == NULL);
    EXPECT_INVALID("name", seconder_sandbox_operate(service, "reset", NULL, &reply, &error));
    EXPECT_INVALID("a", seconder_sandbox_operate(service, "clock", "{\"a\":1}", &reply, &error));
}

static void a_test_controls_it(void)
{
    seconder_service *service = open_or_die("sandbox:?accept=right", NULL, NULL);
    uint64_t ada = enrol(service);
    messages_and_time(service, ada);
    faults(service, ada);
    approvals(service, ada);
    operations(service, ada);
    EXPECT(SECONDER_OK, seconder_sandbox_fail(service, "storage", NULL, 0, &error));
    EXPECT(SECONDER_OK, seconder_clear_sandbox(service, &error));
    seconder_sent_messages_free(sent_to(service, 0, 0));
    CHECK(enrol(service) != ada);
    seconder_service_free(service);
}

/* A real service is not one of a test. */
static void refuses(seconder_service *service)
{
    seconder_sent_messages *sent = GARBAGE(seconder_sent_messages);
    seconder_text *reply = GARBAGE(seconder_text);
    EXPECT_INVALID("url", seconder_sandbox_messages(service, 0, &sent, &error));
    EXPECT_INVALID("url", seconder_sandbox_advance(service, 1, &error));
    EXPECT_INVALID("url", seconder_sandbox_fail(service, "lost", NULL, 0, &error));
    EXPECT_INVALID("url", seconder_sandbox_end_faults(service, &error));
    EXPECT_INVALID("url", seconder_sandbox_respond(service, 1, "deny", NULL, &error));
    EXPECT_INVALID("url", seconder_sandbox_operate(service, "clock", NULL, &reply, &error));
    EXPECT_INVALID("url", seconder_clear_sandbox(service, &error));
    CHECK(sent == NULL && reply == NULL);
    seconder_service_free(service);
}

int main(int argc, char **argv)
{
    char url[4200];
    seconder_verification *verification = GARBAGE(seconder_verification);
    seconder_service *service = open_or_die("sandbox:", NULL, NULL);
    EXPECT(SECONDER_OK, seconder_verify(service, 1, "123456", NULL, 0, &verification, &error));
    CHECK(verification != NULL);
    seconder_verification_free(verification);
    EXPECT_MALFORMED("token", seconder_verify(service, 1, "../sms", NULL, 0, &verification, &error));
    CHECK(verification == NULL);
    seconder_service_free(service);

    service = open_or_die("sandbox:?accept=0000000", "key", NULL);
    CHECK(same(seconder_api_key(service, NULL), "key"));
    EXPECT(SECONDER_OK, seconder_verify(service, 1, "0000000", NULL, 0, NULL, &error));
    verification = GARBAGE(seconder_verification);
    EXPECT_CODE(SECONDER_TOKEN_WRONG, "60020",
                seconder_verify(service, 1, "0000001", NULL, 0, &verification, &error));
    CHECK(verification == NULL);
    seconder_service_free(service);

    service = open_or_die("sandbox:?accept=0000000&clear_every=86400", NULL, NULL);
    uint64_t gone = enrol(service);
    EXPECT(SECONDER_OK, seconder_verify(service, gone, "0000000", NULL, 0, &verification, &error));
    CHECK(same(seconder_verification_device(verification)->os_type, "sms"));
    seconder_verification_free(verification);
    EXPECT(SECONDER_OK,
           seconder_check_phone_verification(service, "555-010-0177", "1", "0000", NULL, &error));
    EXPECT(SECONDER_OK, seconder_clear_sandbox(service, &error));
    CHECK(enrol(service) != gone);
    seconder_service_free(service);
    service = NULL;
    EXPECT_INVALID("url", seconder_open("sandbox:?clear_every=0", NULL, NULL, 0, &service, &error));

    service = open_or_die("https://127.0.0.1:1", "key", NULL);
    CHECK(seconder_api_key(service, &error) == NULL);
    CHECK(seconder_error_status(error) == SECONDER_INVALID_ARGUMENT);
    CHECK(strstr(seconder_error_message(error), "remote service") != NULL);
    seconder_error_free(error);
    verification = GARBAGE(seconder_verification);
    CHECK(seconder_verify(service, 1, "123456", NULL, 0, &verification, &error) ==
          SECONDER_UNAVAILABLE);
    CHECK(verification == NULL && seconder_error_retry_safe(error));
    CHECK(strstr(seconder_error_message(error), "key") == NULL);
    seconder_error_free(error);
    seconder_service_free(service);

    a_test_controls_it();
    refuses(open_or_die("https://127.0.0.1:1", "key", NULL));
    CHECK(argc == 2);
    snprintf(url, sizeof url, "sqlite:%s/real.db", argv[1]);
    refuses(open_or_die(url, NULL, NULL));
    return 0;
}
