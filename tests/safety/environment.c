/* No call reads the environment: environment URL CA_FILE PROXY. Another thread may change it at the
 * same time with setenv(), which frees what getenv() returned.
 *
 * This program has its own getenv() and its relatives, which the library would call. */
#define _GNU_SOURCE
#include "check.h"

#include <dlfcn.h>

static int reads;

static void record(const char *function, const char *name, const void *caller)
{
    Dl_info found;
    if (dladdr(caller, &found) == 0 || strstr(found.dli_fname, "libseconder") == NULL)
        return;
    fprintf(stderr, "%s(%s) is called by %s at %s\n", function, name == NULL ? "" : name,
            found.dli_fname, found.dli_sname == NULL ? "?" : found.dli_sname);
    reads++;
}

#define CALLER __builtin_return_address(0)

char *getenv(const char *name)
{
    record("getenv", name, CALLER);
    return NULL;
}

char *secure_getenv(const char *name)
{
    record("secure_getenv", name, CALLER);
    return NULL;
}

int setenv(const char *name, const char *value, int overwrite)
{
    (void)value;
    (void)overwrite;
    record("setenv", name, CALLER);
    return 0;
}

int unsetenv(const char *name)
{
    record("unsetenv", name, CALLER);
    return 0;
}

int putenv(char *text)
{
    record("putenv", text, CALLER);
    return 0;
}

int clearenv(void)
{
    record("clearenv", NULL, CALLER);
    return 0;
}

static int32_t deliver(const seconder_message *message, void *code)
{
    snprintf(code, 32, "%s", seconder_message_code(message));
    return 0;
}

static int succeeded;

/* A failure must not read the environment either. */
static void count(seconder_status status)
{
    succeeded += status == SECONDER_OK;
    seconder_error_free(error);
    error = NULL;
}

static void use(const char *url, seconder_open_options *options)
{
    char code[32] = "0000000";
    seconder_service *service = NULL;
    seconder_user_created *user = NULL;
    seconder_application *application = NULL;
    seconder_verify_options force;
    uint64_t id = 1;
    memset(&force, 0, sizeof force);
    force.force = true;
    if (strncmp(url, "http", 4) != 0) {
        options->deliver = deliver;
        options->deliver_userdata = code;
    }
    count(seconder_open(url, "a-key", options, sizeof *options, &service, &error));
    if (service == NULL)
        return;
    count(seconder_create_user(service, "ada@example.com", "555-010-0123", "1", NULL, 0, &user,
                               &error));
    if (user != NULL)
        id = seconder_user_created_user_id(user);
    count(seconder_request_sms(service, id, NULL, 0, NULL, &error));
    count(seconder_verify(service, id, code, &force, sizeof force, NULL, &error));
    count(seconder_verify(service, id, "0000001", &force, sizeof force, NULL, &error));
    count(seconder_app_details(service, NULL, 0, &application, &error));
    seconder_application_free(application);
    seconder_user_created_free(user);
    seconder_service_free(service);
}

static void use_with(const char *url, const char *ca_file, const char *proxy, const char *server)
{
    seconder_open_options options;
    memset(&options, 0, sizeof options);
    options.ca_file = ca_file;
    options.proxy = proxy;
    options.timeout_ms = strncmp(url, "http", 4) == 0 ? 20000 : 0;
    options.allow_loopback_http = strncmp(url, "http:", 5) == 0;
    if (server != NULL) {
        options.name_servers = &server;
        options.name_servers_count = 1;
    }
    use(url, &options);
}

int main(int count, char **arguments)
{
    const char *ca_file, *proxy;
    CHECK(count == 4);
    ca_file = *arguments[2] == '\0' ? NULL : arguments[2];
    proxy = *arguments[3] == '\0' ? NULL : arguments[3];
    use_with(arguments[1], ca_file, proxy, NULL);
    CHECK(succeeded >= 2);
    /* Opening fails. */
    use_with("nonsense", NULL, NULL, NULL);
    use_with("https://", NULL, NULL, NULL);
    use_with("sqlite:/nowhere/service.db", NULL, NULL, NULL);
    use_with("https://127.0.0.1:1", "/nowhere/ca.pem", NULL, NULL);
    /* A call fails: without a connection, without an address, and without the service's name. */
    use_with("https://127.0.0.1:1", ca_file, NULL, NULL);
    use_with("https://localhost:1", NULL, NULL, NULL);
    use_with("https://service.example.test", NULL, NULL, "127.0.0.1:1");
    use_with("https://service.invalid", NULL, "http://user:password@127.0.0.1:1", NULL);
    CHECK(reads == 0);
    return 0;
}
