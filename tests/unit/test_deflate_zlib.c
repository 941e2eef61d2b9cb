/* The same as test_deflate.c, for a suite that has only zlib. */
#ifndef NO_LIBDEFLATE
#define NO_LIBDEFLATE
#endif
#include "common/image/codec/deflate.c"
#include "common/image/codec/inflate.c"
#include "tests/unit/test_deflate.c"
