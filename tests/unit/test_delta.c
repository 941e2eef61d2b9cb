/* The signature of a delta: what was captured must be what was compared. */
#include "imagezip/capture/delta.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tests/t.h"

/* The signature of n blocks; all bytes of the hash of block i are i + 1. */
static struct sig
blocks(uint32_t first, size_t n)
{
	struct sig s = { .hash = SIG_SHA1,
		.block_sectors = SIG_BLOCK_SECTORS,
		.n = n,
		.cap = n,
		.records = calloc(n, sizeof *s.records) };

	for (uint32_t i = 0; i < n; i++) {
		s.records[i].start = (first + i) * SIG_BLOCK_SECTORS;
		s.records[i].count = SIG_BLOCK_SECTORS;
		memset(s.records[i].hash, (int)(first + i + 1), SIG_HASH_MAX);
	}
	return s;
}

/* Does the capture of the last two of three blocks agree with the comparison, when this
 * byte of its last record is another one? */
static bool
agrees(size_t byte, struct err *e)
{
	struct delta x = { .on = true, .now = blocks(0, 3) };
	struct sig stored = blocks(1, 2);

	if (byte < sizeof stored.records[1])
		((uint8_t *)&stored.records[1])[byte] ^= 1;
	bool good = delta_merge(&x, &stored, e) == 0;
	T_CHECK(!good || stored.n == 3);
	sig_free(&stored);
	sig_free(&x.now);
	return good;
}

int
main(void)
{
	size_t last = offsetof(struct sig_record, hash) + SIG_HASH_MAX - 1;
	struct err e = { 0 };

	T_CHECK(agrees(SIZE_MAX, &e));
	T_CHECK(!agrees(last, &e));
	T_CHECK(e.kind == ERR_IO);
	T_CHECK(strstr(e.text, "sectors 256-383 changed while they were read") != NULL);
	T_CHECK(!agrees(offsetof(struct sig_record, hash), &e));
	T_CHECK(!agrees(offsetof(struct sig_record, start), &e));
	T_CHECK(!agrees(offsetof(struct sig_record, count), &e));
	return t_done();
}
