/* The minimum of any check of a callback, the HMAC-SHA256 of the body's bytes, with OpenSSL:
 * BODY TURNS */
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "body.h"

static const char key[] = "the-key-of-the-benchmark";

static void once(void)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    if (HMAC(EVP_sha256(), key, sizeof key - 1, (unsigned char *)body, body_size, digest, &size) ==
            NULL || size != 32)
        fail("no HMAC");
}

int main(int count, char **arguments)
{
    if (count != 3)
        fail("usage: callback_hmac BODY TURNS");
    read_body(arguments[1]);
    measure(once, strtoul(arguments[2], NULL, 10), 10);
    return 0;
}
