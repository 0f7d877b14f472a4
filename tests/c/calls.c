/* Every call, on a database in the given folder. */
#include "check.h"

#include <time.h>

struct phone {
    char to[32], via[8], text[256], code[16];
    uint64_t expires_at;
    int messages;
    bool broken;
};

static int32_t deliver(const seconder_message *message, void *userdata)
{
    struct phone *phone = (struct phone *)userdata;
    if (phone->broken)
        return 7;
    snprintf(phone->to, sizeof phone->to, "%s", seconder_message_to(message));
    snprintf(phone->via, sizeof phone->via, "%s", seconder_message_via(message));
    snprintf(phone->text, sizeof phone->text, "%s", seconder_message_text(message));
    snprintf(phone->code, sizeof phone->code, "%s", seconder_message_code(message));
    phone->expires_at = seconder_message_expires_at(message);
    phone->messages++;
    return 0;
}

static uint64_t enrol(seconder_service *service, const char *email, const char *cellphone)
{
    seconder_user_created *user = GARBAGE(seconder_user_created);
    uint64_t id;
    EXPECT(SECONDER_OK,
           seconder_create_user(service, email, cellphone, "1", NULL, 0, &user, &error));
    id = seconder_user_created_user_id(user);
    CHECK(id > 0 && seconder_user_created_message(user) != NULL);
    seconder_user_created_free(user);
    return id;
}

static void users(seconder_service *service)
{
    seconder_user_status_reply *status = NULL;
    seconder_register_activity_options activity = {"{\"reason\":\"asked\"}", "192.0.2.1"};
    seconder_done *done = NULL;
    uint64_t id = enrol(service, "ada@example.com", "555-010-0123");
    CHECK(enrol(service, "ada@example.org", "555.010.0123") == id);
    CHECK(enrol(service, "bob@example.com", "555-010-0124") != id);

    EXPECT(SECONDER_OK, seconder_user_status(service, id, NULL, 0, &status, &error));
    CHECK(seconder_user_status_reply_user_id(status) == id);
    CHECK(!seconder_user_status_reply_confirmed(status));
    CHECK(!seconder_user_status_reply_registered(status));
    CHECK(!seconder_user_status_reply_has_hard_token(status));
    CHECK(!seconder_user_status_reply_account_disabled(status));
    CHECK(seconder_user_status_reply_country_code(status) == 1);
    CHECK(same(seconder_user_status_reply_phone_number(status), "XXX-XXX-0123"));
    CHECK(seconder_user_status_reply_device_count(status) == 0);
    CHECK(seconder_user_status_reply_device(status, 0) == NULL);
    seconder_user_status_reply_free(status);

    EXPECT(SECONDER_OK, seconder_register_activity(service, id, "password_reset", &activity,
                                                   sizeof activity, &done, &error));
    CHECK(seconder_done_message(done) != NULL);
    seconder_done_free(done);
}

/* The address identifies a user without a number, who is sent no codes. */
static void without_phone(seconder_service *service)
{
    const seconder_create_user_options new_only = {.new_only = SECONDER_YES};
    seconder_user_created *user = NULL;
    seconder_user_status_reply *status = NULL;
    uint64_t id;
    EXPECT(SECONDER_OK, seconder_create_user(service, "eve@example.com", NULL, NULL, NULL, 0, &user,
                                             &error));
    id = seconder_user_created_user_id(user);
    CHECK(seconder_user_created_created(user));
    seconder_user_created_free(user);
    EXPECT(SECONDER_OK, seconder_create_user(service, "eve@example.com", NULL, NULL, NULL, 0, &user,
                                             &error));
    CHECK(seconder_user_created_user_id(user) == id && !seconder_user_created_created(user));
    seconder_user_created_free(user);
    EXPECT_CODE(SECONDER_REJECTED, "60027",
                seconder_create_user(service, "eve@example.com", NULL, NULL, &new_only,
                                     sizeof new_only, &user, &error));
    EXPECT_CODE(SECONDER_REJECTED, "60033", seconder_request_sms(service, id, NULL, 0, NULL, &error));
    EXPECT(SECONDER_OK, seconder_user_status(service, id, NULL, 0, &status, &error));
    CHECK(seconder_user_status_reply_phone_number(status) == NULL);
    CHECK(seconder_user_status_reply_country_code(status) == 0);
    seconder_user_status_reply_free(status);
}

/* A rejection carries everything that the service reported. */
static void rejections(seconder_service *service)
{
    CHECK(seconder_request_sms(service, 4711, NULL, 0, NULL, &error) == SECONDER_REJECTED);
    CHECK(seconder_error_http_status(error) == 404);
    CHECK(same(seconder_error_service_code(error), "60026"));
    CHECK(seconder_error_parameter(error) == NULL);
    CHECK(seconder_error_field_count(error) == 0);
    CHECK(!seconder_error_retry_safe(error) && seconder_error_retry_after(error) == 0);
    CHECK(seconder_error_limit(error) == NULL && !seconder_error_is_operator_limit(error));
    CHECK(seconder_error_message(error) != NULL);
    seconder_error_free(error);
}

static void codes(seconder_service *service, struct phone *phone)
{
    uint64_t id = enrol(service, "ada@example.com", "555-010-0123");
    seconder_request_code_options sms = {0};
    seconder_verify_options options = {0};
    seconder_code_requested *requested = NULL;
    seconder_verification *verification = NULL;
    const seconder_device_info *device;

    phone->broken = true;
    EXPECT(SECONDER_UNAVAILABLE, seconder_request_sms(service, id, NULL, 0, NULL, &error));
    phone->broken = false;

    sms.action = "pay:4711";
    sms.action_message = "Pay 47.11?";
    EXPECT(SECONDER_OK, seconder_request_sms(service, id, &sms, sizeof sms, &requested, &error));
    CHECK(same(seconder_code_requested_cellphone(requested), "+1-XXX-XXX-XX23"));
    CHECK(!seconder_code_requested_ignored(requested));
    CHECK(seconder_code_requested_device(requested) == NULL);
    CHECK(seconder_code_requested_message(requested) != NULL);
    CHECK(seconder_code_requested_resend_after(requested) == 30);
    CHECK(seconder_code_requested_resend_after_known(requested));
    seconder_code_requested_free(requested);
    CHECK(same(phone->to, "+15550100123") && same(phone->via, "sms"));
    CHECK(strstr(phone->text, phone->code) != NULL && phone->expires_at > (uint64_t)time(NULL));

    CHECK(seconder_request_sms(service, id, &sms, sizeof sms, NULL, &error) ==
          SECONDER_RATE_LIMITED);
    CHECK(seconder_error_retry_safe(error));
    CHECK(seconder_error_retry_after(error) > 0);
    CHECK(seconder_error_retry_after(error) <= 30);
    CHECK(same(seconder_error_service_code(error), "60003"));
    CHECK(same(seconder_error_limit(error), "cool_down"));
    CHECK(!seconder_error_is_operator_limit(error));
    seconder_error_free(error);

    verification = GARBAGE(seconder_verification);
    EXPECT(SECONDER_TOKEN_NOT_CHECKED,
           seconder_verify(service, id, phone->code, NULL, 0, &verification, &error));
    CHECK(verification == NULL);
    options.force = true;
    options.action = "pay:4711";
    EXPECT(SECONDER_OK, seconder_verify(service, id, phone->code, &options, sizeof options,
                                        &verification, &error));
    device = seconder_verification_device(verification);
    CHECK(device != NULL && same(device->os_type, "sms") && device->city == NULL);
    seconder_verification_free(verification);

    verification = GARBAGE(seconder_verification);
    CHECK(seconder_verify(service, id, phone->code, &options, sizeof options, &verification,
                          &error) == SECONDER_TOKEN_REUSED);
    CHECK(verification == NULL && seconder_error_field_count(error) == 1);
    CHECK(same(seconder_error_field_name(error, 0), "token"));
    CHECK(same(seconder_error_service_code(error), "60019"));
    CHECK(strstr(seconder_error_message(error), phone->code) == NULL);
    seconder_error_free(error);
}

static void logins(seconder_service *service)
{
    uint64_t id = enrol(service, "ada@example.com", "555-010-0123");
    seconder_found_user *user = GARBAGE(seconder_found_user);
    seconder_recovery_codes *codes = NULL;
    EXPECT(SECONDER_REJECTED, seconder_find_user(service, "cy", &user, &error));
    CHECK(user == NULL);
    CHECK(seconder_find_user(service, "../cy", &user, &error) == SECONDER_INVALID_ARGUMENT);
    CHECK(same(seconder_error_field_name(error, 0), "login"));
    seconder_error_free(error);
    EXPECT(SECONDER_OK, seconder_set_login(service, id, "cy", NULL, &error));
    EXPECT(SECONDER_OK, seconder_create_recovery_codes(service, id, &codes, &error));
    CHECK(seconder_recovery_codes_code_count(codes) == 10);
    CHECK(strlen(seconder_recovery_codes_code(codes, 9)) == 12);
    CHECK(seconder_recovery_codes_code(codes, 10) == NULL);
    CHECK(seconder_recovery_codes_message(codes) != NULL);
    seconder_recovery_codes_free(codes);
    EXPECT(SECONDER_OK, seconder_find_user(service, "cy", &user, &error));
    CHECK(seconder_found_user_user_id(user) == id && same(seconder_found_user_login(user), "cy"));
    CHECK(seconder_found_user_confirmed(user) && !seconder_found_user_authenticator(user));
    CHECK(seconder_found_user_device_count(user) > 0);
    CHECK(seconder_found_user_device(user, 0) != NULL);
    CHECK(seconder_found_user_device(user, seconder_found_user_device_count(user)) == NULL);
    CHECK(seconder_found_user_recovery_codes_left(user) == 10);
    CHECK(seconder_found_user_message(user) != NULL);
    seconder_found_user_free(user);
    EXPECT(SECONDER_OK, seconder_remove_login(service, "cy", NULL, &error));
}

static void check_offline(const seconder_totp *app, uint64_t id,
                          const seconder_offline_prepared *prepared)
{
    uint64_t last_step = seconder_offline_prepared_last_step(prepared);
    const uint64_t step = last_step + 1, time_of_step = step * 30;
    seconder_offline_codes codes = {id, 6, 30, seconder_offline_prepared_first_step(prepared),
                                    seconder_offline_prepared_expires_at(prepared),
                                    seconder_offline_prepared_hash_key(prepared),
                                    seconder_offline_prepared_hashes(prepared)};
    seconder_text *text = NULL;
    EXPECT(SECONDER_OK, seconder_totp_code(app, time_of_step, &text, &error));
    const char *code = seconder_text_value(text);
#define CHECK_OFFLINE(time) \
    seconder_offline_check(&codes, sizeof codes, code, time, &last_step, &error)
    EXPECT(SECONDER_TOKEN_WRONG, CHECK_OFFLINE(time_of_step + 60));
    codes.user_id++;
    EXPECT(SECONDER_TOKEN_WRONG, CHECK_OFFLINE(time_of_step));
    codes.user_id--;
    EXPECT_INVALID("expires_at", CHECK_OFFLINE(codes.expires_at));
    CHECK(last_step == step - 1);
    EXPECT(SECONDER_OK, CHECK_OFFLINE(time_of_step + 30));
    CHECK(last_step == step);
    EXPECT(SECONDER_TOKEN_REUSED, CHECK_OFFLINE(time_of_step));
    codes.hash_key = "AAAA";
    EXPECT_INVALID("hash_key", CHECK_OFFLINE(time_of_step));
    codes.first_step = UINT64_MAX;
    EXPECT_INVALID("first_step", CHECK_OFFLINE(time_of_step));
    codes.digits = 5;
    EXPECT_INVALID("digits", CHECK_OFFLINE(time_of_step));
    EXPECT_INVALID("codes", seconder_offline_check(NULL, 0, code, 0, &last_step, &error));
#undef CHECK_OFFLINE
    seconder_text_free(text);
}

static void offline(seconder_service *service, uint64_t id, const seconder_totp *totp,
                    const char *code)
{
    seconder_prepare_offline_options options = {1, "door"};
    seconder_report_offline_options report = {"door"};
    seconder_offline_prepared *prepared = NULL;
    seconder_offline_login login;
    uint64_t now = (uint64_t)time(NULL), app;
    EXPECT(SECONDER_OK, seconder_prepare_offline(service, id, code, &options, sizeof options,
                                                 &prepared, &error));
    app = seconder_offline_prepared_authenticator_id(prepared);
    login.step = seconder_offline_prepared_first_step(prepared);
    login.time = now;
    CHECK(app > 0 && login.step == seconder_offline_prepared_last_step(prepared) + 1);
    CHECK(seconder_offline_prepared_digits(prepared) == 6);
    CHECK(seconder_offline_prepared_period(prepared) == 30);
    CHECK(seconder_offline_prepared_expires_at(prepared) >= now + 86400);
    CHECK(strlen(seconder_offline_prepared_hash_key(prepared)) == 44);
    CHECK(strlen(seconder_offline_prepared_hashes(prepared)) > 30000);
    CHECK(seconder_offline_prepared_message(prepared) != NULL);
    check_offline(totp, id, prepared);
    seconder_offline_prepared_free(prepared);
    EXPECT(SECONDER_OK, seconder_report_offline(service, id, app, &login, 1, &report,
                                                sizeof report, NULL, &error));
    EXPECT_CODE(SECONDER_REJECTED, "no_code_accepted",
                seconder_prepare_offline(service, id, code, NULL, 0, &prepared, &error));
    CHECK(prepared == NULL);
}

static void authenticators(seconder_service *service)
{
    uint64_t id = enrol(service, "ada@example.com", "555-010-0123");
    seconder_enrol_authenticator_options options = {"Ada at work", 200};
    seconder_authenticator_enrolled *enrolled = NULL;
    seconder_totp *app = NULL;
    seconder_text *code = NULL;
    EXPECT(SECONDER_OK,
           seconder_enrol_authenticator(service, id, &options, sizeof options, &enrolled, &error));
    CHECK(same(seconder_authenticator_enrolled_label(enrolled), "Ada at work"));
    CHECK(same(seconder_authenticator_enrolled_issuer(enrolled), "Example"));
    CHECK(strncmp(seconder_authenticator_enrolled_qr_code(enrolled), "data:", 5) == 0);
    EXPECT(SECONDER_OK, seconder_totp_from_uri(seconder_authenticator_enrolled_uri(enrolled), &app,
                                               &error));
    CHECK(seconder_totp_digits(app) == 6 && seconder_totp_period(app) == 30);
    EXPECT(SECONDER_OK, seconder_totp_code(app, (uint64_t)time(NULL), &code, &error));
    seconder_authenticator_enrolled_free(enrolled);
    EXPECT(SECONDER_OK,
           seconder_verify(service, id, seconder_text_value(code), NULL, 0, NULL, &error));
    EXPECT(SECONDER_TOKEN_REUSED,
           seconder_verify(service, id, seconder_text_value(code), NULL, 0, NULL, &error));
    offline(service, id, app, seconder_text_value(code));
    seconder_totp_free(app);
    seconder_text_free(code);
}

static void open_approvals(seconder_service *service, seconder_device *device, const char *uuid,
                           const char *details)
{
    seconder_approval_requests *requests = NULL;
    const seconder_approval_request *request;
    EXPECT(SECONDER_OK, seconder_open_approvals(service, seconder_device_id(device),
                                                seconder_device_secret(device), &requests, &error));
    CHECK(seconder_approval_requests_request_count(requests) == 1);
    request = seconder_approval_requests_request(requests, 0);
    CHECK(same(request->uuid, uuid) && same(request->message, "Log in?"));
    CHECK(same(request->details, details) && request->expires_at == SECONDER_FOREVER);
    CHECK(seconder_approval_requests_request(requests, 1) == NULL);
    seconder_approval_requests_free(requests);
    requests = GARBAGE(seconder_approval_requests);
    EXPECT_INVALID("device_secret", seconder_open_approvals(service, seconder_device_id(device),
                                                            "not the secret", &requests, &error));
    CHECK(requests == NULL);
}

static void approvals(seconder_service *service)
{
    uint64_t id = enrol(service, "ada@example.com", "555-010-0123");
    seconder_logo logos[] = {{"default", "https://example.com/a.png"},
                             {"low", "https://example.com/b.png"}};
    seconder_create_approval_options options = {0};
    seconder_device *device = NULL;
    seconder_approval_created *created = NULL;
    seconder_approval *approval = NULL;
    const char *uuid;

    EXPECT_INVALID("device_type", seconder_register_device(service, id, "sms", &device, &error));
    EXPECT(SECONDER_OK, seconder_register_device(service, id, "ios", &device, &error));
    CHECK(seconder_device_id(device) > 0 && strlen(seconder_device_secret(device)) >= 16);

    options.details = "{\"amount\":10,\"amount\":1000}";
    EXPECT_INVALID("details",
                   seconder_create_approval(service, id, "Log in?", &options, sizeof options,
                                            &created, &error));
    options.details =
        "{\"From\":\"Oslo\",\"account\":12345678901234567890123,\"amount\":10.00}";
    options.hidden_details = "{\"session\":7}";
    options.logos = logos + 1;
    options.logos_count = 1;
    EXPECT_INVALID("logos",
                   seconder_create_approval(service, id, "Log in?", &options, sizeof options,
                                            &created, &error));
    options.logos = logos;
    options.logos_count = 2;
    options.seconds_to_expire = SECONDER_FOREVER;
    EXPECT(SECONDER_OK, seconder_create_approval(service, id, "Log in?", &options, sizeof options,
                                                 &created, &error));
    uuid = seconder_approval_created_uuid(created);
    CHECK(seconder_is_well_formed_uuid(uuid));
    CHECK(strstr(seconder_approval_created_message(created), "no device") == NULL);

    EXPECT(SECONDER_OK, seconder_check_approval(service, uuid, &approval, &error));
    CHECK(seconder_approval_status(approval) == SECONDER_APPROVAL_PENDING);
    CHECK(seconder_approval_seconds_to_expire(approval) == SECONDER_FOREVER);
    CHECK(seconder_approval_user_id(approval) == id);
    CHECK(same(seconder_approval_uuid(approval), uuid));
    CHECK(seconder_approval_created_at(approval) != NULL);
    CHECK(seconder_approval_processed_at(approval) == NULL);
    CHECK(same(seconder_approval_message(approval), "Log in?"));
    CHECK(same(seconder_approval_details(approval), options.details));
    CHECK(same(seconder_approval_hidden_details(approval), options.hidden_details));
    CHECK(seconder_approval_logo_count(approval) == 2);
    CHECK(same(seconder_approval_logo(approval, 1)->res, logos[1].res));
    CHECK(same(seconder_approval_logo(approval, 1)->url, logos[1].url));
    CHECK(seconder_approval_logo(approval, 2) == NULL);
    CHECK(strcmp(seconder_approval_app_id(approval), "1") == 0);
    CHECK(seconder_approval_app_serial_id(approval) == 1);
    CHECK(same(seconder_approval_app_name(approval), "Example"));
    CHECK(strchr(seconder_approval_user_email(approval), '@') != NULL);
    seconder_approval_free(approval);

    EXPECT_INVALID("response",
                   seconder_respond_to_approval(service, uuid, seconder_device_id(device),
                                                seconder_device_secret(device), "maybe", NULL,
                                                NULL, &error));
    CHECK(seconder_respond_to_approval(service, uuid, seconder_device_id(device), "not the secret",
                                       "approve", NULL, NULL, NULL) != SECONDER_OK);
    open_approvals(service, device, uuid, options.details);
    EXPECT(SECONDER_OK,
           seconder_respond_to_approval(service, uuid, seconder_device_id(device),
                                        seconder_device_secret(device), "deny", NULL, &approval,
                                        &error));
    CHECK(seconder_approval_status(approval) == SECONDER_APPROVAL_DENIED);
    CHECK(!seconder_approval_approved_by(approval, id));
    seconder_approval_free(approval);
    approval = GARBAGE(seconder_approval);
    EXPECT(SECONDER_REJECTED,
           seconder_respond_to_approval(service, uuid, seconder_device_id(device),
                                        seconder_device_secret(device), "approve", NULL, &approval,
                                        &error));
    CHECK(approval == NULL);
    EXPECT(SECONDER_OK, seconder_check_approval(service, uuid, &approval, &error));
    CHECK(seconder_approval_status(approval) == SECONDER_APPROVAL_DENIED);
    CHECK(seconder_approval_processed_at(approval) != NULL);
    seconder_approval_free(approval);
    seconder_approval_created_free(created);
    seconder_device_free(device);

    approval = GARBAGE(seconder_approval);
    EXPECT(SECONDER_REJECTED, seconder_check_approval(service, "none", &approval, &error));
    CHECK(approval == NULL);
    EXPECT_INVALID("uuid", seconder_check_approval(service, "../users", &approval, &error));
}

static void phones(seconder_service *service, struct phone *phone)
{
    seconder_start_phone_verification_options options = {"en", 4, NULL};
    seconder_phone_verification_status_options which = {0};
    seconder_phone_verification_started *started = NULL;
    seconder_phone_verification_record *record = NULL;
    seconder_phone_information *information = NULL;
    EXPECT_INVALID("via",
                   seconder_start_phone_verification(service, "pigeon", "7400123456", "44", NULL, 0,
                                                     NULL, &error));
    EXPECT(SECONDER_OK,
           seconder_start_phone_verification(service, "call", "7400123456", "44", &options,
                                             sizeof options, &started, &error));
    CHECK(seconder_phone_verification_started_is_cellphone(started));
    CHECK(seconder_phone_verification_started_is_cellphone_known(started));
    CHECK(!seconder_phone_verification_started_is_ported(started));
    CHECK(seconder_phone_verification_started_is_ported_known(started));
    CHECK(same(seconder_phone_verification_started_carrier(started), ""));
    CHECK(seconder_phone_verification_started_seconds_to_expire(started) == 600);
    CHECK(seconder_phone_verification_started_resend_after(started) == 30);
    CHECK(seconder_phone_verification_started_resend_after_known(started));
    which.uuid = seconder_phone_verification_started_uuid(started);
    EXPECT(SECONDER_OK,
           seconder_phone_verification_status(service, &which, sizeof which, &record, &error));
    CHECK(same(seconder_phone_verification_record_status(record), "pending"));
    CHECK(seconder_phone_verification_record_seconds_to_expire(record) > 500);
    CHECK(seconder_phone_verification_record_seconds_to_expire(record) <= 600);
    CHECK(seconder_phone_verification_record_message(record) != NULL);
    seconder_phone_verification_record_free(record);
    which.phone_number = "7400123456";
    EXPECT_INVALID("uuid", seconder_phone_verification_status(service, &which, sizeof which,
                                                              &record, &error));
    seconder_phone_verification_started_free(started);
    CHECK(same(phone->via, "call") && strlen(phone->code) == 4);
    CHECK(seconder_check_phone_verification(service, "7400123456", "44",
                                            same(phone->code, "0000") ? "0001" : "0000", NULL,
                                            &error) == SECONDER_TOKEN_WRONG);
    CHECK(same(seconder_error_service_code(error), "60022"));
    CHECK(same(seconder_error_message(error), "the verification_code is wrong"));
    CHECK(seconder_error_field_count(error) == 1);
    CHECK(same(seconder_error_field_name(error, 0), "verification_code"));
    CHECK(seconder_error_http_status(error) == 0 && !seconder_error_retry_safe(error));
    seconder_error_free(error);
    EXPECT(SECONDER_OK,
           seconder_check_phone_verification(service, "7400123456", "44", phone->code, NULL,
                                             &error));
    CHECK(seconder_check_phone_verification(service, "7400123456", "44", phone->code, NULL,
                                            &error) == SECONDER_REJECTED);
    CHECK(same(seconder_error_service_code(error), "60023"));
    seconder_error_free(error);
    which.uuid = NULL;
    which.country_code = "44";
    EXPECT(SECONDER_OK,
           seconder_phone_verification_status(service, &which, sizeof which, &record, &error));
    CHECK(same(seconder_phone_verification_record_status(record), "verified"));
    seconder_phone_verification_record_free(record);

    EXPECT(SECONDER_OK,
           seconder_phone_info(service, "20 7946 0000", "44", NULL, 0, &information, &error));
    CHECK(same(seconder_phone_information_type(information), "landline"));
    CHECK(!seconder_phone_information_ported(information));
    CHECK(seconder_phone_information_ported_known(information));
    CHECK(same(seconder_phone_information_provider(information), "Unknown"));
    seconder_phone_information_free(information);
}

static void application(seconder_service *service)
{
    seconder_application *details = NULL;
    seconder_statistics *statistics = NULL;
    const seconder_monthly_statistic *month;
    EXPECT(SECONDER_OK, seconder_app_details(service, NULL, 0, &details, &error));
    CHECK(same(seconder_application_name(details), "Example"));
    CHECK(seconder_application_sms_enabled(details) && seconder_application_app_id(details) > 0);
    CHECK(seconder_application_phone_calls_enabled(details));
    CHECK(seconder_application_push_enabled(details));
    seconder_application_free(details);

    EXPECT(SECONDER_OK, seconder_app_stats(service, NULL, 0, &statistics, &error));
    CHECK(seconder_statistics_stat_count(statistics) > 0);
    CHECK(seconder_statistics_total_users(statistics) == 3);
    month = seconder_statistics_stat(statistics, seconder_statistics_stat_count(statistics) - 1);
    CHECK(month != NULL && strlen(month->month) > 2 && month->year > 2000);
    CHECK(month->api_calls_count > 0 && month->sms_count > 0 && month->users_count == 3);
    CHECK(seconder_statistics_stat(statistics, seconder_statistics_stat_count(statistics)) == NULL);
    seconder_statistics_free(statistics);
}

static void deletion(seconder_service *service)
{
    uint64_t id = enrol(service, "ada@example.com", "555-010-0123");
    seconder_call_options options = {"2001:db8::1"};
    seconder_done *done = NULL;
    EXPECT(SECONDER_OK, seconder_delete_user(service, id, &options, sizeof options, &done, &error));
    CHECK(seconder_done_message(done) != NULL);
    seconder_done_free(done);
    EXPECT(SECONDER_REJECTED, seconder_delete_user(service, id, NULL, 0, &done, &error));
    CHECK(done == NULL);
}

int main(int count, char **arguments)
{
    static struct phone phone;
    char url[4096], key[256];
    seconder_open_options options = {0};
    seconder_service *service, *other = GARBAGE(seconder_service);
    CHECK(count == 2);
    snprintf(url, sizeof url, "sqlite:%s/calls.db", arguments[1]);
    options.application_name = "Example";
    options.offline_days = 7;
    options.deliver = deliver;
    options.deliver_userdata = &phone;
    service = open_or_die(url, NULL, &options);
    users(service);
    without_phone(service);
    rejections(service);
    codes(service, &phone);
    logins(service);
    authenticators(service);
    approvals(service);
    phones(service, &phone);
    application(service);
    deletion(service);

    snprintf(key, sizeof key, "%s", seconder_api_key(service, NULL));
    seconder_service_free(service);
    EXPECT_CODE(SECONDER_UNAUTHORIZED, "60001",
                seconder_open(url, "another-key", NULL, 0, &other, &error));
    CHECK(other == NULL);
    service = open_or_die(url, key, NULL);
    CHECK(same(seconder_api_key(service, NULL), key));
    seconder_service_free(service);
    return 0;
}
