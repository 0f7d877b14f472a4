/* A program closes descriptors of a database that it did not open, and gives their numbers to other
 * files: the library writes nothing into them, closes none, and loses nothing that was committed. */
#define _XOPEN_SOURCE 700
#include "check.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* More than the descriptors of a database. */
#define OWN 40
#define HIGHEST 200

static char folder[256], url[300], resolved[PATH_MAX];
static uint64_t user_id;
static int lines;
static char last[512];

static void log_call(seconder_status status, const char *line, uint64_t duration_us, void *userdata)
{
    (void)duration_us;
    (void)userdata;
    CHECK(status == SECONDER_OK || status == SECONDER_STORAGE);
    lines++;
    snprintf(last, sizeof last, "%s", line);
}

static seconder_service *open_logged(void)
{
    seconder_service *service = open_or_die(url, NULL, NULL);
    EXPECT(SECONDER_OK, seconder_set_log(service, log_call, NULL, NULL, &error));
    return service;
}

/* Reads, and writes what the log of the database has, and the database only later. */
static void has_user(const seconder_service *service)
{
    static int count;
    seconder_user_status_reply *reply = NULL;
    seconder_user_created *other = NULL;
    char email[64], phone[32];
    long number = (long)getpid() * 10 + count++;
    EXPECT(SECONDER_OK, seconder_user_status(service, user_id, NULL, 0, &reply, &error));
    seconder_user_status_reply_free(reply);
    snprintf(email, sizeof email, "%ld@example.com", number);
    snprintf(phone, sizeof phone, "7700900%03ld", number % 1000);
    EXPECT(SECONDER_OK,
           seconder_create_user(service, email, phone, "44", NULL, 0, &other, &error));
    seconder_user_created_free(other);
}

static void is_refused(const seconder_service *service)
{
    seconder_user_created *user = NULL;
    EXPECT(SECONDER_STORAGE, seconder_create_user(service, "bob@example.com", "555-010-0124", "1",
                                                  NULL, 0, &user, &error));
    CHECK(user == NULL);
    CHECK(seconder_user_status(service, user_id, NULL, 0, &(seconder_user_status_reply *){NULL},
                               &error) == SECONDER_STORAGE);
    CHECK(strstr(seconder_error_message(error), "closefrom") != NULL);
    seconder_error_free(error);
    error = NULL;
}

static void is_refused_when_opened(void)
{
    seconder_service *service = NULL;
    EXPECT(SECONDER_STORAGE, seconder_open(url, NULL, NULL, 0, &service, &error));
    CHECK(service == NULL);
}

static void close_all(void)
{
    int number;
    for (number = 3; number < HIGHEST; number++)
        close(number);
}

struct own {
    int numbers[OWN];
    ino_t inodes[OWN];
};

static int new_file(int index)
{
    char path[300];
    int file;
    snprintf(path, sizeof path, "%s/own-%d", folder, index);
    file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    CHECK(file >= 0);
    return file;
}

static void remember(struct own *own, int index, int number)
{
    struct stat found;
    CHECK(fstat(number, &found) == 0);
    own->numbers[index] = number;
    own->inodes[index] = found.st_ino;
}

static struct own open_files(void)
{
    struct own own;
    int index;
    for (index = 0; index < OWN; index++)
        remember(&own, index, new_file(index));
    return own;
}

static struct own open_sockets(void)
{
    struct own own;
    int index, pair[2];
    for (index = 0; index < OWN; index += 2) {
        CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
        remember(&own, index, pair[0]);
        remember(&own, index + 1, pair[1]);
    }
    return own;
}

/* Nothing was written to them, and they are still open. */
static void are_untouched(const struct own *own)
{
    int index;
    for (index = 0; index < OWN; index++) {
        struct stat found;
        char byte;
        if (own->inodes[index] == 0)
            continue;
        CHECK(fstat(own->numbers[index], &found) == 0);
        CHECK(found.st_ino == own->inodes[index]);
        if (S_ISSOCK(found.st_mode))
            CHECK(recv(own->numbers[index], &byte, 1, MSG_DONTWAIT) == -1);
        else
            CHECK(found.st_size == 0);
    }
}

static void close_and_open_files(void)
{
    seconder_service *service = open_logged();
    struct own own;
    has_user(service);
    close_all();
    own = open_files();
    is_refused(service);
    is_refused_when_opened();
    lines = 0;
    seconder_service_free(service);
    CHECK(lines == 1 && strncmp(last, "call=close outcome=storage ", 27) == 0);
    are_untouched(&own);
    is_refused_when_opened();
    are_untouched(&own);
}

/* The calls before may not have noticed: the process ends without any. */
static void close_and_free_at_once(void)
{
    seconder_service *service = open_logged();
    struct own own;
    has_user(service);
    close_all();
    own = open_files();
    seconder_service_free(service);
    are_untouched(&own);
}

static void close_and_open_sockets(void)
{
    seconder_service *service = open_logged();
    struct own own;
    has_user(service);
    close_all();
    own = open_sockets();
    is_refused(service);
    seconder_service_free(service);
    are_untouched(&own);
}

/* Each of the connections that read is used. Those that have lost a descriptor may find nothing wrong, and do not say
 * that the database is damaged. */
static void reads_or_is_refused(const seconder_service *service)
{
    int reads;
    for (reads = 0; reads < 8; reads++) {
        seconder_user_status_reply *reply = NULL;
        if (seconder_user_status(service, user_id, NULL, 0, &reply, &error) == SECONDER_OK) {
            seconder_user_status_reply_free(reply);
            continue;
        }
        CHECK(strstr(seconder_error_message(error), "closefrom") != NULL);
        seconder_error_free(error);
        error = NULL;
    }
}

/* Each number of the database in turn, so that none is overlooked. */
static void replace_one(int index)
{
    seconder_service *service = open_logged();
    struct own own = {0};
    int number, seen = 0;
    has_user(service);
    for (number = 3; number < HIGHEST; number++) {
        char link[64], target[300] = "";
        snprintf(link, sizeof link, "/proc/self/fd/%d", number);
        if (readlink(link, target, sizeof target - 1) > 0 &&
            strncmp(target, folder, strlen(folder)) == 0 && seen++ == index) {
            int file = new_file(0);
            CHECK(dup2(file, number) == number);
            close(file);
            remember(&own, 0, number);
        }
    }
    CHECK(own.inodes[0] != 0);
    reads_or_is_refused(service);
    lines = 0;
    seconder_service_free(service);
    CHECK(lines == 1 && strncmp(last, "call=close outcome=storage ", 27) == 0);
    are_untouched(&own);
}

/* Nothing has taken the numbers, so the database can be closed, and opened again. */
static void close_and_open_again(void)
{
    seconder_service *service = open_logged();
    has_user(service);
    close_all();
    is_refused(service);
    is_refused_when_opened();
    seconder_service_free(service);
    service = open_logged();
    has_user(service);
    seconder_service_free(service);
}

static void succeeds(pid_t child)
{
    int status;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* A daemon that closes descriptors after its fork. */
static void close_in_a_child(void)
{
    seconder_service *service = open_logged();
    pid_t child;
    has_user(service);
    if ((child = fork()) == 0) {
        seconder_service *again;
        close_all();
        again = open_logged();
        has_user(again);
        seconder_service_free(again);
        _exit(0);
    }
    succeeds(child);
    if ((child = fork()) == 0) {
        struct own own;
        close_all();
        own = open_files();
        is_refused_when_opened();
        seconder_service_free(service);
        are_untouched(&own);
        _exit(0);
    }
    succeeds(child);
    has_user(service);
    seconder_service_free(service);
}

static void in_a_process(void (*work)(void))
{
    pid_t child = fork();
    seconder_service *service;
    if (child == 0) {
        work();
        _exit(0);
    }
    succeeds(child);
    /* Everything that was committed is there. */
    service = open_logged();
    has_user(service);
    seconder_service_free(service);
}

static int replaced;

static void replace_the_next(void)
{
    replace_one(replaced);
}

int main(int argc, char **argv)
{
    seconder_user_created *user = NULL;
    seconder_service *service;
    pid_t child;
    int reading[2];
    CHECK(argc == 2 && realpath(argv[1], resolved) != NULL && pipe(reading) == 0);
    CHECK(strlen(resolved) < sizeof folder);
    strcpy(folder, resolved);
    snprintf(url, sizeof url, "sqlite:%s/seconder.db", folder);
    /* In another process, so that the children of this one inherit nothing. */
    if ((child = fork()) == 0) {
        service = open_or_die(url, NULL, NULL);
        EXPECT(SECONDER_OK, seconder_create_user(service, "ada@example.com", "555-010-0123", "1",
                                                 NULL, 0, &user, &error));
        user_id = seconder_user_created_user_id(user);
        CHECK(write(reading[1], &user_id, sizeof user_id) == sizeof user_id);
        seconder_user_created_free(user);
        seconder_service_free(service);
        _exit(0);
    }
    CHECK(read(reading[0], &user_id, sizeof user_id) == sizeof user_id);
    succeeds(child);
    in_a_process(close_and_open_files);
    in_a_process(close_and_free_at_once);
    in_a_process(close_and_open_sockets);
    in_a_process(close_and_open_again);
    in_a_process(close_in_a_child);
    for (replaced = 0; replaced < 16; replaced++)
        in_a_process(replace_the_next);
    return 0;
}
