/* Loads and unloads the library at the path, with a login in every EVERYth round: load PATH URL
 * ROUNDS EVERY.
 *
 * The library stays mapped once it is loaded, so further rounds are cheap, and what its
 * dependencies keep for the whole process is allocated once. To really load it each time, the first
 * rounds run in separate processes. */
#define _GNU_SOURCE
#include "process.h"

#include <dlfcn.h>
#include <sys/wait.h>

#define PROCESSES 100

static int trips;

struct functions {
    void *library;
    seconder_status (*open)(const char *, const char *, const seconder_open_options *, size_t,
                            seconder_service **, seconder_error **);
    seconder_status (*create_user)(const seconder_service *, const char *, const char *,
                                   const char *, const seconder_create_user_options *, size_t,
                                   seconder_user_created **, seconder_error **);
    seconder_status (*verify)(const seconder_service *, uint64_t, const char *,
                              const seconder_verify_options *, size_t, seconder_verification **,
                              seconder_error **);
    void (*user_free)(seconder_user_created *);
    void (*service_free)(seconder_service *);
};

/* ISO C has no conversion from a data pointer to a function pointer, so the bytes are copied. */
static void find(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);
    CHECK(found != NULL);
    memcpy(function, &found, sizeof found);
}

static struct functions load(const char *path)
{
    struct functions functions;
    functions.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (functions.library == NULL)
        fprintf(stderr, "%s\n", dlerror());
    CHECK(functions.library != NULL);
    find(functions.library, "seconder_open", &functions.open);
    find(functions.library, "seconder_create_user", &functions.create_user);
    find(functions.library, "seconder_verify", &functions.verify);
    find(functions.library, "seconder_user_created_free", &functions.user_free);
    find(functions.library, "seconder_service_free", &functions.service_free);
    return functions;
}

static void login(const struct functions *functions, const char *url)
{
    seconder_service *service = NULL;
    seconder_user_created *user = NULL;
    seconder_status status;
    seconder_open_options options;
    memset(&options, 0, sizeof options);
    options.allow_loopback_http = strncmp(url, "http:", 5) == 0;
    CHECK(functions->open(url, "key", &options, sizeof options, &service, NULL) == SECONDER_OK);
    if (strncmp(url, "http", 4) != 0) {
        CHECK(functions->create_user(service, "ada@example.com", "555-010-0123", "1", NULL, 0,
                                     &user, NULL) == SECONDER_OK);
        functions->user_free(user);
    }
    status = functions->verify(service, 1, "0000000", NULL, 0, NULL, NULL);
    CHECK(status == (strncmp(url, "sqlite:", 7) == 0 ? SECONDER_TOKEN_NOT_CHECKED : SECONDER_OK));
    functions->service_free(service);
}

static void *round_trip(void *arguments)
{
    char **given = arguments;
    struct functions functions = load(given[1]);
    if (__sync_fetch_and_add(&trips, 1) % atoi(given[4]) == 0)
        login(&functions, given[2]);
    CHECK(dlclose(functions.library) == 0);
    return NULL;
}

static void in_a_new_process(char **arguments)
{
    struct process before, after;
    int status;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        trips = 0;
        look(&before);
        round_trip(arguments);
        look(&after);
        same_but_for_memory(&before, &after);
        exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void in_a_new_thread(char **arguments)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, round_trip, arguments) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
}

int main(int count, char **arguments)
{
    struct process before, after;
    int round, rounds;
    CHECK(count == 5);
    rounds = atoi(arguments[3]);
    for (round = 0; round < PROCESSES && round < rounds; round++)
        in_a_new_process(arguments);
    /* Not loaded in this process yet. */
    CHECK(dlopen(arguments[1], RTLD_NOW | RTLD_NOLOAD) == NULL);

    for (round = 0; round < rounds; round++) {
        /* The first tenth is a warm-up. */
        if (round == rounds / 10)
            look(&before);
        if (round % 10 == 0)
            in_a_new_thread(arguments);
        else
            round_trip(arguments);
    }
    look(&after);
    CHECK(dlopen(arguments[1], RTLD_NOW | RTLD_NOLOAD) != NULL);
    same_but_for_memory(&before, &after);
    /* What malloc() keeps for threads grows ever more slowly: 40000 rounds end where 20000 do. */
    same_memory(&before, &after, 96 * 1024, 1024);
    return 0;
}
