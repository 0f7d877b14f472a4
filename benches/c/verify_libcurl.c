/* The same exchange with libcurl's easy interface, which only transfers data:
 * URL CERTIFICATE TURNS */
#include <curl/curl.h>
#include <string.h>

#include "measure.h"
#include "received.h"

static CURL *curl;
static char url[256];

static void once(void)
{
    long status = 0;
    size = 0;
    if (curl_easy_setopt(curl, CURLOPT_URL, url) != CURLE_OK || curl_easy_perform(curl) != CURLE_OK)
        fail("the exchange failed");
    body[size] = '\0';
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200 || strstr(body, "\"token\":\"is valid\"") == NULL)
        fail("the code was not right");
}

int main(int count, char **arguments)
{
    struct curl_slist *headers = NULL;
    if (count != 4)
        fail("usage: verify_libcurl URL CERTIFICATE TURNS");
    snprintf(url, sizeof url, "%s/protected/json/verify/1234567/12345", arguments[1]);
    curl = curl_easy_init();
    headers = curl_slist_append(headers, "X-Svc-API-Key: the-key-of-the-benchmark");
    headers = curl_slist_append(headers, "Accept: application/json");
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_CAINFO, arguments[2]);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, keep);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, 10000L);
    measure(once, strtoul(arguments[3], NULL, 10), 1);
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    return 0;
}
