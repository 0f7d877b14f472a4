/* A login leaks no memory, whether it succeeds or not. */
#include "check.h"

#include <malloc.h>

static void login(seconder_service *service)
{
    seconder_verification *verification;
    EXPECT(SECONDER_OK, seconder_verify(service, 1, "0000000", NULL, 0, &verification, &error));
    seconder_verification_free(verification);
    EXPECT(SECONDER_TOKEN_WRONG, seconder_verify(service, 1, "0000001", NULL, 0, NULL, &error));
    EXPECT_MALFORMED("token", seconder_verify(service, 1, "../sms", NULL, 0, NULL, &error));
}

int main(void)
{
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
    int round;
    size_t before;
    seconder_service *service;
    for (round = 0; round < 50; round++)
        seconder_service_free(open_or_die("sandbox:?accept=0000000", "key", NULL));
    service = open_or_die("sandbox:?accept=0000000", "key", NULL);
    for (round = 0; round < 100; round++)
        login(service);
    before = mallinfo2().uordblks;
    for (round = 0; round < 1000; round++)
        login(service);
    CHECK(mallinfo2().uordblks < before + 16 * 1024);
    seconder_service_free(service);

    before = mallinfo2().uordblks;
    for (round = 0; round < 50; round++)
        seconder_service_free(open_or_die("sandbox:", NULL, NULL));
    CHECK(mallinfo2().uordblks < before + 50 * 1024);
#endif
    return 0;
}
