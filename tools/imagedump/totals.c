/* totals.c: the numbers that describe an image's chunks are added up.  main.c and encrypted.c
 * call this for each chunk, in the first thread. */
#include "tools/imagedump/totals.h"

#include <inttypes.h>
#include <stdlib.h>

int
totals_check_tiling(struct totals *t, const struct chunk *c, struct err *e)
{
	const struct ndz_header *h = &c->h;
	bool follows = h->version > 1 && h->firstsect == t->next_sector;

	t->tiled = follows && (t->chunks == 0 || t->tiled);
	if (h->version > 1 && !follows)
		return err_set(e, ERR_FORMAT,
		    "chunk %u begins at sector %" PRIu64
		    ", but the chunk before it ends at %" PRIu64
		    ": sectors are missing or stored twice",
		    t->chunks, h->firstsect, t->next_sector);
	return 0;
}

/* Add up what the chunk holds besides its stream. */
static void
add_rest(struct totals *t, const struct chunk *c)
{
	uint64_t extension = c->ext.present ? EXT_HEAD_BYTES + c->ext.records_bytes : 0;

	if (c->ext.has_signature)
		extension += EXT_SIGNATURE_BYTES;
	t->header_bytes += NDZ_HEADER_BYTES;
	t->extension_bytes += extension;
	t->padding_bytes += NDZ_STREAM_MAX - c->h.size - extension;
}

void
totals_add(struct totals *t, struct chunk *c)
{
	add_rest(t, c);
	t->signed_chunks += c->ext.has_signature;
	if (t->chunks == 0) {
		t->first = c->ext;
		t->first.fragments = NULL;
		t->first.freed = NULL;
		t->first.samples.v = t->first.shared.v = NULL;
		t->first.lost = (struct lost){ 0 };
		c->ext.reach = NULL;
	}
	tail_count(&t->first.tail, c->h.regions, c->h.nregions, t->tail_sectors);
	if (c->ext.lost.nranges > 0) {
		lost_free(&t->lost);
		t->lost = c->ext.lost;
		c->ext.lost = (struct lost){ 0 };
	}
	for (size_t i = 0; i < c->ext.nfreed; i++)
		t->freed += c->ext.freed[i].len;
	t->samples += c->ext.samples.n;
	/* Two chunks list a shared sample. */
	for (size_t i = 0; i < c->ext.shared.n; i++)
		t->samples += c->ext.shared.v[i].sectors.off >= c->h.firstsect;
	t->chunks++;
	t->version = c->h.version;
	t->codec = c->codec;
	t->regions += c->h.nregions;
	t->relocs += c->h.nrelocs;
	t->fragments += c->ext.nfragments;
	t->stream_bytes += c->h.size;
	t->raw_bytes += c->raw_bytes;
	t->next_sector = c->h.lastsect;
	t->sectors = c->h.lastsect > t->sectors ? c->h.lastsect : t->sectors;
}

void
totals_free(struct totals *t)
{
	lost_free(&t->lost);
	free(t->first.reach);
}
