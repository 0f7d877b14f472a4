/* Measures the wall-clock time of each turn, and the processor time, in the same way for all
 * programs. */
#ifndef MEASURE_H
#define MEASURE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static void fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(EXIT_FAILURE);
}

static uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static uint64_t cpu_ns(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return ((uint64_t)usage.ru_utime.tv_sec + (uint64_t)usage.ru_stime.tv_sec) * 1000000000u +
           ((uint64_t)usage.ru_utime.tv_usec + (uint64_t)usage.ru_stime.tv_usec) * 1000u;
}

static int by_size(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* Makes `turns` turns of `each` calls of `once`, after a tenth as many calls to warm up, which are
 * not counted. Prints the median wall-clock time of a call over the turns, and the processor time
 * of a call, in nanoseconds. */
static inline void measure(void (*once)(void), size_t turns, size_t each)
{
    uint64_t *times = calloc(turns, sizeof *times), used;
    if (times == NULL || turns == 0)
        fail("usage: PROGRAM [its arguments] TURNS, one or more");
    for (size_t i = 0; i < (turns * each + 9) / 10; i++)
        once();
    used = cpu_ns();
    for (size_t turn = 0; turn < turns; turn++) {
        uint64_t start = now_ns();
        for (size_t i = 0; i < each; i++)
            once();
        times[turn] = now_ns() - start;
    }
    used = cpu_ns() - used;
    qsort(times, turns, sizeof *times, by_size);
    printf("{\"time\": %.1f, \"cpu\": %.1f}\n", (double)times[turns / 2] / (double)each,
           (double)used / (double)(turns * each));
    free(times);
}

#endif
