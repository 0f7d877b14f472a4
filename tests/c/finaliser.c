/* The userdata of a deliver function is freed exactly once, whether a service is opened or not. */
#include "check.h"

static int freed;

static int32_t deliver(const seconder_message *message, void *userdata)
{
    CHECK(message != NULL && userdata == &freed);
    return 0;
}

static void count(void *userdata)
{
    CHECK(userdata == &freed);
    freed++;
}

static seconder_open_options options(void)
{
    seconder_open_options options = {0};
    options.deliver = deliver;
    options.deliver_userdata = &freed;
    options.deliver_userdata_free = count;
    freed = 0;
    return options;
}

/* A struct whose size is that of no version is not read: there may be no such struct at all. */
static void is_not_read(size_t size)
{
    seconder_open_options given = options();
    seconder_service *service = NULL;
    CHECK(seconder_open("sandbox:", NULL, &given, size, &service, NULL) ==
          SECONDER_INVALID_ARGUMENT);
    CHECK(service == NULL && freed == 0);
}

static void fails(const char *url, const seconder_open_options *given, size_t size)
{
    seconder_service *service = GARBAGE(seconder_service);
    CHECK(seconder_open(url, NULL, given, size, &service, NULL) != SECONDER_OK);
    CHECK(service == NULL);
    CHECK(freed == 1);
}

int main(void)
{
    struct {
        seconder_open_options known;
        uint64_t unknown;
    } newer;
    seconder_open_options given = options();
    seconder_service *service = open_or_die("sandbox:", NULL, &given);
    CHECK(freed == 0);
    seconder_service_free(service);
    CHECK(freed == 1);

    given = options();
    fails("gopher://example.com", &given, sizeof given);
    given = options();
    fails(NULL, &given, sizeof given);
    given = options();
    fails("\xff", &given, sizeof given);
    given = options();
    fails("sqlite:/no/such/folder/file.db", &given, sizeof given);
    given = options();
    given.callback_url = "\xff";
    fails("sandbox:", &given, sizeof given);

    newer.known = options();
    newer.unknown = 1;
    fails("sandbox:", &newer.known, sizeof newer);

    given = options();
    CHECK(seconder_open("sandbox:", NULL, &given, sizeof given, NULL, NULL) ==
          SECONDER_INVALID_ARGUMENT);
    CHECK(freed == 1);

    is_not_read(sizeof given - 8);
    is_not_read(sizeof given + 1);
    is_not_read(SIZE_MAX - 7);

    /* A remote service rejects the deliver function, and a NULL function is never used. */
    given = options();
    EXPECT_INVALID("deliver", seconder_open("https://2fa.example.com", "key", &given, sizeof given,
                                            &service, &error));
    CHECK(service == NULL && freed == 1);

    given = options();
    given.deliver = NULL;
    service = open_or_die("sandbox:", NULL, &given);
    CHECK(freed == 1);
    seconder_service_free(service);
    CHECK(freed == 1);
    return 0;
}
