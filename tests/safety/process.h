/* A snapshot of this process, to compare its state before and after. */
#ifndef PROCESS_H
#define PROCESS_H

#include "check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define DESCRIPTORS 1024
#define SIGNALS 65

struct process {
    int threads;
    int descriptors[DESCRIPTORS]; /* the flags of each, -1 where it is closed */
    struct sigaction signals[SIGNALS];
    sigset_t blocked;
    stack_t signal_stack;
    mode_t mask;
    char folder[4096], locale[256];
    char **environment;
    unsigned long environment_sum;
    long resident_kib;
    size_t heap;
};

extern char **environ;

static inline int entries(const char *path)
{
    DIR *folder = opendir(path);
    struct dirent *entry;
    int count = 0;
    CHECK(folder != NULL);
    while ((entry = readdir(folder)) != NULL)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

/* A thread that was joined is listed for a moment longer, so this waits for up to ten seconds. */
static inline int thread_count(void)
{
    const struct timespec moment = {0, 10 * 1000 * 1000};
    int round, count = 0;
    for (round = 0; round < 1000 && (count = entries("/proc/self/task")) > 1; round++)
        nanosleep(&moment, NULL);
    return count;
}

static inline long resident_kib(void)
{
    char line[256];
    long found = -1;
    FILE *status = fopen("/proc/self/status", "r");
    CHECK(status != NULL);
    while (fgets(line, sizeof line, status) != NULL)
        if (strncmp(line, "VmRSS:", 6) == 0)
            found = atol(line + 6);
    fclose(status);
    CHECK(found > 0);
    return found;
}

static inline void look(struct process *seen)
{
    struct mallinfo2 heap = mallinfo2();
    const char *const *variable;
    int index;
    memset(seen, 0, sizeof *seen);
    seen->threads = thread_count();
    for (index = 0; index < DESCRIPTORS; index++)
        seen->descriptors[index] = fcntl(index, F_GETFD);
    for (index = 1; index < SIGNALS; index++)
        if (sigaction(index, NULL, &seen->signals[index]) != 0)
            memset(&seen->signals[index], 0, sizeof seen->signals[index]);
    CHECK(pthread_sigmask(SIG_SETMASK, NULL, &seen->blocked) == 0);
    CHECK(sigaltstack(NULL, &seen->signal_stack) == 0);
    seen->mask = umask(0);
    umask(seen->mask);
    CHECK(getcwd(seen->folder, sizeof seen->folder) != NULL);
    snprintf(seen->locale, sizeof seen->locale, "%s", setlocale(LC_ALL, NULL));
    seen->environment = environ;
    for (variable = (const char *const *)environ; *variable != NULL; variable++)
        for (index = 0; (*variable)[index] != '\0'; index++)
            seen->environment_sum = seen->environment_sum * 31 + (unsigned char)(*variable)[index];
    seen->resident_kib = resident_kib();
    seen->heap = heap.uordblks + heap.hblkhd;
}

static inline void same_signals(const sigset_t *one, const sigset_t *other)
{
    int index;
    for (index = 1; index < SIGNALS; index++)
        CHECK(sigismember(one, index) == sigismember(other, index));
}

/* Compares threads, descriptors, signals, and everything else that belongs to the whole process. */
static inline void same_but_for_memory(const struct process *before, const struct process *after)
{
    int index;
    CHECK(before->threads == after->threads);
    for (index = 0; index < DESCRIPTORS; index++)
        CHECK(before->descriptors[index] == after->descriptors[index]);
    for (index = 1; index < SIGNALS; index++) {
        const struct sigaction *one = &before->signals[index], *other = &after->signals[index];
        CHECK(one->sa_flags == other->sa_flags && one->sa_handler == other->sa_handler);
        same_signals(&one->sa_mask, &other->sa_mask);
    }
    same_signals(&before->blocked, &after->blocked);
    CHECK(before->signal_stack.ss_sp == after->signal_stack.ss_sp);
    CHECK(before->mask == after->mask);
    CHECK(same(before->folder, after->folder) && same(before->locale, after->locale));
    CHECK(before->environment == after->environment);
    CHECK(before->environment_sum == after->environment_sum);
}

/* The heap may grow a little, as malloc() counts its caches for threads as in use. Valgrind and the
 * sanitizers replace malloc(), so that the heap is 0 here; they find leaks themselves. */
static inline void same_memory(const struct process *before, const struct process *after,
                               size_t heap_allowed, long resident_allowed_kib)
{
    printf("heap %lu -> %lu, resident %ld -> %ld KiB\n", (unsigned long)before->heap,
           (unsigned long)after->heap, before->resident_kib, after->resident_kib);
    if (before->heap == 0 && after->heap == 0)
        return;
    CHECK(after->heap <= before->heap + heap_allowed);
    CHECK(after->resident_kib <= before->resident_kib + resident_allowed_kib);
}

#endif
