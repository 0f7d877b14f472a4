/* A login daemon with one event loop, and threads for the calls, which block.
 *
 *     cc daemon_epoll.c $(pkg-config --cflags --libs seconder) -lpthread -o daemon_epoll
 *     ./daemon_epoll https://2fa.example.com api-key.txt login.sock
 *     ./daemon_epoll sqlite:login.db api-key.txt login.sock
 *
 * It listens on a Unix socket. For each line `LOGIN <user id> <code>` it replies one of
 *
 *     OK            the code is right: the only reply that lets anyone in
 *     WRONG         the code is not the user's, was used before, or is no code at all
 *     RETRY n       wait for n seconds, then try again: it says nothing about the code
 *     UNCONFIRMED   the user has never used a code, so the enrolment was not completed
 *     ERROR         it could not be checked: the log has the reason
 *
 * A client belongs to the loop, or to the threads while its code is checked, and never to both.
 * SIGTERM and SIGINT end the daemon once the calls under way have returned. */
#define _GNU_SOURCE
#include <seconder.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
    THREADS = 4,       /* so many calls at once; see seconder-daemon(3) for how many suffice */
    STACK = 512 << 10, /* of each of them, in bytes: more than seconder-daemon(3) requires */
    CLIENTS = 256,     /* connections at once; further ones wait in the socket's backlog */
    QUEUE = 64,        /* codes that wait for a thread; further ones are asked to retry */
    CALL_MS = 5000,    /* the time limit of a call to a remote service */
    GRACE_SECONDS = 2, /* after SIGTERM, before calls that still wait for a service are ended */
    IDLE_SECONDS = 30  /* how long a client may say nothing */
};

struct client {
    int socket; /* -1 if this place is free */
    time_t since;
    size_t length;
    bool busy; /* it belongs to the threads */
    char line[128], reply[32];
    struct client *next;
};

static struct client clients[CLIENTS];
static int loop, listener, signals, finished;

/* What the loop and the threads share. `waiting` is a ring; `checked` is a list. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static struct client *waiting[QUEUE], *checked;
static size_t first, count;
static bool ended;

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static time_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec;
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

static seconder_service *open_service(const char *url, const char *key_file, const char *ca_file)
{
    seconder_service *service = NULL;
    seconder_error *error = NULL;
    seconder_open_options options = {0};
    char key[256];
    if (strncmp(url, "https:", 6) == 0) {
        options.timeout_ms = CALL_MS;
        options.ca_file = ca_file;
    } else {
        options.must_exist = true; /* a mistyped path is no empty database */
    }
    read_secret(key_file, key, sizeof key);
    if (seconder_open(url, key, &options, sizeof options, &service, &error) != SECONDER_OK) {
        fprintf(stderr, "%s\n", seconder_error_message(error));
        exit(1);
    }
    explicit_bzero(key, sizeof key);
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

/* A thread of the pool: it takes a client, checks its code, and hands it back to the loop. */
static void *check_codes(void *service)
{
    const uint64_t one = 1;
    struct client *client;
    for (;;) {
        pthread_mutex_lock(&lock);
        while (count == 0 && !ended)
            pthread_cond_wait(&filled, &lock);
        if (count == 0)
            break;
        client = waiting[first];
        first = (first + 1) % QUEUE;
        count--;
        pthread_mutex_unlock(&lock);

        answer((const seconder_service *)service, client->line, client->reply,
               sizeof client->reply);
        explicit_bzero(client->line, sizeof client->line);

        pthread_mutex_lock(&lock);
        client->next = checked;
        checked = client;
        pthread_mutex_unlock(&lock);
        /* It fails only if the counter is full, and then the loop is woken anyway. */
        while (write(finished, &one, sizeof one) < 0 && errno == EINTR)
            ;
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void watch(int operation, int descriptor, void *what, uint32_t events)
{
    struct epoll_event event = {.events = events, .data = {.ptr = what}};
    if (epoll_ctl(loop, operation, descriptor, &event) != 0)
        die("epoll_ctl");
}

static void drop(struct client *client)
{
    explicit_bzero(client->line, sizeof client->line);
    close(client->socket);
    client->socket = -1;
}

/* Waits for the client's next line. Each wait is for one event, so that a client who hangs up while
 * a code is checked does not wake the loop again and again. */
static void listen_to(struct client *client, int operation)
{
    client->since = now();
    client->length = 0;
    watch(operation, client->socket, client, EPOLLIN | EPOLLONESHOT);
}

/* A reply is so short that the socket's buffer takes it, unless the client never reads any. */
static void reply(struct client *client)
{
    size_t length = strlen(client->reply);
    if (send(client->socket, client->reply, length, MSG_NOSIGNAL) == (ssize_t)length)
        listen_to(client, EPOLL_CTL_MOD);
    else
        drop(client);
}

static void accept_clients(void)
{
    for (int place = 0; place < CLIENTS; place++) {
        struct client *client = &clients[place];
        if (client->socket >= 0)
            continue;
        client->socket = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (client->socket >= 0) {
            listen_to(client, EPOLL_CTL_ADD);
        } else if (errno == EAGAIN) {
            watch(EPOLL_CTL_MOD, listener, &listener, EPOLLIN | EPOLLONESHOT);
            return;
        } else if (errno != EINTR && errno != ECONNABORTED) {
            break;
        }
    }
    /* Every place is taken, or EMFILE says that no descriptor is left: the others wait until `tidy`
     * listens again. */
}

/* Passes a client to the threads, if the queue has room. */
static void hand_over(struct client *client)
{
    pthread_mutex_lock(&lock);
    client->busy = count < QUEUE;
    if (client->busy) {
        waiting[(first + count++) % QUEUE] = client;
        pthread_cond_signal(&filled);
    }
    pthread_mutex_unlock(&lock);
    if (!client->busy) {
        snprintf(client->reply, sizeof client->reply, "RETRY 1\n");
        reply(client);
    }
}

static void read_line(struct client *client)
{
    char *end;
    ssize_t got = recv(client->socket, client->line + client->length,
                       sizeof client->line - 1 - client->length, 0);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        got = 0;
    else if (got <= 0) {
        drop(client);
        return;
    }
    client->length += (size_t)got;
    client->line[client->length] = '\0';
    end = strchr(client->line, '\n');
    if (end == NULL && client->length < sizeof client->line - 1) {
        watch(EPOLL_CTL_MOD, client->socket, client, EPOLLIN | EPOLLONESHOT);
    } else if (end != client->line + client->length - 1) {
        drop(client); /* the line is too long, or the client did not wait for the reply */
    } else {
        *end = '\0';
        hand_over(client);
    }
}

/* Sends the replies of the clients that the threads have handed back. */
static void take_back(void)
{
    struct client *client, *next;
    uint64_t counted;
    while (read(finished, &counted, sizeof counted) < 0 && errno == EINTR)
        ;
    pthread_mutex_lock(&lock);
    client = checked;
    checked = NULL;
    pthread_mutex_unlock(&lock);
    for (; client != NULL; client = next) {
        next = client->next;
        client->busy = false;
        reply(client);
    }
}

/* Hands back the clients that wait for a thread, without an answer. */
static void give_up(void)
{
    pthread_mutex_lock(&lock);
    for (; count > 0; count--, first = (first + 1) % QUEUE) {
        struct client *client = waiting[first];
        snprintf(client->reply, sizeof client->reply, "RETRY 1\n");
        client->next = checked;
        checked = client;
    }
    pthread_mutex_unlock(&lock);
    take_back();
}

/* Drops idle clients, or all of them if the daemon stops. Returns how many the threads have. */
static int tidy(bool stopping)
{
    int busy = 0;
    for (int place = 0; place < CLIENTS; place++) {
        struct client *client = &clients[place];
        if (client->socket < 0)
            continue;
        if (client->busy)
            busy++;
        else if (stopping || now() - client->since > IDLE_SECONDS)
            drop(client);
    }
    return busy;
}

/* Serves until a signal ends it. The calls under way may then still end by themselves for a while,
 * and every client is answered. */
static void run(const seconder_service *service)
{
    struct epoll_event events[64];
    bool stopping = false;
    time_t tidied = now(), stopped = 0;
    while (!stopping || tidy(true) > 0) {
        int ready = epoll_wait(loop, events, 64, 1000);
        if (ready < 0 && errno != EINTR)
            die("epoll_wait");
        for (int index = 0; index < ready; index++) {
            void *what = events[index].data.ptr;
            if (what == &finished)
                take_back();
            else if (what == &signals)
                stopping = true, stopped = now();
            else if (what != &listener)
                read_line((struct client *)what);
            else if (!stopping)
                accept_clients();
        }
        if (stopping) {
            give_up();
            if (now() - stopped > GRACE_SECONDS)
                seconder_service_cancel(service);
        } else if (now() != tidied) {
            tidied = now();
            tidy(false);
            watch(EPOLL_CTL_MOD, listener, &listener, EPOLLIN | EPOLLONESHOT);
        }
    }
    close(listener);
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
    pthread_t threads[THREADS];
    pthread_attr_t attributes;
    seconder_service *service;
    sigset_t stop;
    if (arguments != 4 && arguments != 5) {
        fprintf(stderr, "usage: %s URL KEY-FILE SOCKET [CA-FILE]\n", argument[0]);
        return 2;
    }
    service = open_service(argument[1], argument[2], argument[4]);
    sigemptyset(&stop);
    sigaddset(&stop, SIGTERM);
    sigaddset(&stop, SIGINT);
    /* Before the threads begin, which inherit the mask: the signals are for the loop alone. */
    pthread_sigmask(SIG_BLOCK, &stop, NULL);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    loop = epoll_create1(EPOLL_CLOEXEC);
    signals = signalfd(-1, &stop, SFD_NONBLOCK | SFD_CLOEXEC);
    finished = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    listener = listen_at(argument[3]);
    if (loop < 0 || signals < 0 || finished < 0)
        die("starting");
    for (int place = 0; place < CLIENTS; place++)
        clients[place].socket = -1;
    for (int index = 0; index < THREADS; index++)
        if (pthread_create(&threads[index], &attributes, check_codes, service) != 0)
            die("pthread_create");
    watch(EPOLL_CTL_ADD, signals, &signals, EPOLLIN | EPOLLONESHOT);
    watch(EPOLL_CTL_ADD, finished, &finished, EPOLLIN);
    watch(EPOLL_CTL_ADD, listener, &listener, EPOLLIN | EPOLLONESHOT);
    printf("listening on %s\n", argument[3]);
    fflush(stdout);

    run(service);

    pthread_mutex_lock(&lock);
    ended = true;
    pthread_cond_broadcast(&filled);
    pthread_mutex_unlock(&lock);
    for (int index = 0; index < THREADS; index++)
        pthread_join(threads[index], NULL);
    seconder_service_free(service);
    unlink(argument[3]);
    return 0;
}
