/* Runs the test of docs/testing.md, which documented.inc has. */
#include "check.h"

static bool log_in(const seconder_service *service, uint64_t user, const char *code)
{
    seconder_verify_options options = {0};
    options.force = true;
    return seconder_verify(service, user, code, &options, sizeof options, NULL, NULL) ==
           SECONDER_OK;
}

#include "documented.inc"

int main(void)
{
    seconder_service *service = open_or_die("sandbox:?accept=right", NULL, NULL);
    seconder_user_created *user = NULL;
    EXPECT(SECONDER_OK, seconder_create_user(service, "ada@example.com", "555-010-0123", "1", NULL,
                                             0, &user, &error));
    an_outage_keeps_ada_out(service, seconder_user_created_user_id(user));
    seconder_user_created_free(user);
    seconder_service_free(service);
    return 0;
}
