/* first_mib.c: decodes the first MiB of a disk from the chunk that stores it. areas.c and
 * finish.c read partition tables and disklabels from it, in the thread that feeds chunks. */
#include "imageunzip/install/first_mib.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_MIB_SECTORS = FIRST_MIB_BYTES / SECTOR_BYTES };

struct first_mib {
	const struct ndz_header *h;
	unsigned region;
	uint64_t region_at; /* sectors of the region that were taken */
	bool has[FIRST_MIB_SECTORS], whole;
	uint8_t bytes[FIRST_MIB_BYTES];
};

/* Take pieces of the chunk's data until the first MiB is complete. */
static int
take_piece(void *arg, void *data, size_t n, struct err *e)
{
	struct first_mib *b = arg;
	const uint8_t *p = data;

	for (; n >= SECTOR_BYTES; n -= SECTOR_BYTES, p += SECTOR_BYTES) {
		struct range r = b->h->regions[b->region];
		uint64_t sector = r.off + b->region_at;
		b->whole = sector >= FIRST_MIB_SECTORS;
		if (b->whole)
			return err_set(e, ERR_CANCELLED, "that was enough");
		memcpy(b->bytes + sector * SECTOR_BYTES, p, SECTOR_BYTES);
		b->has[sector] = true;
		if (++b->region_at == r.len) {
			b->region++;
			b->region_at = 0;
		}
	}
	return 0;
}

int
first_mib_of(
    struct first_mib **out, const struct chunk *c, const void *bytes, struct err *e)
{
	struct first_mib *b = calloc(1, sizeof *b);
	struct decoder *dec = decoder_new();
	int rc = -1;

	if (b == NULL || dec == NULL) {
		err_nomem(e, "the beginning of the disk");
	} else if (chunk_check_digest(c, bytes, e) == 0) {
		b->h = &c->h;
		rc = chunk_pieces(c, bytes, dec, take_piece, b, e);
		rc = rc == 0 || b->whole ? 0 : -1;
	}
	decoder_free(dec);
	if (rc != 0)
		free(b);
	else
		*out = b;
	return rc;
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
