/* Three copies of the library in one process, one of them linked into the program: copies FOLDER
 * LIBRARY ANOTHER. Each copy has its own state, and uses its own symbols only. Each has its own
 * database, as two copies in a process must not share one. */
#define _GNU_SOURCE
#include "check.h"

#include <dlfcn.h>

#define COPIES 3

struct copy {
    const char *(*version)(void);
    seconder_status (*open)(const char *, const char *, const seconder_open_options *, size_t,
                            seconder_service **, seconder_error **);
    seconder_status (*create_user)(const seconder_service *, const char *, const char *,
                                   const char *, const seconder_create_user_options *, size_t,
                                   seconder_user_created **, seconder_error **);
    seconder_status (*verify)(const seconder_service *, uint64_t, const char *,
                              const seconder_verify_options *, size_t, seconder_verification **,
                              seconder_error **);
    uint64_t (*id)(const seconder_user_created *);
    void (*user_free)(seconder_user_created *);
    void (*service_free)(seconder_service *);
    seconder_service *service;
};

/* ISO C has no conversion from a data pointer to a function pointer, so the bytes are copied. */
static void find(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);
    CHECK(found != NULL);
    memcpy(function, &found, sizeof found);
}

static struct copy load(const char *path)
{
    struct copy copy;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    CHECK(library != NULL);
    find(library, "seconder_version", &copy.version);
    find(library, "seconder_open", &copy.open);
    find(library, "seconder_create_user", &copy.create_user);
    find(library, "seconder_verify", &copy.verify);
    find(library, "seconder_user_created_user_id", &copy.id);
    find(library, "seconder_user_created_free", &copy.user_free);
    find(library, "seconder_service_free", &copy.service_free);
    return copy;
}

static struct copy linked(void)
{
    struct copy copy;
    copy.version = seconder_version;
    copy.open = seconder_open;
    copy.create_user = seconder_create_user;
    copy.verify = seconder_verify;
    copy.id = seconder_user_created_user_id;
    copy.user_free = seconder_user_created_free;
    copy.service_free = seconder_service_free;
    return copy;
}

static void enrol(const struct copy *copy, const char *email, const char *phone, uint64_t wanted)
{
    seconder_user_created *user = NULL;
    CHECK(copy->create_user(copy->service, email, phone, "1", NULL, 0, &user, NULL) == SECONDER_OK);
    CHECK(copy->id(user) == wanted);
    copy->user_free(user);
}

static void verify(const struct copy *copy, uint64_t id, seconder_status wanted)
{
    CHECK(copy->verify(copy->service, id, "123456", NULL, 0, NULL, NULL) == wanted);
}

int main(int count, char **arguments)
{
    struct copy copies[COPIES];
    char url[4096];
    int index;
    CHECK(count == 4);
    copies[0] = linked();
    copies[1] = load(arguments[2]);
    copies[2] = load(arguments[3]);
    for (index = 0; index < COPIES; index++) {
        /* Different addresses show that they are different copies. */
        CHECK(copies[index].version() != copies[(index + 1) % COPIES].version());
        CHECK(same(copies[index].version(), SECONDER_VERSION));
        snprintf(url, sizeof url, "sqlite:%s/%d.db", arguments[1], index);
        CHECK(copies[index].open(url, NULL, NULL, 0, &copies[index].service, NULL) == SECONDER_OK);
    }
    for (index = 0; index < COPIES; index++)
        enrol(&copies[index], "ada@example.com", "555-010-0123", 1);
    enrol(&copies[1], "bob@example.com", "555-010-0124", 2);
    for (index = 0; index < COPIES; index++) {
        verify(&copies[index], 1, SECONDER_TOKEN_NOT_CHECKED);
        verify(&copies[index], 2, index == 1 ? SECONDER_TOKEN_NOT_CHECKED : SECONDER_REJECTED);
    }
    copies[1].service_free(copies[1].service);
    verify(&copies[0], 1, SECONDER_TOKEN_NOT_CHECKED);
    verify(&copies[2], 1, SECONDER_TOKEN_NOT_CHECKED);
    copies[0].service_free(copies[0].service);
    copies[2].service_free(copies[2].service);
    return 0;
}
