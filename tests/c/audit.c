/* The audit of an engine: what it has decided, page by page. */
#include "check.h"

static char code[16];

static int32_t deliver(const seconder_message *message, void *userdata)
{
    CHECK(userdata == NULL);
    snprintf(code, sizeof code, "%s", seconder_message_code(message));
    return 0;
}

/* Reads the only page that these options lead to, and returns its only decision. */
static const seconder_audit_entry *only(const seconder_service *service,
                                        const seconder_audit_options *options,
                                        seconder_audit_page **page)
{
    EXPECT(SECONDER_OK, seconder_audit(service, options, sizeof *options, page, &error));
    CHECK(seconder_audit_page_entry_count(*page) == 1);
    CHECK(seconder_audit_page_next(*page) == NULL);
    CHECK(seconder_audit_page_entry(*page, 1) == NULL);
    return seconder_audit_page_entry(*page, 0);
}

static size_t count(const seconder_service *service, seconder_audit_options options)
{
    seconder_audit_page *page = NULL;
    size_t found = 0;
    char next[64] = "";
    for (;;) {
        EXPECT(SECONDER_OK, seconder_audit(service, &options, sizeof options, &page, &error));
        found += seconder_audit_page_entry_count(page);
        if (seconder_audit_page_next(page) == NULL)
            break;
        snprintf(next, sizeof next, "%s", seconder_audit_page_next(page));
        options.after = next;
        seconder_audit_page_free(page);
    }
    seconder_audit_page_free(page);
    return found;
}

static void invalid_options(const seconder_service *service)
{
    seconder_audit_page *page = GARBAGE(seconder_audit_page);
    seconder_audit_options options = {0};
    options.most = 1001;
    EXPECT_INVALID("most", seconder_audit(service, &options, sizeof options, &page, &error));
    options.most = UINT64_MAX;
    EXPECT_INVALID("most", seconder_audit(service, &options, sizeof options, &page, &error));
    options.most = 0;
    options.after = "1.2";
    EXPECT_INVALID("after", seconder_audit(service, &options, sizeof options, &page, &error));
    options.after = NULL;
    options.user_id = UINT64_MAX;
    EXPECT_INVALID("user_id", seconder_audit(service, &options, sizeof options, &page, &error));
    options.user_id = 0;
    options.user_ip = "localhost";
    EXPECT_INVALID("user_ip", seconder_audit(service, &options, sizeof options, &page, &error));
    CHECK(page == NULL);
}

int main(int argc, char **argv)
{
    char url[4200];
    seconder_open_options given = {0};
    seconder_audit_options options = {0};
    seconder_request_code_options with = {0};
    seconder_audit_page *page = NULL;
    const seconder_audit_entry *entry;
    seconder_service *service;
    seconder_user_created *user = NULL;
    uint64_t id;

    CHECK(argc == 2);
    snprintf(url, sizeof url, "sqlite:%s/audit.db", argv[1]);
    given.deliver = deliver;
    service = open_or_die(url, NULL, &given);
    EXPECT(SECONDER_OK, seconder_create_user(service, "ada@example.com", "555-010-0123", "1", NULL,
                                             0, &user, &error));
    id = seconder_user_created_user_id(user);
    seconder_user_created_free(user);
    with.user_ip = "192.0.2.7";
    EXPECT(SECONDER_OK, seconder_request_sms(service, id, &with, sizeof with, NULL, &error));
    EXPECT(SECONDER_RATE_LIMITED,
           seconder_request_sms(service, id, &with, sizeof with, NULL, &error));
    EXPECT(SECONDER_TOKEN_NOT_CHECKED,
           seconder_verify(service, id, code, NULL, 0, NULL, &error));

    EXPECT(SECONDER_OK, seconder_audit(service, NULL, 0, &page, &error));
    CHECK(seconder_audit_page_entry_count(page) == 5);
    seconder_audit_page_free(page);
    options.most = 1;
    CHECK(count(service, options) == 5);
    options.user_id = id;
    CHECK(count(service, options) == 4);
    options.until = 1;
    CHECK(count(service, options) == 0);
    options.until = 0;
    options.since = 1;
    options.most = 0;
    CHECK(count(service, options) == 4);

    options.verdict = "sent";
    entry = only(service, &options, &page);
    CHECK(entry->user_id == id && entry->app_id > 0 && entry->time_ms > 0 && entry->nonce >= 0);
    CHECK(same(entry->call, "request_sms") && same(entry->verdict, "sent"));
    CHECK(same(entry->factor, "code") && same(entry->number, "+1-XXX-XXX-XX23"));
    CHECK(same(entry->user_ip, "192.0.2.7") && entry->times == 1);
    CHECK(entry->over_limit == NULL && entry->reason == NULL && entry->operator_name == NULL);
    seconder_audit_page_free(page);
    options.verdict = "refused";
    CHECK(same(only(service, &options, &page)->over_limit, "cool_down"));
    seconder_audit_page_free(page);
    options.verdict = "not_checked";
    CHECK(same(only(service, &options, &page)->reason, "not_confirmed"));
    seconder_audit_page_free(page);
    options.verdict = NULL;
    options.call = "verify";
    CHECK(same(only(service, &options, &page)->verdict, "not_checked"));
    seconder_audit_page_free(page);
    options.user_ip = "192.0.2.7";
    CHECK(count(service, options) == 0);
    options.call = "request_sms";
    CHECK(count(service, options) == 2);
    options.operator_name = "ada";
    CHECK(count(service, options) == 0);

    invalid_options(service);
    seconder_service_free(service);
    service = open_or_die("https://127.0.0.1:1", "key", NULL);
    page = GARBAGE(seconder_audit_page);
    EXPECT(SECONDER_INVALID_ARGUMENT, seconder_audit(service, NULL, 0, &page, &error));
    CHECK(page == NULL);
    seconder_service_free(service);
    return 0;
}
