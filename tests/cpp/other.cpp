/* A second translation unit: both must be able to include the wrapper in one program. */
#include "seconder.hpp"

seconder::Service opened_remotely()
{
    return seconder::open("sandbox:?accept=0000000");
}
