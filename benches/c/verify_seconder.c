/* Verifies a code over a kept-alive connection, with seconder: URL CERTIFICATE TURNS */
#include "measure.h"
#include "seconder.h"

static seconder_service *service;

static void once(void)
{
    if (seconder_verify(service, 12345, "1234567", NULL, 0, NULL, NULL) != SECONDER_OK)
        fail("the code was not right");
}

int main(int count, char **arguments)
{
    seconder_open_options options = {0};
    seconder_error *error = NULL;
    if (count != 4)
        fail("usage: verify_seconder URL CERTIFICATE TURNS");
    options.ca_file = arguments[2];
    if (seconder_open(arguments[1], "the-key-of-the-benchmark", &options, sizeof options, &service,
                      &error) != SECONDER_OK)
        fail(seconder_error_message(error));
    measure(once, strtoul(arguments[3], NULL, 10), 1);
    seconder_service_free(service);
    return 0;
}
