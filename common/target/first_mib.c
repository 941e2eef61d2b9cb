/* first_mib.c: decodes the first MiB of a disk from the chunk that stores it. areas.c and
 * target_finish.c read partition tables and disklabels from it, in the thread that feeds chunks. */
#include "common/target/first_mib.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/target/few_sectors.h"

enum { FIRST_MIB_SECTORS = FIRST_MIB_BYTES / SECTOR_BYTES };

struct first_mib {
	bool has[FIRST_MIB_SECTORS];
	uint8_t bytes[FIRST_MIB_BYTES];
};

int
first_mib_of(
    struct first_mib **out, const struct chunk *c, const void *bytes, struct err *e)
{
	struct first_mib *b = calloc(1, sizeof *b);
	const struct range all = { 0, FIRST_MIB_SECTORS };

	if (b == NULL)
		return err_nomem(e, "the beginning of the disk");
	if (few_sectors(c, bytes, all, b->bytes, b->has, e) != 0) {
		free(b);
		return -1;
	}
	*out = b;
	return 0;
}

void
first_mib_free(struct first_mib *b)
{
	free(b);
}

ssize_t
first_mib_pread(void *ctx, void *buf, size_t len, uint64_t off)
{
	const struct first_mib *b = ctx;
	uint64_t first = off / SECTOR_BYTES, last = (off + len - 1) / SECTOR_BYTES;

	for (uint64_t i = first; i <= last; i++)
		if (i >= FIRST_MIB_SECTORS || !b->has[i]) {
			errno = EIO;
			return -1;
		}
	memcpy(buf, b->bytes + off, len);
	return (ssize_t)len;
}
