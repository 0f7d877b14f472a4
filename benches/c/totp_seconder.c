/* Checks a code of an authenticator app, accepting one time step before and after, with seconder:
 * right|wrong TURNS */
#include "seconder.h"
#include "totp.h"

static seconder_totp *totp;
static seconder_status expected;

static void once(void)
{
    uint64_t last_step = 0;
    if (seconder_totp_check(totp, code, AT, &last_step, NULL) != expected)
        fail("unexpected result");
}

int main(int count, char **arguments)
{
    if (count != 3)
        fail("usage: totp_seconder right|wrong TURNS");
    choose_code(arguments[1]);
    expected = code == right ? SECONDER_OK : SECONDER_TOKEN_WRONG;
    if (seconder_totp_new(secret, sizeof secret, NULL, 0, &totp, NULL) != SECONDER_OK)
        fail("the secret cannot be used");
    measure(once, strtoul(arguments[2], NULL, 10), 100);
    seconder_totp_free(totp);
    return 0;
}
