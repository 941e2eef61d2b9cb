/* Any text: what is left is harmless UTF-8, no longer than before, and stays as it is. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/plain.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *text = malloc(2 * len + 1);
	uint32_t code;

	if (text == NULL)
		return 0;
	memcpy(text, data, len);
	size_t n = plain_bytes(text, len);
	assert(n <= len);
	for (size_t at = 0, one; at < n; at += one) {
		one = plain_char(text + at, n - at, &code);
		assert(one > 0 && !plain_is_harmful(code));
	}
	memcpy(text + n, text, n);
	assert(plain_bytes(text + n, n) == n && memcmp(text, text + n, n) == 0);
	free(text);
	return 0;
}
