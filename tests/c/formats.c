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
        CHECK(!seconder_is_well_formed_token(tokens[index]));
    CHECK(seconder_is_well_formed_token("123456"));
    CHECK(seconder_is_well_formed_token("123456789012"));
    CHECK(seconder_is_well_formed_user_id("9223372036854775807"));
    CHECK(!seconder_is_well_formed_user_id("01"));
    CHECK(!seconder_is_well_formed_user_id("1/../2"));
    CHECK(seconder_is_well_formed_uuid("4a725520-bff5-0135-eb01-0e5d90336a8c"));
    CHECK(!seconder_is_well_formed_uuid(".."));
    CHECK(seconder_is_well_formed_phone_number("555-010-0123"));
    CHECK(!seconder_is_well_formed_phone_number("+15550100123"));

    snprintf(version, sizeof version, "%d.%d.%d", SECONDER_VERSION_MAJOR, SECONDER_VERSION_MINOR,
             SECONDER_VERSION_PATCH);
    CHECK(same(version, SECONDER_VERSION) && same(version, seconder_version()));
    CHECK(SECONDER_VERSION_NUMBER >> 16 == SECONDER_VERSION_MAJOR);
    CHECK((SECONDER_VERSION_NUMBER & 0xff) == SECONDER_VERSION_PATCH);
    CHECK(same(seconder_parts(), "client engine postgres"));
    return 0;
}
