/* Logs in, and then looks for what was typed in the memory of the process:
 * wiped STACKS_FOLDER SERVICE USER TYPED keep|wipe TEXT...
 *
 * TYPED and each TEXT have one added to every byte, so that this program itself has them nowhere in
 * memory. With `keep`, a copy remains on purpose, which has to be found. Prints the outcome and each
 * TEXT, as it was given, that was found. Fails if a thread is started. */
#define _GNU_SOURCE
#include <pthread.h>
#include <security/pam_appl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *kept;
static int keep;

static void fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(EXIT_FAILURE);
}

/* The module's call goes to the definition of the program. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*begin)(void *),
                   void *argument)
{
    (void)thread, (void)attributes, (void)begin, (void)argument;
    fail("a thread is started");
    return 1;
}

static char *shifted_back(const char *text)
{
    size_t length = strlen(text);
    char *back = calloc(length + 1, 1);
    for (size_t i = 0; i < length; i++)
        back[i] = (char)(text[i] - 1);
    return back;
}

static int converse(int count, const struct pam_message **messages, struct pam_response **responses,
                    void *data)
{
    *responses = calloc((size_t)count, sizeof **responses);
    for (int i = 0; i < count; i++)
        if (messages[i]->msg_style == PAM_PROMPT_ECHO_OFF) {
            (*responses)[i].resp = shifted_back(data);
            if (keep && kept == NULL)
                kept = shifted_back(data);
        }
    return PAM_SUCCESS;
}

static int is_there(const char *from, const char *to, const char *text)
{
    size_t length = strlen(text);
    for (const char *at = from; at + length <= to; at++) {
        size_t same = 0;
        while (same < length && at[same] == (char)(text[same] - 1))
            same++;
        if (same == length)
            return 1;
    }
    return 0;
}

/* Looks through everything that can be written, the heap and the stacks among it. */
static int is_in_memory(const char *text)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512];
    int found = 0;
    if (maps == NULL)
        fail("/proc/self/maps");
    while (fgets(line, sizeof line, maps) != NULL) {
        unsigned long from, to;
        char rights[5];
        if (sscanf(line, "%lx-%lx %4s", &from, &to, rights) == 3 && rights[0] == 'r' &&
            rights[1] == 'w')
            found |= is_there((const char *)from, (const char *)to, text);
    }
    fclose(maps);
    return found;
}

int main(int count, char **arguments)
{
    if (count < 7)
        fail("usage: wiped STACKS_FOLDER SERVICE USER TYPED keep|wipe TEXT...");
    struct pam_conv conversation = {converse, arguments[4]};
    pam_handle_t *handle = NULL;
    keep = strcmp(arguments[5], "keep") == 0;
    if (pam_start_confdir(arguments[2], arguments[3], &conversation, arguments[1], &handle) !=
        PAM_SUCCESS)
        fail("pam_start failed");
    int status = pam_authenticate(handle, 0);
    pam_end(handle, status);
    printf("%d\n", status);
    for (int i = 6; i < count; i++)
        if (is_in_memory(arguments[i]))
            printf("%s\n", arguments[i]);
    return 0;
}
