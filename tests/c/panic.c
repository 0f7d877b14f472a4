/* A panic is returned as an error, and logged if it ends a call, on any thread. Nothing is written to
 * standard error, and the program continues. */
#define _XOPEN_SOURCE 700
#include "check.h"

#include <pthread.h>
#include <unistd.h>

/* Only the library that is built for this test contains it. */
SECONDER_MUST_USE
seconder_status seconder_panic_test(const seconder_service *service, seconder_text **out,
                                    seconder_error **error);

static seconder_service *service;
static int lines;
static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;

static void log_call(seconder_status status, const char *line, uint64_t duration_us, void *userdata)
{
    (void)duration_us;
    (void)userdata;
    if (status == SECONDER_INTERNAL && strstr(line, "call=panic_test outcome=internal") == line) {
        pthread_mutex_lock(&counting);
        lines++;
        pthread_mutex_unlock(&counting);
    }
}

static void *panics(void *unused)
{
    int round;
    for (round = 0; round < 100; round++) {
        const seconder_service *logged = round % 2 == 0 ? service : NULL;
        seconder_text *text = GARBAGE(seconder_text);
        seconder_error *why = NULL;
        CHECK(seconder_panic_test(logged, &text, &why) == SECONDER_INTERNAL);
        CHECK(text == NULL && seconder_error_status(why) == SECONDER_INTERNAL);
        /* The place is for the report; the message of the panic could hold anything. */
        CHECK(strstr(seconder_error_message(why), "panic at src/capi/panic.rs:") != NULL);
        CHECK(strstr(seconder_error_message(why), "on purpose") == NULL);
        seconder_error_free(why);
        CHECK(seconder_panic_test(NULL, &text, NULL) == SECONDER_INTERNAL);
    }
    return unused;
}

int main(void)
{
    pthread_t threads[4];
    FILE *written = tmpfile();
    int before = dup(2);
    size_t index;
    CHECK(written != NULL && before >= 0);
    service = open_or_die("https://127.0.0.1:1", "key", NULL);
    EXPECT(SECONDER_OK, seconder_set_log(service, log_call, NULL, NULL, &error));
    CHECK(dup2(fileno(written), 2) == 2);
    for (index = 0; index < 4; index++)
        CHECK(pthread_create(&threads[index], NULL, panics, NULL) == 0);
    for (index = 0; index < 4; index++)
        CHECK(pthread_join(threads[index], NULL) == 0);
    CHECK(dup2(before, 2) == 2);
    CHECK(lseek(fileno(written), 0, SEEK_END) == 0);
    CHECK(lines == 4 * 50);
    EXPECT(SECONDER_UNAVAILABLE, seconder_verify(service, 1, "123456", NULL, 0, NULL, &error));
    seconder_service_free(service);
    return 0;
}
