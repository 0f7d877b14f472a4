/* Verifies ROUNDS times, on one thread and on several: verify URL ROUNDS [CA_FILE].
 *
 * The rounds cover every kind of result of the service. After a warm-up of a tenth of the rounds,
 * nothing may grow. */
#define _GNU_SOURCE
#include "process.h"

#define THREADS 4

struct work {
    seconder_service *service;
    int rounds;
    void (*verify)(const struct work *, int);
};

static uint64_t unconfirmed, guessed;
static int enrolled;
static __thread char code[16];

/* A success has a verification and no error; a failure has an error and no verification. */
static seconder_status verify_once(const struct work *work, const char *token, uint64_t user,
                                   bool force)
{
    seconder_verify_options options;
    seconder_verification *verification = GARBAGE(seconder_verification);
    seconder_error *why = GARBAGE(seconder_error);
    seconder_status status;
    memset(&options, 0, sizeof options);
    options.force = force;
    status = seconder_verify(work->service, user, token, &options, sizeof options, &verification,
                             &why);
    CHECK((verification != NULL) == (status == SECONDER_OK));
    CHECK((why == NULL) == (status == SECONDER_OK));
    seconder_verification_free(verification);
    seconder_error_free(why);
    return status;
}

/* The stub chooses its response by the token's last digit. */
static void verify_remote(const struct work *work, int round)
{
    static const char *const tokens[] = {"0000000", "0000001", "0000000", "0000002", "0000003"};
    static const seconder_status wanted[] = {SECONDER_OK, SECONDER_TOKEN_WRONG, SECONDER_OK,
                                             SECONDER_UNAVAILABLE, SECONDER_INVALID_RESPONSE};
    int kind = round % 100 == 99 ? 3 + round / 100 % 2 : round % 3;
    CHECK(verify_once(work, tokens[kind], 1, false) == wanted[kind]);
}

static void verify_sandbox(const struct work *work, int round)
{
    if (round % 2 == 0)
        CHECK(verify_once(work, "0000000", 1, false) == SECONDER_OK);
    else
        CHECK(verify_once(work, "0000001", 1, false) == SECONDER_TOKEN_WRONG);
}

static int32_t deliver(const seconder_message *message, void *userdata)
{
    (void)userdata;
    snprintf(code, sizeof code, "%s", seconder_message_code(message));
    return 0;
}

static uint64_t enrol(seconder_service *service)
{
    seconder_user_created *user = NULL;
    seconder_error *why = NULL;
    char email[64], phone[32];
    int number = __sync_add_and_fetch(&enrolled, 1);
    uint64_t id;
    snprintf(email, sizeof email, "user%d@example.com", number);
    snprintf(phone, sizeof phone, "2%02d-555-%04d", 1 + number / 10000, number % 10000);
    CHECK(seconder_create_user(service, email, phone, "1", NULL, 0, &user, &why) == SECONDER_OK);
    id = seconder_user_created_user_id(user);
    seconder_user_created_free(user);
    return id;
}

/* A user who was never confirmed, a user whose code is guessed, and in every hundredth round a new
 * user who logs in. */
static void verify_database(const struct work *work, int round)
{
    seconder_status status;
    seconder_error *why = NULL;
    uint64_t id;
    if (round % 100 == 99) {
        id = enrol(work->service);
        CHECK(seconder_request_sms(work->service, id, NULL, 0, NULL, &why) == SECONDER_OK);
        CHECK(verify_once(work, code, id, true) == SECONDER_OK);
        CHECK(verify_once(work, code, id, true) == SECONDER_TOKEN_REUSED);
    } else if (round % 2 == 0) {
        CHECK(verify_once(work, "123456", unconfirmed, false) == SECONDER_TOKEN_NOT_CHECKED);
    } else {
        status = verify_once(work, "123456", guessed, true);
        CHECK(status == SECONDER_TOKEN_WRONG || status == SECONDER_RATE_LIMITED);
    }
}

static void *run(void *given)
{
    const struct work *work = given;
    int round;
    for (round = 0; round < work->rounds; round++)
        work->verify(work, round);
    return NULL;
}

/* Half of the rounds on this thread, the other half on others. */
static void all(const struct work *work, int rounds)
{
    pthread_t threads[THREADS];
    struct work mine = *work, theirs = *work;
    int index;
    mine.rounds = rounds / 2;
    theirs.rounds = rounds / 2 / THREADS;
    run(&mine);
    for (index = 0; index < THREADS; index++)
        CHECK(pthread_create(&threads[index], NULL, run, &theirs) == 0);
    for (index = 0; index < THREADS; index++)
        CHECK(pthread_join(threads[index], NULL) == 0);
}

/* Chooses the rounds for the URL's service, and creates their users. */
static void prepare(struct work *work, const char *url)
{
    work->verify = strncmp(url, "http", 4) == 0 ? verify_remote : verify_sandbox;
    if (strncmp(url, "sqlite:", 7) == 0) {
        unconfirmed = enrol(work->service);
        guessed = enrol(work->service);
        work->verify = verify_database;
    }
}

/* In a static program, dlsym() does not find getrandom(), so that random numbers are read from a file,
 * which stays open, but not for other programs. */
static void forget_random_numbers(struct process *seen)
{
#ifdef STATIC
    char path[64], name[64];
    int index;
    for (index = 0; index < DESCRIPTORS; index++) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", index);
        memset(name, 0, sizeof name);
        if (readlink(path, name, sizeof name - 1) > 0 && strcmp(name, "/dev/urandom") == 0 &&
            seen->descriptors[index] == FD_CLOEXEC)
            seen->descriptors[index] = -1;
    }
#endif
    (void)seen;
}

int main(int count, char **arguments)
{
    struct process first, before, after, last;
    struct work work;
    seconder_open_options options;
    int rounds;
    CHECK(count == 3 || count == 4);
    rounds = atoi(arguments[2]);
    memset(&options, 0, sizeof options);
    options.allow_loopback_http = strncmp(arguments[1], "http:", 5) == 0;
    options.ca_file = count == 4 ? arguments[3] : NULL;
    options.deliver = strncmp(arguments[1], "http", 4) == 0 ? NULL : deliver;
    look(&first);
    work.service = open_or_die(arguments[1], "key", &options);
    prepare(&work, arguments[1]);

    all(&work, rounds / 10);
    look(&before);
    all(&work, rounds);
    look(&after);
    forget_random_numbers(&before);
    forget_random_numbers(&after);
#ifndef STATIC /* Too few rounds for that. */
    /* Each of several connections caches up to 2 MB of a growing database, and the refusals of some
     * thousand users are counted. */
    if (work.verify == verify_database)
        same_memory(&before, &after, 3 * 1024 * 1024, 3 * 1024);
    else
        same_memory(&before, &after, 64 * 1024, 1024);
#endif
    /* The number of connections kept depends on how many threads called at once. */
    if (work.verify == verify_remote)
        memcpy(after.descriptors, before.descriptors, sizeof after.descriptors);
    same_but_for_memory(&before, &after);

    seconder_service_free(work.service);
    look(&last);
    forget_random_numbers(&last);
    same_but_for_memory(&first, &last);
    return 0;
}
