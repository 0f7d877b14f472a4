/* A service on this machine: over its socket, without a key, in a forked child, and without SIGPIPE. */
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int listener;
/* The number of connections so far, and what the service does with the next ones. */
static int connections;
static bool closes;

static void *serve(void *unused)
{
    /* A connection is kept if the response has the id of its request. */
    static const char name[] = "\r\nseconder-request-id: ";
    static const char response[] = "HTTP/1.1 200 OK\r\nContent-Length: 35%.*s\r\n\r\n"
                                   "{\"app\":{\"name\":\"A\"},\"success\":true}";
    (void)unused;
    for (;;) {
        char buffer[4096], reply[256];
        const char *id;
        int size, stream = accept(listener, NULL, NULL);
        ssize_t got;
        if (stream < 0)
            return NULL; /* The test is over. */
        __atomic_add_fetch(&connections, 1, __ATOMIC_SEQ_CST);
        /* Each connection of this test ends before the next one begins. */
        while (!__atomic_load_n(&closes, __ATOMIC_SEQ_CST) &&
               (got = read(stream, buffer, sizeof buffer - 1)) > 0) {
            buffer[got] = '\0';
            CHECK(strstr(buffer, "\r\nhost: localhost\r\n") != NULL);
            CHECK(strstr(buffer, "key") == NULL);
            id = strstr(buffer, name);
            CHECK(id != NULL);
            size = (int)(strcspn(id + 2, "\r") + 2);
            size = snprintf(reply, sizeof reply, response, size, id);
            CHECK(size > 0 && size < (int)sizeof reply);
            CHECK(write(stream, reply, (size_t)size) == size);
        }
        close(stream);
    }
}

static void details(seconder_status wanted, const seconder_service *service)
{
    seconder_application *details = NULL;
    seconder_error *error = NULL;
    EXPECT(wanted, seconder_app_details(service, NULL, 0, &details, &error));
    CHECK((details != NULL) == (wanted == SECONDER_OK));
    seconder_application_free(details);
}

static void unavailable(const char *url, const char *wanted)
{
    seconder_service *service = open_or_die(url, NULL, NULL);
    seconder_application *details = NULL;
    seconder_error *error = NULL;
    CHECK(seconder_app_details(service, NULL, 0, &details, &error) == SECONDER_UNAVAILABLE);
    CHECK(seconder_error_stage(error) == SECONDER_STAGE_CONNECT);
    CHECK(seconder_error_retry_safe(error));
    CHECK(strstr(seconder_error_message(error), wanted) != NULL);
    seconder_error_free(error);
    seconder_service_free(service);
}

int main(int count, char **arguments)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    seconder_open_options options = {.service_uid = 1000};
    seconder_service *service;
    pthread_t thread;
    char url[200];
    int status, round;
    pid_t child;
    CHECK(count == 2);
    CHECK(signal(SIGPIPE, SIG_DFL) != SIG_ERR);
    snprintf(address.sun_path, sizeof address.sun_path, "%s/a.sock", arguments[1]);
    snprintf(url, sizeof url, "unix:%s", address.sun_path);
    unavailable(url, "is seconder serve running");
    listener = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(bind(listener, (struct sockaddr *)&address, sizeof address) == 0);
    unavailable(url, "nothing listens on the socket");
    CHECK(listen(listener, 8) == 0);
    CHECK(pthread_create(&thread, NULL, serve, NULL) == 0);

    service = open_or_die(url, NULL, &options);
    details(SECONDER_OK, service);
    details(SECONDER_OK, service);
    CHECK(__atomic_load_n(&connections, __ATOMIC_SEQ_CST) == 1);
    seconder_service_free(service);

    /* The child has a connection of its own, and leaves the parent's alone. */
    service = open_or_die(url, NULL, NULL);
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        details(SECONDER_OK, service);
        seconder_service_free(service);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    details(SECONDER_OK, service);
    seconder_service_free(service);

    /* Each request is written to a connection that is closed. */
    __atomic_store_n(&closes, true, __ATOMIC_SEQ_CST);
    service = open_or_die(url, NULL, NULL);
    for (round = 0; round < 50; round++)
        details(SECONDER_UNAVAILABLE, service);
    seconder_service_free(service);
    CHECK(shutdown(listener, SHUT_RDWR) == 0 && pthread_join(thread, NULL) == 0);
    return 0;
}
