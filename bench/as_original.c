/* as_original.c: makes an image as the original programs write it: version 3, one zlib stream
 * a chunk, flushed after each piece, no extension.  The benchmarks call this program; it has one
 * thread.
 *	as_original IN.ndz OUT.ndz [LEVEL]
 * The chunks hold what those of IN hold, so IN should be compressed a little less than
 * the original does it (imagezip -z 1 --windows=aligned).  A chunk that does not fit 1 MiB at
 * LEVEL (4) is compressed at the best level, and becomes two chunks where that is too much. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/image/read/chunk.h"
#include "common/image/read/image.h"
#include "emustore/store/redeflate.h"

enum { BEST_LEVEL = 9 };

struct work {
	struct decoder *decoder;
	struct redeflater *redeflater;
	struct redeflate_how how;
	FILE *out;
	int32_t written; /* chunks */
};

/* The stream of the chunk's data, at this level, into `chunk`; its length into the header, 0
 * when it does not fit. */
static int
deflate_again(struct work *w, struct chunk *c, const uint8_t *raw, uint8_t level,
    uint8_t *chunk, struct err *e)
{
	struct redeflate_how how = w->how;

	how.level = level;
	if (redeflate_begin(w->redeflater, &how, &c->h, chunk + NDZ_HEADER_BYTES, e) != 0)
		return -1;
	c->h.size = 0;
	if (redeflate_data(w->redeflater, raw, (size_t)c->raw_bytes))
		c->h.size = (uint32_t)redeflate_end(w->redeflater);
	return 0;
}

/* The stream of the chunk's data, at the level of the images or, when that does not fit, at the
 * best. */
static int
deflate_to_fit(struct work *w, struct chunk *c, const uint8_t *raw, uint8_t *chunk,
    struct err *e)
{
	int rc = deflate_again(w, c, raw, w->how.level, chunk, e);

	if (rc == 0 && c->h.size == 0)
		rc = deflate_again(w, c, raw, BEST_LEVEL, chunk, e);
	return rc;
}

static int
write_chunk(struct work *w, struct ndz_header *h, uint8_t *chunk, struct err *e)
{
	size_t used = NDZ_HEADER_BYTES + h->size;

	h->index = w->written++;
	if (ndz_header_put(h, chunk, e) != 0)
		return -1;
	/* What a stream that did not fit left behind is not kept. */
	memset(chunk + used, 0, NDZ_CHUNK_BYTES - used);
	return fwrite(chunk, NDZ_CHUNK_BYTES, 1, w->out) == 1
	           ? 0
	           : err_os(e, "writing the image");
}

/* Make *c the first half of its data, and *rest the other one. */
static void
halve(struct chunk *c, struct chunk *rest)
{
	uint64_t left = c->raw_bytes / SECTOR_BYTES / 2;
	unsigned n = 0;

	*rest = *c;
	while (c->h.regions[n].len <= left)
		left -= c->h.regions[n++].len;
	rest->h.nregions = c->h.nregions - n;
	memmove(rest->h.regions, c->h.regions + n,
	    rest->h.nregions * sizeof *rest->h.regions);
	rest->h.regions[0].off += left;
	rest->h.regions[0].len -= left;
	c->h.regions[n].len = left;
	c->h.nregions = n + (left > 0);
	c->h.lastsect = rest->h.firstsect = rest->h.regions[0].off;
	rest->h.nrelocs = 0;
	c->raw_bytes = ndz_header_raw_bytes(&c->h);
	rest->raw_bytes = ndz_header_raw_bytes(&rest->h);
}

/* Write the chunk's data as one chunk, or as two where they do not fit. */
static int
write_data(struct work *w, struct chunk *c, const uint8_t *raw, struct err *e)
{
	static uint8_t chunk[NDZ_CHUNK_BYTES];
	struct chunk *rest;

	if (deflate_to_fit(w, c, raw, chunk, e) != 0)
		return -1;
	if (c->h.size != 0)
		return write_chunk(w, &c->h, chunk, e);
	if ((rest = malloc(sizeof *rest)) == NULL)
		return err_nomem(e, "a chunk");
	halve(c, rest);
	int rc = write_data(w, c, raw, e);
	if (rc == 0)
		rc = write_data(w, rest, raw + c->raw_bytes, e);
	free(rest);
	return rc;
}

static int
write_again(void *arg, struct chunk *c, uint32_t i, const void *bytes, struct err *e)
{
	struct work *w = arg;
	uint8_t *raw = malloc((size_t)c->raw_bytes);
	int rc = raw == NULL ? err_nomem(e, "a chunk")
	                     : chunk_decode(c, bytes, w->decoder, raw, e);

	if (rc == 0)
		rc = write_data(w, c, raw, e);
	free(raw);
	return rc == 0 ? 0 : err_ctx(e, "chunk %u", i);
}

static int
run(struct work *w, const char *in, const char *out, struct err *e)
{
	struct image *img;

	w->decoder = decoder_new();
	w->redeflater = redeflater_new();
	if (w->decoder == NULL || w->redeflater == NULL)
		return err_nomem(e, "a chunk");
	if (image_open(&img, in, e) != 0)
		return -1;
	w->out = fopen(out, "wb");
	int rc = w->out == NULL ? err_os(e, "%s", out)
	                        : image_each(img, write_again, w, e);
	if (w->out != NULL && fclose(w->out) != 0 && rc == 0)
		rc = err_os(e, "%s", out);
	if (rc != 0 && w->out != NULL)
		remove(out);
	image_close(img);
	return rc;
}

int
main(int argc, char **argv)
{
	struct work w = { .how = { .rule = REDEFLATE_FLUSHED, .level = 4, .memory = 8 } };
	struct err e;

	if (argc != 3 && argc != 4) {
		fprintf(stderr, "usage: as_original IN.ndz OUT.ndz [LEVEL]\n");
		return 2;
	}
	if (argc == 4)
		w.how.level = (uint8_t)(strtoul(argv[3], NULL, 10) % 10);
	int rc = run(&w, argv[1], argv[2], &e);
	decoder_free(w.decoder);
	redeflater_free(w.redeflater);
	if (rc == 0)
		return 0;
	fprintf(stderr, "as_original: %s: %s\n", argv[1], e.text);
	return err_exit_status(&e);
}
