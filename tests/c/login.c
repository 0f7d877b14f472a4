/* Whole logins: a scripted user, whom seconder_login() reaches by a function of this program. */
#include "check.h"

#include <sys/stat.h>
#include <unistd.h>

#define QUESTIONS 8

/* A user with a script. At its end, the connection is closed. */
struct user {
    const char *types[QUESTIONS]; /* the answers to the questions; SENT is the code that was sent */
    int32_t waits[QUESTIONS];     /* what is returned for waits; 0 is SECONDER_CONVERSE_NOT_YET */
    void (*meanwhile)(void);      /* what happens before each answer and in each wait */
    int questions, waited, calls, delays;
    char asked[QUESTIONS][120];
    char shown[400], password[40];
};

static const char SENT[] = "the code that was sent";

static char folder[200], sent[16], lines[2000];
static int messages, notices, errors;
static seconder_service *service;
static seconder_device *phone;
static uint64_t ada;
static seconder_recovery_codes *codes;
static char code[16];
static seconder_error *why; /* of the last login */
static char number[3];      /* that a login has shown for an approval, if it showed one */

static int32_t deliver(const seconder_message *message, void *userdata)
{
    CHECK(userdata == &messages);
    snprintf(sent, sizeof sent, "%s", seconder_message_code(message));
    messages++;
    return SECONDER_OUTCOME_SENT;
}

static void journal(int32_t kind, const char *line, void *userdata)
{
    CHECK(userdata == &notices && strchr(line, '\n') == NULL);
    CHECK(kind == SECONDER_JOURNAL_NOTICE || kind == SECONDER_JOURNAL_ERROR);
    *(kind == SECONDER_JOURNAL_NOTICE ? &notices : &errors) += 1;
    CHECK(strlen(lines) + strlen(line) + 2 < sizeof lines);
    strcat(strcat(lines, line), "\n");
}

static int32_t answers(const seconder_prompt *prompt, struct user *user)
{
    const char *typed = user->questions < QUESTIONS ? user->types[user->questions] : NULL;
    if (!seconder_prompt_repeated(prompt))
        snprintf(user->asked[user->questions], sizeof *user->asked, "%s",
                 seconder_prompt_text(prompt));
    if (user->delays > 0) {
        user->delays--;
        return SECONDER_CONVERSE_NOT_YET;
    }
    CHECK(seconder_prompt_wait_ms(prompt) == 0);
    user->questions++;
    if (typed == NULL)
        return SECONDER_CONVERSE_NO_ANSWER;
    seconder_prompt_set_answer(prompt, "an answer that is replaced");
    seconder_prompt_set_answer(prompt, typed == SENT ? sent : typed);
    return SECONDER_CONVERSE_DONE;
}

static int32_t converse(const seconder_prompt *prompt, void *userdata)
{
    struct user *user = userdata;
    user->calls++;
    if (user->meanwhile != NULL)
        user->meanwhile();
    switch (seconder_prompt_kind(prompt)) {
    case SECONDER_PROMPT_ECHO_OFF:
        return answers(prompt, user);
    case SECONDER_PROMPT_INFO:
    case SECONDER_PROMPT_ERROR:
        sscanf(seconder_prompt_text(prompt), "To approve the request, type %2[0-9] ", number);
        strcat(strcat(user->shown, seconder_prompt_text(prompt)), "|");
        return SECONDER_CONVERSE_DONE;
    case SECONDER_PROMPT_WAIT:
        CHECK(*seconder_prompt_text(prompt) == '\0' && seconder_prompt_wait_ms(prompt) > 0);
        CHECK(seconder_prompt_wait_ms(prompt) <= 100);
        return user->waited < QUESTIONS && user->waits[user->waited++] != 0
                   ? user->waits[user->waited - 1]
                   : SECONDER_CONVERSE_NOT_YET;
    case SECONDER_PROMPT_PASSWORD:
        snprintf(user->password, sizeof user->password, "%s", seconder_prompt_text(prompt));
        return SECONDER_CONVERSE_DONE;
    default:
        return SECONDER_CONVERSE_NO_ANSWER;
    }
}

#define SETTINGS 6

/* Logs a user in with the service of this program, and checks what holds for every login. */
static seconder_status log_in(const seconder_service *with, const char *login, struct user *user,
                              seconder_login_options options, const char *const *settings)
{
    seconder_status status;
    size_t index;
    options.settings = settings;
    while (options.settings_count < SETTINGS && settings[options.settings_count] != NULL)
        options.settings_count++;
    options.journal = journal;
    options.journal_userdata = &notices;
    notices = errors = 0;
    *lines = '\0';
    seconder_error_free(why);
    why = GARBAGE(seconder_error);
    status = seconder_login(with, login, user == NULL ? NULL : converse, user, &options,
                            sizeof options, &why);
    CHECK((why == NULL) == (status == SECONDER_OK));
    CHECK(why == NULL || seconder_error_status(why) == status);
    CHECK(notices == 1);
    for (index = 0; user != NULL && index < QUESTIONS; index++)
        if (user->types[index] != NULL && strlen(user->types[index]) > 5)
            CHECK(strstr(lines, user->types[index]) == NULL);
    CHECK(*sent == '\0' || strstr(seconder_error_message(why), sent) == NULL);
    return status;
}

/* The same for ada, from 192.0.2.7, and two settings. */
static seconder_status ada_logs_in(struct user *user, const char *one, const char *other)
{
    const char *settings[SETTINGS] = {"users=directory", NULL};
    seconder_login_options options = {0};
    settings[1] = one;
    settings[2] = other;
    options.program = "ftpd";
    options.remote = "192.0.2.7";
    return log_in(service, "ada", user, options, settings);
}

/* The next recovery code of ada, which is right once. */
static const char *right(void)
{
    static size_t next;
    CHECK(next < seconder_recovery_codes_code_count(codes));
    snprintf(code, sizeof code, "%s", seconder_recovery_codes_code(codes, next++));
    return code;
}

static void codes_decide(void)
{
    struct user types_right = {.types = {right()}};
    struct user types_wrong = {.types = {"000000", "what?", "\xff", "1"}};
    struct user has_sms = {.types = {"sms", SENT}, .delays = 2};
    CHECK(ada_logs_in(&types_right, NULL, NULL) == SECONDER_OK);
    CHECK(same(lines, "login of ada by ftpd from 192.0.2.7: accepted (by a code)\n"));
    CHECK(same(types_right.asked[0], "Code, or 1 for a request on your phone, 2 for an SMS, "
                                     "3 for a call: "));
    CHECK(types_right.questions == 1 && *types_right.shown == '\0' && errors == 0);

    CHECK(ada_logs_in(&types_wrong, NULL, NULL) == SECONDER_LOGIN_DENIED);
    CHECK(types_wrong.questions == 3);
    CHECK(same(types_wrong.shown, "The code is wrong.|A code has 6 to 12 digits.|"
                                  "A code has 6 to 12 digits.|"));
    CHECK(same(seconder_error_message(why),
               "login of ada by ftpd from 192.0.2.7: denied (3 failed tries)"));

    CHECK(messages == 0);
    CHECK(ada_logs_in(&has_sms, "tries=1", NULL) == SECONDER_OK);
    CHECK(messages == 1 && has_sms.questions == 2 && strstr(has_sms.shown, "goes by SMS"));
}

static void nobody_answers(void)
{
    struct user hangs_up = {0};
    struct user hangs_up_later = {.types = {"000000"}};
    seconder_login_options options = {0};
    const char *settings[SETTINGS] = {"users=directory", "method=code", NULL};
    CHECK(ada_logs_in(&hangs_up, NULL, NULL) == SECONDER_LOGIN_NO_ANSWER);
    CHECK(hangs_up.calls == 1);
    CHECK(ada_logs_in(&hangs_up_later, NULL, NULL) == SECONDER_LOGIN_DENIED);
    CHECK(log_in(service, "ada", NULL, options, settings) == SECONDER_LOGIN_NO_ANSWER);
    settings[1] = "first_pass=use";
    options.typed = right();
    CHECK(log_in(service, "ada", NULL, options, settings) == SECONDER_OK);
    CHECK(log_in(service, "ada", NULL, options, settings) == SECONDER_LOGIN_DENIED);
}

/* Whatever a function returns that it should not is no answer. */
static int32_t nonsense(const seconder_prompt *prompt, void *number)
{
    if (seconder_prompt_kind(prompt) == SECONDER_PROMPT_ECHO_OFF && *(int32_t *)number == 7)
        seconder_prompt_set_answer(prompt, code);
    if (*(int32_t *)number == SECONDER_CONVERSE_DONE)
        seconder_prompt_set_answer(prompt, NULL);
    return *(int32_t *)number;
}

static void nonsense_is_no_answer(void)
{
    const char *const settings[] = {"users=directory", "method=code"};
    seconder_login_options options = {0};
    int32_t numbers[] = {SECONDER_CONVERSE_DONE, -1, 7};
    size_t index;
    options.settings = settings;
    options.settings_count = 2;
    right();
    for (index = 0; index < 3; index++)
        EXPECT(SECONDER_LOGIN_NO_ANSWER,
               seconder_login(service, "ada", nonsense, &numbers[index], &options, sizeof options,
                              &error));
}

static const char *response;

/* What ada does on the phone. */
static void responds(void)
{
    seconder_approval_requests *requests = NULL;
    EXPECT(SECONDER_OK,
           seconder_open_approvals(service, seconder_device_id(phone),
                                   seconder_device_secret(phone), &requests, &error));
    /* A request with a number is approved once the login has shown it. */
    if (seconder_approval_requests_request_count(requests) > 0) {
        const seconder_approval_request *request = seconder_approval_requests_request(requests, 0);
        bool denies = same(response, "deny");
        if (denies || request->number_digits == 0 || *number != '\0')
            EXPECT(SECONDER_OK,
                   seconder_respond_to_approval(
                       service, request->uuid, seconder_device_id(phone),
                       seconder_device_secret(phone), response,
                       denies || request->number_digits == 0 ? NULL : number, NULL, &error));
    }
    seconder_approval_requests_free(requests);
}

static void the_phone_decides(void)
{
    struct user approves = {.types = {"push"}, .meanwhile = responds};
    struct user denies = {.types = {"1"}, .meanwhile = responds};
    struct user gives_up = {.types = {"push", right()}, .waits = {0, SECONDER_CONVERSE_DONE}};
    struct user leaves = {.types = {"push"}, .waits = {0, -1}};
    struct user reads_later = {.types = {"push", ""}, .meanwhile = responds};
    struct user types_number = {.types = {"push"}, .meanwhile = responds};
    const char *settings[SETTINGS] = {"users=directory", "number_digits=0", NULL};
    seconder_login_options options = {0};
    response = "approve";
    CHECK(ada_logs_in(&types_number, NULL, NULL) == SECONDER_OK);
    CHECK(strlen(number) == 2 && strstr(types_number.shown, number) != NULL);
    *number = '\0';
    CHECK(ada_logs_in(&approves, settings[1], NULL) == SECONDER_OK);
    CHECK(strstr(lines, "accepted (by an approval)") != NULL);
    CHECK(same(approves.shown,
               "Approve the request on your phone, or press Enter to give it up.|"));
    options.holds_text_back = true;
    CHECK(log_in(service, "ada", &reads_later, options, settings) == SECONDER_OK);
    CHECK(strstr(reads_later.asked[1], "then press Enter, or type a code: ") != NULL);
    response = "deny";
    CHECK(ada_logs_in(&denies, NULL, NULL) == SECONDER_LOGIN_DENIED);
    CHECK(strstr(seconder_error_message(why), "(the user denied the request)") != NULL);

    CHECK(ada_logs_in(&gives_up, NULL, NULL) == SECONDER_OK);
    CHECK(gives_up.questions == 2 && strstr(gives_up.shown, "The request was given up.|"));
    CHECK(ada_logs_in(&leaves, NULL, NULL) == SECONDER_LOGIN_DENIED);
    CHECK(leaves.questions == 1);
}

static void passwords_are_passed_on(void)
{
    struct user user = {0};
    const char *settings[SETTINGS] = {"users=directory", "first_pass=with_code", "code_length=12",
                                      NULL};
    seconder_login_options options = {0};
    char field[40];
    int32_t refuses = SECONDER_CONVERSE_NO_ANSWER;
    snprintf(field, sizeof field, "correct horse%s", right());
    options.typed = field;
    CHECK(log_in(service, "ada", &user, options, settings) == SECONDER_OK);
    CHECK(same(user.password, "correct horse") && user.questions == 0);
    *user.password = '\0';
    CHECK(log_in(service, "ada", &user, options, settings) == SECONDER_LOGIN_DENIED);
    CHECK(*user.password == '\0');
    /* A password that the program does not take lets nobody in. */
    snprintf(field, sizeof field, "correct horse%s", right());
    options.settings = settings;
    options.settings_count = 3;
    EXPECT(SECONDER_INTERNAL, seconder_login(service, "ada", nonsense, &refuses, &options,
                                             sizeof options, &error));
}

static seconder_service *to_cancel;

static void cancels(void)
{
    static int calls;
    if (++calls % 3 == 0)
        seconder_service_cancel(to_cancel);
}

static void a_cancelled_handle_ends_a_login(void)
{
    const char *settings[SETTINGS] = {"users=directory", NULL};
    seconder_login_options options = {0};
    int round;
    for (round = 0; round < 2; round++) {
        /* It ends in a question that is not answered, and in the wait for an approval. */
        struct user user = {.types = {"push"}, .meanwhile = cancels};
        EXPECT(SECONDER_OK, seconder_service_with(service, 0, 0, &to_cancel, &error));
        user.delays = round == 0 ? 1000000 : 0;
        CHECK(log_in(to_cancel, "ada", &user, options, settings) == SECONDER_CANCELLED);
        CHECK(user.questions == round && !seconder_error_retry_safe(why));
        CHECK(log_in(to_cancel, "ada", &user, options, settings) == SECONDER_CANCELLED);
        seconder_service_free(to_cancel);
    }
}

static void users_differ(void)
{
    struct user silent = {0};
    struct user guesses = {.types = {"000000", "000000", "000000", "000000", "000000", "000000"}};
    const char *settings[SETTINGS] = {"users=directory", "except=root", NULL};
    seconder_login_options options = {0};
    CHECK(log_in(service, "eve", &silent, options, settings) == SECONDER_LOGIN_UNENROLLED);
    CHECK(log_in(service, "root", &silent, options, settings) == SECONDER_LOGIN_EXCEPTED);
    CHECK(log_in(service, "../x y", &silent, options, settings) == SECONDER_LOGIN_DENIED);
    CHECK(strstr(lines, "../x y") == NULL);
    settings[1] = "unenrolled=ignore";
    CHECK(log_in(service, "eve", &silent, options, settings) == SECONDER_LOGIN_IGNORED);
    CHECK(silent.calls == 0);
    settings[1] = "tries=6";
    CHECK(log_in(service, "bob", &guesses, options, settings) == SECONDER_LOGIN_LOCKED);
}

static void the_program_may_know_the_user(void)
{
    struct user user = {.types = {right()}};
    const char *settings[SETTINGS] = {"method=code", NULL};
    seconder_login_options options = {0};
    options.user_id = ada;
    CHECK(log_in(service, "someone", &user, options, settings) == SECONDER_OK);
    options.user_id = UINT64_MAX;
    EXPECT_INVALID("user_id", seconder_login(service, "ada", NULL, NULL, &options, sizeof options,
                                             &error));
    /* A library that daemons load starts no programs. */
    settings[1] = "users=command:/usr/bin/env";
    options.user_id = 0;
    CHECK(log_in(service, "ada", &user, options, settings) == SECONDER_LOGIN_MISCONFIGURED);
    CHECK(strstr(lines, "starts no programs") != NULL);
}

static void nothing_is_sent_before_an_answer(void)
{
    struct user user = {.types = {"000000"}};
    const char *settings[SETTINGS] = {"users=directory", "method=call", NULL};
    seconder_login_options options = {0};
    int before = messages;
    options.answered = true;
    CHECK(log_in(service, "ada", &user, options, settings) == SECONDER_LOGIN_DENIED);
    CHECK(messages == before && user.questions == 2);
}

static void write_file(const char *name, const char *text, char *path, size_t size)
{
    FILE *file;
    snprintf(path, size, "%s/%s", folder, name);
    file = fopen(path, "w");
    CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
    CHECK(chmod(path, 0600) == 0);
}

static void the_configuration_is_the_operators(void)
{
    struct user user = {.types = {"123456"}};
    const char *settings[SETTINGS] = {"trise=3", NULL};
    seconder_login_options options = {0};
    char file[300], key[300], text[1000];
    CHECK(log_in(service, "ada", &user, options, settings) == SECONDER_LOGIN_MISCONFIGURED);
    CHECK(errors == 1 && strstr(lines, "arguments: there is no key trise: is it tries?\n"));
    CHECK(strstr(seconder_error_message(why), "misconfigured (1 error in the configuration); "
                                                "arguments: there is no key trise"));
    settings[0] = "url=https://127.0.0.1:1";
    CHECK(log_in(service, "ada", &user, options, settings) == SECONDER_LOGIN_MISCONFIGURED);
    settings[0] = "offline=yes";
    CHECK(log_in(service, "ada", &user, options, settings) == SECONDER_LOGIN_MISCONFIGURED);
    settings[0] = "users=directory";
    options.config_file = "pam.conf";
    CHECK(log_in(service, "ada", &user, options, settings) == SECONDER_LOGIN_MISCONFIGURED);

    /* A service that the configuration names, and that does not run. */
    write_file("key", "secret\n", key, sizeof key);
    write_file("users", "ada = 1\n", file, sizeof file);
    snprintf(text, sizeof text, "url = https://127.0.0.1:1\napi_key_file = %s\nusers = file:%s\n",
             key, file);
    write_file("pam.conf", text, file, sizeof file);
    options.config_file = file;
    settings[0] = "method=code";
    CHECK(log_in(NULL, "ada", &user, options, settings) == SECONDER_UNAVAILABLE);
    CHECK(user.questions == 1 && errors == 1 && strstr(lines, "secret") == NULL);
    settings[0] = "on_trouble=ignore";
    CHECK(log_in(NULL, "ada", &user, options, settings) == SECONDER_LOGIN_IGNORED);
    CHECK(chmod(key, 0644) == 0);
    CHECK(log_in(NULL, "ada", &user, options, settings) == SECONDER_LOGIN_MISCONFIGURED);
}

static void arguments_are_checked(void)
{
    const char *const settings[] = {"tries=1", NULL};
    seconder_login_options options = {0};
    EXPECT_INVALID("login", seconder_login(service, NULL, NULL, NULL, NULL, 0, &error));
    options.settings_count = 1;
    EXPECT_INVALID("settings", seconder_login(service, "ada", NULL, NULL, &options, sizeof options,
                                              &error));
    options.settings = settings;
    options.settings_count = 2;
    EXPECT_INVALID("settings", seconder_login(service, "ada", NULL, NULL, &options, sizeof options,
                                              &error));
    options.settings_count = 1001;
    EXPECT_INVALID("settings_count", seconder_login(service, "ada", NULL, NULL, &options,
                                                    sizeof options, &error));
}

static uint64_t enrol(const char *email, const char *number, const char *login)
{
    seconder_user_created *user = NULL;
    uint64_t id;
    EXPECT(SECONDER_OK,
           seconder_create_user(service, email, number, "1", NULL, 0, &user, &error));
    id = seconder_user_created_user_id(user);
    seconder_user_created_free(user);
    EXPECT(SECONDER_OK, seconder_set_login(service, id, login, NULL, &error));
    return id;
}

int main(int count, char **arguments)
{
    seconder_open_options options = {0};
    seconder_authenticator_enrolled *app = NULL;
    CHECK(count == 2);
    snprintf(folder, sizeof folder, "%s", arguments[1]);
    options.deliver = deliver;
    options.deliver_userdata = &messages;
    service = open_or_die("sandbox:?accept=right", NULL, &options);
    ada = enrol("ada@example.com", "555-010-0123", "ada");
    /* Guesses at codes of bob's app count, so that he has to wait. */
    EXPECT(SECONDER_OK, seconder_enrol_authenticator(
                            service, enrol("bob@example.com", "555-010-0124", "bob"), NULL, 0,
                            &app, &error));
    seconder_authenticator_enrolled_free(app);
    EXPECT(SECONDER_OK, seconder_register_device(service, ada, "ios", &phone, &error));
    EXPECT(SECONDER_OK, seconder_create_recovery_codes(service, ada, &codes, &error));
    codes_decide();
    nobody_answers();
    nonsense_is_no_answer();
    the_phone_decides();
    passwords_are_passed_on();
    a_cancelled_handle_ends_a_login();
    users_differ();
    the_program_may_know_the_user();
    nothing_is_sent_before_an_answer();
    the_configuration_is_the_operators();
    arguments_are_checked();
    seconder_error_free(why);
    seconder_recovery_codes_free(codes);
    seconder_device_free(phone);
    seconder_service_free(service);
    return 0;
}
