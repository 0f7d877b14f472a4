/* A login daemon that leaves the whole second factor to the library.
 *
 *     cc login_daemon.c $(pkg-config --cflags --libs seconder) -lpthread -o login_daemon
 *     ./login_daemon login.sock unix:/run/seconder/seconder.sock users=directory offline=yes
 *     ./login_daemon login.sock sqlite:login.db users=directory
 *
 * It listens on a Unix socket, where `socat - UNIX:login.sock` is a client. A client sends a line for its
 * name, one for its password, and then what the library asks for: a code, or a choice such as `push`. The
 * arguments after the URL are keys of seconder-pam.conf(5).
 *
 * Each connection has a thread, because a login takes as long as its user does. SIGTERM and SIGINT cancel
 * the handle of the service, which ends the logins under way, and then the daemon. */
#define _GNU_SOURCE
#include <seconder.h>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    LOGINS = 64,          /* at once; further clients wait in the socket's backlog */
    QUESTION_MS = 120000, /* how long a user may take for an answer */
    SLICE_MS = 100        /* how long a thread waits before it looks whether the daemon ends */
};

/* What all logins share. */
static seconder_service *service;
static const char *const *settings;
static size_t settings_count;
static volatile sig_atomic_t stopping;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
static int logins;

struct connection {
    int fd;
    int waited_ms;    /* since the question was asked */
    size_t length;    /* of what has arrived */
    char buffer[256]; /* passwords and codes, so it is wiped */
};

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void stop(int number)
{
    (void)number;
    stopping = 1;
}

static bool send_text(int fd, const char *text)
{
    size_t left = strlen(text);
    while (left > 0) {
        ssize_t sent = send(fd, text, left, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        text += sent;
        left -= (size_t)sent;
    }
    return true;
}

/* Reads a line without its end into `line`, which is as large as the buffer. Returns 1, or 0 if there is
 * none in time, or -1 if the connection is closed or the line is too long. */
static int read_line(struct connection *from, char *line, int timeout_ms)
{
    struct pollfd readable = {.fd = from->fd, .events = POLLIN};
    char *end = memchr(from->buffer, '\n', from->length);
    size_t whole;
    if (end == NULL) {
        ssize_t got;
        int ready = poll(&readable, 1, timeout_ms);
        if (ready == 0 || (ready < 0 && errno == EINTR))
            return 0;
        got = recv(from->fd, from->buffer + from->length, sizeof from->buffer - from->length, 0);
        if (got <= 0)
            return -1;
        from->length += (size_t)got;
        end = memchr(from->buffer, '\n', from->length);
        if (end == NULL)
            return from->length < sizeof from->buffer ? 0 : -1;
    }
    whole = (size_t)(end - from->buffer) + 1;
    memcpy(line, from->buffer, whole);
    line[whole - 1] = '\0';
    line[strcspn(line, "\r")] = '\0';
    from->length -= whole;
    memmove(from->buffer, end + 1, from->length);
    explicit_bzero(from->buffer + from->length, sizeof from->buffer - from->length);
    return 1;
}

/* Waits for the answer to a question, a slice at a time. */
static int32_t read_answer(const seconder_prompt *prompt, struct connection *connection)
{
    char typed[sizeof connection->buffer];
    int32_t result = SECONDER_CONVERSE_NOT_YET;
    if (!seconder_prompt_repeated(prompt)) {
        connection->waited_ms = 0;
        if (!send_text(connection->fd, seconder_prompt_text(prompt)))
            return SECONDER_CONVERSE_NO_ANSWER;
    }
    switch (read_line(connection, typed, SLICE_MS)) {
    case 1:
        seconder_prompt_set_answer(prompt, typed);
        result = SECONDER_CONVERSE_DONE;
        break;
    case 0:
        connection->waited_ms += SLICE_MS;
        if (connection->waited_ms >= QUESTION_MS)
            result = SECONDER_CONVERSE_NO_ANSWER;
        break;
    default:
        result = SECONDER_CONVERSE_NO_ANSWER;
    }
    explicit_bzero(typed, sizeof typed);
    return result;
}

/* Reaches the user for seconder_login(). */
static int32_t converse(const seconder_prompt *prompt, void *userdata)
{
    struct connection *connection = userdata;
    char ignored[sizeof connection->buffer];
    int line;
    switch (seconder_prompt_kind(prompt)) {
    case SECONDER_PROMPT_ECHO_OFF: /* A client at a terminal would switch its echo off. */
    case SECONDER_PROMPT_ECHO_ON:
        return read_answer(prompt, connection);
    case SECONDER_PROMPT_INFO:
    case SECONDER_PROMPT_ERROR:
        return send_text(connection->fd, seconder_prompt_text(prompt)) &&
                       send_text(connection->fd, "\r\n")
                   ? SECONDER_CONVERSE_DONE
                   : SECONDER_CONVERSE_NO_ANSWER;
    case SECONDER_PROMPT_WAIT:
        line = read_line(connection, ignored, (int)seconder_prompt_wait_ms(prompt));
        explicit_bzero(ignored, sizeof ignored);
        if (line == 0)
            return SECONDER_CONVERSE_NOT_YET;
        return line > 0 ? SECONDER_CONVERSE_DONE : SECONDER_CONVERSE_NO_ANSWER;
    default:
        return SECONDER_CONVERSE_NO_ANSWER;
    }
}

/* A real daemon would pass the line to syslog(3), with LOG_AUTHPRIV. */
static void write_log(int32_t kind, const char *line, void *userdata)
{
    (void)userdata;
    fprintf(stderr, "%s%s\n", kind == SECONDER_JOURNAL_ERROR ? "error: " : "", line);
}

/* Stands in for the daemon's own accounts, which store the hash of the password. */
static bool password_is_right(const char *password)
{
    return strcmp(password, "analytical engine") == 0;
}

/* Lets the user in only if the status is SECONDER_OK. */
static bool second_factor_is_right(struct connection *connection, const char *name)
{
    const seconder_login_options options = {.program = "login_daemon",
                                            .settings = settings,
                                            .settings_count = settings_count,
                                            .journal = write_log};
    seconder_error *error = NULL;
    seconder_status status = seconder_login(service, name, converse, connection, &options,
                                            sizeof options, &error);
    /* The journal has the reasons of the others. An invalid name is the client's mistake. */
    if (status == SECONDER_INVALID_ARGUMENT || status == SECONDER_INTERNAL)
        fprintf(stderr, "error: %s\n", seconder_error_message(error));
    seconder_error_free(error);
    return status == SECONDER_OK;
}

/* Asks for a line before the library does. */
static bool ask(struct connection *connection, const char *question, char *line)
{
    int result = 0, waited_ms;
    if (!send_text(connection->fd, question))
        return false;
    for (waited_ms = 0; result == 0 && waited_ms < QUESTION_MS && !stopping; waited_ms += SLICE_MS)
        result = read_line(connection, line, SLICE_MS);
    return result == 1;
}

static void *serve(void *userdata)
{
    struct connection *connection = userdata;
    char name[sizeof connection->buffer], password[sizeof connection->buffer];
    bool in = false;
    if (ask(connection, "Login: ", name) && ask(connection, "Password: ", password))
        in = password_is_right(password) && second_factor_is_right(connection, name);
    explicit_bzero(password, sizeof password);
    send_text(connection->fd, in ? "Welcome.\r\n" : "Access denied.\r\n");
    close(connection->fd);
    explicit_bzero(connection, sizeof *connection);
    free(connection);
    pthread_mutex_lock(&lock);
    logins--;
    pthread_cond_signal(&ended);
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void begin(int fd)
{
    struct connection *connection = calloc(1, sizeof *connection);
    pthread_attr_t detached;
    pthread_t thread;
    bool begun = false;
    if (connection != NULL) {
        connection->fd = fd;
        pthread_attr_init(&detached);
        pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
        begun = pthread_create(&thread, &detached, serve, connection) == 0;
        pthread_attr_destroy(&detached);
    }
    if (!begun) {
        close(fd); /* the client may try again */
        free(connection);
    }
    pthread_mutex_lock(&lock);
    logins += begun;
    pthread_mutex_unlock(&lock);
}

/* Returns whether there may be another login. */
static bool has_room(void)
{
    bool room;
    pthread_mutex_lock(&lock);
    room = logins < LOGINS;
    pthread_mutex_unlock(&lock);
    return room;
}

/* Serves until a signal ends it. The signals arrive only in ppoll(), so none is missed. */
static void run(int listener, const sigset_t *usual)
{
    while (!stopping) {
        struct pollfd incoming = {.fd = has_room() ? listener : -1, .events = POLLIN};
        const struct timespec slice = {.tv_nsec = SLICE_MS * 1000000L};
        int fd;
        if (ppoll(&incoming, 1, &slice, usual) < 0 && errno != EINTR)
            die("ppoll");
        if (stopping || (incoming.revents & POLLIN) == 0)
            continue;
        fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0)
            begin(fd);
        else if (errno == EMFILE || errno == ENFILE)
            sleep(1); /* the client stays in the backlog until there is a descriptor again */
    }
    seconder_service_cancel(service);
    pthread_mutex_lock(&lock);
    while (logins > 0)
        pthread_cond_wait(&ended, &lock);
    pthread_mutex_unlock(&lock);
}

/* Listens where only this user may connect. */
static int listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int made = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (strlen(path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        die(path);
    }
    strcpy(address.sun_path, path);
    umask(077);
    unlink(path);
    if (made < 0 || bind(made, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(made, SOMAXCONN) != 0)
        die(path);
    return made;
}

int main(int arguments, char **argument)
{
    const struct sigaction action = {.sa_handler = stop};
    seconder_error *error = NULL;
    sigset_t handled, usual;
    int listener;
    if (arguments < 3) {
        fprintf(stderr, "usage: %s SOCKET URL [KEY=VALUE...]\n", argument[0]);
        return 2;
    }
    if (seconder_open(argument[2], NULL, NULL, 0, &service, &error) != SECONDER_OK) {
        fprintf(stderr, "%s\n", seconder_error_message(error));
        seconder_error_free(error);
        return 1;
    }
    settings = (const char *const *)argument + 3;
    settings_count = (size_t)arguments - 3;
    /* Threads inherit this, so the signals reach the main thread alone. */
    sigemptyset(&handled);
    sigaddset(&handled, SIGTERM);
    sigaddset(&handled, SIGINT);
    pthread_sigmask(SIG_BLOCK, &handled, &usual);
    if (sigaction(SIGTERM, &action, NULL) != 0 || sigaction(SIGINT, &action, NULL) != 0)
        die("sigaction");
    listener = listen_at(argument[1]);
    printf("listening on %s\n", argument[1]);
    fflush(stdout);

    run(listener, &usual);

    close(listener);
    seconder_service_free(service);
    unlink(argument[1]);
    return 0;
}
