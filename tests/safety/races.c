/* Threads that request and verify codes by one service: races FOLDER race|none. With `race`, the
 * deliver function, which the library calls, has a race of its own. */
#include "check.h"

#include <pthread.h>
#include <unistd.h>

#define THREADS 2

/* As EXPECT, with an error that threads do not share. */
#define ENDS(wanted, call) \
    do { \
        seconder_status got = (call); \
        if (got != (wanted)) \
            fprintf(stderr, "%s\n", own == NULL ? "no error" : seconder_error_message(own)); \
        CHECK(got == (wanted)); \
        seconder_error_free(own); \
        own = NULL; \
    } while (0)

struct login {
    pthread_t thread;
    seconder_service *service;
    uint64_t user_id;
};

static bool with_race;
static int delivered;
static int arrivals[2], departures[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char codes[THREADS + 1][16];

static int32_t deliver(const seconder_message *message, void *userdata)
{
    const char *to = seconder_message_to(message);
    (void)userdata;
    if (with_race) {
        char byte = 0;
        delivered++;
        /* All threads meet here, so no lock of the library orders their accesses. The tools take a
         * pipe for no synchronisation. */
        CHECK(write(arrivals[1], &byte, 1) == 1 && read(departures[0], &byte, 1) == 1);
    }
    pthread_mutex_lock(&lock);
    snprintf(codes[to[strlen(to) - 1] - '0'], sizeof codes[0], "%s", seconder_message_code(message));
    pthread_mutex_unlock(&lock);
    return 0;
}

static void copied(uint64_t user_id, char *code)
{
    pthread_mutex_lock(&lock);
    strcpy(code, codes[user_id]);
    pthread_mutex_unlock(&lock);
}

static void *log_in(void *argument)
{
    struct login *login = argument;
    const seconder_verify_options options = {true, NULL, NULL};
    char code[16];
    seconder_error *own = NULL;
    ENDS(SECONDER_OK, seconder_request_sms(login->service, login->user_id, NULL, 0, NULL, &own));
    /* On a busy machine, a thread may not get to its message in time, and leaves it to a later attempt. */
    while (copied(login->user_id, code), code[0] == '\0') {
        ENDS(SECONDER_OK, seconder_run_jobs(login->service, 1000, NULL, &own));
        sleep(1);
    }
    ENDS(SECONDER_TOKEN_WRONG, seconder_verify(login->service, login->user_id, "1234567890", &options,
                                               sizeof options, NULL, &own));
    ENDS(SECONDER_OK, seconder_verify(login->service, login->user_id, code, &options, sizeof options,
                                      NULL, &own));
    return NULL;
}

int main(int count, char **arguments)
{
    struct login logins[THREADS];
    char url[4096], phone[32];
    int index;
    seconder_open_options options = {0};
    CHECK(count == 3);
    with_race = strcmp(arguments[2], "race") == 0;
    CHECK(pipe(arrivals) == 0 && pipe(departures) == 0);
    snprintf(url, sizeof url, "sqlite:%s/%s.db", arguments[1], arguments[2]);
    options.deliver = deliver;
    for (index = 0; index < THREADS; index++) {
        seconder_user_created *user = NULL;
        if (index == 0)
            logins[0].service = open_or_die(url, NULL, &options);
        logins[index].service = logins[0].service;
        /* The last digit of the number is the user's id. */
        snprintf(phone, sizeof phone, "555-010-010%d", index + 1);
        EXPECT(SECONDER_OK, seconder_create_user(logins[0].service, "ada@example.com", phone, "1",
                                                 NULL, 0, &user, &error));
        logins[index].user_id = seconder_user_created_user_id(user);
        CHECK(logins[index].user_id == (uint64_t)index + 1);
        seconder_user_created_free(user);
    }
    for (index = 0; index < THREADS; index++)
        CHECK(pthread_create(&logins[index].thread, NULL, log_in, &logins[index]) == 0);
    for (index = 0; with_race && index < THREADS; index++) {
        char byte;
        CHECK(read(arrivals[0], &byte, 1) == 1);
    }
    if (with_race)
        CHECK(write(departures[1], codes, THREADS) == THREADS);
    for (index = 0; index < THREADS; index++)
        CHECK(pthread_join(logins[index].thread, NULL) == 0);
    seconder_service_free(logins[0].service);
    return 0;
}
