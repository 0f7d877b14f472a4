/* Verifies a callback and reads its event, with seconder: BODY TURNS */
#include "body.h"
#include "seconder.h"

static const char key[] = "the-key-of-the-benchmark", url[] = "https://app.example/callback";
static seconder_callback callback;

static void once(void)
{
    seconder_event *event = NULL;
    if (seconder_callback_verify(key, &callback, sizeof callback, &event, NULL) != SECONDER_OK)
        fail("the signature is invalid");
    if (!seconder_event_approved_by(event, 12345))
        fail("the user did not approve");
    seconder_event_free(event);
}

int main(int count, char **arguments)
{
    seconder_text *signature = NULL;
    if (count != 3)
        fail("usage: callback_seconder BODY TURNS");
    read_body(arguments[1]);
    if (seconder_callback_sign(key, "1700000000.5", url, body, body_size, &signature, NULL) !=
        SECONDER_OK)
        fail("the body cannot be signed");
    callback.url = url;
    callback.method = "POST";
    callback.body = body;
    callback.body_size = body_size;
    callback.nonce = "1700000000.5";
    callback.signature = seconder_text_value(signature);
    measure(once, strtoul(arguments[2], NULL, 10), 10);
    seconder_text_free(signature);
    return 0;
}
