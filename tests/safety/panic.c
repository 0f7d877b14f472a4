/* A panic ends where the library does: it is an error, gives nothing, and what follows goes on. */
#include "check.h"

seconder_status seconder_panic_test(seconder_text **out, seconder_error **error);

int main(void)
{
    int round;
    seconder_service *service = open_or_die("sandbox:", NULL, NULL);
    for (round = 0; round < 100; round++) {
        seconder_text *text = GARBAGE(seconder_text);
        EXPECT(SECONDER_INTERNAL, seconder_panic_test(&text, &error));
        CHECK(text == NULL);
        CHECK(seconder_panic_test(&text, NULL) == SECONDER_INTERNAL);
        EXPECT(SECONDER_OK, seconder_verify(service, "123456", 1, NULL, 0, NULL, &error));
    }
    seconder_service_free(service);
    return 0;
}
