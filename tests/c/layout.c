/* Prints where each field of each struct is. Programs that are built already rely on it. */
#include "check.h"

#define STRUCT(type) printf("%s %d\n", #type, (int)sizeof(type))
#define FIELD(type, field) printf("    %s %d\n", #field, (int)offsetof(type, field))

int main(void)
{
#include "layout.inc"
    return 0;
}
