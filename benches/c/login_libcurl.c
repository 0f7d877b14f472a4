/* The same login with libcurl's easy interface, which only transfers data: URL CERTIFICATE TURNS */
#include <curl/curl.h>
#include <string.h>

#include "measure.h"
#include "received.h"

static struct curl_slist *headers;
static const char *certificate;
static char url[256];

static void once(void)
{
    long status = 0;
    CURL *curl = curl_easy_init();
    size = 0;
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_CAINFO, certificate);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, keep);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, 10000L);
    if (curl_easy_perform(curl) != CURLE_OK)
        fail("the exchange failed");
    body[size] = '\0';
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200 || strstr(body, "\"token\":\"is valid\"") == NULL)
        fail("the code was not right");
    curl_easy_cleanup(curl);
}

int main(int count, char **arguments)
{
    if (count != 4)
        fail("usage: login_libcurl URL CERTIFICATE TURNS");
    snprintf(url, sizeof url, "%s/protected/json/verify/1234567/1?force=true", arguments[1]);
    certificate = arguments[2];
    headers = curl_slist_append(headers, "X-Svc-API-Key: the-key-of-the-benchmark");
    headers = curl_slist_append(headers, "Accept: application/json");
    measure(once, strtoul(arguments[3], NULL, 10), 1);
    curl_slist_free_all(headers);
    return 0;
}
