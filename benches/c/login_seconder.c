/* A login by a process that makes a single one: opens the service, verifies a code over a new
 * connection, and closes it, with seconder: URL CERTIFICATE TURNS */
#include "measure.h"
#include "seconder.h"

static seconder_open_options options;
static const char *url;

static void once(void)
{
    seconder_verify_options force = {.force = true};
    seconder_service *service = NULL;
    seconder_error *error = NULL;
    if (seconder_open(url, "the-key-of-the-benchmark", &options, sizeof options, &service,
                      &error) != SECONDER_OK)
        fail(seconder_error_message(error));
    if (seconder_verify(service, 1, "1234567", &force, sizeof force, NULL, &error) != SECONDER_OK)
        fail(seconder_error_message(error));
    seconder_service_free(service);
}

int main(int count, char **arguments)
{
    if (count != 4)
        fail("usage: login_seconder URL CERTIFICATE TURNS");
    url = arguments[1];
    options.ca_file = arguments[2];
    measure(once, strtoul(arguments[3], NULL, 10), 1);
    return 0;
}
