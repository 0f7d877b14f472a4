/* Callbacks that the program signs itself are accepted once, while fresh, at their URLs. */
#include "check.h"

#define KEY "the-application-key"
#define URL "https://app.example/callback"
#define NOW 1700000000
#define NONCE "1700000000.5"

static const char body[] = "{\"uuid\":\"3f05a350-4b2c\",\"status\":\"approved\",\"svc_id\":7}";

/* A POST of the body above; `signature` is freed by the caller. */
static seconder_callback posted(const char *url, const char *nonce, seconder_text **signature)
{
    seconder_callback received = {0};
    *signature = GARBAGE(seconder_text);
    EXPECT(SECONDER_OK,
           seconder_callback_sign(KEY, nonce, url, body, sizeof body - 1, signature, &error));
    received.method = "POST";
    received.body = body;
    received.body_size = sizeof body - 1;
    received.signature = seconder_text_value(*signature);
    received.nonce = nonce;
    return received;
}

static seconder_verifier *make(const seconder_verifier_options *options)
{
    seconder_verifier *verifier = GARBAGE(seconder_verifier);
    EXPECT(SECONDER_OK, seconder_verifier_new(KEY, options, sizeof *options, &verifier, &error));
    return verifier;
}

/* Checks the status of a callback. If it is accepted, it is an approval by user 7 and by no one
 * else. */
static void expect_status(seconder_status wanted, const seconder_verifier *verifier,
                          const seconder_callback *received, uint64_t now)
{
    seconder_event *event = GARBAGE(seconder_event);
    EXPECT(wanted,
           seconder_verifier_verify(verifier, received, sizeof *received, now, &event, &error));
    CHECK((event != NULL) == (wanted == SECONDER_OK));
    CHECK(seconder_event_approved_by(event, 7) == (wanted == SECONDER_OK));
    CHECK(!seconder_event_approved_by(event, 8) && !seconder_event_approved_by(event, 0));
    seconder_event_free(event);
}

static void several_urls(void)
{
    static const char *const urls[] = {"https://old.example/callback", URL};
    seconder_verifier_options options = {0};
    seconder_verifier *verifier;
    seconder_text *signature;
    seconder_callback received = posted(URL, NONCE, &signature);
    options.urls = urls;
    options.urls_count = 2;
    verifier = make(&options);
    expect_status(SECONDER_OK, verifier, &received, NOW);
    received.url = URL;
    expect_status(SECONDER_OK, verifier, &received, NOW);
    received.url = urls[0];
    expect_status(SECONDER_INVALID_CALLBACK, verifier, &received, NOW);
    received.url = "https://other.example/callback";
    expect_status(SECONDER_INVALID_CALLBACK, verifier, &received, NOW);
    received.url = NULL;
    received.nonce = "1700000000.6";
    expect_status(SECONDER_INVALID_CALLBACK, verifier, &received, NOW);
    seconder_verifier_free(verifier);

    options.urls_count = 0;
    verifier = make(&options);
    received.nonce = NONCE;
    expect_status(SECONDER_INVALID_ARGUMENT, verifier, &received, NOW);
    received.url = URL;
    expect_status(SECONDER_OK, verifier, &received, NOW);
    seconder_verifier_free(verifier);
    seconder_text_free(signature);
}

static void fresh_and_once(void)
{
    static const char *const urls[] = {URL};
    seconder_verifier_options options = {0};
    seconder_verifier *verifier;
    seconder_text *signature, *later;
    seconder_callback received = posted(URL, NONCE, &signature), second;
    options.urls = urls;
    options.urls_count = 1;
    options.fresh_seconds = 300;
    options.replay_capacity = 1;
    verifier = make(&options);
    expect_status(SECONDER_INVALID_CALLBACK, verifier, &received, NOW + 301);
    expect_status(SECONDER_INVALID_CALLBACK, verifier, &received, NOW - 301);
    expect_status(SECONDER_OK, verifier, &received, NOW + 300);
    expect_status(SECONDER_INVALID_CALLBACK, verifier, &received, NOW);
    second = posted(URL, "1700000200", &later);
    expect_status(SECONDER_RATE_LIMITED, verifier, &second, NOW + 200);
    expect_status(SECONDER_OK, verifier, &second, NOW + 301);
    seconder_verifier_free(verifier);
    seconder_text_free(signature);
    seconder_text_free(later);
}

struct memory {
    int calls;
    int freed;
    int32_t answer;
};

static int32_t first_time(const seconder_replay_entry *callback, void *userdata)
{
    struct memory *memory = userdata;
    CHECK(strlen(callback->key) == 44 && callback->now == NOW && callback->until == NOW + 60);
    memory->calls++;
    return memory->answer;
}

static void forget(void *userdata)
{
    ((struct memory *)userdata)->freed++;
}

static void a_memory_of_the_program(void)
{
    static const char *const urls[] = {URL};
    struct memory memory = {0, 0, SECONDER_YES};
    seconder_verifier_options options = {0};
    seconder_verifier *verifier;
    seconder_text *signature;
    seconder_callback received = posted(URL, NONCE, &signature);
    options.urls = urls;
    options.urls_count = 1;
    options.fresh_seconds = 60;
    options.replay = first_time;
    options.replay_userdata = &memory;
    options.replay_userdata_free = forget;
    verifier = make(&options);
    expect_status(SECONDER_OK, verifier, &received, NOW);
    memory.answer = SECONDER_NO;
    expect_status(SECONDER_INVALID_CALLBACK, verifier, &received, NOW);
    memory.answer = 0;
    expect_status(SECONDER_STORAGE, verifier, &received, NOW);
    memory.answer = -1;
    expect_status(SECONDER_STORAGE, verifier, &received, NOW);
    CHECK(memory.calls == 4);

    /* The function is not called for a callback that is rejected before. */
    received.nonce = "1700000001";
    expect_status(SECONDER_INVALID_CALLBACK, verifier, &received, NOW);
    CHECK(memory.calls == 4 && memory.freed == 0);
    seconder_verifier_free(verifier);
    CHECK(memory.freed == 1);

    options.replay_capacity = 10;
    EXPECT_INVALID("replay_capacity",
                   seconder_verifier_new(KEY, &options, sizeof options, &verifier, &error));
    CHECK(memory.freed == 2 && verifier == NULL);
    options.replay_capacity = 0;
    EXPECT_INVALID("api_key",
                   seconder_verifier_new("\xff", &options, sizeof options, &verifier, &error));
    CHECK(memory.freed == 3);
    EXPECT_INVALID("options_size", seconder_verifier_new(KEY, &options, 1, &verifier, &error));
    EXPECT_INVALID("out", seconder_verifier_new(KEY, &options, sizeof options, NULL, &error));
    CHECK(memory.freed == 4);
    seconder_text_free(signature);
}

static void other_names(void)
{
    static const char acme[] = "{\"uuid\":\"a-1\",\"status\":\"approved\",\"acme_id\":7}";
    seconder_names names = {0};
    seconder_verifier_options options = {0};
    seconder_verifier *verifier;
    seconder_text *signature = NULL;
    seconder_callback received = {0};
    names.word = "acme";
    options.names = &names;
    options.names_size = sizeof names;
    verifier = make(&options);
    EXPECT(SECONDER_OK,
           seconder_callback_sign(KEY, NONCE, URL, acme, sizeof acme - 1, &signature, &error));
    received.url = URL;
    received.method = "POST";
    received.body = acme;
    received.body_size = sizeof acme - 1;
    received.signature = seconder_text_value(signature);
    received.nonce = NONCE;
    expect_status(SECONDER_OK, verifier, &received, NOW);
    seconder_verifier_free(verifier);
    seconder_text_free(signature);

    verifier = GARBAGE(seconder_verifier);
    names.word = "Acme";
    EXPECT_INVALID("names",
                   seconder_verifier_new(KEY, &options, sizeof options, &verifier, &error));
    names.word = NULL;
    names.id_field = "a-b";
    EXPECT_INVALID("id_field",
                   seconder_verifier_new(KEY, &options, sizeof options, &verifier, &error));
    options.names_size = 3;
    EXPECT_INVALID("names_size",
                   seconder_verifier_new(KEY, &options, sizeof options, &verifier, &error));
    options.names = NULL;
    options.urls_count = 1;
    EXPECT_INVALID("urls", seconder_verifier_new(KEY, &options, sizeof options, &verifier, &error));
    options.urls_count = 0;
    options.replay_capacity = 1;
    EXPECT_INVALID("replay_capacity",
                   seconder_verifier_new(KEY, &options, sizeof options, &verifier, &error));
    CHECK(verifier == NULL);
}

static void queries(void)
{
    static const char anything[] = "{\"b\":[1,2],\"a\":{\"c\":null}}";
    seconder_verifier_options options = {0};
    seconder_verifier *verifier = make(&options);
    seconder_text *query = NULL, *signature = NULL, *parameters = NULL;
    seconder_callback received = {0};
    EXPECT(SECONDER_OK, seconder_callback_query(anything, sizeof anything - 1, &query, &error));
    CHECK(same(seconder_text_value(query), "a%5Bc%5D=&b%5B%5D=1&b%5B%5D=2"));
    EXPECT(SECONDER_OK, seconder_callback_sign_query(KEY, NONCE, URL, seconder_text_value(query),
                                                     &signature, &error));
    received.url = URL;
    received.method = "GET";
    received.query = seconder_text_value(query);
    received.signature = seconder_text_value(signature);
    received.nonce = NONCE;
    EXPECT(SECONDER_OK,
           seconder_verifier_parameters(verifier, &received, sizeof received, &parameters, &error));
    CHECK(same(seconder_text_value(parameters), "{\"a\":{\"c\":\"\"},\"b\":[\"1\",\"2\"]}"));
    seconder_text_free(parameters);
    EXPECT(SECONDER_OK,
           seconder_callback_verify_parameters(KEY, &received, sizeof received, &parameters,
                                               &error));
    CHECK(same(seconder_text_value(parameters), "{\"a\":{\"c\":\"\"},\"b\":[\"1\",\"2\"]}"));
    seconder_text_free(parameters);
    EXPECT(SECONDER_INVALID_CALLBACK,
           seconder_callback_verify_parameters("another-key", &received, sizeof received,
                                               &parameters, &error));
    EXPECT_INVALID("received_size",
                   seconder_verifier_parameters(verifier, &received, 8, &parameters, &error));
    CHECK(parameters == NULL);
    /* It is signed, but is not about an approval request. */
    expect_status(SECONDER_INVALID_CALLBACK, verifier, &received, NOW);
    seconder_text_free(signature);
    EXPECT_INVALID("nonce", seconder_callback_sign(KEY, "1|2", URL, "{}", 2, &signature, &error));
    EXPECT_INVALID("api_key", seconder_callback_sign("", "1", URL, "{}", 2, &signature, &error));
    /* The program's own body is wrong, and no callback was received. */
    EXPECT_INVALID("body", seconder_callback_sign(KEY, "1", URL, "[]", 2, &signature, &error));
    EXPECT_INVALID("body", seconder_callback_sign(KEY, "1", URL, "\xff", 1, &signature, &error));
    EXPECT_INVALID("body", seconder_callback_query("{", 1, &signature, &error));
    EXPECT_INVALID("query", seconder_callback_sign_query(KEY, "1", URL, "%zz", &signature, &error));
    CHECK(signature == NULL);
    seconder_text_free(query);
    seconder_verifier_free(verifier);
}

int main(void)
{
    several_urls();
    fresh_and_once();
    a_memory_of_the_program();
    other_names();
    queries();
    return 0;
}
