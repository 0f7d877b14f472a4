/* Threads make calls while others cancel their handles, set their log functions, and fork.
 *
 * Arguments: the number of forks. */
#define _XOPEN_SOURCE 700
#include "check.h"

#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4
#define ROUNDS 200

static pthread_barrier_t gate;
static seconder_service *shared;

static void count(seconder_status status, const char *line, uint64_t duration_us, void *userdata)
{
    (void)status, (void)duration_us;
    CHECK(strncmp(line, "call=", 5) == 0 && *(char *)userdata == 'x');
}

static void *call(void *own)
{
    int round;
    pthread_barrier_wait(&gate);
    for (round = 0; round < ROUNDS; round++) {
        seconder_error *why = NULL;
        seconder_status status = seconder_request_sms(own, 12345, NULL, 0, NULL, &why);
        CHECK(status == SECONDER_REJECTED || status == SECONDER_CANCELLED);
        seconder_error_free(why);
        status = seconder_request_sms(shared, 12345, NULL, 0, NULL, NULL);
        CHECK(status == SECONDER_REJECTED);
    }
    CHECK(seconder_request_sms(own, 12345, NULL, 0, NULL, NULL) == SECONDER_CANCELLED);
    return NULL;
}

static void *cancel(void *own)
{
    pthread_barrier_wait(&gate);
    sched_yield();
    seconder_service_cancel(own);
    return NULL;
}

static void *set(void *unused)
{
    int round;
    (void)unused;
    pthread_barrier_wait(&gate);
    for (round = 0; round < ROUNDS; round++) {
        /* Freed while calls may be using it, if the library is wrong. */
        char *data = malloc(1);
        seconder_service *copy = NULL;
        CHECK(data != NULL);
        *data = 'x';
        CHECK(seconder_set_log(shared, round % 3 == 0 ? NULL : count, data, free, NULL) ==
              SECONDER_OK);
        CHECK(seconder_service_with(shared, 0, 0, &copy, NULL) == SECONDER_OK);
        CHECK(seconder_request_sms(copy, 12345, NULL, 0, NULL, NULL) == SECONDER_REJECTED);
        seconder_service_free(copy);
    }
    return NULL;
}

static void threads_cancel_and_log(void)
{
    pthread_t callers[THREADS], cancellers[THREADS], setters[2];
    seconder_service *own[THREADS] = {NULL};
    int index;
    shared = open_or_die("sandbox:", NULL, NULL);
    CHECK(pthread_barrier_init(&gate, NULL, 2 * THREADS + 2) == 0);
    for (index = 0; index < THREADS; index++) {
        EXPECT(SECONDER_OK, seconder_service_with(shared, 0, 0, &own[index], &error));
        CHECK(pthread_create(&callers[index], NULL, call, own[index]) == 0);
        CHECK(pthread_create(&cancellers[index], NULL, cancel, own[index]) == 0);
    }
    for (index = 0; index < 2; index++)
        CHECK(pthread_create(&setters[index], NULL, set, NULL) == 0);
    for (index = 0; index < THREADS; index++) {
        CHECK(pthread_join(cancellers[index], NULL) == 0);
        CHECK(pthread_join(callers[index], NULL) == 0);
        seconder_service_free(own[index]);
    }
    for (index = 0; index < 2; index++)
        CHECK(pthread_join(setters[index], NULL) == 0);
    pthread_barrier_destroy(&gate);
    seconder_service_free(shared);
}

static void ignore(seconder_status status, const char *line, uint64_t duration_us, void *userdata)
{
    (void)status, (void)line, (void)duration_us, (void)userdata;
}

static void *set_often(void *service)
{
    int index;
    seconder_error *why = NULL;
    for (index = 0; index < 2000; index++)
        CHECK(seconder_set_log(service, index % 2 == 0 ? ignore : NULL, NULL, NULL, &why) ==
              SECONDER_OK);
    return NULL;
}

/* A child that is forked while other threads set the function does not hang. */
static void a_fork_does_not_hang(int forks)
{
    seconder_service *service = open_or_die("https://127.0.0.1:1", "key", NULL);
    pthread_t threads[THREADS];
    int index;
    for (index = 0; index < THREADS; index++)
        CHECK(pthread_create(&threads[index], NULL, set_often, service) == 0);
    for (index = 0; index < forks; index++) {
        int status;
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            seconder_error *why = NULL;
            alarm(60);
            if (seconder_request_sms(service, 7, NULL, 0, NULL, &why) != SECONDER_UNAVAILABLE)
                _exit(1);
            seconder_error_free(why);
            if (seconder_set_log(service, ignore, NULL, NULL, &why) != SECONDER_OK)
                seconder_error_free(why);
            seconder_service_cancel(service);
            if (seconder_request_sms(service, 7, NULL, 0, NULL, NULL) != SECONDER_CANCELLED)
                _exit(1);
#ifdef WATCHED
            /* A leak checker would report its copies of what the parent's threads held. */
            execl("/bin/true", "true", (char *)NULL);
#endif
            _exit(0);
        }
        CHECK(waitpid(child, &status, 0) == child);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    for (index = 0; index < THREADS; index++)
        CHECK(pthread_join(threads[index], NULL) == 0);
    seconder_service_free(service);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    threads_cancel_and_log();
    if (atoi(argv[1]) > 0)
        a_fork_does_not_hang(atoi(argv[1]));
    return 0;
}
