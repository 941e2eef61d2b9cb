/* A chunk's header and extension; small streams are decoded, too. */
#include "tests/fuzz/chunk_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	chunk_target(chunk_input(data, len));
	return 0;
}
