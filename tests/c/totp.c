/* Codes of authenticator apps: the test vectors of RFC 6238, replay, and the URI that contains a
 * secret. */
#include "check.h"

#define SECRET "12345678901234567890"

static seconder_totp *make(const char *secret, int32_t algorithm, uint32_t digits, uint32_t period)
{
    seconder_totp_options options = {0};
    seconder_totp *totp = GARBAGE(seconder_totp);
    options.algorithm = algorithm;
    options.digits = digits;
    options.period = period;
    EXPECT(SECONDER_OK,
           seconder_totp_new(secret, strlen(secret), &options, sizeof options, &totp, &error));
    return totp;
}

static void shows(const seconder_totp *totp, uint64_t at, const char *wanted)
{
    seconder_text *code = GARBAGE(seconder_text);
    EXPECT(SECONDER_OK, seconder_totp_code(totp, at, &code, &error));
    CHECK(same(seconder_text_value(code), wanted));
    seconder_text_free(code);
}

/* The test vectors of RFC 6238, appendix B. */
static void codes_of_the_rfc(void)
{
    seconder_totp *sha1 = make(SECRET, SECONDER_ALGORITHM_SHA1, 8, 0);
    seconder_totp *sha256 = make(SECRET "123456789012", SECONDER_ALGORITHM_SHA256, 8, 30);
    seconder_totp *sha512 = make(SECRET SECRET SECRET "1234", SECONDER_ALGORITHM_SHA512, 8, 30);
    shows(sha1, 59, "94287082");
    shows(sha1, 1111111109, "07081804");
    shows(sha256, 59, "46119246");
    shows(sha256, 2000000000, "90698825");
    shows(sha512, 59, "90693936");
    shows(sha512, 1234567890, "93441116");
    seconder_totp_free(sha1);
    seconder_totp_free(sha256);
    seconder_totp_free(sha512);
}

static void a_code_is_accepted_once(void)
{
    seconder_totp *totp = make(SECRET, 0, 0, 0);
    uint64_t step = 0;
    shows(totp, 1111111109, "081804");
    CHECK(seconder_totp_check(totp, "081805", 1111111109, &step, &error) == SECONDER_TOKEN_WRONG);
    CHECK(seconder_error_service_code(error) == NULL);
    seconder_error_free(error);
    CHECK(step == 0);
    EXPECT(SECONDER_OK, seconder_totp_check(totp, "081804", 1111111109, &step, &error));
    CHECK(step == 1111111109 / 30);
    EXPECT(SECONDER_TOKEN_REUSED, seconder_totp_check(totp, "081804", 1111111110, &step, &error));
    CHECK(step == 1111111109 / 30);
    step++;
    EXPECT(SECONDER_TOKEN_REUSED, seconder_totp_check(totp, "081804", 1111111109, &step, &error));
    step = 0;
    EXPECT(SECONDER_OK, seconder_totp_check(totp, "081804", 1111111109 + 30, &step, &error));
    step = 0;
    EXPECT(SECONDER_TOKEN_WRONG,
           seconder_totp_check(totp, "081804", 1111111109 + 60, &step, &error));
    EXPECT_MALFORMED("token", seconder_totp_check(totp, " 81804", 1111111109, &step, &error));
    EXPECT_INVALID("last_step", seconder_totp_check(totp, "081804", 1111111109, NULL, &error));
    CHECK(step == 0);
    seconder_totp_free(totp);
}

static void a_uri_contains_everything(void)
{
    seconder_totp *totp = make(SECRET, SECONDER_ALGORITHM_SHA256, 7, 10);
    seconder_totp *read = GARBAGE(seconder_totp);
    seconder_text *uri = GARBAGE(seconder_text);
    EXPECT(SECONDER_OK, seconder_totp_uri(totp, "Ada & Co", "ada@example.com", &uri, &error));
    EXPECT(SECONDER_OK, seconder_totp_from_uri(seconder_text_value(uri), &read, &error));
    CHECK(seconder_totp_secret_size(read) == strlen(SECRET));
    CHECK(memcmp(seconder_totp_secret(read), SECRET, strlen(SECRET)) == 0);
    CHECK(seconder_totp_algorithm(read) == SECONDER_ALGORITHM_SHA256);
    CHECK(seconder_totp_digits(read) == 7 && seconder_totp_period(read) == 10);
    seconder_text_free(uri);
    EXPECT_INVALID("label", seconder_totp_uri(totp, "Example", "user:ada", &uri, &error));
    seconder_totp_free(read);
    seconder_totp_free(totp);
    EXPECT(SECONDER_OK, seconder_totp_from_uri("OTPAUTH://TOTP/a?secret=gezd%20gnbvGY3Tqojq%3D",
                                               &read, &error));
    CHECK(seconder_totp_secret_size(read) == 10);
    seconder_totp_free(read);
    EXPECT_INVALID("uri", seconder_totp_from_uri("https://example.com", &read, &error));
    EXPECT_INVALID("digits",
                   seconder_totp_from_uri("otpauth://totp/a?digits=9&secret="
                                          "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ",
                                          &read, &error));
    CHECK(read == NULL);
}

/* The defaults of an otpauth: URI are the same as those of seconder_totp_new(). */
static void defaults_are_the_same(void)
{
    seconder_totp *read = NULL, *made = make(SECRET, 0, 0, 0);
    EXPECT(SECONDER_OK,
           seconder_totp_from_uri("otpauth://totp/a?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ", &read,
                                  &error));
    CHECK(seconder_totp_algorithm(read) == SECONDER_ALGORITHM_SHA1);
    CHECK(seconder_totp_algorithm(made) == SECONDER_ALGORITHM_SHA1);
    CHECK(seconder_totp_digits(made) == seconder_totp_digits(read));
    CHECK(seconder_totp_period(made) == seconder_totp_period(read));
    seconder_totp_free(read);
    seconder_totp_free(made);
}

static void values_out_of_range(void)
{
    seconder_totp_options options = {0};
    seconder_totp *totp = GARBAGE(seconder_totp);
    EXPECT_INVALID("secret", seconder_totp_new(SECRET, 9, NULL, 0, &totp, &error));
    EXPECT_INVALID("secret_size", seconder_totp_new(SECRET, SIZE_MAX, NULL, 0, &totp, &error));
    options.digits = 256 + 6;
    EXPECT_INVALID("digits",
                   seconder_totp_new(SECRET, 20, &options, sizeof options, &totp, &error));
    options.digits = 0;
    options.period = 3601;
    EXPECT_INVALID("period",
                   seconder_totp_new(SECRET, 20, &options, sizeof options, &totp, &error));
    options.period = 0;
    options.algorithm = 4;
    EXPECT_INVALID("algorithm",
                   seconder_totp_new(SECRET, 20, &options, sizeof options, &totp, &error));
    CHECK(totp == NULL);
}

int main(void)
{
    codes_of_the_rfc();
    a_code_is_accepted_once();
    a_uri_contains_everything();
    defaults_are_the_same();
    values_out_of_range();
    return 0;
}
