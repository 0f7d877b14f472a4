/* Calls every function of the header with arguments that are NULL, not UTF-8, or of a wrong size.
 *
 * misuse.inc is generated from the header. It has a function for each function of the header, which
 * calls it with one invalid argument.
 *
 * misuse COUNT SEED makes that many calls, with valid and invalid arguments, in a random order that
 * the seed decides. */
#include "check.h"

#define PARAMETERS 12
#define FIELDS 24

/* Which argument of a call is invalid: none, all pointers, the pointer at an index (NULL), the text
 * at an index, a text in the options, or the size of the options. */
#define VALID (-1)
#define ALL_NULL (-2)
#define BAD_TEXT 100
#define BAD_FIELD 200
#define LARGER_UNUSED 300
#define LARGER_USED 301
#define SIZE 1000

#define BAD "\xff"
#define POINTER(index, valid) (which == (index) || which == ALL_NULL ? NULL : (valid))
#define TEXT(index, valid) (which == BAD_TEXT + (index) ? BAD : POINTER(index, valid))

enum kind { STATUS, LOOK, NOTHING };

struct parameter {
    char kind;
    const char *name;
};

struct attempt {
    const char *name;
    enum kind kind; /* whether it returns a status, something to look at, or nothing */
    seconder_status (*call)(int which);
    struct parameter parameters[PARAMETERS];
    size_t options_size;
    const char *options_size_name;
    const char *fields[FIELDS];
};

static seconder_service *service;
static seconder_totp *totp;
static seconder_verifier *verifier;
static seconder_callback callback;
static const seconder_offline_codes offline = {
    1, 6, 30, 1, 4102444800, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "AAAAAAAAAAA="};
static seconder_device *device;
static bool is_nothing;
static int complaints;

static size_t size_of(size_t whole, int which)
{
    if (which >= SIZE)
        return (size_t)(which - SIZE);
    return which == LARGER_USED || which == LARGER_UNUSED ? whole + 8 : whole;
}

/* Options of exactly this size, so that valgrind and the sanitizers detect a read beyond them. */
static void *filled(size_t size, int which, size_t whole)
{
    char *options = malloc(size == 0 ? 1 : size);
    CHECK(options != NULL);
    memset(options, 0, size);
    if (which == LARGER_USED)
        options[whole + 7] = 1;
    return options;
}

#include "misuse.inc"

static void complain(const struct attempt *attempt, int which, seconder_status got,
                     const char *wanted)
{
    const char *parameter = seconder_error_parameter(error);
    fprintf(stderr, "%s, case %d: %d of %s where %s was wanted: %s\n", attempt->name, which, got,
            parameter == NULL ? "nothing" : parameter, wanted, seconder_error_message(error));
    complaints++;
}

static seconder_status call(const struct attempt *attempt, int which)
{
    seconder_status got;
    seconder_error_free(error);
    error = NULL;
    is_nothing = true;
    got = attempt->call(which);
    if (error != NULL)
        CHECK(attempt->kind == LOOK || seconder_error_status(error) == got);
    return got;
}

/* The call must return SECONDER_INVALID_ARGUMENT for the parameter of this name; for a text that a
 * user typed, and that is no code, SECONDER_TOKEN_MALFORMED. */
static void is_rejected(const struct attempt *attempt, int which, const char *name)
{
    bool typed = which >= BAD_TEXT && which < BAD_FIELD &&
                 (same(name, "token") || same(name, "code") || same(name, "verification_code"));
    seconder_status wanted = typed ? SECONDER_TOKEN_MALFORMED : SECONDER_INVALID_ARGUMENT;
    seconder_status got = call(attempt, which);
    if (got != wanted || !same(seconder_error_parameter(error), name))
        complain(attempt, which, got, name);
}

/* Whether an argument may be NULL: options, out, error, and those listed here. */
static bool is_optional(const struct attempt *attempt, const char *name)
{
    static const char *const optional[][2] = {{"seconder_open", "api_key"},
                                            {"seconder_open_text", "api_key"},
                                            {"seconder_set_log", "log_userdata"},
                                            {"seconder_forget", "token"},
                                            {"seconder_respond_to_approval", "number"},
                                            {"seconder_login", "service"},
                                            {"seconder_login", "converse_userdata"},
                                            {"seconder_operate", "parameters"},
                                            {"seconder_sandbox_fail", "calls"},
                                            {"seconder_sandbox_respond", "number"},
                                            {"seconder_sandbox_operate", "parameters"}};
    size_t index;
    if (same(name, "options") || same(name, "out") || same(name, "error"))
        return true;
    for (index = 0; index < sizeof optional / sizeof *optional; index++)
        if (same(optional[index][0], attempt->name) && same(optional[index][1], name))
            return true;
    return false;
}

/* A cookie may hold any text: another is not recognised, and there is nothing to forget. Returns
 * whether the function takes a cookie. */
static bool takes_cookie(const struct attempt *attempt, int index)
{
    bool recognises = same(attempt->name, "seconder_recognise");
    seconder_status wanted = recognises ? SECONDER_NOT_RECOGNISED : SECONDER_OK, got;
    if (!recognises && !same(attempt->name, "seconder_forget"))
        return false;
    got = call(attempt, BAD_TEXT + index);
    if (got != wanted)
        complain(attempt, BAD_TEXT + index, got, "another status");
    return true;
}

static void arguments(const struct attempt *attempt)
{
    int index;
    for (index = 0; attempt->parameters[index].name != NULL; index++) {
        const char *name = attempt->parameters[index].name;
        if (attempt->parameters[index].kind == 'n')
            continue;
        if (!is_optional(attempt, name)) {
            is_rejected(attempt, index, name);
        } else if (same(attempt->name, "seconder_phone_verification_status") &&
                   same(name, "options")) {
            /* Without its options, the one that is required is missing. */
            is_rejected(attempt, index, "uuid");
        } else {
            seconder_status got = call(attempt, index);
            if (got == SECONDER_INVALID_ARGUMENT && !same(seconder_error_parameter(error), name))
                complain(attempt, index, got, name);
        }
        if (attempt->parameters[index].kind == 't' && !takes_cookie(attempt, index))
            is_rejected(attempt, BAD_TEXT + index, name);
    }
}

static void options(const struct attempt *attempt)
{
    int size, index;
    if (attempt->options_size == 0)
        return;
    for (size = 0; size < (int)attempt->options_size; size++)
        is_rejected(attempt, SIZE + size, attempt->options_size_name);
    is_rejected(attempt, LARGER_USED, attempt->options_size_name);
    if (call(attempt, LARGER_UNUSED) == SECONDER_INVALID_ARGUMENT)
        complain(attempt, LARGER_UNUSED, SECONDER_INVALID_ARGUMENT, "something valid");
    for (index = 0; attempt->fields[index] != NULL; index++)
        is_rejected(attempt, BAD_FIELD + index, attempt->fields[index]);
}

static void misuse(const struct attempt *attempt)
{
    if (attempt->kind != STATUS) {
        call(attempt, ALL_NULL);
        if (!is_nothing && !same(attempt->name, "seconder_error_status") &&
            !same(attempt->name, "seconder_error_message") &&
            !same(attempt->name, "seconder_version") &&
            !same(attempt->name, "seconder_parts") &&
            !same(attempt->name, "seconder_status_name"))
            complain(attempt, ALL_NULL, 0, "nothing");
        return;
    }
    if (call(attempt, VALID) == SECONDER_INVALID_ARGUMENT)
        complain(attempt, VALID, SECONDER_INVALID_ARGUMENT, "something valid");
    if (call(attempt, ALL_NULL) != SECONDER_INVALID_ARGUMENT)
        complain(attempt, ALL_NULL, SECONDER_OK, "an error");
    arguments(attempt);
    options(attempt);
}

/* The next number of a sequence that is the same everywhere, below a limit. */
static int drawn(uint64_t *state, int limit)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (int)((*state >> 33) % (uint64_t)limit);
}

/* Makes calls in a random order, so that each meets what any others left. Nothing but the status is
 * checked here; a sanitizer checks the rest. */
static void random_calls(long count, uint64_t seed)
{
    const int number = (int)(sizeof attempts / sizeof *attempts);
    while (count-- > 0) {
        const struct attempt *attempt = &attempts[drawn(&seed, number)];
        const int cases[] = {VALID,
                             VALID,
                             VALID,
                             ALL_NULL,
                             drawn(&seed, PARAMETERS),
                             BAD_TEXT + drawn(&seed, PARAMETERS),
                             BAD_FIELD + drawn(&seed, FIELDS),
                             LARGER_UNUSED,
                             LARGER_USED,
                             SIZE + drawn(&seed, (int)attempt->options_size + 1)};
        int which = cases[drawn(&seed, (int)(sizeof cases / sizeof *cases))];
        seconder_status got = call(attempt, attempt->kind == STATUS ? which : ALL_NULL);
        if (got < SECONDER_OK || got == SECONDER_INTERNAL)
            complain(attempt, which, got, "a status");
    }
}

/* Creates two users. The device belongs to the second, as the table's calls delete the first. */
static void enrol(void)
{
    static const char *const phones[] = {"555-010-0123", "555-010-0124"};
    seconder_user_created *user = NULL;
    int index;
    for (index = 0; index < 2; index++) {
        EXPECT(SECONDER_OK, seconder_create_user(service, "ada@example.com", phones[index], "1",
                                                 NULL, 0, &user, &error));
        seconder_user_created_free(user);
    }
    EXPECT(SECONDER_OK, seconder_register_device(service, 2, "ios", &device, &error));
}

int main(int argc, char **argv)
{
    const seconder_callback nothing = {0};
    size_t index;
    service = open_or_die("sandbox:", NULL, NULL);
    EXPECT(SECONDER_OK, seconder_totp_new("12345678901234567890", 20, NULL, 0, &totp, &error));
    EXPECT(SECONDER_OK, seconder_verifier_new("key", NULL, 0, &verifier, &error));
    enrol();
    callback = nothing;
    callback.url = "https://app.example/callback";
    callback.method = "POST";
    callback.body = "{}";
    callback.body_size = 2;
    callback.nonce = callback.signature = "1";
    if (argc == 3)
        random_calls(strtol(argv[1], NULL, 10), strtoull(argv[2], NULL, 10));
    for (index = 0; argc < 3 && index < sizeof attempts / sizeof *attempts; index++)
        misuse(&attempts[index]);
    seconder_error_free(error);
    seconder_device_free(device);
    seconder_verifier_free(verifier);
    seconder_totp_free(totp);
    seconder_service_free(service);
    CHECK(complaints == 0);
    return 0;
}
