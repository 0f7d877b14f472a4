/* Loaded into a daemon under test by LD_PRELOAD. It makes the process a rough place:
 *
 * - SIGUSR1 arrives on every thread about every millisecond. Its handler was installed without
 *   SA_RESTART, so that system calls end with EINTR.
 * - A thread changes the environment in a loop.
 *
 * A forked child has no other threads; a timer sends it the signal. */
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const struct timespec MILLISECOND = {0, 1000000};
static volatile sig_atomic_t received;

static void receive(int number)
{
    (void)number;
    received = 1;
}

static void *change_environment(void *nothing)
{
    char name[32];
    int round;
    for (round = 0;; round++) {
        snprintf(name, sizeof name, "STORM_%d", round % 128);
        if (round % 256 < 128)
            setenv(name, "1", 1);
        else
            unsetenv(name);
        if (round % 64 == 0)
            nanosleep(&MILLISECOND, NULL);
    }
    return nothing;
}

static void *send_signals(void *nothing)
{
    const pid_t own = (pid_t)syscall(SYS_gettid);
    for (;;) {
        struct dirent *entry;
        DIR *threads = opendir("/proc/self/task");
        while (threads != NULL && (entry = readdir(threads)) != NULL) {
            pid_t thread = (pid_t)atoi(entry->d_name);
            if (thread > 0 && thread != own)
                syscall(SYS_tgkill, getpid(), thread, SIGUSR1);
        }
        if (threads != NULL)
            closedir(threads);
        nanosleep(&MILLISECOND, NULL);
    }
    return nothing;
}

static void begin_in_child(void)
{
    struct sigevent event;
    struct itimerspec often;
    timer_t timer;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGUSR1;
    often.it_interval = often.it_value = MILLISECOND;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) == 0)
        timer_settime(timer, 0, &often, NULL);
}

static void begin_thread(void *(*function)(void *))
{
    sigset_t all, before;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread, NULL, function, NULL) != 0)
        abort();
    pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

__attribute__((constructor)) static void begin(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = receive;
    sigaction(SIGUSR1, &action, NULL);
    pthread_atfork(NULL, NULL, begin_in_child);
    begin_thread(change_environment);
    begin_thread(send_signals);
}
