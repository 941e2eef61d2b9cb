/* frozen.h: what was written once is written so for ever.  tests/golden/own/NAME.bin has records
 * of this suite's own, one after the other, each with its length (4 bytes, low byte first) before
 * it; a test makes the same records again, in the same order, and compares.  With FREEZE=1 in
 * the environment, records beyond the end of the file are appended to it: those of new kinds. */
#ifndef TESTS_UNIT_FROZEN_H
#define TESTS_UNIT_FROZEN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct frozen {
	FILE *f;
};

static inline struct frozen
frozen_open(const char *name)
{
	char path[128];

	snprintf(path, sizeof path, "tests/golden/own/%s.bin", name);
	return (struct frozen){ fopen(path, getenv("FREEZE") != NULL ? "a+b" : "rb") };
}

/* Is the next record of the file these bytes? */
static inline bool
frozen_next(struct frozen *z, const uint8_t *bytes, size_t len)
{
	const uint8_t head[4] = { (uint8_t)len, (uint8_t)(len >> 8), (uint8_t)(len >> 16),
		(uint8_t)(len >> 24) };
	uint8_t had[4];
	bool same = true;

	if (z->f == NULL)
		return false;
	size_t n = fread(had, 1, sizeof had, z->f);
	if (n == 0 && getenv("FREEZE") != NULL)
		return fwrite(head, 1, sizeof head, z->f) == sizeof head &&
		       fwrite(bytes, 1, len, z->f) == len;
	if (n != sizeof had || memcmp(head, had, sizeof head) != 0)
		return false;
	for (size_t i = 0; i < len; i++)
		same &= fgetc(z->f) == bytes[i];
	return same;
}

/* Closes the file.  True: all its records were compared. */
static inline bool
frozen_close(struct frozen *z)
{
	bool at_end = z->f != NULL && fgetc(z->f) == EOF;

	if (z->f != NULL)
		fclose(z->f);
	return at_end;
}

#endif /* TESTS_UNIT_FROZEN_H */
