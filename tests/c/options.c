/* Options of this version, of a newer one and of none; texts that are not UTF-8. */
#include "check.h"

static void sizes(seconder_service *service)
{
    struct {
        seconder_verify_options known;
        uint64_t unknown;
    } newer;
    size_t size;
    memset(&newer, 0, sizeof newer);
    newer.known.force = true;

    /* No version is smaller than this one, and a smaller size may end inside a pointer. */
    newer.known.action = "\n";
    for (size = 0; size < sizeof newer.known; size++)
        EXPECT_INVALID("options_size",
                       seconder_verify(service, 1, "123456", &newer.known, size, NULL, &error));
    EXPECT_INVALID("action",
                   seconder_verify(service, 1, "123456", &newer.known, sizeof newer.known, NULL,
                                   &error));

    /* A newer program may set an option that this library does not know, which is rejected. */
    newer.known.action = NULL;
    EXPECT(SECONDER_OK,
           seconder_verify(service, 1, "123456", &newer.known, sizeof newer, NULL, &error));
    newer.unknown = (uint64_t)1 << 63;
    EXPECT_INVALID("options_size",
                   seconder_verify(service, 1, "123456", &newer.known, sizeof newer, NULL, &error));

    newer.unknown = 0;
    EXPECT_INVALID("options_size",
                   seconder_verify(service, 1, "123456", &newer.known, sizeof newer - 1, NULL,
                                   &error));
}

/* A known user is rejected if only a new one is wanted. */
static void only_new_users(seconder_service *service)
{
    seconder_create_user_options creation = {0};
    seconder_user_created *user = NULL;
    creation.new_only = SECONDER_YES;
    CHECK(seconder_create_user(service, "eve@example.com", "555-010-0123", "1", &creation,
                               sizeof creation, &user, &error) == SECONDER_REJECTED);
    CHECK(user == NULL && seconder_error_http_status(error) == 409);
    CHECK(same(seconder_error_field_name(error, 0), "cellphone"));
    seconder_error_free(error);
    EXPECT(SECONDER_OK,
           seconder_create_user(service, "eve@example.com", "555-010-0171", "1", &creation,
                                sizeof creation, &user, &error));
    CHECK(seconder_user_created_created(user));
    seconder_user_created_free(user);
    user = NULL;
    creation.new_only = 3;
    EXPECT_INVALID("new_only",
                   seconder_create_user(service, "eve@example.com", "555-010-0171", "1", &creation,
                                        sizeof creation, &user, &error));
}

static void values(seconder_service *service)
{
    seconder_create_user_options creation = {0};
    seconder_register_activity_options activity = {0};
    seconder_prepare_offline_options prepare = {0};
    seconder_report_offline_options report = {0};
    seconder_offline_login login = {0};
    seconder_offline_prepared *prepared = NULL;
    seconder_call_options deletion = {0};
    seconder_create_approval_options approval = {0};
    seconder_logo logo = {"default", NULL};
    seconder_user_created *user = NULL;
    seconder_approval_created *created = NULL;

    creation.send_install_link_via_sms = SECONDER_NO;
    EXPECT(SECONDER_OK,
           seconder_create_user(service, "ada@example.com", "555-010-0123", "1", &creation,
                                sizeof creation, &user, &error));
    CHECK(seconder_user_created_created(user) && seconder_user_created_created_known(user));
    seconder_user_created_free(user);
    EXPECT(SECONDER_OK,
           seconder_create_user(service, "ada@example.org", "555-010-0123", "1", &creation,
                                sizeof creation, &user, &error));
    CHECK(!seconder_user_created_created(user) && seconder_user_created_created_known(user));
    seconder_user_created_free(user);
    only_new_users(service);
    creation.send_install_link_via_sms = -1;
    EXPECT_INVALID("send_install_link_via_sms",
                   seconder_create_user(service, "ada@example.com", "555-010-0123", "1", &creation,
                                        sizeof creation, &user, &error));

    activity.data = "[1]";
    EXPECT_INVALID("data",
                   seconder_register_activity(service, 1, "banned", &activity, sizeof activity,
                                              NULL, &error));
    EXPECT_INVALID("type", seconder_register_activity(service, 1, "slept", NULL, 0, NULL, &error));
    deletion.user_ip = "300.1.1.1";
    EXPECT_INVALID("user_ip",
                   seconder_delete_user(service, 1, &deletion, sizeof deletion, NULL, &error));

    prepare.days = 8;
    EXPECT_INVALID("days", seconder_prepare_offline(service, 1, "123456", &prepare, sizeof prepare,
                                                    &prepared, &error));
    EXPECT_MALFORMED("token",
                     seconder_prepare_offline(service, 1, "12", NULL, 0, &prepared, &error));
    EXPECT_INVALID("logins",
                   seconder_report_offline(service, 1, 1, NULL, 1, NULL, 0, NULL, &error));
    EXPECT_INVALID("logins",
                   seconder_report_offline(service, 1, 1, NULL, 0, NULL, 0, NULL, &error));
    report.machine = "";
    EXPECT_INVALID("machine", seconder_report_offline(service, 1, 1, &login, 1, &report,
                                                      sizeof report, NULL, &error));

    approval.details = "{";
    EXPECT_INVALID("details", seconder_create_approval(service, 1, "?", &approval, sizeof approval,
                                                       &created, &error));
    approval.details = NULL;
    approval.seconds_to_expire = -2;
    EXPECT_INVALID("seconds_to_expire",
                   seconder_create_approval(service, 1, "?", &approval, sizeof approval, &created,
                                            &error));
    approval.seconds_to_expire = 0;
    approval.logos_count = 1;
    EXPECT_INVALID("logos", seconder_create_approval(service, 1, "?", &approval, sizeof approval,
                                                     &created, &error));
    approval.logos = &logo;
    EXPECT_INVALID("logos", seconder_create_approval(service, 1, "?", &approval, sizeof approval,
                                                     &created, &error));
    EXPECT_INVALID("message", seconder_create_approval(service, 1, "", NULL, 0, &created, &error));
}

/* A count that was never set is rejected, and nothing is read. */
static void counts(seconder_service *service)
{
    static const size_t wrong[] = {1001, (size_t)1 << 40, SIZE_MAX / 2, SIZE_MAX - 7, SIZE_MAX};
    static const char *const texts[] = {"https://127.0.0.1/"};
    seconder_create_approval_options approval = {0};
    seconder_open_options open = {0};
    seconder_verifier_options verification = {0};
    seconder_logo logo = {"default", "https://127.0.0.1/"};
    seconder_offline_login login = {1, 1};
    seconder_approval_created *created = NULL;
    seconder_verifier *verifier = NULL;
    seconder_service *other = NULL;
    size_t index;
    approval.logos = &logo;
    open.name_servers = open.pins = verification.urls = texts;
    EXPECT_INVALID("logins_count", seconder_report_offline(service, 1, 1, &login, 101, NULL, 0, NULL,
                                                           &error));
    for (index = 0; index < sizeof wrong / sizeof *wrong; index++) {
        EXPECT_INVALID("logins_count", seconder_report_offline(service, 1, 1, &login, wrong[index],
                                                               NULL, 0, NULL, &error));
        approval.logos_count = wrong[index];
        EXPECT_INVALID("logos_count",
                       seconder_create_approval(service, 1, "?", &approval, sizeof approval,
                                                &created, &error));
        verification.urls_count = wrong[index];
        EXPECT_INVALID("urls_count", seconder_verifier_new("key", &verification, sizeof verification,
                                                           &verifier, &error));
        open.pins_count = wrong[index];
        EXPECT_INVALID("pins_count", seconder_open("https://127.0.0.1:1", "key", &open, sizeof open,
                                                   &other, &error));
        open.pins_count = 0;
        open.name_servers_count = wrong[index];
        EXPECT_INVALID("name_servers_count", seconder_open("https://127.0.0.1:1", "key", &open,
                                                           sizeof open, &other, &error));
        open.name_servers_count = 0;
    }
}

/* An error shows a text of the program, but not a megabyte of it. */
static void long_texts(seconder_service *service)
{
    const size_t length = 1000000;
    char *path = malloc(length + 1);
    seconder_service *other = NULL;
    CHECK(path != NULL);
    memset(path, 'a', length);
    memcpy(path, "sqlite:/", 8);
    path[length] = '\0';
    CHECK(seconder_open(path, NULL, NULL, 0, &other, &error) == SECONDER_STORAGE);
    CHECK(strlen(seconder_error_message(error)) <= 8192);
    CHECK(strstr(seconder_error_message(error), "aaa [...] aaa") != NULL);
    seconder_error_free(error);
    CHECK(seconder_operate(service, path, NULL, &(seconder_text *){NULL}, &error) != SECONDER_OK);
    CHECK(strlen(seconder_error_message(error)) <= 8192);
    CHECK(strlen(seconder_error_field_text(error, 0)) <= 8192);
    seconder_error_free(error);
    CHECK(seconder_open("sandbox:", path, NULL, 0, &other, &error) != SECONDER_OK);
    CHECK(strlen(seconder_error_message(error)) <= 8192);
    seconder_error_free(error);
    error = NULL;
    free(path);
}

/* A bool that is neither 0 nor 1, as in memory that was never set. */
static void strange_flags(seconder_service *service)
{
    seconder_verify_options options;
    memset(&options, 0, sizeof options);
    memset(&options.force, 0x7e, sizeof options.force);
    EXPECT(SECONDER_OK,
           seconder_verify(service, 1, "123456", &options, sizeof options, NULL, &error));
}

static void texts(seconder_service *service)
{
    static const char *const bad[] = {"\xff", "\xc3\x28", "123456\x80", "\xed\xa0\x80"};
    seconder_service *other = NULL;
    seconder_user_created *user = NULL;
    seconder_open_options options = {0};
    size_t index;
    for (index = 0; index < sizeof bad / sizeof *bad; index++) {
        EXPECT_MALFORMED("token", seconder_verify(service, 1, bad[index], NULL, 0, NULL, &error));
        CHECK(!seconder_is_well_formed_token(bad[index]));
        EXPECT_INVALID("url", seconder_open(bad[index], NULL, NULL, 0, &other, &error));
        EXPECT_INVALID("api_key", seconder_open("sandbox:", bad[index], NULL, 0, &other, &error));
        EXPECT_INVALID("email",
                       seconder_create_user(service, bad[index], "5550100123", "1", NULL, 0, &user,
                                            &error));
        options.application_name = bad[index];
        EXPECT_INVALID("application_name",
                       seconder_open("sandbox:", NULL, &options, sizeof options, &other, &error));
    }
}

int main(void)
{
    seconder_service *service = open_or_die("sandbox:", NULL, NULL);
    sizes(service);
    values(service);
    counts(service);
    long_texts(service);
    strange_flags(service);
    texts(service);
    seconder_service_free(service);
    return 0;
}
