/* A code of an authenticator app is checked, one step back and forth allowed, by seconder:
 * right|wrong TURNS */
#include "seconder.h"
#include "totp.h"

static seconder_totp *totp;
static seconder_status wanted;

static void once(void)
{
    uint64_t last_step = 0;
    if (seconder_totp_check(totp, code, AT, &last_step, NULL) != wanted)
        fail("not what was to be");
}

int main(int count, char **arguments)
{
    if (count != 3)
        fail("usage: totp_seconder right|wrong TURNS");
    choose_code(arguments[1]);
    wanted = code == right ? SECONDER_OK : SECONDER_TOKEN_WRONG;
    if (seconder_totp_new(secret, sizeof secret, NULL, 0, &totp, NULL) != SECONDER_OK)
        fail("no secret");
    measure(once, strtoul(arguments[2], NULL, 10), 100);
    seconder_totp_free(totp);
    return 0;
}
