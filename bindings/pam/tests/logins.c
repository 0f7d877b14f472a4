/* Logs in many times in one process, as a daemon without a process for each login does, and reports
 * what is left of that: logins STACKS_FOLDER SERVICE USER CODE LOGINS [storm].
 *
 * With `storm`, signals arrive all the time, and children end. Prints memory, descriptors and so on
 * before and after, for the test to compare, and fails if a login fails. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <security/pam_appl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t alarms, ended;

static void fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(EXIT_FAILURE);
}

static void on_alarm(int number)
{
    (void)number;
    alarms++;
}

static void on_child(int number)
{
    int before = errno;
    (void)number;
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ended++;
    errno = before;
}

/* Types the code for every question. */
static int converse(int count, const struct pam_message **messages, struct pam_response **responses,
                    void *data)
{
    *responses = calloc((size_t)count, sizeof **responses);
    for (int i = 0; i < count; i++)
        if (messages[i]->msg_style == PAM_PROMPT_ECHO_OFF)
            (*responses)[i].resp = strdup(data);
    return PAM_SUCCESS;
}

static void log_in(char **arguments)
{
    struct pam_conv conversation = {converse, arguments[4]};
    pam_handle_t *handle = NULL;
    if (pam_start_confdir(arguments[2], arguments[3], &conversation, arguments[1], &handle) !=
        PAM_SUCCESS)
        fail("pam_start failed");
    int status = pam_authenticate(handle, 0);
    if (status != PAM_SUCCESS)
        fail(pam_strerror(handle, status));
    pam_end(handle, status);
}

static long memory(void)
{
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%ld %ld", &pages, &resident) != 2)
        fail("/proc/self/statm");
    fclose(file);
    return resident * sysconf(_SC_PAGESIZE) / 1024;
}

static int entries(const char *path)
{
    int count = 0;
    DIR *folder = opendir(path);
    if (folder == NULL)
        fail(path);
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

/* How many signals do something else than at the start of a program. */
static int handled(void)
{
    int count = 0;
    for (int number = 1; number < NSIG; number++) {
        struct sigaction action;
        if (sigaction(number, NULL, &action) == 0 && action.sa_handler != SIG_DFL)
            count++;
    }
    return count;
}

static void report(const char *when)
{
    sigset_t blocked;
    sigprocmask(SIG_SETMASK, NULL, &blocked);
    printf("{\"when\": \"%s\", \"memory\": %ld, \"descriptors\": %d, \"threads\": %d, "
           "\"handled\": %d, \"blocked\": %s, \"children\": %s}\n",
           when, memory(), entries("/proc/self/fd"), entries("/proc/self/task") - 2, handled(),
           sigisemptyset(&blocked) ? "false" : "true",
           waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD ? "false" : "true");
}

int main(int count, char **arguments)
{
    if (count < 6)
        fail("usage: logins STACKS_FOLDER SERVICE USER CODE LOGINS [storm]");
    /* What starts the tests may ignore some. */
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    int logins = atoi(arguments[5]), storm = count > 6;
    if (storm) {
        /* Without SA_RESTART, so that system calls fail with EINTR. */
        struct sigaction alarm = {.sa_handler = on_alarm}, child = {.sa_handler = on_child};
        struct itimerval timer = {{0, 500}, {0, 500}};
        sigaction(SIGALRM, &alarm, NULL);
        sigaction(SIGCHLD, &child, NULL);
        setitimer(ITIMER_REAL, &timer, NULL);
    }
    /* What grows with the first logins, such as syslog's connection, does not count. */
    for (int i = 0; i < (logins + 9) / 10; i++)
        log_in(arguments);
    if (!storm)
        report("before");
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    double used = (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6 +
                  (double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec / 1e6;
    for (int i = 0; i < logins; i++) {
        if (storm && fork() == 0)
            _exit(0);
        log_in(arguments);
    }
    getrusage(RUSAGE_SELF, &usage);
    used = (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6 +
           (double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec / 1e6 - used;
    if (!storm)
        report("after");
    /* The last child may not have ended yet. */
    for (int i = 0; storm && ended < logins && i < 60000; i++)
        usleep(1000);
    printf("{\"cpu_ms\": %.3f, \"alarms\": %d, \"ended\": %d}\n", used * 1e3 / logins, (int)alarms,
           (int)ended);
    return 0;
}
