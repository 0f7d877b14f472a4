/* Receives the callbacks that a service posts when a user answers an approval request, and verifies
 * that the service signed them.
 *
 *     cc callback.c $(pkg-config --cflags --libs seconder) -o callback
 *     ./callback API-KEY 8080 10
 *
 * It listens on this machine only and exits after 10 connections, the last argument. An application
 * has a web server for all of this except check(), and passes seconder_verifier_new() the public
 * URL: with its scheme, as configured with the service, and never as named in the request. Unlike
 * this example, it does not take the key as an argument, because arguments are visible to everyone
 * on the machine. */
#define _POSIX_C_SOURCE 200809L
#include <seconder.h>

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* The size limit and time limit of a request, and the maximum age of a callback. */
enum { LONGEST = 65536, PATIENCE_SECONDS = 5, FRESH_SECONDS = 300 };

/* A request, with its parts separated by NULs. */
struct request {
    char text[LONGEST + 1];
    size_t size;
    char *headers;
    char *body;
    size_t body_size;
};

/* Returns the value of a header, or NULL. A header that occurs twice is ambiguous, so neither value
 * is used. */
static const char *header(const struct request *request, const char *name)
{
    const char *value = NULL;
    size_t length = strlen(name);
    for (const char *line = request->headers; *line != '\0'; line += strlen(line) + 2) {
        if (strncasecmp(line, name, length) != 0 || line[length] != ':')
            continue;
        if (value != NULL)
            return NULL;
        value = line + length + 1 + strspn(line + length + 1, " \t");
    }
    return value;
}

/* Terminates the lines of the head with NULs; an empty line ends the head. */
static bool split(struct request *request)
{
    char *end = strstr(request->text, "\r\n\r\n");
    if (end == NULL)
        return false;
    request->body = end + 4;
    end[2] = '\0';
    for (char *at = request->text; (at = strstr(at, "\r\n")) != NULL; at += 2)
        at[0] = '\0';
    request->headers = request->text + strlen(request->text) + 2;
    const char *length = header(request, "Content-Length");
    request->body_size = length != NULL ? strtoul(length, NULL, 10) : 0;
    return true;
}

/* Reads a whole request, with a limit on its time and size. */
static bool receive(int connection, struct request *request)
{
    const time_t until = time(NULL) + PATIENCE_SECONDS;
    char *body = NULL;
    request->size = 0;
    while (body == NULL || request->size < (size_t)(body - request->text) + request->body_size) {
        struct pollfd ready = {.fd = connection, .events = POLLIN};
        if (request->size == LONGEST || time(NULL) >= until || poll(&ready, 1, 1000) < 0)
            return false;
        if (ready.revents == 0)
            continue;
        ssize_t more = read(connection, request->text + request->size, LONGEST - request->size);
        if (more <= 0)
            return false;
        request->size += (size_t)more;
        request->text[request->size] = '\0';
        if (body == NULL && split(request))
            body = request->body;
        if (body != NULL && request->body_size > LONGEST)
            return false;
    }
    return true;
}

/* Verifies a request and returns the HTTP status of the response. This is the part to copy. */
static int check(const seconder_verifier *verifier, const struct request *request)
{
    seconder_event *event = NULL;
    seconder_error *error = NULL;
    const seconder_callback received = {
        .method = strncmp(request->text, "POST ", 5) == 0 ? "POST" : "?",
        .body = request->body,
        .body_size = request->body_size,
        .signature = header(request, "X-Svc-Signature"),
        .nonce = header(request, "X-Svc-Signature-Nonce"),
    };
    seconder_status status = seconder_verifier_verify(verifier, &received, sizeof received,
                                                      (uint64_t)time(NULL), &event, &error);
    /* The event is from the service. A login that waits for this request must check that it is
     * approved by the user who is logging in: seconder_event_approved_by(event, user_id). */
    if (status == SECONDER_OK)
        printf("User %llu %s request %s.\n", (unsigned long long)seconder_event_user_id(event),
               seconder_event_approved_by(event, seconder_event_user_id(event)) ? "approved"
                                                                                : "did not approve",
               seconder_event_uuid(event));
    else
        printf("Rejected: %s\n", seconder_error_message(error));
    seconder_event_free(event);
    seconder_error_free(error);
    /* A service may retry after 500, but not after 401. */
    if (status == SECONDER_INVALID_CALLBACK || status == SECONDER_INVALID_ARGUMENT)
        return 401;
    return status == SECONDER_OK ? 200 : 500;
}

static void serve(int listener, const seconder_verifier *verifier)
{
    static struct request request;
    char response[128];
    int connection = accept(listener, NULL, NULL);
    if (connection < 0)
        return;
    int status = receive(connection, &request) ? check(verifier, &request) : 400;
    int size = snprintf(response, sizeof response,
                        "HTTP/1.1 %d \r\nContent-Length: 0\r\nConnection: close\r\n\r\n", status);
    if (write(connection, response, (size_t)size) < 0)
        puts("The response could not be sent.");
    close(connection);
    fflush(stdout);
}

/* Listens on 127.0.0.1, on any free port if `port` is 0, and writes the URL to `url`. */
static int listen_on(int port, char *url, size_t size)
{
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    socklen_t length = sizeof here;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (listener < 0 || bind(listener, (struct sockaddr *)&here, length) != 0 ||
        listen(listener, 8) != 0 || getsockname(listener, (struct sockaddr *)&here, &length) != 0)
        return -1;
    snprintf(url, size, "http://127.0.0.1:%d/callback", ntohs(here.sin_port));
    return listener;
}

int main(int count, char **arguments)
{
    char url[64];
    const char *const urls[] = {url};
    seconder_verifier *verifier = NULL;
    seconder_error *error = NULL;
    if (count != 4) {
        fprintf(stderr, "usage: %s API-KEY PORT CONNECTIONS\n", arguments[0]);
        return 2;
    }
    int listener = listen_on(atoi(arguments[2]), url, sizeof url);
    if (listener < 0) {
        perror("listening");
        return 2;
    }
    const seconder_verifier_options options = {
        .urls = urls,
        .urls_count = 1,
        .fresh_seconds = FRESH_SECONDS,
        .replay_capacity = 10000,
    };
    if (seconder_verifier_new(arguments[1], &options, sizeof options, &verifier, &error) !=
        SECONDER_OK) {
        fprintf(stderr, "%s\n", seconder_error_message(error));
        seconder_error_free(error);
        return 2;
    }
    /* Writing to a closed connection must fail with an error, not end the process with a signal. */
    signal(SIGPIPE, SIG_IGN);
    printf("Listening for callbacks on %s\n", url);
    fflush(stdout);
    for (int left = atoi(arguments[3]); left > 0; left--)
        serve(listener, verifier);
    seconder_verifier_free(verifier);
    close(listener);
    return 0;
}
