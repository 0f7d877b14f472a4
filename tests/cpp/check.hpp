/* Shared by the tests of the C++ wrapper. */
#ifndef CHECK_HPP
#define CHECK_HPP

#include "seconder.hpp"

#include <cstdio>
#include <cstdlib>

#define CHECK(holds) \
    do { \
        if (!(holds)) { \
            std::fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #holds); \
            std::exit(1); \
        } \
    } while (false)

/* The status of the error that an expression throws, or Status::ok. */
#define THROWN(work) \
    [&] { \
        try { \
            static_cast<void>(work); \
        } catch (const seconder::Error &error) { \
            return error.status(); \
        } \
        return seconder::Status::ok; \
    }()

#endif
