/* Look-ups of numbers by a function of the program. */
#include "check.h"

static int asked;
static int freed;

static int32_t look_up(const char *number, const seconder_phone_line *line, void *userdata)
{
    CHECK(userdata == &asked);
    asked++;
    switch (number[strlen(number) - 1]) {
    case '0':
        return -1;
    case '1':
        return 0;
    case '2':
        seconder_phone_line_set_carrier(line, "Acme");
        seconder_phone_line_set_kind(line, SECONDER_LINE_TYPE_MOBILE);
        seconder_phone_line_set_ported(line, SECONDER_YES);
        return 0;
    default:
        seconder_phone_line_set_carrier(line, NULL);
        seconder_phone_line_set_kind(line, SECONDER_LINE_TYPE_VOIP);
        seconder_phone_line_set_ported(line, 99);
        return 0;
    }
}

static void count(void *userdata)
{
    CHECK(userdata == &asked);
    freed++;
}

static void expect(const seconder_service *service, const char *number, const char *type,
                   const char *provider, bool ported)
{
    seconder_phone_information *info = NULL;
    EXPECT(SECONDER_OK, seconder_phone_info(service, number, "1", NULL, 0, &info, &error));
    CHECK(same(seconder_phone_information_type(info), type));
    CHECK(same(seconder_phone_information_provider(info), provider));
    CHECK(seconder_phone_information_ported(info) == ported);
    seconder_phone_information_free(info);
}

int main(void)
{
    seconder_service *service = NULL;
    seconder_user_created *user = NULL;
    seconder_open_options options = {0};
    options.lookup = look_up;
    options.lookup_userdata = &asked;
    options.lookup_userdata_free = count;
    options.limits = "refuse=voip";
    service = open_or_die("sandbox:?accept=right", NULL, &options);
    expect(service, "202-555-0120", "unknown", "Unknown", false);
    expect(service, "202-555-0121", "unknown", "Unknown", false);
    expect(service, "202-555-0122", "cellphone", "Acme", true);
    expect(service, "202-555-0123", "voip", "Unknown", false);
    expect(service, "202-555-0123", "voip", "Unknown", false);
    CHECK(asked == 4);
    EXPECT(SECONDER_REJECTED, seconder_create_user(service, "ada@example.com", "202-555-0123", "1",
                                                   NULL, 0, &user, &error));
    seconder_phone_line_set_carrier(NULL, "Acme");
    seconder_phone_line_set_kind(NULL, SECONDER_LINE_TYPE_MOBILE);
    seconder_phone_line_set_ported(NULL, SECONDER_YES);
    CHECK(freed == 0);
    seconder_service_free(service);
    CHECK(freed == 1);
    return 0;
}
