/* Forks between opening and verifying, alone and while threads verify: fork URL FORKS [CA_FILE].
 *
 * A client works in the parent and in the child. A database and a sandbox work in the parent; in
 * the child, every call on them fails with SECONDER_STORAGE, and so does opening either while the
 * parent has one open. An alarm ends a process that hangs. */
#define _GNU_SOURCE
#include "check.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4
#define PATIENCE 60

static const char *url;
static seconder_open_options options;
static seconder_service *service;
static int done;

static bool is_service(const char *kind)
{
    return strncmp(url, kind, strlen(kind)) == 0;
}

static void verify(seconder_service *with, seconder_status wanted)
{
    seconder_error *why = NULL;
    seconder_status status = seconder_verify(with, 1, "0000000", NULL, 0, NULL, &why);
    if (status != wanted)
        fprintf(stderr, "%d for %d: %s\n", status, wanted, seconder_error_message(why));
    CHECK(status == wanted);
    seconder_error_free(why);
}

/* The status of a verification. On a database, it is that of a user who was never confirmed. */
static seconder_status usual(void)
{
    return is_service("sqlite:") ? SECONDER_TOKEN_NOT_CHECKED : SECONDER_OK;
}

static void in_child(void)
{
    seconder_service *own = NULL;
    int round;
    alarm(PATIENCE);
    for (round = 0; round < 2; round++)
        verify(service, is_service("http") ? SECONDER_OK : SECONDER_STORAGE);
    if (!is_service("http"))
        EXPECT(SECONDER_STORAGE, seconder_delete_user(service, 1, NULL, 0, NULL, &error));
    if (is_service("sandbox:"))
        EXPECT(SECONDER_STORAGE, seconder_sandbox_advance(service, 1, &error));
    if (is_service("http")) {
        own = open_or_die(url, "key", &options);
    } else {
        /* Where another thread of the parent was in a call at the fork, no engine can be opened. */
        seconder_status status = seconder_open(url, "key", NULL, 0, &own, &error);
        CHECK(status == SECONDER_OK || (status == SECONDER_STORAGE && own == NULL));
    }
    if (own != NULL)
        verify(own, usual());
    seconder_service_free(own);
    seconder_service_free(service);
}

/* A child does not free its copies of the parent's threads and databases. A leak checker would
 * report them, so a watched child replaces itself with another program. */
static void end_child(void)
{
#ifdef WATCHED
    execl("/bin/true", "true", (char *)NULL);
#endif
    exit(0);
}

static void wait_for(pid_t child)
{
    int status;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    if (!WIFEXITED(status))
        fprintf(stderr, "ended by signal %d\n", WTERMSIG(status));
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Verifies in the parent, the child and a grandchild at the same time. */
static void fork_once(void)
{
    pid_t child = fork(), grandchild;
    if (child == 0) {
        alarm(PATIENCE);
        grandchild = fork();
        in_child();
        if (grandchild != 0)
            wait_for(grandchild);
        end_child();
    }
    verify(service, usual());
    wait_for(child);
    verify(service, usual());
}

/* A child whose parent has no engine open can open one. */
static void fork_when_closed(void)
{
    pid_t child = fork();
    if (child == 0) {
        alarm(PATIENCE);
        service = open_or_die(url, "key", &options);
        if (!is_service("sandbox:"))
            verify(service, usual());
        seconder_service_free(service);
        end_child();
    }
    wait_for(child);
}

static void *keep_verifying(void *nothing)
{
    while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE))
        verify(service, usual());
    return nothing;
}

static void enrol(void)
{
    seconder_user_created *user = NULL;
    EXPECT(SECONDER_OK, seconder_create_user(service, "ada@example.com", "555-010-0123", "1", NULL,
                                             0, &user, &error));
    CHECK(seconder_user_created_user_id(user) == 1);
    seconder_user_created_free(user);
}

int main(int count, char **arguments)
{
    pthread_t threads[THREADS];
    int index, forks;
    CHECK(count == 3 || count == 4);
    url = arguments[1];
    forks = atoi(arguments[2]);
    options.allow_loopback_http = is_service("http:");
    options.ca_file = count == 4 ? arguments[3] : NULL;
    service = open_or_die(url, "key", &options);
    if (!is_service("http"))
        enrol();

    fork_once();
    fork_once();
    seconder_service_free(service);
    fork_when_closed();
    service = open_or_die(url, "key", &options);
    if (is_service("sandbox:"))
        enrol();

    for (index = 0; index < THREADS; index++)
        CHECK(pthread_create(&threads[index], NULL, keep_verifying, NULL) == 0);
    for (index = 0; index < forks; index++)
        fork_once();
    __atomic_store_n(&done, 1, __ATOMIC_RELEASE);
    for (index = 0; index < THREADS; index++)
        CHECK(pthread_join(threads[index], NULL) == 0);
    seconder_service_free(service);
    fork_when_closed();
    return 0;
}
