/* The sandbox for the tests of applications: its URL decides which codes are correct, and nothing
 * is kept. */
#include "check.h"

static uint64_t enrol(const seconder_service *service)
{
    seconder_user_created *user = NULL;
    EXPECT(SECONDER_OK, seconder_create_user(service, "ada@example.com", "555-010-0123", "1", NULL,
                                             0, &user, &error));
    uint64_t id = seconder_user_created_user_id(user);
    seconder_user_created_free(user);
    return id;
}

int main(void)
{
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
    EXPECT_INVALID("url", seconder_clear_sandbox(service, &error));
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
    return 0;
}
