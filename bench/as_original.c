/* as_original.c: makes an image as the original programs write it: version 3, one zlib stream
 * a chunk, flushed after each piece, no extension.  The benchmarks call this program; it has one
 * thread.
 *	as_original IN.ndz OUT.ndz [LEVEL]
 * The chunks hold what those of IN hold, so IN should be compressed a little less than
 * the original does it (imagezip -z 1 --windows=aligned).  A chunk that does not fit 1 MiB at
 * LEVEL (4) is compressed at the best level. */
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

static int
write_again(void *arg, struct chunk *c, uint32_t i, const void *bytes, struct err *e)
{
	struct work *w = arg;
	static uint8_t chunk[NDZ_CHUNK_BYTES];
	uint8_t *raw = malloc((size_t)c->raw_bytes);
	int rc = raw == NULL ? err_nomem(e, "a chunk")
	                     : chunk_decode(c, bytes, w->decoder, raw, e);

	memset(chunk, 0, sizeof chunk);
	if (rc == 0)
		rc = deflate_again(w, c, raw, w->how.level, chunk, e);
	if (rc == 0 && c->h.size == 0)
		rc = deflate_again(w, c, raw, BEST_LEVEL, chunk, e);
	if (rc == 0)
		rc = c->h.size == 0 ? err_set(e, ERR_FORMAT, "it does not fit 1 MiB")
		                    : ndz_header_put(&c->h, chunk, e);
	/* What a stream that did not fit left behind is not kept. */
	if (rc == 0) {
		size_t used = NDZ_HEADER_BYTES + c->h.size;
		memset(chunk + used, 0, sizeof chunk - used);
		if (fwrite(chunk, sizeof chunk, 1, w->out) != 1)
			rc = err_os(e, "writing the image");
	}
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
