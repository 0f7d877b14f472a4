/* The minimum of any check of a signature of a phone, ECDSA on P-256 with SHA-256, with OpenSSL:
 * TURNS */
#include <openssl/ec.h>
#include <openssl/evp.h>

#include "measure.h"

/* As long as what a phone signs. */
static const unsigned char text[174] = "seconder-call-v1\nhttps://login.example\n";

static EVP_PKEY *key;
static unsigned char signature[128];
static size_t size = sizeof signature;

static void once(void)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    if (EVP_DigestVerifyInit(context, NULL, EVP_sha256(), NULL, key) != 1 ||
        EVP_DigestVerify(context, signature, size, text, sizeof text) != 1)
        fail("a wrong signature");
    EVP_MD_CTX_free(context);
}

int main(int count, char **arguments)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    if (count != 2)
        fail("usage: signature_openssl TURNS");
    key = EVP_EC_gen("P-256");
    if (EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key) != 1 ||
        EVP_DigestSign(context, signature, &size, text, sizeof text) != 1)
        fail("no signature");
    EVP_MD_CTX_free(context);
    measure(once, strtoul(arguments[1], NULL, 10), 10);
    return 0;
}
