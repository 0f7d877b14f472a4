/* A login with a password and then a second factor: a code by SMS, a code of an authenticator app,
 * or an approval on the user's phone.
 *
 *     cc login.c $(pkg-config --cflags --libs seconder) -o login
 *     ./login sqlite:login.db
 *     ./login https://2fa.example.com API-KEY
 *
 * Any outcome but a clear success denies the login, and the program exits with 1. A real
 * application does not echo passwords, and does not take the key as an argument, because arguments
 * are visible to everyone on the machine. */
#include <seconder.h>

#include <stdio.h>
#include <string.h>

/* How often a code may be tried, and for how long an approval request can be answered. */
enum { TRIES = 3, ANSWER_SECONDS = 60 };

/* Reads a line without its line end. A line that is too long is read as an empty one, because a
 * truncated code or password is not what was typed. */
static bool ask(const char *question, char *line, int size)
{
    printf("%s", question);
    fflush(stdout);
    if (fgets(line, size, stdin) == NULL)
        return false;
    if (strchr(line, '\n') == NULL && !feof(stdin)) {
        int skipped;
        while ((skipped = getchar()) != '\n' && skipped != EOF)
            ;
        *line = '\0';
    }
    line[strcspn(line, "\r\n")] = '\0';
    return true;
}

/* Logs the error for the operator. The user only learns that something failed. */
static void trouble(const char *while_doing, seconder_error *error)
{
    fprintf(stderr, "%s: %s\n", while_doing, seconder_error_message(error));
    puts("The second factor is out of order. Please try again later.");
    seconder_error_free(error);
}

/* Logs what an operator has to act on: a limit of the whole application, and a wrong API key, which the
 * service looks at no more after many wrong ones from the same address. */
static void report_to_operator(const char *while_doing, const seconder_error *error)
{
    const char *code = seconder_error_service_code(error), *limit = seconder_error_limit(error);
    if (seconder_error_is_operator_limit(error) ||
        (code != NULL && strcmp(code, SECONDER_CODE_TOO_MANY_WRONG_KEYS) == 0))
        fprintf(stderr, "%s: limit %s: %s\n", while_doing, limit != NULL ? limit : "none",
                seconder_error_message(error));
}

/* Asks the user to wait, after SECONDER_RATE_LIMITED. Without a limit and the code that other services
 * send for theirs, the service is busy or does not accept the API key: no fault of the user's. */
static void wait_please(const char *while_doing, seconder_error *error)
{
    unsigned long long seconds = seconder_error_retry_after(error);
    const char *code = seconder_error_service_code(error);
    report_to_operator(while_doing, error);
    if (seconder_error_limit(error) == NULL &&
        (code == NULL || strcmp(code, SECONDER_CODE_TOO_MANY_REQUESTS) != 0))
        puts("The second factor cannot be checked at the moment.");
    printf("Please wait %llu seconds.\n", seconds > 0 ? seconds : 30);
    seconder_error_free(error);
}

/* True if the limit is only the wait between two codes: one was sent a moment ago then. */
static bool is_cool_down(const seconder_error *error)
{
    const char *limit = seconder_error_limit(error);
    return limit != NULL && strcmp(limit, "cool_down") == 0;
}

/* Stands in for the application's own accounts, which store the hash of the password and the
 * user_id. Here there is one account, whose user is enrolled again at each start, which returns the
 * same user_id. That is safe for a number of the program's own only: an application whose users type
 * their numbers verifies them first and sets `new_only`, as sign_up() in demo.c does. */
static bool password_is_right(const char *name, const char *password)
{
    return strcmp(name, "ada") == 0 && strcmp(password, "analytical engine") == 0;
}

static uint64_t enrolled(seconder_service *service)
{
    seconder_user_created *user = NULL;
    seconder_error *error = NULL;
    uint64_t user_id = 0;
    if (seconder_create_user(service, "ada@example.com", "555-010-0123", "1", NULL, 0, &user,
                             &error) == SECONDER_OK)
        user_id = seconder_user_created_user_id(user);
    else
        trouble("enrolling", error);
    seconder_user_created_free(user);
    return user_id;
}

/* Asks for a code, from an SMS or from an app, and checks it. */
static bool by_code(seconder_service *service, uint64_t user_id)
{
    /* Without `force`, the code of a user who has never used one before is not checked. */
    const seconder_verify_options options = {.force = true};
    for (int tries = 0; tries < TRIES; tries++) {
        char typed[32];
        seconder_error *error = NULL;
        if (!ask("Code: ", typed, sizeof typed))
            return false;
        switch (seconder_verify(service, user_id, typed, &options, sizeof options, NULL, &error)) {
        case SECONDER_OK:
            return true;
        case SECONDER_TOKEN_WRONG:
            puts("That is not the code.");
            break;
        case SECONDER_TOKEN_REUSED:
            puts("That code has been used. Please wait for the next one.");
            break;
        case SECONDER_TOKEN_MALFORMED: /* Nothing was compared, so this is not a wrong code. */
            puts("Please type the digits of the code, and nothing else.");
            break;
        case SECONDER_RATE_LIMITED:
            wait_please("checking a code", error);
            return false;
        default:
            /* No network, no database, a wrong API key: none of these is the user's mistake, so
             * they must not be counted as wrong codes. None of them lets anyone in. */
            trouble("checking a code", error);
            return false;
        }
        seconder_error_free(error);
    }
    return false;
}

static bool by_sms(seconder_service *service, uint64_t user_id)
{
    /* Without `force`, nothing is sent to a user who has an app. */
    const seconder_request_code_options options = {.force = true};
    seconder_code_requested *sent = NULL;
    seconder_error *error = NULL;
    switch (seconder_request_sms(service, user_id, &options, sizeof options, &sent, &error)) {
    case SECONDER_OK: {
        const char *number = seconder_code_requested_cellphone(sent);
        printf("A code goes to %s.\n", number != NULL ? number : "your phone");
        break;
    }
    case SECONDER_RATE_LIMITED:
        /* An earlier code may be valid, so the user is asked for it all the same. */
        report_to_operator("sending a code", error);
        puts(is_cool_down(error) ? "A code was sent a moment ago. It is still good."
                                 : "We cannot send a code at the moment. An earlier one may be good.");
        seconder_error_free(error);
        break;
    default:
        trouble("sending a code", error);
        return false;
    }
    seconder_code_requested_free(sent);
    return by_code(service, user_id);
}

/* Asks for approval on the user's phone. The request expires with the login, so that a late
 * approval has no effect. To approve it, the user types a number that only this login shows: the
 * request of an attacker who has the password is not approved by mistake. */
static bool by_push(seconder_service *service, uint64_t user_id)
{
    const seconder_create_approval_options options = {.seconds_to_expire = ANSWER_SECONDS,
                                                      .number_digits = 2};
    seconder_approval_created *request = NULL;
    seconder_approval *answer = NULL;
    seconder_error *error = NULL;
    seconder_status status = seconder_create_approval(service, user_id, "Log in to Example?",
                                                      &options, sizeof options, &request, &error);
    if (status == SECONDER_OK) {
        const char *number = seconder_approval_created_number(request);
        if (number != NULL)
            printf("Please type %s on your phone.\n", number);
        else
            puts("Please answer on your phone.");
        fflush(stdout);
        status = seconder_wait_for_approval(service, seconder_approval_created_uuid(request),
                                            user_id, ANSWER_SECONDS * 1000, NULL, 0, &answer,
                                            &error);
    }
    /* The only check that may let the user in: the request was answered, approved, and by this
     * user. */
    bool yes = status == SECONDER_OK && seconder_approval_approved_by(answer, user_id);
    if (status == SECONDER_RATE_LIMITED)
        wait_please("asking for approval", error);
    else if (status != SECONDER_OK)
        trouble("asking for approval", error);
    else if (!yes && seconder_approval_status(answer) == SECONDER_APPROVAL_DENIED)
        puts("The login was denied on the phone.");
    else if (!yes)
        puts("There was no answer in time.");
    seconder_approval_free(answer);
    seconder_approval_created_free(request);
    return yes;
}

static bool second_factor(seconder_service *service, uint64_t user_id)
{
    char way[8];
    if (!ask("Second factor (sms, app or push): ", way, sizeof way))
        return false;
    if (strcmp(way, "sms") == 0)
        return by_sms(service, user_id);
    if (strcmp(way, "app") == 0)
        return by_code(service, user_id);
    if (strcmp(way, "push") == 0)
        return by_push(service, user_id);
    puts("There is no such second factor.");
    return false;
}

int main(int count, char **arguments)
{
    char name[64], password[128];
    seconder_service *service = NULL;
    seconder_error *error = NULL;
    bool in = false;
    if (count < 2 || count > 3) {
        fprintf(stderr, "usage: %s URL [API-KEY]\n", arguments[0]);
        return 2;
    }
    if (seconder_open(arguments[1], arguments[2], NULL, 0, &service, &error) != SECONDER_OK) {
        trouble("opening", error);
        return 2;
    }
    uint64_t user_id = enrolled(service);
    if (user_id != 0 && ask("Name: ", name, sizeof name) &&
        ask("Password: ", password, sizeof password))
        in = password_is_right(name, password) && second_factor(service, user_id);
    seconder_service_free(service);
    puts(in ? "Welcome." : "Access denied.");
    return in ? 0 : 1;
}
