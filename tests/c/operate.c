/* What operators do, by the names of operations and with JSON. */
#include "check.h"

static void names_and_parameters(const seconder_service *service)
{
    seconder_text *reply = GARBAGE(seconder_text);
    EXPECT(SECONDER_INVALID_ARGUMENT,
           seconder_operate(service, "jobs.lists", NULL, &reply, &error));
    CHECK(reply == NULL);
    EXPECT_INVALID("operation", seconder_operate(service, "jobs.lists", NULL, &reply, &error));
    EXPECT_INVALID("operation", seconder_operate(service, NULL, NULL, &reply, &error));
    EXPECT_INVALID("parameters", seconder_operate(service, "jobs.list", "[]", &reply, &error));
    EXPECT_INVALID("number",
                   seconder_operate(service, "jobs.list", "{\"number\":1}", &reply, &error));
    EXPECT_INVALID("id", seconder_operate(service, "jobs.show", NULL, &reply, &error));
    EXPECT_INVALID("limits",
                   seconder_operate(service, "limits.set", "{\"limits\":\"x=1\"}", &reply, &error));
}

int main(int argc, char **argv)
{
    char url[4200];
    seconder_text *reply = NULL;
    seconder_service *service;

    CHECK(argc == 2);
    snprintf(url, sizeof url, "sqlite:%s/operate.db", argv[1]);
    service = open_or_die(url, NULL, NULL);
    EXPECT(SECONDER_OK, seconder_operate(service, "limits.set", "{\"limits\":\"number_day=7\"}",
                                         &reply, &error));
    CHECK(strstr(seconder_text_value(reply), "\"number_day\":7,") != NULL);
    seconder_text_free(reply);
    EXPECT(SECONDER_OK, seconder_operate(service, "jobs.list", "{\"state\":null}", &reply, &error));
    CHECK(same(seconder_text_value(reply), "{\"entries\":[],\"next\":null}"));
    seconder_text_free(reply);
    names_and_parameters(service);
    seconder_service_free(service);

    service = open_or_die("https://127.0.0.1:1", "key", NULL);
    reply = GARBAGE(seconder_text);
    EXPECT(SECONDER_INVALID_ARGUMENT,
           seconder_operate(service, "jobs.list", NULL, &reply, &error));
    CHECK(reply == NULL);
    seconder_service_free(service);
    return 0;
}
