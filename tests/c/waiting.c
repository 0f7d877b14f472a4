/* Waiting for an approval: until the user answers, the deadline passes, or the program stops the
 * wait. */
#include "check.h"

#include <time.h>

struct program {
    int calls;
    int stop_after;
    const seconder_service *service;
    const char *uuid;
    const seconder_device *device;
};

static int32_t stop(void *userdata)
{
    struct program *program = userdata;
    program->calls++;
    return program->calls >= program->stop_after;
}

/* The user answers while the program waits. */
static int32_t answer(void *userdata)
{
    struct program *program = userdata;
    if (program->calls++ == 0)
        EXPECT(SECONDER_OK,
               seconder_respond_to_approval(program->service, program->uuid,
                                            seconder_device_id(program->device),
                                            seconder_device_secret(program->device), "approve",
                                            NULL, NULL, &error));
    return 0;
}

static void waits(seconder_service *service, uint64_t id, const char *uuid,
                  const seconder_device *device)
{
    struct program program = {0, 3, NULL, NULL, NULL};
    seconder_wait_for_approval_options options = {0};
    seconder_approval *approval = GARBAGE(seconder_approval);
    time_t begun = time(NULL);

    EXPECT(SECONDER_OK,
           seconder_wait_for_approval(service, uuid, id, 0, NULL, 0, &approval, &error));
    CHECK(seconder_approval_status(approval) == SECONDER_APPROVAL_PENDING);
    CHECK(!seconder_approval_approved_by(approval, id));
    seconder_approval_free(approval);

    options.stop = stop;
    options.stop_userdata = &program;
    approval = GARBAGE(seconder_approval);
    EXPECT(SECONDER_STOPPED,
           seconder_wait_for_approval(service, uuid, id, 60000, &options, sizeof options, &approval,
                                      &error));
    CHECK(approval == NULL && program.calls == 3 && time(NULL) - begun < 30);

    EXPECT(SECONDER_OK,
           seconder_wait_for_approval(service, uuid, id, 300, NULL, 0, &approval, &error));
    CHECK(seconder_approval_status(approval) == SECONDER_APPROVAL_PENDING);
    seconder_approval_free(approval);

    options.stop = answer;
    program.calls = 0;
    program.service = service;
    program.uuid = uuid;
    program.device = device;
    EXPECT(SECONDER_OK,
           seconder_wait_for_approval(service, uuid, id, 60000, &options, sizeof options, &approval,
                                      &error));
    CHECK(seconder_approval_approved_by(approval, id));
    CHECK(!seconder_approval_approved_by(approval, id + 1));
    CHECK(seconder_approval_status(approval) == SECONDER_APPROVAL_APPROVED && program.calls > 0);
    seconder_approval_free(approval);

    /* A user's approval does not let another user in. */
    approval = GARBAGE(seconder_approval);
    EXPECT_INVALID("uuid",
                   seconder_wait_for_approval(service, uuid, id + 1, 0, NULL, 0, &approval,
                                              &error));
    EXPECT_INVALID("uuid",
                   seconder_wait_for_approval(service, "..", id, 0, NULL, 0, &approval, &error));
    EXPECT_INVALID("user_id",
                   seconder_wait_for_approval(service, uuid, 0, 0, NULL, 0, &approval, &error));
    EXPECT(SECONDER_REJECTED,
           seconder_wait_for_approval(service, "none", id, 60000, NULL, 0, &approval, &error));
    CHECK(approval == NULL);
}

int main(void)
{
    seconder_service *service = open_or_die("sandbox:", NULL, NULL);
    seconder_user_created *user = NULL;
    seconder_device *device = NULL;
    seconder_approval_created *created = NULL;
    uint64_t id;
    EXPECT(SECONDER_OK,
           seconder_create_user(service, "ada@example.com", "555-010-0123", "1", NULL, 0, &user,
                                &error));
    id = seconder_user_created_user_id(user);
    EXPECT(SECONDER_OK, seconder_register_device(service, id, "ios", &device, &error));
    EXPECT(SECONDER_OK,
           seconder_create_approval(service, id, "Log in?", NULL, 0, &created, &error));
    waits(service, id, seconder_approval_created_uuid(created), device);
    seconder_approval_created_free(created);
    seconder_device_free(device);
    seconder_user_created_free(user);
    seconder_service_free(service);
    return 0;
}
