/* Contains deliberate faults, to check that the tools detect them: faults leak | faults beyond. */
#include "check.h"

static void leak(void)
{
    seconder_service *service = open_or_die("sandbox:", NULL, NULL);
    CHECK(service != NULL);
}

/* Passes a size larger than that of the options. It is the library that reads beyond them. */
static void beyond(void)
{
    seconder_verify_options *options = calloc(1, sizeof *options);
    seconder_service *service = open_or_die("sandbox:", NULL, NULL);
    /* volatile: the compiler must not know the value. */
    volatile size_t size = 2 * sizeof *options;
    seconder_error *why = NULL;
    CHECK(options != NULL);
    CHECK(seconder_verify(service, 1, "123456", options, size, NULL, &why) != SECONDER_UNAVAILABLE);
    seconder_error_free(why);
    seconder_service_free(service);
    free(options);
}

int main(int count, char **arguments)
{
    CHECK(count == 2);
    if (same(arguments[1], "leak"))
        leak();
    else
        beyond();
    return 0;
}
