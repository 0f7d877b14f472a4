/* Every setting of seconder_open() has an effect, and an invalid one is reported by name. */
#include "check.h"

#include <time.h>

static const char *folder;

/* Opening must fail because of this option. */
static void rejects(const char *url, const char *option, const seconder_open_options *options)
{
    seconder_service *service = GARBAGE(seconder_service);
    EXPECT_INVALID(option, seconder_open(url, "key", options, sizeof *options, &service, &error));
    CHECK(service == NULL);
}

static void invalid_options_of_a_remote_service(void)
{
    static const char *const texts[] = {"sha256/x", "example.com", NULL};
    static const char url[] = "https://2fa.example.com";
    const seconder_open_options zero = {0};
    seconder_open_options options = zero;
    options.timeout_ms = 3600001;
    rejects(url, "timeout_ms", &options);
    options = zero;
    options.repeats = 4;
    rejects(url, "repeats", &options);
    options = zero;
    options.format = 3;
    rejects(url, "format", &options);
    options = zero;
    options.generation = -1;
    rejects(url, "generation", &options);
    options = zero;
    options.ca_file = "/no/such/file";
    rejects(url, "ca_file", &options);
    options = zero;
    options.pins = texts;
    options.pins_count = 1;
    rejects(url, "pins", &options);
    options.pins = texts + 2;
    rejects(url, "pins", &options);
    options.pins = NULL;
    rejects(url, "pins", &options);
    options = zero;
    options.client_certificate = "/no/such/file";
    rejects(url, "client_key", &options);
    options.client_key = "/no/such/file";
    rejects(url, "client_certificate", &options);
    options.client_certificate = NULL;
    rejects(url, "client_certificate", &options);
    options = zero;
    options.proxy = "ftp://proxy.example";
    rejects(url, "proxy", &options);
    options = zero;
    options.name_servers = texts + 1;
    options.name_servers_count = 1;
    rejects(url, "name_servers", &options);
    options = zero;
    rejects("http://127.0.0.1:1", "url", &options);
}

static void invalid_options_of_engines(void)
{
    const seconder_open_options zero = {0};
    seconder_open_options options = zero;
    seconder_names names = {0};
    options.token_length = 5;
    rejects("sandbox:", "token_length", &options);
    options.token_length = 256 + 6;
    rejects("sandbox:", "token_length", &options);
    options = zero;
    options.authenticator_digits = 9;
    rejects("sandbox:", "authenticator_digits", &options);
    options = zero;
    options.authenticator_period = 3601;
    rejects("sandbox:", "authenticator_period", &options);
    options = zero;
    options.callback_url = "ftp://app.example";
    rejects("sandbox:", "callback_url", &options);
    options = zero;
    options.callback_ca_file = "/no/such/file";
    rejects("sandbox:", "callback_ca_file", &options);
    options = zero;
    options.callback_method = 3;
    rejects("sandbox:", "callback_method", &options);
    options = zero;
    options.callback_private = -1;
    rejects("sandbox:", "callback_private", &options);
    options = zero;
    options.white_label = 3;
    rejects("sandbox:", "white_label", &options);
    options = zero;
    options.sms_enabled = 3;
    rejects("sandbox:", "sms_enabled", &options);
    options = zero;
    options.force_codes = 3;
    rejects("sandbox:", "force_codes", &options);
    options = zero;
    options.plan = "";
    rejects("sandbox:", "plan", &options);
    options = zero;
    options.logo = "http://app.example/logo.png";
    rejects("sandbox:", "logo", &options);
    options = zero;
    options.install_link = "http://app.example/get";
    rejects("sandbox:", "install_link", &options);
    options = zero;
    options.offline_days = 8;
    rejects("sandbox:", "offline_days", &options);
    options.offline_days = -2;
    rejects("sandbox:", "offline_days", &options);
    options = zero;
    options.limits = "number_day=101";
    rejects("sandbox:", "limits", &options);
    options.limits = "no_such_limit=1";
    rejects("sandbox:", "limits", &options);
    options.limits = "code_life=3601";
    rejects("sandbox:", "limits", &options);
    options.limits = "tries=0";
    rejects("sandbox:", "limits", &options);
    options = zero;
    options.texts = "{\"de\": {\"sms\": \"{{cod}}\"}}";
    rejects("sandbox:", "texts", &options);
    options = zero;
    options.otp_domain = "https://example.com";
    rejects("sandbox:", "otp_domain", &options);
    options = zero;
    options.push_hosts = "https://push.example";
    rejects("sandbox:", "push_hosts", &options);
    options = zero;
    options.replies = 3;
    rejects("sandbox:", "replies", &options);
    options = zero;
    options.names = &names;
    options.names_size = sizeof names - 1;
    rejects("sandbox:", "names_size", &options);
    options.names_size = sizeof names;
    names.push_path = "protected";
    rejects("sandbox:", "push_path", &options);
    names.push_path = NULL;
    names.header_prefix = "X:";
    rejects("sandbox:", "header_prefix", &options);
    names.header_prefix = NULL;
    names.chrome_device = "";
    rejects("sandbox:", "chrome_device", &options);
}

struct outside {
    char code[16];
    char text[256];
    char language[16];
    uint64_t expires_at;
    char body[4096];
    char signature[64];
    char nonce[64];
    int posted;
    int freed;
};

static int32_t deliver(const seconder_message *message, void *userdata)
{
    struct outside *outside = userdata;
    snprintf(outside->code, sizeof outside->code, "%s", seconder_message_code(message));
    snprintf(outside->text, sizeof outside->text, "%s", seconder_message_text(message));
    snprintf(outside->language, sizeof outside->language, "%s", seconder_message_language(message));
    outside->expires_at = seconder_message_expires_at(message);
    return 0;
}

static int32_t post(const seconder_signed_callback *callback, void *userdata)
{
    struct outside *outside = userdata;
    size_t size = seconder_signed_callback_body_size(callback);
    CHECK(same(seconder_signed_callback_url(callback), "https://app.example/callback"));
    CHECK(same(seconder_signed_callback_method(callback), "POST"));
    CHECK(same(seconder_signed_callback_query(callback), ""));
    CHECK(size < sizeof outside->body && seconder_signed_callback_header_count(callback) == 3);
    memcpy(outside->body, seconder_signed_callback_body(callback), size);
    CHECK(same(seconder_signed_callback_header_name(callback, 0), "X-Acme-Signature"));
    CHECK(same(seconder_signed_callback_header_name(callback, 1), "X-Acme-Signature-Nonce"));
    CHECK(same(seconder_signed_callback_header_name(callback, 2), "Seconder-Delivery"));
    CHECK(strlen(seconder_signed_callback_header_value(callback, 2)) == 16);
    CHECK(seconder_signed_callback_header_name(callback, 3) == NULL);
    CHECK(seconder_signed_callback_header_value(callback, 3) == NULL);
    snprintf(outside->signature, sizeof outside->signature, "%s",
             seconder_signed_callback_header_value(callback, 0));
    snprintf(outside->nonce, sizeof outside->nonce, "%s",
             seconder_signed_callback_header_value(callback, 1));
    outside->posted++;
    return 0;
}

static void freed(void *userdata)
{
    ((struct outside *)userdata)->freed++;
}

/* The callback that was posted is accepted by a verifier with the same names. */
static void accepted(const struct outside *outside, const seconder_names *names, uint64_t id)
{
    seconder_verifier_options options = {0};
    seconder_verifier *verifier = NULL;
    seconder_callback received = {0};
    seconder_event *event = NULL;
    options.names = names;
    options.names_size = sizeof *names;
    options.fresh_seconds = 60;
    EXPECT(SECONDER_OK, seconder_verifier_new("key", &options, sizeof options, &verifier, &error));
    received.url = "https://app.example/callback";
    received.method = "POST";
    received.body = outside->body;
    received.body_size = strlen(outside->body);
    received.signature = outside->signature;
    received.nonce = outside->nonce;
    CHECK(strstr(outside->body, "\"acme_id\"") != NULL);
    EXPECT(SECONDER_OK, seconder_verifier_verify(verifier, &received, sizeof received,
                                                 (uint64_t)time(NULL), &event, &error));
    CHECK(seconder_event_approved_by(event, id) && seconder_event_user_id(event) == id);
    CHECK(seconder_event_device(event) != NULL && seconder_event_uuid(event) != NULL);
    CHECK(strstr(seconder_event_parameters(event), "\"acme_id\"") != NULL);
    seconder_event_free(event);
    seconder_verifier_free(verifier);
}

static void approve(seconder_service *service, uint64_t id)
{
    seconder_device *device = NULL;
    seconder_approval_created *created = NULL;
    EXPECT(SECONDER_OK, seconder_register_device(service, id, "ios", &device, &error));
    EXPECT(SECONDER_OK,
           seconder_create_approval(service, id, "Log in?", NULL, 0, &created, &error));
    EXPECT(SECONDER_OK,
           seconder_respond_to_approval(service, seconder_approval_created_uuid(created),
                                        seconder_device_id(device), seconder_device_secret(device),
                                        "approve", NULL, NULL, &error));
    seconder_approval_created_free(created);
    seconder_device_free(device);
}

static void valid_options_of_engines(void)
{
    struct outside outside;
    char url[4096];
    seconder_names names = {0};
    seconder_open_options options = {0};
    seconder_service *service, *second = NULL;
    seconder_user_created *user = NULL;
    seconder_request_code_options sms = {0};
    char text[256];
    seconder_authenticator_enrolled *enrolled = NULL;
    seconder_totp *app = NULL;
    seconder_application *details = NULL;
    uint64_t id;
    memset(&outside, 0, sizeof outside);
    snprintf(url, sizeof url, "sqlite:%s/settings.db", folder);
    names.word = "acme";
    options.names = &names;
    options.names_size = sizeof names;
    options.token_length = 9;
    options.authenticator_digits = 8;
    options.authenticator_period = 60;
    options.callback_url = "https://app.example/callback";
    options.install_link = "https://app.example/get";
    options.texts = "{\"de\": {\"sms\": \"Geheim: {{code}}\"}}";
    options.otp_domain = "example.com";
    options.push_hosts = "push.example *.push.example 127.0.0.1:8080";
    options.plan = "annual";
    options.logo = "https://app.example/logo.png";
    options.white_label = SECONDER_YES;
    options.sms_enabled = SECONDER_YES;
    options.force_codes = SECONDER_YES;
    options.replies = SECONDER_GENERATION_OLDER;
    options.deliver = deliver;
    options.deliver_userdata = &outside;
    options.deliver_userdata_free = freed;
    options.post = post;
    options.post_userdata = &outside;
    options.post_userdata_free = freed;
    service = open_or_die(url, "key", &options);
    EXPECT(SECONDER_OK, seconder_service_with(service, 100, SECONDER_REPEATS_ALL, &second, &error));
    seconder_service_free(service);
    CHECK(outside.freed == 0 && same(seconder_api_key(second, NULL), "key"));
    EXPECT(SECONDER_OK,
           seconder_create_user(second, "ada@example.com", "555-010-0123", "1", NULL, 0, &user,
                                &error));
    id = seconder_user_created_user_id(user);
    EXPECT(SECONDER_OK, seconder_app_details(second, NULL, 0, &details, &error));
    CHECK(same(seconder_application_plan(details), "annual"));
    CHECK(seconder_application_white_label(details) && seconder_application_sms_enabled(details));
    seconder_application_free(details);
    CHECK(same(seconder_user_created_install_message(user), "sent"));
    CHECK(same(outside.text, "Install the app for Seconder: https://app.example/get"));
    CHECK(same(outside.code, "") && outside.expires_at == 0);
    CHECK(same(outside.language, "en-US"));
    sms.locale = "de";
    EXPECT(SECONDER_OK, seconder_request_sms(second, id, &sms, sizeof sms, NULL, &error));
    snprintf(text, sizeof text, "Geheim: %s\n@example.com #%s", outside.code, outside.code);
    CHECK(same(outside.text, text) && same(outside.language, "de"));
    CHECK(strlen(outside.code) == 9 && outside.expires_at > (uint64_t)time(NULL));
    EXPECT(SECONDER_OK, seconder_enrol_authenticator(second, id, NULL, 0, &enrolled, &error));
    EXPECT(SECONDER_OK,
           seconder_totp_from_uri(seconder_authenticator_enrolled_uri(enrolled), &app, &error));
    CHECK(seconder_totp_digits(app) == 8 && seconder_totp_period(app) == 60);
    approve(second, id);
    CHECK(outside.posted == 1);
    accepted(&outside, &names, id);
    seconder_totp_free(app);
    seconder_authenticator_enrolled_free(enrolled);
    seconder_user_created_free(user);
    seconder_service_free(second);
    CHECK(outside.freed == 2);
}

/* A database keeps its names: none at all or the same are fine, others are not. */
static void names_of_a_database(void)
{
    char url[4096];
    seconder_names names = {0};
    seconder_open_options options = {0};
    snprintf(url, sizeof url, "sqlite:%s/settings.db", folder);
    seconder_service_free(open_or_die(url, "key", NULL));
    options.names = &names;
    options.names_size = sizeof names;
    seconder_service_free(open_or_die(url, "key", &options));
    names.word = "acme";
    seconder_service_free(open_or_die(url, "key", &options));
    names.word = "svc";
    rejects(url, "names", &options);
}

/* The stage at which a call fails if no service is running. */
static int32_t stage(const char *url, const seconder_open_options *options)
{
    seconder_service *service = open_or_die(url, "key", options);
    int32_t reached;
    CHECK(seconder_app_stats(service, NULL, 0, NULL, NULL) == SECONDER_INVALID_ARGUMENT);
    error = NULL;
    CHECK(seconder_verify(service, 1, "123456", NULL, 0, NULL, &error) == SECONDER_UNAVAILABLE);
    CHECK(seconder_error_retry_safe(error) && seconder_error_service_message(error) == NULL);
    reached = seconder_error_stage(error);
    seconder_error_free(error);
    error = NULL;
    seconder_service_free(service);
    return reached;
}

/* Nothing listens on port 1 of this machine. */
static void no_service(void)
{
    static const char *const nowhere[] = {"127.0.0.1:1"};
    const seconder_open_options zero = {0};
    seconder_open_options options = zero;
    options.timeout_ms = 2000;
    options.name_servers = nowhere;
    options.name_servers_count = 1;
    CHECK(stage("https://2fa.example.com", &options) == SECONDER_STAGE_DNS);
    options.proxy = "http://127.0.0.1:1";
    CHECK(stage("https://2fa.example.com", &options) == SECONDER_STAGE_CONNECT);
    options = zero;
    options.allow_loopback_http = true;
    CHECK(stage("http://127.0.0.1:1", &options) == SECONDER_STAGE_CONNECT);
}

#define OPTIONS_INVALID(parameter, options) \
    EXPECT_INVALID(parameter, seconder_open_text(url, "key", options, &service, &error))

static void options_as_text(void)
{
    static const char *const options = "token_length=8\r\n\nplan=two words, and = too\nwhite_label=yes\n"
                                       "limits=number_day=9 countries=1+44\nmust_exist=no";
    char url[4096];
    seconder_service *service = GARBAGE(seconder_service);
    seconder_application *details;
    snprintf(url, sizeof url, "sqlite:%s/text.db", folder);
    OPTIONS_INVALID("options", "token_length");
    OPTIONS_INVALID("options", "plan=a\nplan=b");
    OPTIONS_INVALID("options", "api_key=other");
    OPTIONS_INVALID("options", "tokens=8");
    OPTIONS_INVALID("options", "=8");
    CHECK(seconder_open_text(url, NULL, "plan=a\nc2VjcmV0=", &service, &error) == SECONDER_INVALID_ARGUMENT);
    CHECK(strstr(seconder_error_message(error), "line 2") && !strstr(seconder_error_message(error), "c2Vj"));
    seconder_error_free(error);
    error = NULL;
    OPTIONS_INVALID("token_length", "token_length=many");
    OPTIONS_INVALID("token_length", "token_length=5");
    OPTIONS_INVALID("white_label", "white_label=maybe");
    OPTIONS_INVALID("timeout", "timeout=2.5");
    OPTIONS_INVALID("deliver", "deliver=deliver");
    OPTIONS_INVALID("options", "\xff=1");
    CHECK(service == NULL);
    EXPECT(SECONDER_OK, seconder_open_text(url, "key", options, &service, &error));
    EXPECT(SECONDER_OK, seconder_app_details(service, NULL, 0, &details, &error));
    CHECK(same(seconder_application_plan(details), "two words, and = too"));
    CHECK(seconder_application_white_label(details));
    seconder_application_free(details);
    seconder_service_free(service);
    EXPECT(SECONDER_OK, seconder_open_text(url, "key", NULL, &service, &error));
    seconder_service_free(service);
}

/* A service that cannot be reached shows that its options were taken. */
static void options_of_a_client_as_text(void)
{
    const char *url = "https://2fa.example.com";
    seconder_service *service;
    OPTIONS_INVALID("pins", "pins=sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU= sha256/x");
    OPTIONS_INVALID("timeout", "timeout=0");
    OPTIONS_INVALID("timeout", "timeout=3601");
    OPTIONS_INVALID("format", "format=JSON");
    OPTIONS_INVALID("plan", "plan=annual");
    EXPECT(SECONDER_OK, seconder_open_text(url, "key", "timeout=2\nname_servers=127.0.0.1:1", &service,
                                           &error));
    CHECK(seconder_verify(service, 1, "123456", NULL, 0, NULL, &error) == SECONDER_UNAVAILABLE);
    CHECK(seconder_error_stage(error) == SECONDER_STAGE_DNS);
    seconder_error_free(error);
    error = NULL;
    seconder_service_free(service);
}

static void second_handles(void)
{
    seconder_service *service = open_or_die("https://2fa.example.com", "key", NULL);
    seconder_service *second = GARBAGE(seconder_service);
    EXPECT_INVALID("repeats", seconder_service_with(service, 0, 9, &second, &error));
    EXPECT_INVALID("timeout_ms", seconder_service_with(service, 3600001, 0, &second, &error));
    EXPECT_INVALID("out", seconder_service_with(service, 0, 0, NULL, &error));
    CHECK(second == NULL);
    EXPECT(SECONDER_OK,
           seconder_service_with(service, 3600000, SECONDER_REPEATS_NONE, &second, &error));
    seconder_service_free(second);
    seconder_service_free(service);
}

int main(int count, char **arguments)
{
    CHECK(count == 2);
    folder = arguments[1];
    invalid_options_of_a_remote_service();
    invalid_options_of_engines();
    valid_options_of_engines();
    names_of_a_database();
    no_service();
    second_handles();
    options_as_text();
    options_of_a_client_as_text();
    return 0;
}
