/* Measures how long a library takes to load into a new process: LIBRARY SYMBOL */
#include <dlfcn.h>

#include "measure.h"

int main(int count, char **arguments)
{
    if (count != 3)
        fail("usage: load LIBRARY SYMBOL");
    uint64_t used = cpu_ns(), start = now_ns();
    void *library = dlopen(arguments[1], RTLD_NOW);
    uint64_t time = now_ns() - start;
    used = cpu_ns() - used;
    /* A look-up shows that the library is the expected one; its time does not count. */
    if (library == NULL || dlsym(library, arguments[2]) == NULL)
        fail(dlerror());
    printf("{\"time\": %llu, \"cpu\": %llu}\n", (unsigned long long)time, (unsigned long long)used);
    return 0;
}
