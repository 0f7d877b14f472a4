/* Another thread, or a signal handler, ends the calls of a handle. The service at the URL never
 * finishes a call, and creates the third argument, a file, once it has received or rejected one; or
 * there is none. */
#define _XOPEN_SOURCE 700
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

/* Within 100 ms, and time for a machine that is busy or runs valgrind. By themselves, the calls would
 * go on for 10 s at least. */
#define SOON 5.0

static seconder_service *to_cancel;
static const char *sign;

static double now(void)
{
    struct timespec time;
    CHECK(clock_gettime(CLOCK_MONOTONIC, &time) == 0);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void pause_ms(long ms)
{
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

static double cancelled_at;

static void *cancel_soon(void *service)
{
    int tries;
    for (tries = 0; sign != NULL && unlink(sign) != 0; tries++) {
        CHECK(tries < 2000);
        pause_ms(5);
    }
    pause_ms(300);
    cancelled_at = now();
    seconder_service_cancel(service);
    return NULL;
}

/* Makes a call that another thread ends. */
static void is_ended(seconder_service *service, bool sent)
{
    pthread_t thread;
    seconder_service *own = NULL;
    EXPECT(SECONDER_OK, seconder_service_with(service, 0, 0, &own, &error));
    CHECK(pthread_create(&thread, NULL, cancel_soon, own) == 0);
    CHECK(seconder_verify(own, 7, "123456", NULL, 0, NULL, &error) == SECONDER_CANCELLED);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(now() - cancelled_at < SOON);
    CHECK(seconder_error_status(error) == SECONDER_CANCELLED);
    CHECK(seconder_error_retry_safe(error) == !sent);
    CHECK(!seconder_error_timed_out(error) && seconder_error_stage(error) == SECONDER_STAGE_NONE);
    seconder_error_free(error);
    seconder_service_free(own);
}

static void waits_for(const char *url, bool sent)
{
    seconder_open_options options = {0};
    seconder_service *service;
    options.allow_loopback_http = true;
    options.timeout_ms = 60000;
    options.repeats = SECONDER_REPEATS_ALL;
    service = open_or_die(url, "key", &options);
    is_ended(service, sent);
    /* The other handle of the service is not affected. */
    is_ended(service, sent);
    seconder_service_free(service);
}

static void handler(int number)
{
    (void)number;
    seconder_service_cancel(to_cancel);
}

static void an_engine_is_cancelled_before_its_calls(void)
{
    seconder_service *fresh = NULL, *service = open_or_die("sandbox:", NULL, NULL);
    seconder_user_created *user = GARBAGE(seconder_user_created);
    seconder_device *device = GARBAGE(seconder_device);
    seconder_approval_created *created = NULL;
    seconder_approval *approval = NULL;
    seconder_application *application = NULL;
    double begun;
    pthread_t thread;
    EXPECT(SECONDER_OK, seconder_create_user(service, "ada@example.com", "555-010-0123", "1", NULL,
                                             0, &user, &error));
    EXPECT(SECONDER_OK, seconder_create_approval(service, seconder_user_created_user_id(user),
                                                 "Log in?", NULL, 0, &created, &error));
    /* The pauses of a wait end too. */
    begun = now();
    CHECK(pthread_create(&thread, NULL, cancel_soon, service) == 0);
    EXPECT(SECONDER_CANCELLED,
           seconder_wait_for_approval(service, seconder_approval_created_uuid(created),
                                      seconder_user_created_user_id(user), 60000, NULL, 0,
                                      &approval, &error));
    CHECK(now() - begun < 0.3 + SOON);
    CHECK(pthread_join(thread, NULL) == 0);
    seconder_approval_created_free(created);
    seconder_user_created_free(user);

    /* It stays cancelled, and nothing is done. */
    user = GARBAGE(seconder_user_created);
    EXPECT(SECONDER_CANCELLED, seconder_create_user(service, "eve@example.com", "555-010-0124",
                                                    "1", NULL, 0, &user, &error));
    CHECK(user == NULL);
    EXPECT(SECONDER_CANCELLED, seconder_register_device(service, 1, "ios", &device, &error));
    CHECK(device == NULL);
    CHECK(seconder_clear_sandbox(service, &error) == SECONDER_CANCELLED);
    CHECK(seconder_error_retry_safe(error));
    seconder_error_free(error);

    /* A handle that is made from it is not cancelled, and ends by itself: here in a handler. */
    EXPECT(SECONDER_OK, seconder_service_with(service, 0, 0, &fresh, &error));
    EXPECT(SECONDER_OK, seconder_app_details(fresh, NULL, 0, &application, &error));
    seconder_application_free(application);
    to_cancel = fresh;
    CHECK(signal(SIGUSR1, handler) != SIG_ERR);
    CHECK(raise(SIGUSR1) == 0);
    CHECK(seconder_clear_sandbox(fresh, &error) == SECONDER_CANCELLED);
    seconder_error_free(error);
    seconder_service_free(fresh);
    seconder_service_free(service);
    seconder_service_cancel(NULL);
}

int main(int count, char **arguments)
{
    if (count < 4) {
        an_engine_is_cancelled_before_its_calls();
    } else {
        sign = arguments[3];
        waits_for(arguments[2], same(arguments[1], "silent"));
    }
    return 0;
}
