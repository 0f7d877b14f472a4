/* Invitations to register a phone, and the number that approving a request may need. */
#include "check.h"

static uint64_t enrol(seconder_service *service)
{
    seconder_user_created *user = NULL;
    EXPECT(SECONDER_OK, seconder_create_user(service, "ada@example.com", "555-010-0123", "1", NULL,
                                             0, &user, &error));
    uint64_t id = seconder_user_created_user_id(user);
    seconder_user_created_free(user);
    return id;
}

static void nobody_said_where_phones_reach_it(void)
{
    seconder_service *service = open_or_die("sandbox:", NULL, NULL);
    seconder_device_invited *invited = GARBAGE(seconder_device_invited);
    EXPECT_CODE(SECONDER_REJECTED, "no_public_url",
                seconder_invite_device(service, enrol(service), NULL, 0, &invited, &error));
    CHECK(invited == NULL);
    seconder_service_free(service);
}

static void invitations(seconder_service *service, uint64_t id)
{
    seconder_invite_device_options options = {0};
    seconder_device_invited *invited = GARBAGE(seconder_device_invited);
    options.qr_size = 99;
    EXPECT_INVALID("qr_size", seconder_invite_device(service, id, &options, sizeof options,
                                                     &invited, &error));
    CHECK(invited == NULL);
    EXPECT_INVALID("user_id", seconder_invite_device(service, 0, NULL, 0, &invited, &error));
    EXPECT_INVALID("out", seconder_invite_device(service, id, NULL, 0, NULL, &error));
    EXPECT(SECONDER_REJECTED, seconder_invite_device(service, 12345, NULL, 0, &invited, &error));

    options.qr_size = 100;
    EXPECT(SECONDER_OK,
           seconder_invite_device(service, id, &options, sizeof options, &invited, &error));
    const char *link = seconder_device_invited_link(invited);
    const char *code = seconder_device_invited_code(invited);
    CHECK(strncmp(link, "https://login.example/", 22) == 0);
    CHECK(code != NULL && strlen(code) == 11);
    CHECK(strncmp(seconder_device_invited_qr_code(invited), "data:image/", 11) == 0);
    CHECK(seconder_device_invited_expires_in(invited) == 600);
    seconder_device_invited_free(invited);
}

static seconder_approval_created *asked(seconder_service *service, uint64_t id, int64_t digits)
{
    seconder_create_approval_options options = {0};
    seconder_approval_created *created = NULL;
    options.number_digits = digits;
    EXPECT(SECONDER_OK, seconder_create_approval(service, id, "Log in?", &options, sizeof options,
                                                 &created, &error));
    return created;
}

static void numbers(seconder_service *service, uint64_t id)
{
    seconder_create_approval_options options = {0};
    seconder_approval_created *created = GARBAGE(seconder_approval_created);
    seconder_approval *approval = GARBAGE(seconder_approval);
    seconder_device *device = NULL;
    const int64_t rejected[] = {1, 4, 7, -2, INT64_MIN, INT64_MAX};

    for (size_t i = 0; i < sizeof rejected / sizeof *rejected; i++) {
        options.number_digits = rejected[i];
        EXPECT_INVALID("number_digits",
                       seconder_create_approval(service, id, "Log in?", &options, sizeof options,
                                                &created, &error));
        CHECK(created == NULL);
    }
    created = asked(service, id, 0);
    CHECK(seconder_approval_created_number(created) == NULL);
    seconder_approval_created_free(created);

    created = asked(service, id, 6);
    const char *number = seconder_approval_created_number(created);
    CHECK(strlen(number) == 6 && strspn(number, "0123456789") == 6);
    const char *uuid = seconder_approval_created_uuid(created);
    EXPECT(SECONDER_OK, seconder_register_device(service, id, "ios", &device, &error));
    const char *const impossible[] = {NULL, "", "12345", "12345a", "\xff"};
    for (size_t i = 0; i < sizeof impossible / sizeof impossible[0]; i++) {
        EXPECT_INVALID("number",
                       seconder_respond_to_approval(service, uuid, seconder_device_id(device),
                                                    seconder_device_secret(device), "approve",
                                                    impossible[i], &approval, &error));
        CHECK(approval == NULL);
    }
    EXPECT(SECONDER_OK,
           seconder_respond_to_approval(service, uuid, seconder_device_id(device),
                                        seconder_device_secret(device), "approve", number,
                                        &approval, &error));
    CHECK(seconder_approval_approved_by(approval, id));
    seconder_approval_free(approval);
    seconder_approval_created_free(created);
    seconder_device_free(device);
}

/* What the application has set holds unless a request says otherwise. */
static void numbers_by_default(void)
{
    seconder_open_options options = {0};
    options.limits = "number_digits=2";
    seconder_service *service = open_or_die("sandbox:", NULL, &options);
    uint64_t id = enrol(service);
    seconder_approval_created *created = asked(service, id, 0);
    CHECK(strlen(seconder_approval_created_number(created)) == 2);
    seconder_approval_created_free(created);
    created = asked(service, id, -1);
    CHECK(seconder_approval_created_number(created) == NULL);
    seconder_approval_created_free(created);
    seconder_service_free(service);
}

int main(int argc, char **argv)
{
    char url[4200];
    CHECK(argc == 2);
    nobody_said_where_phones_reach_it();
    /* The test has said where phones reach this one. */
    snprintf(url, sizeof url, "sqlite:%s/invitations.db", argv[1]);
    seconder_service *service = open_or_die(url, NULL, NULL);
    uint64_t id = enrol(service);
    invitations(service, id);
    numbers(service, id);
    numbers_by_default();
    seconder_service_free(service);
    return 0;
}
