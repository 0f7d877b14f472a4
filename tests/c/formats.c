/* The forms of values, and the version. */
#include "check.h"

int main(void)
{
    static const char *const tokens[] = {
        "",       "12345",   " 123456", "1234567890123", "../sms",
        "-12345", "123456#", "1e5678",  "0000000\n",     "\xd9\xa1\xd9\xa2\xd9\xa3"};
    char version[32];
    size_t index;

    for (index = 0; index < sizeof tokens / sizeof *tokens; index++)
        EXPECT_MALFORMED("token", seconder_check_token(tokens[index], &error));
    EXPECT(SECONDER_OK, seconder_check_token("123456", &error));
    EXPECT(SECONDER_OK, seconder_check_token("123456789012", &error));
    EXPECT(SECONDER_OK, seconder_check_user_id("9223372036854775807", &error));
    EXPECT_INVALID("user_id", seconder_check_user_id("01", &error));
    EXPECT_INVALID("user_id", seconder_check_user_id("1/../2", &error));
    EXPECT(SECONDER_OK, seconder_check_uuid("4a725520-bff5-0135-eb01-0e5d90336a8c", &error));
    EXPECT_INVALID("uuid", seconder_check_uuid("..", &error));
    EXPECT(SECONDER_OK, seconder_check_phone_number("555-010-0123", &error));
    EXPECT_INVALID("phone_number", seconder_check_phone_number("+15550100123", &error));

    snprintf(version, sizeof version, "%d.%d.%d", SECONDER_VERSION_MAJOR, SECONDER_VERSION_MINOR,
             SECONDER_VERSION_PATCH);
    CHECK(same(version, SECONDER_VERSION) && same(version, seconder_version()));
    return 0;
}
