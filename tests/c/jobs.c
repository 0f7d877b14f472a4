/* Messages that are sent again, by whoever calls seconder_run_jobs(). */
#define _XOPEN_SOURCE 700
#include "check.h"

#include <time.h>

/* What the deliver function does, by the last digit of the number. */
enum { BUSY = '0', LOST, UNKNOWN, FAILED, LATE, PHONES = 5 };

struct phone {
    int attempts;
    char id[32];
    char code[16];
};

static struct phone phones[PHONES];

static int32_t deliver(const seconder_message *message, void *userdata)
{
    const char *to = seconder_message_to(message);
    char kind = to[strlen(to) - 1];
    struct phone *phone = &phones[kind - BUSY];
    CHECK(userdata == NULL && strlen(seconder_message_id(message)) == 16);
    CHECK(phone->attempts == 0 || same(phone->id, seconder_message_id(message)));
    CHECK(phone->attempts == 0 || same(phone->code, seconder_message_code(message)));
    snprintf(phone->id, sizeof phone->id, "%s", seconder_message_id(message));
    snprintf(phone->code, sizeof phone->code, "%s", seconder_message_code(message));
    if (phone->attempts++ > 0) {
        seconder_message_set_provider_id(message, "SM-1");
        return SECONDER_OUTCOME_SENT;
    }
    switch (kind) {
    case BUSY:
        seconder_message_set_retry_after_ms(message, 0);
        seconder_message_set_reason(message, NULL);
        return SECONDER_OUTCOME_NOT_ATTEMPTED;
    case LOST:
        return SECONDER_OUTCOME_AMBIGUOUS;
    case UNKNOWN:
        seconder_message_set_reason(message, "the number is not in service");
        return SECONDER_OUTCOME_PERMANENT;
    case LATE:
        seconder_message_set_retry_after_ms(message, 3600000);
        seconder_message_set_reason(message, "the gateway is busy \xff");
        return SECONDER_OUTCOME_RETRY;
    default:
        return -7;
    }
}

static seconder_status request(const seconder_service *service, int kind, uint64_t *id,
                               seconder_error **why)
{
    char number[] = "202-555-0120";
    seconder_user_created *user = NULL;
    number[sizeof number - 2] = (char)kind;
    EXPECT(SECONDER_OK, seconder_create_user(service, "ada@example.com", number, "1", NULL, 0,
                                             &user, &error));
    *id = seconder_user_created_user_id(user);
    seconder_user_created_free(user);
    return seconder_request_sms(service, *id, NULL, 0, NULL, why);
}

/* A message that failed for good: the call says why. */
static void fails(const seconder_service *service, int kind, const char *reason)
{
    uint64_t id;
    CHECK(request(service, kind, &id, &error) == SECONDER_UNAVAILABLE);
    CHECK(seconder_error_stage(error) == SECONDER_STAGE_DELIVERY);
    CHECK(strstr(seconder_error_message(error), reason) != NULL);
    seconder_error_free(error);
    error = NULL;
}

static void all_are_sent(const seconder_service *service, uint32_t sent)
{
    const struct timespec pause = {0, 50000000};
    int tries;
    for (tries = 0; sent > 0; tries++) {
        seconder_jobs_run *run = NULL;
        CHECK(tries < 1200);
        EXPECT(SECONDER_OK, seconder_run_jobs(service, 5000, &run, &error));
        CHECK(seconder_jobs_run_sent(run) <= sent && !seconder_jobs_run_more(run));
        CHECK(seconder_jobs_run_waiting(run) == 0 && seconder_jobs_run_failed(run) == 0);
        sent -= seconder_jobs_run_sent(run);
        seconder_jobs_run_free(run);
        nanosleep(&pause, NULL);
    }
}

static void works(const seconder_service *service, int kind, uint64_t id)
{
    seconder_verify_options force = {0};
    force.force = true;
    CHECK(phones[kind - BUSY].attempts == 2);
    EXPECT(SECONDER_OK, seconder_verify(service, id, phones[kind - BUSY].code, &force, sizeof force,
                                        NULL, &error));
}

int main(int argc, char **argv)
{
    char url[4200];
    seconder_open_options given = {0};
    seconder_service *service, *remote;
    seconder_jobs_run *run = GARBAGE(seconder_jobs_run);
    uint64_t busy, lost;

    CHECK(argc == 2);
    snprintf(url, sizeof url, "sqlite:%s/jobs.db", argv[1]);
    given.deliver = deliver;
    service = open_or_die(url, NULL, &given);
    EXPECT(SECONDER_OK, request(service, BUSY, &busy, &error));
    EXPECT(SECONDER_OK, request(service, LOST, &lost, &error));
    EXPECT(SECONDER_OK, seconder_run_jobs(service, 0, &run, &error));
    CHECK(seconder_jobs_run_sent(run) == 0 && seconder_jobs_run_more(run));
    seconder_jobs_run_free(run);
    EXPECT(SECONDER_OK, seconder_run_jobs(service, 0, NULL, &error));
    fails(service, UNKNOWN, "the number is not in service");
    fails(service, FAILED, "the deliver function returned -7");
    fails(service, LATE, "the gateway is busy");
    all_are_sent(service, 2);
    works(service, BUSY, busy);
    works(service, LOST, lost);
    seconder_service_free(service);

    remote = open_or_die("https://127.0.0.1:1", "key", NULL);
    EXPECT_INVALID("url", seconder_run_jobs(remote, 0, &run, &error));
    CHECK(run == NULL);
    seconder_service_free(remote);
    return 0;
}
