/* golden.h: images made by Emulab's own imagezip, from tests/golden/img. */
#ifndef TESTS_UNIT_GOLDEN_H
#define TESTS_UNIT_GOLDEN_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { GOLDEN_MAX_BYTES = 8 << 20 };

/* Reads a whole image, which the caller frees.  NULL: it is missing. */
static inline uint8_t *
golden_load(const char *name, size_t *len)
{
	uint8_t *buf = malloc(GOLDEN_MAX_BYTES);
	char cmd[256];

	snprintf(cmd, sizeof cmd, "zstd -q -d -c tests/golden/img/%s.ndz.zst", name);
	FILE *f = popen(cmd, "r");
	*len = buf != NULL && f != NULL ? fread(buf, 1, GOLDEN_MAX_BYTES, f) : 0;
	if (f == NULL || pclose(f) != 0 || *len == 0) {
		free(buf);
		return NULL;
	}
	return buf;
}

#endif /* TESTS_UNIT_GOLDEN_H */
