/* What protects an account: listing it, confirming an authenticator app, and removing factors. */
#include "check.h"

#include <time.h>

/* The secret that a user scans. */
static seconder_totp *enrolled_app(const seconder_service *service, uint64_t id)
{
    seconder_enrol_authenticator_options options = {"Phone", 0};
    seconder_authenticator_enrolled *enrolled = NULL;
    seconder_totp *app = NULL;
    EXPECT(SECONDER_OK,
           seconder_enrol_authenticator(service, id, &options, sizeof options, &enrolled, &error));
    EXPECT(SECONDER_OK, seconder_totp_from_uri(seconder_authenticator_enrolled_uri(enrolled), &app,
                                               &error));
    seconder_authenticator_enrolled_free(enrolled);
    return app;
}

static seconder_user_status_reply *status_of(const seconder_service *service, uint64_t id)
{
    seconder_user_status_reply *user = NULL;
    EXPECT(SECONDER_OK, seconder_user_status(service, id, NULL, 0, &user, &error));
    CHECK(seconder_user_status_reply_factors(user) != NULL);
    return user;
}

static void authenticators(const seconder_service *service, uint64_t id)
{
    seconder_verification *verification = GARBAGE(seconder_verification);
    seconder_text *code = NULL;
    char app_id[80];

    EXPECT_CODE(SECONDER_REJECTED, "no_pending_authenticator",
                seconder_confirm_authenticator(service, id, "123456", &verification, &error));
    CHECK(verification == NULL);
    EXPECT_MALFORMED("code", seconder_confirm_authenticator(service, id, "12 34", NULL, &error));

    seconder_totp *app = enrolled_app(service, id);
    EXPECT(SECONDER_OK, seconder_totp_code(app, (uint64_t)time(NULL), &code, &error));
    verification = GARBAGE(seconder_verification);
    CHECK(seconder_confirm_authenticator(service, id, "1234567", &verification, &error) ==
          SECONDER_TOKEN_WRONG);
    CHECK(verification == NULL && same(seconder_error_service_code(error), "60020"));
    CHECK(same(seconder_error_field_name(error, 0), "code"));
    CHECK(same(seconder_error_message(error), "the code is wrong"));
    seconder_error_free(error);

    seconder_user_status_reply *user = status_of(service, id);
    const seconder_factors *factors = seconder_user_status_reply_factors(user);
    CHECK(seconder_factors_sms(factors) && seconder_factors_recovery_codes(factors) == 0);
    CHECK(seconder_factors_authenticator_count(factors) == 1);
    const seconder_authenticator *shown = seconder_factors_authenticator(factors, 0);
    CHECK(!shown->confirmed && same(shown->label, "Phone") && shown->created_at > 0);
    snprintf(app_id, sizeof app_id, "%s", shown->id);
    CHECK(seconder_factors_authenticator(factors, 1) == NULL);
    seconder_user_status_reply_free(user);

    EXPECT(SECONDER_OK, seconder_confirm_authenticator(service, id, seconder_text_value(code),
                                                       &verification, &error));
    CHECK(same(seconder_verification_device(verification)->os_type, "authenticator"));
    seconder_verification_free(verification);
    user = status_of(service, id);
    CHECK(seconder_user_status_reply_confirmed(user));
    factors = seconder_user_status_reply_factors(user);
    CHECK(seconder_factors_authenticator(factors, 0)->confirmed);
    seconder_user_status_reply_free(user);

    CHECK(!seconder_factors_codes_locked(NULL) && !seconder_factors_authenticators_locked(NULL));
    CHECK(!seconder_factors_recovery_codes_locked(NULL));
    EXPECT(SECONDER_OK, seconder_unlock_user(service, id, NULL, &error));
    EXPECT(SECONDER_REJECTED, seconder_unlock_user(service, 12345, NULL, &error));
    EXPECT_INVALID("authenticator_id",
                   seconder_remove_authenticator(service, id, "../1", NULL, &error));
    EXPECT_CODE(SECONDER_REJECTED, "authenticator_not_found",
                seconder_remove_authenticator(service, id, "77", NULL, &error));
    EXPECT(SECONDER_OK, seconder_remove_authenticator(service, id, app_id, NULL, &error));
    user = status_of(service, id);
    factors = seconder_user_status_reply_factors(user);
    CHECK(seconder_factors_authenticator_count(factors) == 0);
    seconder_user_status_reply_free(user);
    seconder_text_free(code);
    seconder_totp_free(app);
}

static void devices(seconder_service *service, uint64_t id)
{
    seconder_registered_devices *devices = GARBAGE(seconder_registered_devices);
    seconder_device *device = NULL;
    seconder_done *done = NULL;
    EXPECT(SECONDER_REJECTED, seconder_devices(service, 12345, &devices, &error));
    CHECK(devices == NULL);
    EXPECT_INVALID("out", seconder_devices(service, id, NULL, &error));
    EXPECT(SECONDER_OK, seconder_register_device(service, id, "ios", &device, &error));
    EXPECT(SECONDER_OK, seconder_devices(service, id, &devices, &error));
    CHECK(seconder_registered_devices_device_count(devices) == 1);
    const seconder_registered_device *shown = seconder_registered_devices_device(devices, 0);
    CHECK(shown->id == seconder_device_id(device) && same(shown->type, "ios"));
    CHECK(shown->created_at > 0 && seconder_registered_devices_device(devices, 1) == NULL);
    CHECK(seconder_registered_devices_message(devices) != NULL);
    seconder_registered_devices_free(devices);

    seconder_user_status_reply *user = status_of(service, id);
    const seconder_factors *factors = seconder_user_status_reply_factors(user);
    CHECK(seconder_factors_device_count(factors) == 1);
    CHECK(seconder_factors_device(factors, 0)->id == seconder_device_id(device));
    CHECK(seconder_factors_device(factors, 1) == NULL);
    seconder_user_status_reply_free(user);

    EXPECT_INVALID("device_id", seconder_remove_device(service, id, 0, NULL, &error));
    EXPECT(SECONDER_OK,
           seconder_remove_device(service, id, seconder_device_id(device), &done, &error));
    CHECK(seconder_done_message(done) != NULL);
    seconder_done_free(done);
    EXPECT_CODE(SECONDER_REJECTED, "device_not_found",
                seconder_remove_device(service, id, seconder_device_id(device), NULL, &error));
    seconder_approval_requests *requests = NULL;
    EXPECT_INVALID("device_secret", seconder_open_approvals(service, seconder_device_id(device),
                                                            seconder_device_secret(device),
                                                            &requests, &error));
    seconder_device_free(device);
}

int main(void)
{
    seconder_service *service = open_or_die("sandbox:?accept=right", NULL, NULL);
    seconder_user_created *user = NULL;
    EXPECT(SECONDER_OK, seconder_create_user(service, "ada@example.com", "555-010-0123", "1", NULL,
                                             0, &user, &error));
    uint64_t id = seconder_user_created_user_id(user);
    seconder_user_created_free(user);
    authenticators(service, id);
    devices(service, id);
    seconder_service_free(service);
    return 0;
}
