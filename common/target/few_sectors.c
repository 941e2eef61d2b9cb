/* few_sectors.c: takes a few sectors out of the data of a chunk (few_sectors.h).
 * guess.c and first_mib.c call this, in the thread that feeds chunks. */
#include "common/target/few_sectors.h"

#include <string.h>

struct few {
	const struct ndz_header *h;
	unsigned region;
	uint64_t region_at; /* sectors of the region that were taken */
	struct range wanted;
	uint8_t *to;
	bool *has;
	bool whole; /* what comes now lies behind them */
};

static void
take_sector(struct few *k, uint64_t sector, const uint8_t *p)
{
	uint64_t at = sector - k->wanted.off;

	if (sector < k->wanted.off)
		return;
	memcpy(k->to + at * SECTOR_BYTES, p, SECTOR_BYTES);
	if (k->has != NULL)
		k->has[at] = true;
}

/* Takes pieces of the chunk's data until one lies behind what is wanted. */
static int
take_piece(void *arg, void *data, size_t n, struct err *e)
{
	struct few *k = arg;
	const uint8_t *p = data;

	for (; n >= SECTOR_BYTES; n -= SECTOR_BYTES, p += SECTOR_BYTES) {
		struct range r = k->h->regions[k->region];
		uint64_t sector = r.off + k->region_at;
		k->whole = sector >= range_end(k->wanted);
		if (k->whole)
			return err_set(e, ERR_CANCELLED, "that was enough");
		take_sector(k, sector, p);
		if (++k->region_at == r.len) {
			k->region++;
			k->region_at = 0;
		}
	}
	return 0;
}

int
few_sectors(const struct chunk *c, const void *bytes, struct range wanted, uint8_t *to,
    bool *has, struct err *e)
{
	struct few k = { .h = &c->h, .wanted = wanted, .to = to, .has = has };
	struct decoder *dec = decoder_new();
	int rc = -1;

	if (dec == NULL)
		return err_nomem(e, "the decoder of a chunk");
	if (chunk_check_digest(c, bytes, e) == 0)
		rc = chunk_pieces(c, bytes, dec, take_piece, &k, e);
	decoder_free(dec);
	return k.whole ? 0 : rc;
}
