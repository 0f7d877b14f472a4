/* Reads the body of a callback from a file. */
#ifndef BODY_H
#define BODY_H

#include "measure.h"

static char body[8192];
static size_t body_size;

static void read_body(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        fail("the body cannot be read");
    body_size = fread(body, 1, sizeof body, file);
    fclose(file);
}

#endif
