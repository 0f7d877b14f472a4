/* The same by liboath, which looks no further once it has found the code: right|wrong TURNS */
#include <liboath/oath.h>

#include "totp.h"

static void once(void)
{
    int position = 0;
    int found = oath_totp_validate2((const char *)secret, sizeof secret, AT,
                                    OATH_TOTP_DEFAULT_TIME_STEP_SIZE,
                                    OATH_TOTP_DEFAULT_START_TIME, 1, &position, code);
    if (code == right ? found < 0 : found != OATH_INVALID_OTP)
        fail("not what was to be");
}

int main(int count, char **arguments)
{
    if (count != 3)
        fail("usage: totp_liboath right|wrong TURNS");
    choose_code(arguments[1]);
    if (oath_init() != OATH_OK)
        fail("no liboath");
    measure(once, strtoul(arguments[2], NULL, 10), 100);
    return 0;
}
