/* Many threads use one service, and one code lets one of them in. */
#define _XOPEN_SOURCE 700
#include "check.h"

#include <pthread.h>

#define THREADS 8

struct login {
    pthread_t thread;
    seconder_service *service;
    uint64_t svc_id;
    const char *code;
    seconder_status status;
    bool has_error;
};

static int32_t deliver(const seconder_message *message, void *userdata)
{
    strcpy((char *)userdata, seconder_message_code(message));
    return 0;
}

static void *try_to_log_in(void *argument)
{
    struct login *login = argument;
    seconder_error *why = NULL;
    seconder_verify_options options = {0};
    options.force = true;
    login->status = seconder_verify(login->service, login->code, login->svc_id, &options,
                                    sizeof options, NULL, &why);
    login->has_error = why != NULL;
    seconder_error_free(why);
    return NULL;
}

int main(int count, char **arguments)
{
    struct login logins[THREADS];
    char url[4096], code[16];
    int index, let_in = 0;
    seconder_open_options options = {0};
    seconder_user_created *user = NULL;
    seconder_service *service;
    CHECK(count == 2);
    snprintf(url, sizeof url, "sqlite:%s/threads.db", arguments[1]);
    options.deliver = deliver;
    options.deliver_userdata = code;
    service = open_or_die(url, NULL, &options);
    EXPECT(SECONDER_OK, seconder_create_user(service, "ada@example.com", "555-010-0123", "1", NULL, 0,
                                             &user, &error));
    EXPECT(SECONDER_OK,
           seconder_request_sms(service, seconder_user_created_id(user), NULL, 0, NULL, &error));

    for (index = 0; index < THREADS; index++) {
        logins[index].service = service;
        logins[index].svc_id = seconder_user_created_id(user);
        logins[index].code = code;
        CHECK(pthread_create(&logins[index].thread, NULL, try_to_log_in, &logins[index]) == 0);
    }
    for (index = 0; index < THREADS; index++) {
        CHECK(pthread_join(logins[index].thread, NULL) == 0);
        CHECK(logins[index].has_error == (logins[index].status != SECONDER_OK));
        CHECK(logins[index].status == SECONDER_OK || logins[index].status == SECONDER_TOKEN_REUSED);
        let_in += logins[index].status == SECONDER_OK;
    }
    CHECK(let_in == 1);
    seconder_user_created_free(user);
    seconder_service_free(service);
    return 0;
}
