/* A library without an engine: calls that need one are rejected, and the rest works. */
#include "check.h"

static int freed;

static int32_t deliver(const seconder_message *message, void *userdata)
{
    CHECK(message == NULL && userdata == NULL);
    return 1;
}

static void count(void *userdata)
{
    CHECK(userdata == &freed);
    freed++;
}

/* The error must give the reason. */
#define EXPECT_NO_ENGINE(call) \
    do { \
        error = NULL; \
        CHECK((call) == SECONDER_INVALID_ARGUMENT); \
        CHECK(strstr(seconder_error_message(error), "this build of the library has no engine")); \
        seconder_error_free(error); \
        error = NULL; \
    } while (0)

int main(void)
{
    const char *const settings[] = {"users=directory"};
    seconder_login_options login = {0};
    seconder_open_options options = {0};
    seconder_service *service = GARBAGE(seconder_service);
    seconder_device *device = GARBAGE(seconder_device);
    seconder_approval_requests *requests = GARBAGE(seconder_approval_requests);
    seconder_approval *approval = GARBAGE(seconder_approval);
    seconder_audit_page *page = GARBAGE(seconder_audit_page);
    seconder_jobs_run *run = GARBAGE(seconder_jobs_run);
    seconder_text *text = GARBAGE(seconder_text);
    seconder_sent_messages *sent = GARBAGE(seconder_sent_messages);
    seconder_totp *totp = NULL;
    EXPECT_INVALID("url", seconder_open("sqlite:/tmp/none.db", NULL, NULL, 0, &service, &error));
    EXPECT_INVALID("url", seconder_open("sandbox:", NULL, NULL, 0, &service, &error));
    options.service_uid = 1;
    EXPECT_INVALID("service_uid", seconder_open("https://127.0.0.1:1", "key", &options,
                                                sizeof options, &service, &error));
    options.service_uid = 0;
    options.deliver = deliver;
    options.deliver_userdata = &freed;
    options.deliver_userdata_free = count;
    options.post_userdata = &freed;
    options.post_userdata_free = count;
    EXPECT_INVALID("deliver", seconder_open("https://127.0.0.1:1", "key", &options, sizeof options,
                                            &service, &error));
    CHECK(freed == 2);
    /* Nor is any other option of an engine ignored. */
    options = (seconder_open_options){.keyring = "keys"};
    EXPECT_INVALID("keyring", seconder_open("https://127.0.0.1:1", "key", &options, sizeof options,
                                            &service, &error));
    options = (seconder_open_options){.must_exist = true};
    EXPECT_INVALID("must_exist", seconder_open("https://127.0.0.1:1", "key", &options,
                                               sizeof options, &service, &error));
    options = (seconder_open_options){.push_hosts = "push.example"};
    EXPECT_INVALID("push_hosts", seconder_open("https://127.0.0.1:1", "key", &options,
                                               sizeof options, &service, &error));
    options = (seconder_open_options){.sms_enabled = SECONDER_NO};
    EXPECT_INVALID("sms_enabled", seconder_open("https://127.0.0.1:1", "key", &options,
                                                sizeof options, &service, &error));
    service = open_or_die("https://127.0.0.1:1", "key", NULL);

    EXPECT_NO_ENGINE(seconder_register_device(service, 1, "ios", &device, &error));
    EXPECT_NO_ENGINE(seconder_open_approvals(service, 1, "secret", &requests, &error));
    EXPECT_NO_ENGINE(
        seconder_respond_to_approval(service, "a", 1, "s", "deny", NULL, &approval, &error));
    EXPECT_NO_ENGINE(seconder_clear_sandbox(service, &error));
    EXPECT_NO_ENGINE(seconder_sandbox_messages(service, 0, &sent, &error));
    EXPECT_NO_ENGINE(seconder_sandbox_advance(service, 1, &error));
    EXPECT_NO_ENGINE(seconder_sandbox_fail(service, "lost", NULL, 0, &error));
    EXPECT_NO_ENGINE(seconder_sandbox_end_faults(service, &error));
    EXPECT_NO_ENGINE(seconder_sandbox_respond(service, 1, "deny", NULL, &error));
    EXPECT_NO_ENGINE(seconder_sandbox_operate(service, "clock", NULL, &text, &error));
    EXPECT_NO_ENGINE(seconder_operate(service, "app.list", NULL, &text, &error));
    EXPECT_NO_ENGINE(seconder_backup(service, "copy.db", &error));
    EXPECT_NO_ENGINE(seconder_run_jobs(service, 0, &run, &error));
    CHECK(run == NULL);
    EXPECT_NO_ENGINE(seconder_audit(service, NULL, 0, &page, &error));
    CHECK(device == NULL && requests == NULL && approval == NULL && page == NULL);
    CHECK(sent == NULL && text == NULL);
    error = NULL;
    CHECK(seconder_api_key(service, &error) == NULL);
    CHECK(seconder_error_status(error) == SECONDER_INVALID_ARGUMENT);
    seconder_error_free(error);
    EXPECT_INVALID("service", seconder_register_device(NULL, 1, "ios", &device, &error));

    EXPECT(SECONDER_UNAVAILABLE, seconder_verify(service, 1, "123456", NULL, 0, NULL, &error));
    login.settings = settings;
    login.settings_count = 1;
    EXPECT(SECONDER_UNAVAILABLE,
           seconder_login(service, "ada", NULL, NULL, &login, sizeof login, &error));
    EXPECT(SECONDER_OK, seconder_totp_new("12345678901234567890", 20, NULL, 0, &totp, &error));
    seconder_totp_free(totp);
    seconder_service_free(service);
    return 0;
}
