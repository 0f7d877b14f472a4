/* The same check with liboath, which stops at the first code that matches: right|wrong TURNS */
#include <liboath/oath.h>

#include "totp.h"

static void once(void)
{
    int position = 0;
    int result = oath_totp_validate2((const char *)secret, sizeof secret, AT,
                                     OATH_TOTP_DEFAULT_TIME_STEP_SIZE,
                                     OATH_TOTP_DEFAULT_START_TIME, 1, &position, code);
    if (code == right ? result < 0 : result != OATH_INVALID_OTP)
        fail("unexpected result");
}

int main(int count, char **arguments)
{
    if (count != 3)
        fail("usage: totp_liboath right|wrong TURNS");
    choose_code(arguments[1]);
    if (oath_init() != OATH_OK)
        fail("liboath cannot be initialised");
    measure(once, strtoul(arguments[2], NULL, 10), 100);
    return 0;
}
