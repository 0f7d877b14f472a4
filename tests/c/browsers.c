/* Remembered browsers, on a database in the given folder. */
#include "check.h"

static uint64_t enrol(const seconder_service *service, const char *cellphone)
{
    seconder_user_created *user = NULL;
    uint64_t id;
    EXPECT(SECONDER_OK, seconder_create_user(service, "ada@example.com", cellphone, "1", NULL, 0,
                                             &user, &error));
    id = seconder_user_created_user_id(user);
    seconder_user_created_free(user);
    return id;
}

static seconder_remembered *remember(const seconder_service *service, uint64_t user)
{
    seconder_remembered *remembered = GARBAGE(seconder_remembered);
    const char *token;
    EXPECT(SECONDER_OK, seconder_remember(service, user, NULL, 0, &remembered, &error));
    token = seconder_remembered_token(remembered);
    CHECK(strlen(token) <= 200 && strspn(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                                "0123456789-_.") == strlen(token));
    CHECK(seconder_remembered_message(remembered) != NULL);
    return remembered;
}

/* Any other outcome than SECONDER_OK returns no handle. */
static void is_not_recognised(const seconder_service *service, uint64_t user, const char *token)
{
    seconder_browser_check *check = GARBAGE(seconder_browser_check);
    CHECK(seconder_recognise(service, user, token, &check, &error) == SECONDER_NOT_RECOGNISED);
    CHECK(check == NULL && seconder_error_status(error) == SECONDER_NOT_RECOGNISED);
    CHECK(same(seconder_error_message(error), "the token is not recognised"));
    CHECK(seconder_error_parameter(error) == NULL && !seconder_error_retry_safe(error));
    seconder_error_free(error);
    EXPECT(SECONDER_NOT_RECOGNISED, seconder_recognise(service, user, token, NULL, &error));
}

static void is_recognised(const seconder_service *service, uint64_t user, const char *token)
{
    seconder_browser_check *check = GARBAGE(seconder_browser_check);
    EXPECT(SECONDER_OK, seconder_recognise(service, user, token, &check, &error));
    CHECK(seconder_browser_check_user_id(check) == user);
    seconder_browser_check_free(check);
    EXPECT(SECONDER_OK, seconder_recognise(service, user, token, NULL, &error));
}

static void days(const seconder_service *service, uint64_t user)
{
    seconder_remember_options options = {1};
    seconder_remembered *remembered = NULL, *longer = remember(service, user);
    uint64_t more;
    EXPECT(SECONDER_OK,
           seconder_remember(service, user, &options, sizeof options, &remembered, &error));
    more = seconder_remembered_expires_at(longer) - seconder_remembered_expires_at(remembered);
    /* 29 days, and the time between the two calls. */
    CHECK(more >= 2505600 - 600 && more <= 2505600);
    seconder_remembered_free(longer);
    seconder_remembered_free(remembered);
    options.days = 401;
    EXPECT_INVALID("days", seconder_remember(service, user, &options, sizeof options, &remembered,
                                             &error));
    CHECK(remembered == NULL);
    EXPECT_CODE(SECONDER_REJECTED, "60026",
                seconder_remember(service, 99999, NULL, 0, &remembered, &error));
}

int main(int count, char **arguments)
{
    char url[4096], altered[256];
    seconder_service *service, *again;
    seconder_remembered *first, *second;
    seconder_done *done = NULL;
    const char *token;
    uint64_t ada, ben;
    CHECK(count == 2);
    snprintf(url, sizeof url, "sqlite:%s/browsers.db", arguments[1]);
    service = open_or_die(url, NULL, NULL);
    ada = enrol(service, "555-010-0123");
    ben = enrol(service, "555-010-0124");
    days(service, ada);
    first = remember(service, ada);
    second = remember(service, ada);
    token = seconder_remembered_token(first);
    CHECK(!same(token, seconder_remembered_token(second)));
    is_recognised(service, ada, token);
    is_not_recognised(service, ben, token);
    is_not_recognised(service, 99999, token);
    is_not_recognised(service, ada, "");
    is_not_recognised(service, ada, "\xff");
    is_not_recognised(service, ada, "1234567");
    snprintf(altered, sizeof altered, "%s", token);
    altered[40] = altered[40] == 'A' ? 'B' : 'A';
    is_not_recognised(service, ada, altered);
    EXPECT_INVALID("token", seconder_recognise(service, ada, NULL, NULL, &error));
    EXPECT_INVALID("user_id", seconder_recognise(service, 0, token, NULL, &error));

    /* The database remembers it for another handle, and after it was closed. */
    again = open_or_die(url, NULL, NULL);
    is_recognised(again, ada, token);
    EXPECT(SECONDER_OK, seconder_forget(again, ada, token, &done, &error));
    CHECK(seconder_done_message(done) != NULL);
    seconder_done_free(done);
    seconder_service_free(again);
    is_not_recognised(service, ada, token);
    seconder_service_free(service);
    service = open_or_die(url, NULL, NULL);
    is_not_recognised(service, ada, token);
    token = seconder_remembered_token(second);
    is_recognised(service, ada, token);

    /* A token that is not recognised forgets nothing; without one, all are forgotten. */
    EXPECT(SECONDER_OK, seconder_forget(service, ada, "", NULL, &error));
    EXPECT(SECONDER_OK, seconder_forget(service, ben, token, NULL, &error));
    is_recognised(service, ada, token);
    EXPECT(SECONDER_OK, seconder_forget(service, ada, NULL, NULL, &error));
    is_not_recognised(service, ada, token);
    EXPECT_CODE(SECONDER_REJECTED, "60026", seconder_forget(service, 99999, NULL, NULL, &error));
    seconder_remembered_free(first);
    seconder_remembered_free(second);
    seconder_service_free(service);
    return 0;
}
