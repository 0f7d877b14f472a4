/* The secret, the time and the codes that both programs use. */
#ifndef TOTP_H
#define TOTP_H

#include <string.h>

#include "measure.h"

static const unsigned char secret[20] = "12345678901234567890";
enum { AT = 1111111111 };
/* The last six digits of the code in RFC 6238, appendix B, and a wrong code. */
static const char right[] = "050471", wrong[] = "123456";
static const char *code;

static void choose_code(const char *name)
{
    code = strcmp(name, "right") == 0 ? right : wrong;
}

#endif
