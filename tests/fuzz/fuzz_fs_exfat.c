/* exFAT: see fsmod_target.h.  Half of the inputs get the checksum that their
 * boot sectors should have, or nothing behind it would ever be tried. */
#define FSMOD fsmod_exfat
#define LLVMFuzzerTestOneInput scan_input
#include "tests/fuzz/fsmod_target.h"
#undef LLVMFuzzerTestOneInput

enum { SUMMED_SECTORS = 11, SECTOR_SHIFT_AT = 108 };

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static uint32_t
checksum(const uint8_t *p, size_t len)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < len; i++)
		if (i != 106 && i != 107 && i != 112)
			sum = (sum << 31 | sum >> 1) + p[i];
	return sum;
}

/* Write the checksum wherever the input has bytes of [from, from + len). */
static void
overwrite(const struct sparse_disk *s, uint64_t from, size_t len, uint32_t sum)
{
	for (unsigned i = 0; i < s->n; i++)
		for (uint64_t at = from; at < from + len; at++)
			if (at - s->extents[i].off < s->extents[i].len)
				((uint8_t *)(uintptr_t)s->extents[i]
					.data)[at - s->extents[i].off] =
				    (uint8_t)(sum >> 8 * (at % 4));
}

static void
mend(const uint8_t *data, size_t len)
{
	static uint8_t raw[SUMMED_SECTORS << 12];
	struct sparse_disk s;
	struct disk *d = sparse_open(&s, data, len);
	struct err e;

	if (d == NULL)
		return;
	if (disk_read(d, raw, 512, 0, &e) == 0 && raw[SECTOR_SHIFT_AT] >= 9 &&
	    raw[SECTOR_SHIFT_AT] <= 12) {
		size_t sector = (size_t)1 << raw[SECTOR_SHIFT_AT];
		if (disk_read(d, raw, SUMMED_SECTORS * sector, 0, &e) == 0)
			overwrite(&s, SUMMED_SECTORS * sector, sector,
			    checksum(raw, SUMMED_SECTORS * sector));
	}
	disk_close(d, &e);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	uint8_t *copy = malloc(len + 1);

	if (copy == NULL)
		return 0;
	if (len > 0)
		memcpy(copy, data, len);
	/* The number of bits set decides: a mutation changes it. */
	unsigned odd = 0;
	for (size_t i = 0; i < len; i++)
		odd ^= copy[i];
	if (__builtin_parity(odd))
		mend(copy, len);
	scan_input(copy, len);
	free(copy);
	return 0;
}
