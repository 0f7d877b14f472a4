/* Two static libraries in Rust, each with a standard library of its own. */
#include "check.h"

size_t others_length(uint32_t number);

int main(void)
{
    seconder_service *service = open_or_die("sandbox:", NULL, NULL);
    CHECK(others_length(12345) == 5);
    EXPECT(SECONDER_OK, seconder_verify(service, 1, "1234567", NULL, 0, NULL, &error));
    seconder_service_free(service);
    return 0;
}
