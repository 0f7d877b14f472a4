/* Makes every call on threads of a given stack size: stack URL KIB [CA_FILE].
 *
 * Each call runs on a thread of its own, whose stack is filled with a pattern first. A thread that
 * needs more than it has hits a page that cannot be accessed. The program prints how deep the
 * deepest call went, in KiB, with what the C library keeps at the top of the stack; and the most
 * descriptors that were open between the calls, beyond those at the start. */
#define _GNU_SOURCE
#include "check.h"

#include <dirent.h>
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PATTERN 0xA5

static const char *url;
static seconder_open_options options;
static seconder_service *service;
static uint64_t user = 1;
static char code[16] = "0000000", uuid[65] = "a-1";
static size_t size, deepest;
static int before, most;
static bool local;

static int32_t deliver(const seconder_message *message, void *userdata)
{
    (void)userdata;
    if (*seconder_message_code(message) != '\0')
        snprintf(code, sizeof code, "%s", seconder_message_code(message));
    return 0;
}

/* The status does not matter: a call that fails needs stack too. */
#define MADE(call) \
    do { \
        seconder_status got = (call); \
        CHECK(got >= SECONDER_OK && got != SECONDER_INTERNAL); \
        if (got != SECONDER_OK) \
            fprintf(stderr, "%s ", seconder_error_message(error)); \
        seconder_error_free(error); \
        error = NULL; \
    } while (0)

static void *open_it(void *nothing)
{
    MADE(seconder_open(url, "key", &options, sizeof options, &service, &error));
    CHECK(service != NULL);
    return nothing;
}

static void *enrol(void *nothing)
{
    seconder_user_created *created = NULL;
    MADE(seconder_create_user(service, "ada@example.com", "555-010-0123", "1", NULL, 0, &created,
                              &error));
    user = created == NULL ? user : seconder_user_created_user_id(created);
    seconder_user_created_free(created);
    return nothing;
}

static void *request(void *nothing)
{
    seconder_code_requested *sent = NULL;
    MADE(seconder_request_sms(service, user, NULL, 0, &sent, &error));
    seconder_code_requested_free(sent);
    sent = NULL;
    MADE(seconder_request_call(service, user, NULL, 0, &sent, &error));
    seconder_code_requested_free(sent);
    return nothing;
}

static void *verify(void *nothing)
{
    const seconder_verify_options forced = {true, NULL, NULL};
    seconder_verification *verification = NULL;
    int times;
    for (times = 0; times < 2; times++) {
        MADE(seconder_verify(service, user, code, &forced, sizeof forced, &verification, &error));
        seconder_verification_free(verification);
        verification = NULL;
    }
    MADE(seconder_verify(service, user, "0000001", &forced, sizeof forced, NULL, &error));
    return nothing;
}

static void *authenticator(void *nothing)
{
    seconder_offline_prepared *prepared = NULL;
    seconder_offline_login login = {1, 1};
    seconder_authenticator_enrolled *enrolled = NULL;
    seconder_totp *totp = NULL;
    seconder_text *text = NULL;
    MADE(seconder_enrol_authenticator(service, user, NULL, 0, &enrolled, &error));
    MADE(seconder_totp_from_uri(seconder_authenticator_enrolled_uri(enrolled), &totp, &error));
    MADE(seconder_totp_code(totp, (uint64_t)time(NULL), &text, &error));
    MADE(seconder_verify(service, user, seconder_text_value(text), NULL, 0, NULL, &error));
    MADE(seconder_prepare_offline(service, user, seconder_text_value(text), NULL, 0, &prepared,
                                  &error));
    seconder_offline_prepared_free(prepared);
    MADE(seconder_report_offline(service, user, 1, &login, 1, NULL, 0, NULL, &error));
    seconder_text_free(text);
    seconder_totp_free(totp);
    seconder_authenticator_enrolled_free(enrolled);
    return nothing;
}

static void *browser(void *nothing)
{
    seconder_remembered *remembered = NULL;
    seconder_browser_check *check = NULL;
    MADE(seconder_remember(service, user, NULL, 0, &remembered, &error));
    if (remembered != NULL)
        MADE(seconder_recognise(service, user, seconder_remembered_token(remembered), &check,
                                &error));
    seconder_browser_check_free(check);
    seconder_remembered_free(remembered);
    MADE(seconder_forget(service, user, "made-up", NULL, &error));
    MADE(seconder_forget(service, user, NULL, NULL, &error));
    return nothing;
}

static void *approve(void *nothing)
{
    seconder_create_approval_options with = {0};
    seconder_approval_created *created = NULL;
    seconder_approval *approval = NULL;
    seconder_device *device = NULL;
    seconder_approval_requests *requests = NULL;
    with.details = "{\"a\":{\"b\":[1,true,null]}}";
    MADE(seconder_create_approval(service, user, "Log in?", &with, sizeof with, &created, &error));
    if (created != NULL)
        snprintf(uuid, sizeof uuid, "%s", seconder_approval_created_uuid(created));
    seconder_approval_created_free(created);
    MADE(seconder_check_approval(service, uuid, &approval, &error));
    seconder_approval_free(approval);
    approval = NULL;
    MADE(seconder_wait_for_approval(service, uuid, user, 0, NULL, 0, &approval, &error));
    seconder_approval_free(approval);
    if (!local)
        return nothing;
    MADE(seconder_register_device(service, user, "ios", &device, &error));
    MADE(seconder_open_approvals(service, seconder_device_id(device),
                                 seconder_device_secret(device), &requests, &error));
    seconder_approval_requests_free(requests);
    MADE(seconder_respond_to_approval(service, uuid, seconder_device_id(device),
                                      seconder_device_secret(device), "approve", NULL, NULL, &error));
    seconder_device_free(device);
    return nothing;
}

static void *phones(void *nothing)
{
    seconder_phone_verification_started *started = NULL;
    seconder_phone_verification_record *record = NULL;
    seconder_phone_verification_status_options which = {0};
    seconder_phone_information *phone = NULL;
    MADE(seconder_start_phone_verification(service, "sms", "202-555-0123", "1", NULL, 0, &started,
                                           &error));
    seconder_phone_verification_started_free(started);
    which.phone_number = "202-555-0123";
    which.country_code = "1";
    MADE(seconder_phone_verification_status(service, &which, sizeof which, &record, &error));
    seconder_phone_verification_record_free(record);
    MADE(seconder_check_phone_verification(service, "202-555-0123", "1", code, NULL, &error));
    MADE(seconder_set_number(service, 1, "202-555-0123", "1", code, NULL, 0, NULL, &error));
    MADE(seconder_phone_info(service, "202-555-0123", "1", NULL, 0, &phone, &error));
    seconder_phone_information_free(phone);
    return nothing;
}

static void *application(void *nothing)
{
    seconder_application *details = NULL;
    seconder_statistics *statistics = NULL;
    seconder_audit_page *page = NULL;
    seconder_jobs_run *run = NULL;
    MADE(seconder_app_details(service, NULL, 0, &details, &error));
    seconder_application_free(details);
    MADE(seconder_app_stats(service, NULL, 0, &statistics, &error));
    seconder_statistics_free(statistics);
    if (local)
        MADE(seconder_audit(service, NULL, 0, &page, &error));
    seconder_audit_page_free(page);
    if (local)
        MADE(seconder_run_jobs(service, 1000, &run, &error));
    seconder_jobs_run_free(run);
    return nothing;
}

/* Chooses an approval on the phone, then an SMS, and then types a code. */
static int32_t converse(const seconder_prompt *prompt, void *userdata)
{
    static const char *const choices[] = {"push", "sms"};
    int *questions = userdata;
    if (seconder_prompt_kind(prompt) == SECONDER_PROMPT_ECHO_OFF) {
        seconder_prompt_set_answer(prompt, *questions < 2 ? choices[*questions] : code);
        ++*questions;
    }
    return SECONDER_CONVERSE_DONE;
}

static void *log_in(void *nothing)
{
    const char *const settings[] = {"users=directory"};
    seconder_login_options login = {0};
    int questions = 0;
    login.settings = settings;
    login.settings_count = 1;
    MADE(seconder_set_login(service, user, "ada", NULL, &error));
    MADE(seconder_login(service, "ada", converse, &questions, &login, sizeof login, &error));
    CHECK(questions > 0);
    return nothing;
}

static void *status_and_delete(void *nothing)
{
    seconder_user_status_reply *reply = NULL;
    MADE(seconder_user_status(service, user, NULL, 0, &reply, &error));
    seconder_user_status_reply_free(reply);
    MADE(seconder_register_activity(service, user, "banned", NULL, 0, NULL, &error));
    MADE(seconder_delete_user(service, user, NULL, 0, NULL, &error));
    return nothing;
}

static void *callbacks(void *nothing)
{
    static const char body[] = "{\"uuid\":\"a-1\",\"status\":\"approved\",\"svc_id\":7}";
    seconder_callback received = {0};
    seconder_text *signature = NULL;
    seconder_event *event = NULL;
    MADE(seconder_callback_sign("key", "1.2", "https://example.com/", body, sizeof body - 1,
                                &signature, &error));
    received.url = "https://example.com/";
    received.method = "POST";
    received.body = body;
    received.body_size = sizeof body - 1;
    received.signature = seconder_text_value(signature);
    received.nonce = "1.2";
    MADE(seconder_callback_verify("key", &received, sizeof received, &event, &error));
    CHECK(seconder_event_approved_by(event, 7));
    seconder_event_free(event);
    seconder_text_free(signature);
    return nothing;
}

static void *close_it(void *nothing)
{
    seconder_service_free(service);
    return nothing;
}

static int descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int count = 0;
    CHECK(folder != NULL);
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

/* Runs a function on a new thread, below whose stack is a page that cannot be accessed. */
static void on_a_small_stack(const char *name, void *(*function)(void *))
{
    const size_t guard = 1 << 16;
    pthread_attr_t attributes;
    pthread_t thread;
    size_t untouched = 0;
    unsigned char *memory = (unsigned char *)mmap(NULL, guard + size, PROT_READ | PROT_WRITE,
                                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char *stack = memory + guard;
    CHECK(memory != MAP_FAILED && mprotect(memory, guard, PROT_NONE) == 0);
    memset(stack, PATTERN, size);
    fprintf(stderr, "%s: ", name);
    CHECK(pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setstack(&attributes, stack, size) == 0);
    CHECK(pthread_create(&thread, &attributes, function, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    while (untouched < size && stack[untouched] == PATTERN)
        untouched++;
    fprintf(stderr, "%zu KiB\n", (size - untouched + 1023) / 1024);
    if (size - untouched > deepest)
        deepest = size - untouched;
    if (descriptors() - before > most)
        most = descriptors() - before;
    CHECK(pthread_attr_destroy(&attributes) == 0 && munmap(memory, guard + size) == 0);
}

int main(int count, char **arguments)
{
    CHECK(count == 3 || count == 4);
    url = arguments[1];
    size = (size_t)atoi(arguments[2]) * 1024;
    local = strncmp(url, "http", 4) != 0;
    options.ca_file = count == 4 ? arguments[3] : NULL;
    options.deliver = local ? deliver : NULL;
    before = descriptors();
    on_a_small_stack("open", open_it);
    on_a_small_stack("verify", verify);
    on_a_small_stack("create_user", enrol);
    on_a_small_stack("request", request);
    on_a_small_stack("verify again", verify);
    on_a_small_stack("authenticator", authenticator);
    on_a_small_stack("browser", browser);
    on_a_small_stack("approve", approve);
    on_a_small_stack("phones", phones);
    on_a_small_stack("application", application);
    on_a_small_stack("login", log_in);
    on_a_small_stack("delete", status_and_delete);
    on_a_small_stack("callbacks", callbacks);
    on_a_small_stack("free", close_it);
    CHECK(descriptors() == before);
    printf("%zu %d\n", (deepest + 1023) / 1024, most);
    return 0;
}
