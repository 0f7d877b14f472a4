/* Many threads use one service, where one code lets in only one of them; many read one callback. */
#define _XOPEN_SOURCE 700
#include "check.h"

#include <pthread.h>

#define THREADS 8

struct login {
    pthread_t thread;
    seconder_service *service;
    uint64_t user_id;
    const char *code;
    seconder_status status;
    bool has_error;
};

static int32_t deliver(const seconder_message *message, void *userdata)
{
    strcpy((char *)userdata, seconder_message_code(message));
    return 0;
}

static void *log_in(void *argument)
{
    struct login *login = argument;
    seconder_error *why = NULL;
    seconder_verify_options options = {0};
    options.force = true;
    login->status = seconder_verify(login->service, login->user_id, login->code, &options,
                                    sizeof options, NULL, &why);
    login->has_error = why != NULL;
    seconder_error_free(why);
    return NULL;
}

struct reader {
    pthread_t thread;
    pthread_barrier_t *gate;
    const seconder_event *event;
    const seconder_device_info *device;
    const char *parameters;
};

static void *read_event(void *argument)
{
    struct reader *reader = argument;
    pthread_barrier_wait(reader->gate);
    reader->device = seconder_event_device(reader->event);
    reader->parameters = seconder_event_parameters(reader->event);
    return NULL;
}

/* Fields that are built on first use are built only once. */
static void read_an_event_at_once(void)
{
    static const char body[] = "{\"uuid\":\"a-1\",\"status\":\"approved\",\"device\":{\"id\":3}}";
    static const char key[] = "key", url[] = "https://app.example/callback";
    struct reader readers[THREADS];
    pthread_barrier_t gate;
    seconder_callback received = {0};
    seconder_text *signature = NULL;
    seconder_event *event = NULL;
    int index;
    EXPECT(SECONDER_OK,
           seconder_callback_sign(key, "1", url, body, sizeof body - 1, &signature, &error));
    received.url = url;
    received.method = "POST";
    received.body = body;
    received.body_size = sizeof body - 1;
    received.nonce = "1";
    received.signature = seconder_text_value(signature);
    EXPECT(SECONDER_OK, seconder_callback_verify(key, &received, sizeof received, &event, &error));

    CHECK(pthread_barrier_init(&gate, NULL, THREADS) == 0);
    for (index = 0; index < THREADS; index++) {
        readers[index].gate = &gate;
        readers[index].event = event;
        CHECK(pthread_create(&readers[index].thread, NULL, read_event, &readers[index]) == 0);
    }
    for (index = 0; index < THREADS; index++) {
        CHECK(pthread_join(readers[index].thread, NULL) == 0);
        CHECK(readers[index].device == readers[0].device && readers[index].device->id == 3);
        CHECK(readers[index].parameters == readers[0].parameters);
    }
    CHECK(strcmp(readers[0].parameters, body) == 0);
    pthread_barrier_destroy(&gate);
    seconder_event_free(event);
    seconder_text_free(signature);
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
    EXPECT(SECONDER_OK,
           seconder_create_user(service, "ada@example.com", "555-010-0123", "1", NULL, 0, &user,
                                &error));
    EXPECT(SECONDER_OK,
           seconder_request_sms(service, seconder_user_created_user_id(user), NULL, 0, NULL,
                                &error));

    for (index = 0; index < THREADS; index++) {
        logins[index].service = service;
        logins[index].user_id = seconder_user_created_user_id(user);
        logins[index].code = code;
        CHECK(pthread_create(&logins[index].thread, NULL, log_in, &logins[index]) == 0);
    }
    for (index = 0; index < THREADS; index++) {
        CHECK(pthread_join(logins[index].thread, NULL) == 0);
        CHECK(logins[index].has_error == (logins[index].status != SECONDER_OK));
        CHECK(logins[index].status == SECONDER_OK || logins[index].status == SECONDER_TOKEN_REUSED);
        let_in += logins[index].status == SECONDER_OK;
    }
    CHECK(let_in == 1);
    read_an_event_at_once();
    seconder_user_created_free(user);
    seconder_service_free(service);
    return 0;
}
