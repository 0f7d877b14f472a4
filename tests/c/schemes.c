/* An option that has no effect with the URL is rejected, and named. */
#include "check.h"

static const char *const urls[] = {"sandbox:", "sqlite:/no/such/folder/a.db", "https://2fa.example",
                                   "unix:/no/such.sock"};
/* Which of them an option is for. */
enum { DATABASE = 2, ENGINE = 3, NETWORK = 4, SOCKET = 8, CLIENT = NETWORK | SOCKET, OUTGOING = ENGINE | NETWORK };

static int32_t deliver(const seconder_message *message, void *userdata)
{
    (void)message;
    (void)userdata;
    return 0;
}

static int32_t post(const seconder_signed_callback *callback, void *userdata)
{
    (void)callback;
    (void)userdata;
    return 0;
}

/* A service on this machine needs no key. */
static const char *key_for(const char *url)
{
    return strncmp(url, "unix", 4) == 0 ? NULL : "key";
}

/* Opens with one option, which only some of the URLs accept. */
static void belongs(const char *name, unsigned mine, const seconder_open_options *options)
{
    size_t index;
    for (index = 0; index < sizeof urls / sizeof *urls; index++) {
        bool is_mine = (mine >> index & 1) != 0;
        seconder_service *service = NULL;
        seconder_status status =
            seconder_open(urls[index], key_for(urls[index]), options, sizeof *options, &service, &error);
        const char *why = seconder_error_message(error);
        bool rejected = status == SECONDER_INVALID_ARGUMENT && strstr(why, "has no effect") != NULL;
        if (rejected == is_mine)
            fprintf(stderr, "%s with %s: %s\n", name, urls[index], why);
        CHECK(rejected == !is_mine);
        CHECK(!rejected || same(seconder_error_parameter(error), name));
        CHECK((service != NULL) == (status == SECONDER_OK));
        seconder_service_free(service);
        seconder_error_free(error);
        error = NULL;
    }
}

#define BELONGS(mine, name, field, value) \
    do { \
        seconder_open_options options = {0}; \
        options.field = value; \
        belongs(name, mine, &options); \
    } while (0)

static void of_the_client(void)
{
    static const char *const pins[] = {"sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="};
    static const char *const servers[] = {"192.0.2.1"};
    seconder_open_options options = {0};
    BELONGS(CLIENT, "timeout_ms", timeout_ms, 10000);
    BELONGS(CLIENT, "repeats", repeats, SECONDER_REPEATS_QUESTIONS);
    BELONGS(CLIENT, "format", format, SECONDER_FORMAT_JSON);
    BELONGS(CLIENT, "generation", generation, SECONDER_GENERATION_CURRENT);
    BELONGS(NETWORK, "ca_file", ca_file, "/no/such/file");
    BELONGS(OUTGOING, "proxy", proxy, "http://127.0.0.1:1");
    BELONGS(NETWORK, "allow_loopback_http", allow_loopback_http, true);
    BELONGS(CLIENT, "nested_as_json", nested_as_json, true);
    BELONGS(SOCKET, "service_uid", service_uid, 1000);
    options.pins = pins;
    options.pins_count = 1;
    belongs("pins", NETWORK, &options);
    memset(&options, 0, sizeof options);
    options.name_servers = servers;
    options.name_servers_count = 1;
    belongs("name_servers", OUTGOING, &options);
    memset(&options, 0, sizeof options);
    options.client_certificate = options.client_key = "/no/such/file";
    belongs("client_certificate", NETWORK, &options);
}

static void of_the_engine(void)
{
    BELONGS(ENGINE, "application_name", application_name, "Example");
    BELONGS(ENGINE, "callback_url", callback_url, "");
    BELONGS(ENGINE, "callback_method", callback_method, SECONDER_CALLBACK_METHOD_POST);
    BELONGS(ENGINE, "callback_ca_file", callback_ca_file, "");
    BELONGS(ENGINE, "callback_private", callback_private, SECONDER_NO);
    BELONGS(ENGINE, "install_link", install_link, "");
    BELONGS(ENGINE, "limits", limits, "number_day=9");
    BELONGS(ENGINE, "texts", texts, "");
    BELONGS(ENGINE, "otp_domain", otp_domain, "");
    BELONGS(ENGINE, "plan", plan, "annual");
    BELONGS(ENGINE, "logo", logo, "");
    BELONGS(ENGINE, "white_label", white_label, SECONDER_NO);
    BELONGS(ENGINE, "sms_enabled", sms_enabled, SECONDER_YES);
    BELONGS(ENGINE, "force_codes", force_codes, SECONDER_NO);
    BELONGS(ENGINE, "replies", replies, SECONDER_GENERATION_CURRENT);
    BELONGS(ENGINE, "approval_seconds", approval_seconds, 300);
    BELONGS(ENGINE, "token_length", token_length, 7);
    BELONGS(ENGINE, "authenticator_digits", authenticator_digits, 6);
    BELONGS(ENGINE, "authenticator_period", authenticator_period, 30);
    BELONGS(ENGINE, "offline_days", offline_days, 1);
    BELONGS(ENGINE, "deliver", deliver, deliver);
    BELONGS(ENGINE, "post", post, post);
}

/* A sandbox is not a file, so it cannot be one that exists. */
static void of_a_database(void)
{
    seconder_open_options options = {.must_exist = true};
    seconder_service *service = NULL;
    size_t index;
    BELONGS(DATABASE, "keyring", keyring, "ring");
    for (index = 0; index < sizeof urls / sizeof *urls; index++) {
        seconder_status wanted = strncmp(urls[index], "sqlite", 6) == 0 ? SECONDER_STORAGE
                                                                        : SECONDER_INVALID_ARGUMENT;
        EXPECT(wanted, seconder_open(urls[index], key_for(urls[index]), &options, sizeof options, &service, &error));
    }
}

int main(int count, char **arguments)
{
    seconder_open_options options = {0};
    seconder_service *service = NULL;
    (void)arguments;
    CHECK(count == 2);
    of_the_client();
    of_the_engine();
    of_a_database();
    EXPECT_INVALID("api_key", seconder_open("unix:/no/such.sock", "key", NULL, 0, &service, &error));
    /* Of an unknown URL, the URL is what is wrong. */
    options.timeout_ms = 1;
    EXPECT_INVALID("url", seconder_open("nonsense:", NULL, &options, sizeof options, &service, &error));
    return 0;
}
