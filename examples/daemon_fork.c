/* A login daemon with a process for each connection.
 *
 *     cc daemon_fork.c $(pkg-config --cflags --libs seconder) -o daemon_fork
 *     ./daemon_fork https://2fa.example.com api-key.txt login.sock
 *     ./daemon_fork sqlite:login.db api-key.txt login.sock
 *
 * It listens on a Unix socket. A client sends one line, `LOGIN <user id> <code>`, and gets one of
 *
 *     OK            the code is right: the only reply that lets anyone in
 *     WRONG         the code is not the user's, was used before, or is no code at all
 *     RETRY n       wait for n seconds, then try again: it says nothing about the code
 *     UNCONFIRMED   the user has never used a code, so the enrolment was not completed
 *     ERROR         it could not be checked: the log has the reason
 *
 * A client of a remote service is opened once, before the forks: each child gets connections of its
 * own. A database must be opened by each child, and the parent must have none open.
 *
 * SIGTERM and SIGINT end the daemon once its children have ended. */
#define _GNU_SOURCE
#include <seconder.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    CHILDREN = 32,      /* at once; further clients wait in the socket's backlog */
    CHILD_SECONDS = 60, /* no child lives longer, whatever its client does */
    CALL_MS = 5000      /* the time limit of a call to a remote service */
};

static volatile sig_atomic_t stopping;

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

/* Only interrupts ppoll(). */
static void wake(int number)
{
    (void)number;
}

static void handle(int number, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler};
    sigemptyset(&action.sa_mask);
    if (sigaction(number, &action, NULL) != 0)
        die("sigaction");
}

/* Reads a secret from a file that nobody else may read. Arguments are visible to everyone on the
 * machine, and the environment is inherited by every program that is started. */
static void read_secret(const char *path, char *secret, size_t size)
{
    struct stat about;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length;
    if (file < 0 || fstat(file, &about) != 0)
        die(path);
    if ((about.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        fprintf(stderr, "%s: others may read it: chmod 600\n", path);
        exit(1);
    }
    do
        length = read(file, secret, size - 1);
    while (length < 0 && errno == EINTR);
    if (length < 0)
        die(path);
    close(file);
    secret[length] = '\0';
    secret[strcspn(secret, "\r\n")] = '\0';
}

static bool is_remote(const char *url)
{
    return strncmp(url, "https:", 6) == 0;
}

/* Returns NULL, and logs the reason, if it fails. */
static seconder_service *open_service(char **argument)
{
    seconder_service *service = NULL;
    seconder_error *error = NULL;
    seconder_open_options options = {0};
    char key[256];
    if (is_remote(argument[1])) {
        options.timeout_ms = CALL_MS;
        options.ca_file = argument[4];
    } else {
        options.must_exist = true; /* a mistyped path is no empty database */
    }
    read_secret(argument[2], key, sizeof key);
    if (seconder_open(argument[1], key, &options, sizeof options, &service, &error) != SECONDER_OK)
        fprintf(stderr, "%s\n", seconder_error_message(error));
    explicit_bzero(key, sizeof key);
    seconder_error_free(error);
    return service;
}

/* Checks a code. Whatever is not SECONDER_OK lets nobody in. */
static void check(const seconder_service *service, const char *user, const char *code, char *reply,
                  size_t size)
{
    seconder_error *error = NULL;
    seconder_status status;
    unsigned long long seconds;
    if (!seconder_is_well_formed_user_id(user)) {
        snprintf(reply, size, "ERROR\n");
        return;
    }
    status = seconder_verify(service, strtoull(user, NULL, 10), code, NULL, 0, NULL, &error);
    switch (status) {
    case SECONDER_OK:
        snprintf(reply, size, "OK\n");
        break;
    case SECONDER_TOKEN_WRONG:
    case SECONDER_TOKEN_REUSED:
    case SECONDER_TOKEN_MALFORMED:
        snprintf(reply, size, "WRONG\n");
        break;
    case SECONDER_TOKEN_NOT_CHECKED:
        snprintf(reply, size, "UNCONFIRMED\n");
        break;
    case SECONDER_RATE_LIMITED:
        seconds = seconder_error_retry_after(error);
        if (seconder_error_is_operator_limit(error)) /* The user cannot do anything about it. */
            fprintf(stderr, "limit %s: %s\n", seconder_error_limit(error),
                    seconder_error_message(error));
        snprintf(reply, size, "RETRY %llu\n", seconds > 0 ? seconds : 1);
        break;
    default:
        /* For the operator to mend: the network, the database, the API key. A lock-out must not
         * count it. The message has no secret in it. */
        fprintf(stderr, "user %s: %s: %s\n", user, seconder_status_name(status),
                seconder_error_message(error));
        snprintf(reply, size, "ERROR\n");
    }
    seconder_error_free(error);
}

/* Replies to a line. */
static void answer(const seconder_service *service, char *line, char *reply, size_t size)
{
    char *rest = NULL;
    const char *command = strtok_r(line, " ", &rest);
    const char *user = strtok_r(NULL, " ", &rest);
    const char *code = strtok_r(NULL, " ", &rest);
    if (code == NULL || strcmp(command, "LOGIN") != 0 || strtok_r(NULL, " ", &rest) != NULL)
        snprintf(reply, size, "ERROR\n");
    else
        check(service, user, code, reply, size);
}

/* Reads a line without its line end. False if none comes, or one that is too long. */
static bool read_line(int client, char *line, size_t size)
{
    size_t length = 0;
    while (length < size) {
        ssize_t got = recv(client, line + length, size - length, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        length += (size_t)got;
        if (line[length - 1] == '\n') {
            line[length - 1] = '\0';
            return strlen(line) == length - 1;
        }
    }
    return false;
}

/* Serves one client, in the child. */
static void serve(int client, seconder_service *service, char **argument)
{
    char line[128], reply[32] = "ERROR\n";
    bool complete = read_line(client, line, sizeof line);
    if (complete) {
        if (service == NULL)
            service = open_service(argument);
        if (service != NULL)
            answer(service, line, reply, sizeof reply);
    }
    explicit_bzero(line, sizeof line);
    /* It fails if the client is gone, which is then none of our business. */
    if (complete)
        send(client, reply, strlen(reply), MSG_NOSIGNAL);
    seconder_service_free(service);
}

/* Forks for a client. The child ignores what ends the parent, which waits for it: a code is not
 * used up without a reply. */
static bool fork_for(int client, int listener, seconder_service *service, char **argument,
                     const sigset_t *usual)
{
    pid_t child = fork();
    if (child == 0) {
        close(listener);
        handle(SIGCHLD, SIG_DFL);
        handle(SIGTERM, SIG_IGN);
        handle(SIGINT, SIG_IGN);
        sigprocmask(SIG_SETMASK, usual, NULL);
        alarm(CHILD_SECONDS);
        serve(client, service, argument);
        /* Not exit(), which would also write the parent's buffers and run its handlers. */
        _exit(0);
    }
    if (child < 0)
        perror("fork"); /* the client sees a closed connection, and may try again */
    close(client);
    return child > 0;
}

/* Collects the children that have ended. Returns how many. */
static int reap(void)
{
    int reaped = 0;
    while (waitpid(-1, NULL, WNOHANG) > 0)
        reaped++;
    return reaped;
}

/* Serves until a signal ends it. The signals arrive only in ppoll(), so none is missed. */
static void run(int listener, seconder_service *service, char **argument, const sigset_t *usual)
{
    int children = 0;
    while (!stopping || children > 0) {
        const bool accepting = !stopping && children < CHILDREN;
        struct pollfd incoming = {.fd = accepting ? listener : -1, .events = POLLIN};
        const struct timespec second = {.tv_sec = 1};
        int client;
        if (ppoll(&incoming, 1, &second, usual) < 0 && errno != EINTR)
            die("ppoll");
        children -= reap();
        if ((incoming.revents & POLLIN) == 0 || stopping)
            continue;
        client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (client >= 0) {
            children += fork_for(client, listener, service, argument, usual);
        } else if (errno == EMFILE || errno == ENFILE) {
            perror("accept");
            sleep(1); /* the client stays in the backlog until there is a descriptor again */
        }
    }
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
    seconder_service *service = NULL;
    sigset_t handled, usual;
    int listener;
    if (arguments != 4 && arguments != 5) {
        fprintf(stderr, "usage: %s URL KEY-FILE SOCKET [CA-FILE]\n", argument[0]);
        return 2;
    }
    service = open_service(argument);
    if (service == NULL)
        return 1;
    if (!is_remote(argument[1])) {
        /* It can be opened; the children do so again. */
        seconder_service_free(service);
        service = NULL;
    }
    sigemptyset(&handled);
    sigaddset(&handled, SIGCHLD);
    sigaddset(&handled, SIGTERM);
    sigaddset(&handled, SIGINT);
    sigprocmask(SIG_BLOCK, &handled, &usual);
    handle(SIGCHLD, wake);
    handle(SIGTERM, stop);
    handle(SIGINT, stop);
    listener = listen_at(argument[3]);
    printf("listening on %s\n", argument[3]);
    fflush(stdout);

    run(listener, service, argument, &usual);

    close(listener);
    seconder_service_free(service);
    unlink(argument[3]);
    return 0;
}
