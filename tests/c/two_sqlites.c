/* Another copy of SQLite in the process opens and closes the database: no commit vanishes, and no
 * code is accepted twice. A database whose log is removed all the same is an error. */
#define _XOPEN_SOURCE 700
#include "check.h"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

/* The system's SQLite, by the prototypes that its ABI promises. */
static struct {
    int (*open)(const char *, void **);
    int (*exec)(void *, const char *, void *, void *, char **);
    int (*close)(void *);
} sqlite;

static char path[512], url[520], log_file[520], code[32];

static void load(void)
{
    void *library = dlopen("libsqlite3.so.0", RTLD_NOW | RTLD_LOCAL);
    CHECK(library != NULL);
    *(void **)(&sqlite.open) = dlsym(library, "sqlite3_open");
    *(void **)(&sqlite.exec) = dlsym(library, "sqlite3_exec");
    *(void **)(&sqlite.close) = dlsym(library, "sqlite3_close");
    CHECK(sqlite.open != NULL && sqlite.exec != NULL && sqlite.close != NULL);
}

static void look_with_the_other_copy(void)
{
    void *database = NULL;
    CHECK(sqlite.open(path, &database) == 0);
    CHECK(sqlite.exec(database, "SELECT count(*) FROM users", NULL, NULL, NULL) == 0);
    CHECK(sqlite.close(database) == 0);
}

static int32_t deliver(const seconder_message *message, void *userdata)
{
    (void)userdata;
    strcpy(code, seconder_message_code(message));
    return 0;
}

static seconder_status check_code(seconder_service *service, uint64_t user_id)
{
    seconder_verify_options options = {0};
    options.force = true;
    return seconder_verify(service, user_id, code, &options, sizeof options, NULL, NULL);
}

/* Another process, which checks the code that it reads. It is forked before the parent opens the
 * database. */
static pid_t start_the_other_process(int reading, int writing)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        uint64_t user_id = 0;
        seconder_service *service = NULL;
        /* Reading must end if the parent fails. */
        close(writing);
        CHECK(read(reading, code, sizeof code) == (ssize_t)sizeof code);
        CHECK(read(reading, &user_id, sizeof user_id) == (ssize_t)sizeof user_id);
        service = open_or_die(url, NULL, NULL);
        CHECK(check_code(service, user_id) == SECONDER_TOKEN_REUSED);
        seconder_service_free(service);
        _exit(0);
    }
    return child;
}

static uint64_t enrol(seconder_service *service)
{
    seconder_user_created *user = NULL;
    uint64_t user_id;
    EXPECT(SECONDER_OK, seconder_create_user(service, "ada@example.com", "555-010-0123", "1", NULL,
                                             0, &user, &error));
    user_id = seconder_user_created_user_id(user);
    seconder_user_created_free(user);
    return user_id;
}

static void a_code_is_accepted_once(void)
{
    seconder_open_options options = {0};
    seconder_service *service;
    uint64_t user_id;
    int ends[2], status = 0;
    pid_t child;
    CHECK(pipe(ends) == 0);
    child = start_the_other_process(ends[0], ends[1]);

    options.deliver = deliver;
    service = open_or_die(url, NULL, &options);
    user_id = enrol(service);
    EXPECT(SECONDER_OK, seconder_request_sms(service, user_id, NULL, 0, NULL, &error));
    look_with_the_other_copy();
    look_with_the_other_copy();
    CHECK(access(log_file, F_OK) == 0);
    CHECK(check_code(service, user_id) == SECONDER_OK);

    CHECK(write(ends[1], code, sizeof code) == (ssize_t)sizeof code);
    CHECK(write(ends[1], &user_id, sizeof user_id) == (ssize_t)sizeof user_id);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(check_code(service, user_id) == SECONDER_TOKEN_REUSED);
    seconder_service_free(service);
    CHECK(access(log_file, F_OK) != 0);
}

static void a_log_that_is_gone_is_an_error(void)
{
    seconder_open_options options = {0};
    seconder_service *service;
    options.deliver = deliver;
    options.must_exist = true;
    service = open_or_die(url, NULL, &options);
    CHECK(unlink(log_file) == 0);
    CHECK(check_code(service, 1) == SECONDER_STORAGE);
    CHECK(seconder_request_sms(service, 1, NULL, 0, NULL, &error) == SECONDER_STORAGE);
    CHECK(strstr(seconder_error_message(error), "one copy of SQLite per process") != NULL);
    seconder_error_free(error);
    seconder_service_free(service);
}

static void a_database_that_must_exist_is_not_created(void)
{
    seconder_open_options options = {0};
    seconder_service *service = GARBAGE(seconder_service);
    options.must_exist = true;
    EXPECT(SECONDER_STORAGE,
           seconder_open(url, NULL, &options, sizeof options, &service, &error));
    CHECK(service == NULL && access(path, F_OK) != 0);
}

int main(int count, char **arguments)
{
    CHECK(count == 2);
    snprintf(path, sizeof path, "%s/seconder.db", arguments[1]);
    snprintf(url, sizeof url, "sqlite:%s", path);
    snprintf(log_file, sizeof log_file, "%s-wal", path);
    load();
    a_database_that_must_exist_is_not_created();
    a_code_is_accepted_once();
    a_log_that_is_gone_is_an_error();
    return 0;
}
