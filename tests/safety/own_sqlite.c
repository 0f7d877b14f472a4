/* A program with a SQLite of its own, and one handle of the library for each kind of engine:
 * own_sqlite FOLDER. Its own is a stand-in, which says so, and which nothing else may call. */
#include "check.h"

const char *sqlite3_libversion(void);
int sqlite3_initialize(void);

static void enrols(seconder_service *service)
{
    seconder_user_created *user = NULL;
    EXPECT(SECONDER_OK, seconder_create_user(service, "ada@example.com", "555-010-0123", "1", NULL,
                                             0, &user, &error));
    CHECK(seconder_user_created_user_id(user) == 1);
    seconder_user_created_free(user);
}

int main(int count, char **arguments)
{
    seconder_service *first, *second, *sandbox;
    char url[4096];
    CHECK(count == 2);
    CHECK(strcmp(sqlite3_libversion(), "theirs") == 0);
    snprintf(url, sizeof url, "sqlite:%s/first.db", arguments[1]);
    first = open_or_die(url, NULL, NULL);
    snprintf(url, sizeof url, "sqlite:%s/second.db", arguments[1]);
    second = open_or_die(url, NULL, NULL);
    sandbox = open_or_die("sandbox:", NULL, NULL);
    enrols(first);
    enrols(second);
    enrols(sandbox);
    CHECK(sqlite3_initialize() == 4711);
    seconder_service_free(first);
    seconder_service_free(second);
    seconder_service_free(sandbox);
    return 0;
}
