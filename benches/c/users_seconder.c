/* Measures every call on two databases that differ in the number of users.
 *
 *     users_seconder prepare DATABASE
 *     users_seconder measure SMALL USERS LARGE USERS CODE SECRET ROUNDS TURNS
 *
 * `prepare` creates a database with one user, who has one of everything, and prints the code and
 * the device's secret. run.py makes many users of this one. `measure` prints for each call the
 * median time of the turns of each round, on the small database and on the large one, in
 * nanoseconds. The two alternate, turn by turn, so that other load affects both. */
#include "measure.h"
#include "seconder.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

/* A call that is slow on the large database gets fewer rounds. */
enum { MOST_TURNS = 64, MOST_SECONDS = 15 };

/* A database, and the user of the turn. */
struct side {
    seconder_service *service;
    const char *url;
    uint64_t users, user;
};

static const char *code, *secret;
static char sent[16];
static seconder_error *error;
/* Counts the turns of all calls, for numbers that nobody has; 0 is that of the first user. */
static unsigned fresh = 1;

static void must(seconder_status status, seconder_status wanted)
{
    if (status != wanted)
        fail(status == SECONDER_OK ? "a call succeeded" : seconder_error_message(error));
    seconder_error_free(error);
    error = NULL;
}

static int32_t deliver(const seconder_message *message, void *nothing)
{
    (void)nothing;
    snprintf(sent, sizeof sent, "%s", seconder_message_code(message));
    return 0;
}

static seconder_service *open_at(const char *url)
{
    seconder_service *service = NULL;
    seconder_open_options options = {0};
    options.deliver = deliver;
    must(seconder_open(url, "the-key-of-the-benchmark", &options, sizeof options, &service, &error),
         SECONDER_OK);
    return service;
}

/* The number of a user that run.py made, and that of an approval request. */
static void number_of(uint64_t user, char *number, size_t size)
{
    snprintf(number, size, "555%07" PRIu64, user);
}

static void uuid_of(uint64_t user, char *uuid, size_t size)
{
    snprintf(uuid, size, "%08" PRIx64 "-0000-4000-8000-%012" PRIx64, user, user);
}

static void create_user(struct side *side)
{
    seconder_user_created *user = NULL;
    char number[16];
    number_of(8000000 + fresh, number, sizeof number);
    must(seconder_create_user(side->service, "ada@example.com", number, "1", NULL, 0, &user, &error),
         SECONDER_OK);
    seconder_user_created_free(user);
}

static void request_sms(struct side *side)
{
    const seconder_request_code_options options = {.action = "pay", .force = true};
    must(seconder_request_sms(side->service, side->user, &options, sizeof options, NULL, &error),
         SECONDER_OK);
}

static void request_call(struct side *side)
{
    const seconder_request_code_options options = {.action = "pay", .force = true};
    must(seconder_request_call(side->service, side->user, &options, sizeof options, NULL, &error),
         SECONDER_OK);
}

static void verify_right(struct side *side)
{
    must(seconder_verify(side->service, side->user, code, NULL, 0, NULL, &error), SECONDER_OK);
}

static void verify_wrong(struct side *side)
{
    const char *wrong = strcmp(code, "0000000") == 0 ? "0000001" : "0000000";
    must(seconder_verify(side->service, side->user, wrong, NULL, 0, NULL, &error),
         SECONDER_TOKEN_WRONG);
}

static void delete_user(struct side *side)
{
    must(seconder_delete_user(side->service, side->user, NULL, 0, NULL, &error), SECONDER_OK);
}

static void register_activity(struct side *side)
{
    must(seconder_register_activity(side->service, side->user, "cookie_login", NULL, 0, NULL,
                                    &error),
         SECONDER_OK);
}

static void app_details(struct side *side)
{
    seconder_application *reply = NULL;
    must(seconder_app_details(side->service, NULL, 0, &reply, &error), SECONDER_OK);
    seconder_application_free(reply);
}

static void user_status(struct side *side)
{
    seconder_user_status_reply *reply = NULL;
    must(seconder_user_status(side->service, side->user, NULL, 0, &reply, &error), SECONDER_OK);
    seconder_user_status_reply_free(reply);
}

static void app_stats(struct side *side)
{
    seconder_statistics *reply = NULL;
    must(seconder_app_stats(side->service, NULL, 0, &reply, &error), SECONDER_OK);
    seconder_statistics_free(reply);
}

static void start_phone_verification(struct side *side)
{
    char number[16];
    number_of(9000000 + fresh, number, sizeof number);
    must(seconder_start_phone_verification(side->service, "sms", number, "1", NULL, 0, NULL, &error),
         SECONDER_OK);
}

static void check_phone_verification(struct side *side)
{
    char number[16];
    number_of(side->user, number, sizeof number);
    must(seconder_check_phone_verification(side->service, number, "1", code, NULL, &error),
         SECONDER_OK);
}

static void phone_verification_status(struct side *side)
{
    seconder_phone_verification_status_options which = {.country_code = "1"};
    seconder_phone_verification_record *record = NULL;
    char number[16];
    number_of(side->user, number, sizeof number);
    which.phone_number = number;
    must(seconder_phone_verification_status(side->service, &which, sizeof which, &record, &error),
         SECONDER_OK);
    seconder_phone_verification_record_free(record);
}

static void phone_info(struct side *side)
{
    seconder_phone_information *phone = NULL;
    must(seconder_phone_info(side->service, "202-555-0123", "1", NULL, 0, &phone, &error),
         SECONDER_OK);
    seconder_phone_information_free(phone);
}

static void create_approval(struct side *side)
{
    seconder_approval_created *created = NULL;
    must(seconder_create_approval(side->service, side->user, "Log in?", NULL, 0, &created, &error),
         SECONDER_OK);
    seconder_approval_created_free(created);
}

static void check_approval(struct side *side)
{
    seconder_approval *approval = NULL;
    char uuid[40];
    uuid_of(side->user, uuid, sizeof uuid);
    must(seconder_check_approval(side->service, uuid, &approval, &error), SECONDER_OK);
    seconder_approval_free(approval);
}

static void wait_for_approval(struct side *side)
{
    seconder_approval *approval = NULL;
    char uuid[40];
    uuid_of(side->user, uuid, sizeof uuid);
    must(seconder_wait_for_approval(side->service, uuid, side->user, 0, NULL, 0, &approval, &error),
         SECONDER_OK);
    seconder_approval_free(approval);
}

static void enrol_authenticator(struct side *side)
{
    seconder_authenticator_enrolled *enrolled = NULL;
    must(seconder_enrol_authenticator(side->service, side->user, NULL, 0, &enrolled, &error),
         SECONDER_OK);
    seconder_authenticator_enrolled_free(enrolled);
}

static void register_device(struct side *side)
{
    seconder_device *device = NULL;
    must(seconder_register_device(side->service, side->user, "android", &device, &error),
         SECONDER_OK);
    seconder_device_free(device);
}

static void open_approvals(struct side *side)
{
    seconder_approval_requests *requests = NULL;
    must(seconder_open_approvals(side->service, side->user, secret, &requests, &error),
         SECONDER_OK);
    seconder_approval_requests_free(requests);
}

static void respond_to_approval(struct side *side)
{
    char uuid[40];
    uuid_of(side->user, uuid, sizeof uuid);
    must(seconder_respond_to_approval(side->service, uuid, side->user, secret, "approve", NULL, NULL,
                                      &error),
         SECONDER_OK);
}

static void open_and_free(struct side *side)
{
    seconder_service_free(open_at(side->url));
}

/* Every call, with the part of the users that it concerns, in thousandths: a call that changes a
 * user has users of its own. */
static const struct call {
    const char *name;
    void (*make)(struct side *side);
    unsigned from;
} calls[] = {
    {"open", open_and_free, 0},
    {"create_user", create_user, 0},
    {"request_sms", request_sms, 0},
    {"request_call", request_call, 100},
    {"verify, right", verify_right, 200},
    {"verify, wrong", verify_wrong, 300},
    {"delete_user", delete_user, 400},
    {"register_activity", register_activity, 0},
    {"app_details", app_details, 0},
    {"user_status", user_status, 0},
    {"app_stats", app_stats, 0},
    {"start_phone_verification", start_phone_verification, 0},
    {"phone_info", phone_info, 0},
    {"create_approval", create_approval, 0},
    {"check_approval", check_approval, 500},
    {"wait_for_approval", wait_for_approval, 500},
    {"check_phone_verification", check_phone_verification, 0},
    {"phone_verification_status", phone_verification_status, 500},
    {"enrol_authenticator", enrol_authenticator, 500},
    {"register_device", register_device, 500},
    {"open_approvals", open_approvals, 500},
    {"respond_to_approval", respond_to_approval, 600},
};

static uint64_t timed(const struct call *call, struct side *side, unsigned turn)
{
    uint64_t start;
    /* Not the first user, of whom the others were made. */
    side->user = 2 + side->users * (call->from + turn) / 1000;
    start = now_ns();
    call->make(side);
    return now_ns() - start;
}

static void compare(const struct call *call, struct side *sides, unsigned rounds, unsigned turns)
{
    uint64_t times[2][MOST_TURNS];
    const uint64_t end = now_ns() + MOST_SECONDS * 1000000000ull;
    printf("\"%s\": [", call->name);
    /* The first round warms up. */
    for (unsigned round = 0; round <= rounds && (round < 2 || now_ns() < end); round++) {
        for (unsigned turn = 0; turn < turns; turn++, fresh++)
            for (int side = 0; side < 2; side++)
                times[side][turn] = timed(call, &sides[side], round * turns + turn);
        qsort(times[0], turns, sizeof **times, by_size);
        qsort(times[1], turns, sizeof **times, by_size);
        if (round > 0)
            printf("%s[%" PRIu64 ", %" PRIu64 "]", round > 1 ? ", " : "", times[0][turns / 2],
                   times[1][turns / 2]);
    }
    printf("]");
}

static void prepare(const char *url)
{
    const seconder_verify_options forced = {.force = true};
    struct side side = {.url = url, .users = 1, .user = 1};
    seconder_device *device = NULL;
    char first[sizeof sent];
    side.service = open_at(url);
    fresh = 0;
    create_user(&side);
    must(seconder_request_sms(side.service, 1, NULL, 0, NULL, &error), SECONDER_OK);
    must(seconder_verify(side.service, 1, sent, &forced, sizeof forced, NULL, &error), SECONDER_OK);
    must(seconder_request_call(side.service, 1, NULL, 0, NULL, &error), SECONDER_OK);
    snprintf(first, sizeof first, "%s", sent);
    code = first;
    verify_wrong(&side);
    enrol_authenticator(&side);
    register_activity(&side);
    create_approval(&side);
    start_phone_verification(&side);
    must(seconder_register_device(side.service, 1, "ios", &device, &error), SECONDER_OK);
    printf("{\"code\": \"%s\", \"secret\": \"%s\"}\n", code, seconder_device_secret(device));
    seconder_device_free(device);
    seconder_service_free(side.service);
}

int main(int count, char **arguments)
{
    struct side sides[2] = {{0}};
    unsigned rounds, turns;
    if (count == 3 && strcmp(arguments[1], "prepare") == 0) {
        prepare(arguments[2]);
        return 0;
    }
    if (count != 10 || strcmp(arguments[1], "measure") != 0)
        fail("usage: users_seconder prepare DATABASE, or measure SMALL USERS LARGE USERS CODE "
             "SECRET ROUNDS TURNS");
    for (int side = 0; side < 2; side++) {
        sides[side].url = arguments[2 + 2 * side];
        sides[side].users = strtoull(arguments[3 + 2 * side], NULL, 10);
        sides[side].service = open_at(sides[side].url);
    }
    code = arguments[6];
    secret = arguments[7];
    rounds = (unsigned)strtoul(arguments[8], NULL, 10);
    turns = (unsigned)strtoul(arguments[9], NULL, 10);
    if (turns == 0 || turns > MOST_TURNS || (rounds + 1) * turns > 100)
        fail("100 turns at most");
    printf("{");
    for (size_t index = 0; index < sizeof calls / sizeof *calls; index++) {
        compare(&calls[index], sides, rounds, turns);
        printf("%s", index + 1 < sizeof calls / sizeof *calls ? ",\n" : "}\n");
    }
    for (int side = 0; side < 2; side++)
        seconder_service_free(sides[side].service);
    return 0;
}
