/* Logs in through PAM with one module: STACKS_FOLDER SERVICE TURNS. The service `oath` gets the next
 * HOTP code of its users file; any other one gets a code that the sandbox accepts. */
#include <liboath/oath.h>
#include <security/pam_appl.h>
#include <string.h>

#include "measure.h"

static const char secret[] = "12345678901234567890";
static const char *folder, *service;
static uint64_t counter;

static int converse(int count, const struct pam_message **messages, struct pam_response **responses,
                    void *data)
{
    (void)data;
    *responses = calloc((size_t)count, sizeof **responses);
    for (int i = 0; i < count; i++) {
        char code[16] = "1234567";
        if (messages[i]->msg_style != PAM_PROMPT_ECHO_OFF)
            continue;
        if (strcmp(service, "oath") == 0 &&
            oath_hotp_generate(secret, sizeof secret - 1, counter++, 6, 0, -1, code) != OATH_OK)
            return PAM_CONV_ERR;
        (*responses)[i].resp = strdup(code);
    }
    return PAM_SUCCESS;
}

static void once(void)
{
    struct pam_conv conversation = {converse, NULL};
    pam_handle_t *handle = NULL;
    if (pam_start_confdir(service, "ada", &conversation, folder, &handle) != PAM_SUCCESS)
        fail("pam_start failed");
    int status = pam_authenticate(handle, 0);
    if (status != PAM_SUCCESS)
        fail(pam_strerror(handle, status));
    pam_end(handle, status);
}

int main(int count, char **arguments)
{
    if (count != 4)
        fail("usage: login_pam STACKS_FOLDER SERVICE TURNS");
    folder = arguments[1];
    service = arguments[2];
    oath_init();
    measure(once, strtoul(arguments[3], NULL, 10), 1);
    oath_done();
    return 0;
}
