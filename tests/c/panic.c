/* A panic is returned as an error, on any thread, and the program continues. */
#include "check.h"

#include <pthread.h>

/* Only the library that is built for this test contains it. */
SECONDER_MUST_USE
seconder_status seconder_panic_test(seconder_text **out, seconder_error **error);

static void *panics(void *unused)
{
    int round;
    for (round = 0; round < 100; round++) {
        seconder_text *text = GARBAGE(seconder_text);
        seconder_error *why = NULL;
        CHECK(seconder_panic_test(&text, &why) == SECONDER_INTERNAL);
        CHECK(text == NULL && seconder_error_status(why) == SECONDER_INTERNAL);
        CHECK(strstr(seconder_error_message(why), "panic") != NULL);
        seconder_error_free(why);
        CHECK(seconder_panic_test(&text, NULL) == SECONDER_INTERNAL);
    }
    return unused;
}

int main(void)
{
    pthread_t threads[4];
    seconder_service *service = open_or_die("https://127.0.0.1:1", "key", NULL);
    size_t index;
    for (index = 0; index < 4; index++)
        CHECK(pthread_create(&threads[index], NULL, panics, NULL) == 0);
    for (index = 0; index < 4; index++)
        CHECK(pthread_join(threads[index], NULL) == 0);
    EXPECT(SECONDER_UNAVAILABLE, seconder_verify(service, "123456", 1, NULL, 0, NULL, &error));
    seconder_service_free(service);
    return 0;
}
