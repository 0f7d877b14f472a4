/* Verifies the callback whose parts are files in the given folder, and prints the status. */
#include "check.h"

static char *read_part(const char *folder, const char *name, size_t *size)
{
    char path[4096], *text;
    FILE *file;
    long length;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "rb");
    CHECK(file != NULL && fseek(file, 0, SEEK_END) == 0);
    length = ftell(file);
    rewind(file);
    CHECK(length >= 0 && (text = malloc((size_t)length + 1)) != NULL);
    CHECK(fread(text, 1, (size_t)length, file) == (size_t)length);
    text[length] = '\0';
    fclose(file);
    *size = (size_t)length;
    return text;
}

int main(int count, char **arguments)
{
    static const char *const names[] = {"api_key", "url",       "method", "query",
                                        "body",    "signature", "nonce"};
    char *parts[7];
    size_t sizes[7], index;
    seconder_callback received;
    seconder_event *event = GARBAGE(seconder_event);
    seconder_status status;
    CHECK(count == 2);
    for (index = 0; index < 7; index++)
        parts[index] = read_part(arguments[1], names[index], &sizes[index]);
    memset(&received, 0, sizeof received);
    received.url = parts[1];
    received.method = parts[2];
    received.query = parts[3];
    received.body = parts[4];
    received.body_size = sizes[4];
    received.signature = parts[5];
    received.nonce = parts[6];
    status = seconder_callback_verify(parts[0], &received, sizeof received, &event, NULL);
    CHECK((event != NULL) == (status == SECONDER_OK));
    printf("%d %d %s\n", (int)status, (int)seconder_event_status(event),
           event == NULL ? "" : seconder_event_uuid(event));
    seconder_event_free(event);
    for (index = 0; index < 7; index++)
        free(parts[index]);
    return 0;
}
