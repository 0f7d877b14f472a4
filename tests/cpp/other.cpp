/* A second translation unit: what both have of the wrapper must be one. */
#include "seconder.hpp"

seconder::Service opened_remotely()
{
    return seconder::open("sandbox:?accept=0000000");
}
