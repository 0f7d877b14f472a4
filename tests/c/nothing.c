/* NULL is rejected for required arguments, and harmless for all others. */
#include "check.h"

static void every_call_without_a_service(void)
{
    seconder_user_created *user = GARBAGE(seconder_user_created);
    seconder_verification *verification = GARBAGE(seconder_verification);
    seconder_approval *approval = GARBAGE(seconder_approval);
    seconder_user_status_reply *status = GARBAGE(seconder_user_status_reply);
    seconder_authenticator_enrolled *enrolled = GARBAGE(seconder_authenticator_enrolled);
    seconder_found_user *found = GARBAGE(seconder_found_user);
    seconder_recovery_codes *codes = GARBAGE(seconder_recovery_codes);
    seconder_remembered *remembered = GARBAGE(seconder_remembered);
    seconder_browser_check *check = GARBAGE(seconder_browser_check);
    seconder_approval_created *created = GARBAGE(seconder_approval_created);
    seconder_application *application = GARBAGE(seconder_application);
    seconder_statistics *statistics = GARBAGE(seconder_statistics);
    seconder_phone_information *phone = GARBAGE(seconder_phone_information);
    seconder_phone_verification_record *record = GARBAGE(seconder_phone_verification_record);
    seconder_offline_prepared *prepared = GARBAGE(seconder_offline_prepared);
    seconder_registered_devices *devices = GARBAGE(seconder_registered_devices);
    seconder_device_invited *invited = GARBAGE(seconder_device_invited);
    seconder_device *device = GARBAGE(seconder_device);
    seconder_approval_requests *requests = GARBAGE(seconder_approval_requests);
    seconder_audit_page *page = GARBAGE(seconder_audit_page);
    seconder_jobs_run *run = GARBAGE(seconder_jobs_run);
    seconder_service *service = GARBAGE(seconder_service);

    EXPECT_INVALID("service",
                   seconder_create_user(NULL, "a@b", "5550100", "1", NULL, 0, &user, &error));
    EXPECT_INVALID("service", seconder_request_sms(NULL, 1, NULL, 0, NULL, &error));
    EXPECT_INVALID("service", seconder_request_call(NULL, 1, NULL, 0, NULL, &error));
    EXPECT_INVALID("service", seconder_verify(NULL, 1, "123456", NULL, 0, &verification, &error));
    EXPECT_INVALID("service", seconder_delete_user(NULL, 1, NULL, 0, NULL, &error));
    EXPECT_INVALID("service", seconder_register_activity(NULL, 1, "banned", NULL, 0, NULL, &error));
    EXPECT_INVALID("service", seconder_app_details(NULL, NULL, 0, &application, &error));
    EXPECT_INVALID("service", seconder_user_status(NULL, 1, NULL, 0, &status, &error));
    EXPECT_INVALID("service", seconder_app_stats(NULL, NULL, 0, &statistics, &error));
    EXPECT_INVALID("service",
                   seconder_start_phone_verification(NULL, "sms", "5550100", "1", NULL, 0, NULL,
                                                     &error));
    EXPECT_INVALID("service", seconder_phone_verification_status(NULL, NULL, 0, &record, &error));
    EXPECT_INVALID("service", seconder_phone_info(NULL, "5550100", "1", NULL, 0, &phone, &error));
    EXPECT_INVALID("service", seconder_create_approval(NULL, 1, "?", NULL, 0, &created, &error));
    EXPECT_INVALID("service", seconder_check_approval(NULL, "a", &approval, &error));
    EXPECT_INVALID("service", seconder_check_phone_verification(NULL, "5550100", "1", "1234", NULL,
                                                                &error));
    EXPECT_INVALID("service", seconder_set_number(NULL, 1, "5550100", "1", "1234", NULL, 0, NULL,
                                                  &error));
    EXPECT_INVALID("service", seconder_enrol_authenticator(NULL, 1, NULL, 0, &enrolled, &error));
    EXPECT_INVALID("service", seconder_find_user(NULL, "ada", &found, &error));
    EXPECT_INVALID("service", seconder_set_login(NULL, 1, "ada", NULL, &error));
    EXPECT_INVALID("service", seconder_remove_login(NULL, "ada", NULL, &error));
    EXPECT_INVALID("service", seconder_create_recovery_codes(NULL, 1, &codes, &error));
    EXPECT_INVALID("service",
                   seconder_prepare_offline(NULL, 1, "123456", NULL, 0, &prepared, &error));
    EXPECT_INVALID("service", seconder_report_offline(NULL, 1, 1, NULL, 0, NULL, 0, NULL, &error));
    EXPECT_INVALID("service",
                   seconder_confirm_authenticator(NULL, 1, "123456", &verification, &error));
    EXPECT_INVALID("service", seconder_remove_authenticator(NULL, 1, "1", NULL, &error));
    EXPECT_INVALID("service", seconder_unlock_user(NULL, 1, NULL, &error));
    EXPECT_INVALID("service", seconder_devices(NULL, 1, &devices, &error));
    EXPECT_INVALID("service", seconder_remove_device(NULL, 1, 1, NULL, &error));
    EXPECT_INVALID("service", seconder_invite_device(NULL, 1, NULL, 0, &invited, &error));
    EXPECT_INVALID("service", seconder_remember(NULL, 1, NULL, 0, &remembered, &error));
    EXPECT_INVALID("service", seconder_recognise(NULL, 1, "a", &check, &error));
    EXPECT_INVALID("service", seconder_forget(NULL, 1, NULL, NULL, &error));
    EXPECT_INVALID("service", seconder_register_device(NULL, 1, "ios", &device, &error));
    EXPECT_INVALID("service",
                   seconder_respond_to_approval(NULL, "a", 1, "s", "deny", NULL, NULL, &error));
    EXPECT_INVALID("service", seconder_clear_sandbox(NULL, &error));
    EXPECT_INVALID("service", seconder_backup(NULL, "copy.db", &error));
    EXPECT_INVALID("service", seconder_audit(NULL, NULL, 0, &page, &error));
    EXPECT_INVALID("service", seconder_run_jobs(NULL, 0, &run, &error));
    CHECK(page == NULL && run == NULL);
    EXPECT_INVALID("service", seconder_open_approvals(NULL, 1, "s", &requests, &error));
    EXPECT_INVALID("service",
                   seconder_wait_for_approval(NULL, "a", 1, 0, NULL, 0, &approval, &error));
    EXPECT_INVALID("service", seconder_service_with(NULL, 1, 0, &service, &error));
    CHECK(seconder_api_key(NULL, &error) == NULL);
    CHECK(seconder_error_status(error) == SECONDER_INVALID_ARGUMENT);
    seconder_error_free(error);

    CHECK(user == NULL && verification == NULL && approval == NULL && status == NULL);
    CHECK(enrolled == NULL && created == NULL && application == NULL && statistics == NULL);
    CHECK(phone == NULL && device == NULL && requests == NULL && service == NULL);
    CHECK(record == NULL && found == NULL && codes == NULL && prepared == NULL);
    CHECK(devices == NULL && invited == NULL);
    CHECK(remembered == NULL && check == NULL);
}

static void every_function_of_tests_without_a_sandbox(void)
{
    seconder_sent_messages *sent = GARBAGE(seconder_sent_messages);
    seconder_text *text = GARBAGE(seconder_text);
    EXPECT_INVALID("service", seconder_sandbox_messages(NULL, 0, &sent, &error));
    EXPECT_INVALID("service", seconder_sandbox_advance(NULL, 1, &error));
    EXPECT_INVALID("service", seconder_sandbox_fail(NULL, "lost", NULL, 0, &error));
    EXPECT_INVALID("service", seconder_sandbox_end_faults(NULL, &error));
    EXPECT_INVALID("service", seconder_sandbox_respond(NULL, 1, "deny", NULL, &error));
    EXPECT_INVALID("service", seconder_sandbox_operate(NULL, "clock", NULL, &text, &error));
    CHECK(sent == NULL && text == NULL);
}

static void missing_texts_and_out_arguments(void)
{
    seconder_service *service = open_or_die("sandbox:", NULL, NULL);
    seconder_service *other = GARBAGE(seconder_service);
    seconder_user_created *user = GARBAGE(seconder_user_created);
    seconder_event *event = GARBAGE(seconder_event);
    seconder_callback callback = {0};

    EXPECT_INVALID("url", seconder_open(NULL, NULL, NULL, 0, &other, &error));
    EXPECT_INVALID("out", seconder_open("sandbox:", NULL, NULL, 0, NULL, &error));
    EXPECT_INVALID("email",
                   seconder_create_user(service, NULL, "5550100", "1", NULL, 0, &user, &error));
    /* Without both, the user has no number. One alone is a mistake. */
    EXPECT_INVALID("cellphone",
                   seconder_create_user(service, "a@b", NULL, "1", NULL, 0, &user, &error));
    EXPECT_INVALID("country_code",
                   seconder_create_user(service, "a@b", "5550100", NULL, NULL, 0, &user, &error));
    EXPECT_INVALID("out",
                   seconder_create_user(service, "a@b", "5550100", "1", NULL, 0, NULL, &error));
    EXPECT_INVALID("token", seconder_verify(service, 1, NULL, NULL, 0, NULL, &error));
    EXPECT_INVALID("user_id", seconder_verify(service, 0, "123456", NULL, 0, NULL, &error));
    EXPECT_INVALID("user_id", seconder_delete_user(service, UINT64_MAX, NULL, 0, NULL, &error));
    EXPECT_INVALID("out", seconder_register_device(service, 1, "ios", NULL, &error));
    EXPECT_INVALID("path", seconder_backup(service, NULL, &error));
    EXPECT_INVALID("out", seconder_audit(service, NULL, 0, NULL, &error));

    EXPECT_INVALID("api_key",
                   seconder_callback_verify(NULL, &callback, sizeof callback, &event, &error));
    EXPECT_INVALID("received", seconder_callback_verify("key", NULL, 0, &event, &error));
    EXPECT_INVALID("url",
                   seconder_callback_verify("key", &callback, sizeof callback, &event, &error));
    callback.url = "https://app.example/callback";
    EXPECT_INVALID("method",
                   seconder_callback_verify("key", &callback, sizeof callback, &event, &error));
    callback.method = "POST";
    callback.body_size = 1;
    EXPECT_INVALID("body",
                   seconder_callback_verify("key", &callback, sizeof callback, &event, &error));
    callback.body = "{";
    EXPECT(SECONDER_INVALID_CALLBACK,
           seconder_callback_verify("key", &callback, sizeof callback, &event, &error));

    CHECK(!seconder_is_well_formed_token(NULL));
    CHECK(other == NULL && user == NULL && event == NULL);

    /* The error argument may be NULL. */
    CHECK(seconder_verify(service, 1, NULL, NULL, 0, NULL, NULL) == SECONDER_INVALID_ARGUMENT);
    CHECK(seconder_api_key(service, NULL) != NULL);
    seconder_service_free(service);
}

static void functions_without_a_service(void)
{
    seconder_totp *totp = GARBAGE(seconder_totp);
    seconder_text *text = GARBAGE(seconder_text);
    seconder_verifier *verifier = GARBAGE(seconder_verifier);
    seconder_event *event = GARBAGE(seconder_event);
    uint64_t step = 0;

    EXPECT_INVALID("secret", seconder_totp_new(NULL, 20, NULL, 0, &totp, &error));
    EXPECT_INVALID("out", seconder_totp_new("12345678901234567890", 20, NULL, 0, NULL, &error));
    EXPECT_INVALID("uri", seconder_totp_from_uri(NULL, &totp, &error));
    EXPECT_INVALID("totp", seconder_totp_code(NULL, 0, &text, &error));
    EXPECT_INVALID("totp", seconder_totp_uri(NULL, "a", "b", &text, &error));
    EXPECT_INVALID("totp", seconder_totp_check(NULL, "123456", 0, &step, &error));
    CHECK(totp == NULL && text == NULL && step == 0);
    CHECK(seconder_totp_secret(NULL) == NULL && seconder_totp_secret_size(NULL) == 0);
    CHECK(seconder_totp_algorithm(NULL) == 0 && seconder_text_value(NULL) == NULL);

    EXPECT_INVALID("api_key", seconder_verifier_new(NULL, NULL, 0, &verifier, &error));
    EXPECT_INVALID("verifier", seconder_verifier_verify(NULL, NULL, 0, 0, &event, &error));
    EXPECT_INVALID("verifier", seconder_verifier_parameters(NULL, NULL, 0, &text, &error));
    EXPECT_INVALID("body", seconder_callback_sign("key", "1", "u", NULL, 2, &text, &error));
    EXPECT_INVALID("url", seconder_callback_sign("key", "1", NULL, "{}", 2, &text, &error));
    EXPECT_INVALID("query", seconder_callback_sign_query("key", "1", "u", NULL, &text, &error));
    EXPECT_INVALID("body", seconder_callback_query(NULL, 1, &text, &error));
    EXPECT_INVALID("received", seconder_callback_verify_parameters("key", NULL, 0, &text, &error));
    CHECK(verifier == NULL && event == NULL && text == NULL);
    CHECK(!seconder_event_approved_by(NULL, 0) && !seconder_approval_approved_by(NULL, 0));
    CHECK(seconder_signed_callback_method(NULL) == NULL);
    CHECK(seconder_signed_callback_query(NULL) == NULL);
    CHECK(seconder_signed_callback_body(NULL) == NULL);
    CHECK(seconder_signed_callback_header_name(NULL, 0) == NULL);
}

static void missing_handles(void)
{
    CHECK(seconder_error_status(NULL) != SECONDER_OK);
    CHECK(same(seconder_error_message(NULL), "no error"));
    CHECK(seconder_error_parameter(NULL) == NULL && seconder_error_service_code(NULL) == NULL);
    CHECK(seconder_error_field_count(NULL) == 0 && seconder_error_http_status(NULL) == 0);
    CHECK(seconder_error_stage(NULL) == SECONDER_STAGE_NONE);
    CHECK(seconder_error_service_message(NULL) == NULL);
    CHECK(!seconder_error_timed_out(NULL));
    CHECK(seconder_error_limit(NULL) == NULL && !seconder_error_is_operator_limit(NULL));
    CHECK(!seconder_error_retry_safe(NULL) && seconder_error_retry_after(NULL) == 0);
    CHECK(seconder_approval_status(NULL) == SECONDER_APPROVAL_UNKNOWN);
    CHECK(seconder_event_status(NULL) == SECONDER_APPROVAL_UNKNOWN);
    CHECK(seconder_user_created_user_id(NULL) == 0 && seconder_verification_device(NULL) == NULL);
    CHECK(!seconder_user_status_reply_confirmed(NULL));
    CHECK(seconder_code_requested_resend_after(NULL) == 0);
    CHECK(!seconder_code_requested_resend_after_known(NULL));
    CHECK(seconder_statistics_stat(NULL, 0) == NULL && seconder_message_code(NULL) == NULL);
    CHECK(seconder_message_id(NULL) == NULL);
    seconder_message_set_provider_id(NULL, "a-1");
    seconder_message_set_retry_after_ms(NULL, 1);
    seconder_message_set_reason(NULL, "busy");
    seconder_signed_callback_set_retry_after_ms(NULL, 1);
    seconder_signed_callback_set_reason(NULL, NULL);

    seconder_error_free(NULL);
    seconder_service_free(NULL);
    seconder_user_created_free(NULL);
    seconder_done_free(NULL);
    seconder_user_status_reply_free(NULL);
    seconder_code_requested_free(NULL);
    seconder_verification_free(NULL);
    seconder_authenticator_enrolled_free(NULL);
    CHECK(seconder_offline_prepared_hashes(NULL) == NULL);
    CHECK(seconder_offline_prepared_expires_at(NULL) == 0);
    seconder_offline_prepared_free(NULL);
    seconder_approval_created_free(NULL);
    seconder_approval_free(NULL);
    seconder_phone_verification_started_free(NULL);
    seconder_phone_information_free(NULL);
    seconder_application_free(NULL);
    seconder_statistics_free(NULL);
    CHECK(seconder_user_status_reply_factors(NULL) == NULL && !seconder_factors_sms(NULL));
    CHECK(seconder_factors_authenticator(NULL, 0) == NULL);
    CHECK(seconder_factors_device(NULL, 0) == NULL);
    seconder_registered_devices_free(NULL);
    CHECK(seconder_approval_created_number(NULL) == NULL);
    CHECK(seconder_device_invited_link(NULL) == NULL && seconder_device_invited_code(NULL) == NULL);
    CHECK(seconder_device_invited_qr_code(NULL) == NULL);
    CHECK(seconder_device_invited_expires_in(NULL) == 0);
    seconder_device_invited_free(NULL);
    seconder_device_free(NULL);
    seconder_event_free(NULL);
    seconder_approval_requests_free(NULL);
    CHECK(seconder_audit_page_entry_count(NULL) == 0 && seconder_audit_page_next(NULL) == NULL);
    CHECK(seconder_audit_page_entry(NULL, 0) == NULL);
    seconder_audit_page_free(NULL);
    CHECK(seconder_sent_messages_message_count(NULL) == 0);
    CHECK(seconder_sent_messages_message(NULL, 0) == NULL);
    seconder_sent_messages_free(NULL);
    CHECK(seconder_jobs_run_sent(NULL) == 0 && seconder_jobs_run_waiting(NULL) == 0);
    CHECK(seconder_jobs_run_failed(NULL) == 0 && !seconder_jobs_run_more(NULL));
    seconder_jobs_run_free(NULL);
    seconder_verifier_free(NULL);
    seconder_totp_free(NULL);
    seconder_text_free(NULL);
}

int main(void)
{
    every_call_without_a_service();
    every_function_of_tests_without_a_sandbox();
    missing_texts_and_out_arguments();
    functions_without_a_service();
    missing_handles();
    return 0;
}
