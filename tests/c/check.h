/* Shared by the tests of the C interface. */
#ifndef CHECK_H
#define CHECK_H

#include "seconder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(holds) \
    do { \
        if (!(holds)) { \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #holds); \
            exit(1); \
        } \
    } while (0)

/* Makes a call and checks its status, and that it returns an error if and only if the status is not
 * SECONDER_OK. */
#define EXPECT(wanted, call) \
    do { \
        seconder_status got; \
        error = NULL; \
        got = (call); \
        if (got != (wanted)) \
            fprintf(stderr, "%s\n", seconder_error_message(error)); \
        CHECK(got == (wanted)); \
        CHECK((error == NULL) == (got == SECONDER_OK)); \
        CHECK(error == NULL || seconder_error_status(error) == got); \
        seconder_error_free(error); \
        error = NULL; \
    } while (0)

/* Makes a call that must fail with this status and this error code of the service. */
#define EXPECT_CODE(wanted, code, call) \
    do { \
        error = NULL; \
        CHECK((call) == (wanted)); \
        CHECK(same(seconder_error_service_code(error), code)); \
        seconder_error_free(error); \
        error = NULL; \
    } while (0)

/* Makes a call that must reject an argument and name it. */
#define EXPECT_INVALID(parameter, call) \
    do { \
        error = NULL; \
        CHECK((call) == SECONDER_INVALID_ARGUMENT); \
        if (!same(seconder_error_parameter(error), parameter)) \
            fprintf(stderr, "%s\n", seconder_error_message(error)); \
        CHECK(same(seconder_error_parameter(error), parameter)); \
        CHECK(seconder_error_field_count(error) == 1); \
        CHECK(same(seconder_error_field_name(error, 0), parameter)); \
        CHECK(seconder_error_field_text(error, 0) != NULL); \
        CHECK(seconder_error_field_name(error, 1) == NULL); \
        CHECK(seconder_error_field_text(error, 1) == NULL); \
        CHECK(!seconder_error_retry_safe(error)); \
        seconder_error_free(error); \
        error = NULL; \
    } while (0)

/* Makes a call that must find that a user's text cannot be a code, and names its parameter. */
#define EXPECT_MALFORMED(parameter, call) \
    do { \
        error = NULL; \
        CHECK((call) == SECONDER_TOKEN_MALFORMED); \
        CHECK(seconder_error_status(error) == SECONDER_TOKEN_MALFORMED); \
        CHECK(same(seconder_error_parameter(error), parameter)); \
        CHECK(seconder_error_field_count(error) == 1); \
        CHECK(same(seconder_error_field_name(error, 0), parameter)); \
        CHECK(!seconder_error_retry_safe(error)); \
        seconder_error_free(error); \
        error = NULL; \
    } while (0)

/* A pointer that was never a handle: a call must clear it before anything else happens. */
#define GARBAGE(type) ((type *)(void *)&garbage)

static char garbage;
static seconder_error *error;

static inline bool same(const char *one, const char *other)
{
    return one != NULL && other != NULL && strcmp(one, other) == 0;
}

/* Opens a service that every test can use. */
static inline seconder_service *open_or_die(const char *url, const char *api_key,
                                            const seconder_open_options *options)
{
    seconder_service *service = GARBAGE(seconder_service);
    EXPECT(SECONDER_OK,
           seconder_open(url, api_key, options, options == NULL ? 0 : sizeof *options, &service,
                         &error));
    CHECK(service != NULL);
    return service;
}

#endif
