/* What a user typed and cannot be a code: a status of its own, which costs no try. The names of the
 * statuses. */
#include "check.h"

static char code[16];

static int32_t deliver(const seconder_message *message, void *userdata)
{
    (void)userdata;
    snprintf(code, sizeof code, "%s", seconder_message_code(message));
    return 0;
}

static void rejects(seconder_service *service, uint64_t user, seconder_totp *totp)
{
    static const char *const typed[] = {"", "12345", "1234567890123", "12345a", " 123456", "\xE9" "23456"};
    const seconder_verify_options options = {true, NULL, NULL};
    uint64_t last_step = 0;
    size_t index;
    for (index = 0; index < sizeof typed / sizeof *typed; index++) {
        const char *token = typed[index];
        EXPECT_MALFORMED("token", seconder_verify(service, user, token, NULL, 0, NULL, &error));
        EXPECT_MALFORMED("token", seconder_verify(service, user, token, &options, sizeof options,
                                                  NULL, &error));
        EXPECT_MALFORMED("token", seconder_totp_check(totp, token, 59, &last_step, &error));
        CHECK(!seconder_is_well_formed_token(token));
    }
    CHECK(last_step == 0);
    EXPECT_MALFORMED("verification_code",
                     seconder_check_phone_verification(service, "555-010-0199", "1", "12x4", NULL,
                                                       &error));
    EXPECT_INVALID("token", seconder_verify(service, user, NULL, NULL, 0, NULL, &error));
    EXPECT_INVALID("token", seconder_totp_check(totp, NULL, 59, &last_step, &error));
    CHECK(!seconder_is_well_formed_token(NULL));
}

int main(int count, char **arguments)
{
    char url[4096];
    const seconder_verify_options force = {true, NULL, NULL};
    seconder_open_options options = {0};
    seconder_user_created *user = NULL;
    seconder_service *service;
    seconder_totp *totp = NULL;
    uint64_t id;
    CHECK(count == 2);
    snprintf(url, sizeof url, "sqlite:%s/malformed.db", arguments[1]);
    options.deliver = deliver;
    service = open_or_die(url, NULL, &options);
    EXPECT(SECONDER_OK, seconder_create_user(service, "ada@example.com", "555-010-0123", "1", NULL,
                                             0, &user, &error));
    id = seconder_user_created_user_id(user);
    EXPECT(SECONDER_OK, seconder_request_sms(service, id, NULL, 0, NULL, &error));
    EXPECT(SECONDER_OK, seconder_totp_new("12345678901234567890", 20, NULL, 0, &totp, &error));
    rejects(service, id, totp);
    /* Six times two typing errors, and the code is valid still. */
    EXPECT(SECONDER_OK, seconder_verify(service, id, code, &force, sizeof force, NULL, &error));

    CHECK(same(seconder_status_name(SECONDER_OK), "SECONDER_OK"));
    CHECK(same(seconder_status_name(SECONDER_TOKEN_MALFORMED), "SECONDER_TOKEN_MALFORMED"));
    CHECK(same(seconder_status_name(-1), "unknown"));
    CHECK(same(seconder_status_name(4711), "unknown"));
    seconder_totp_free(totp);
    seconder_user_created_free(user);
    seconder_service_free(service);
    return 0;
}
