/* Prints the offset of each field of each struct. Compiled programs rely on them. */
#include "check.h"

#define STRUCT(type) printf("%s %d\n", #type, (int)sizeof(type))
#define FIELD(type, field) printf("    %s %d\n", #field, (int)offsetof(type, field))

int main(void)
{
#include "layout.inc"
    return 0;
}
