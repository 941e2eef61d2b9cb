/* reconstruct.c: measures what it takes to make chunks of raw blocks, as a store of raw blocks must:
 * inflate the blocks of a chunk, and compress the chunk.  bench/ runs this program; it has one thread.
 *	reconstruct IMAGE.ndz BLOCK_BYTES [LEVEL]
 * Blocks lie compressed in memory, so that neither disk nor look-up counts.  Prints
 * as JSON: the number of chunks, the mean microseconds of CPU for a chunk, and how many of them
 * inflating takes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/cpu.h"
#include "common/base/json.h"
#include "common/image/read/chunk.h"
#include "common/image/read/image.h"
#include "emustore/store/redeflate.h"

enum { LEVEL = 4 }; /* zlib's, the original imagezip's default */

struct work {
	size_t block_bytes;
	struct deflater *deflater;
	struct inflater *inflater;
	struct decoder *decoder;
	struct redeflater *redeflater;
	struct redeflate_how how;
	uint8_t *raw, *again; /* a chunk's data */
	uint8_t *packed;      /* its blocks */
	size_t raw_cap;
	uint32_t chunks, too_long;
	double inflate_us, us;
};

static int
need_room(struct work *w, size_t n, struct err *e)
{
	if (n <= w->raw_cap)
		return 0;
	size_t blocks = n / w->block_bytes + 1;
	free(w->raw), free(w->again), free(w->packed);
	w->raw = malloc(n);
	w->again = malloc(n);
	w->packed = malloc(blocks * (deflater_bound(w->block_bytes) + sizeof(size_t)));
	w->raw_cap = n;
	return w->raw == NULL || w->again == NULL || w->packed == NULL
	           ? err_nomem(e, "a chunk")
	           : 0;
}

/* Each block behind its length. */
static void
pack_blocks(struct work *w, size_t bytes)
{
	uint8_t *to = w->packed;

	for (size_t at = 0, n; at < bytes; at += n) {
		n = bytes - at < w->block_bytes ? bytes - at : w->block_bytes;
		size_t len = deflater_fragment(w->deflater, w->raw + at, n,
		    to + sizeof len, deflater_bound(w->block_bytes));
		memcpy(to, &len, sizeof len);
		to += sizeof len + len;
	}
}

static int
unpack_blocks(struct work *w, size_t bytes, struct err *e)
{
	const uint8_t *from = w->packed;
	size_t len;

	for (size_t at = 0, n; at < bytes; at += n) {
		n = bytes - at < w->block_bytes ? bytes - at : w->block_bytes;
		memcpy(&len, from, sizeof len);
		if (inflater_fragment(
			w->inflater, from + sizeof len, len, w->again + at, n, e) != 0)
			return -1;
		from += sizeof len + len;
	}
	return 0;
}

static int
one_chunk(void *arg, struct chunk *c, uint32_t i, const void *bytes, struct err *e)
{
	struct work *w = arg;
	static uint8_t stream[NDZ_STREAM_MAX];
	size_t n = (size_t)c->raw_bytes;

	(void)i;

	if (need_room(w, n, e) != 0 ||
	    chunk_decode(c, bytes, w->decoder, w->raw, e) != 0)
		return -1;
	pack_blocks(w, n);
	double start = cpu_us();
	if (unpack_blocks(w, n, e) != 0)
		return -1;
	double middle = cpu_us();
	if (redeflate_begin(w->redeflater, &w->how, &c->h, stream, e) != 0)
		return -1;
	if (!redeflate_data(w->redeflater, w->again, n) ||
	    redeflate_end(w->redeflater) == 0)
		w->too_long++;
	w->us += cpu_us() - start;
	w->inflate_us += middle - start;
	w->chunks++;
	return memcmp(w->raw, w->again, n) == 0
	           ? 0
	           : err_set(e, ERR_FORMAT, "blocks came out changed");
}

static int
print_means(const struct work *w, struct err *e)
{
	struct json *j = json_new();
	double n = w->chunks > 0 ? w->chunks : 1;

	if (j == NULL)
		return err_nomem(e, "the result");
	json_object(j, NULL);
	json_uint(j, "block_bytes", w->block_bytes);
	json_uint(j, "chunks", w->chunks);
	json_uint(j, "chunks_too_long", w->too_long);
	json_double(j, "chunk_us", w->us / n);
	json_double(j, "inflate_us", w->inflate_us / n);
	json_end(j);
	return json_show(j, e);
}

static int
run(struct work *w, const char *path, struct err *e)
{
	struct image *img;

	w->deflater = deflater_new(DEFLATE_LEVEL_DEFAULT);
	w->inflater = inflater_new();
	w->decoder = decoder_new();
	w->redeflater = redeflater_new();
	if (w->deflater == NULL || w->inflater == NULL || w->decoder == NULL ||
	    w->redeflater == NULL)
		return err_nomem(e, "a chunk");
	if (image_open(&img, path, e) != 0)
		return -1;
	int rc = image_each(img, one_chunk, w, e);
	image_close(img);
	return rc == 0 ? print_means(w, e) : -1;
}

static void
free_work(struct work *w)
{
	deflater_free(w->deflater);
	inflater_free(w->inflater);
	decoder_free(w->decoder);
	redeflater_free(w->redeflater);
	free(w->raw);
	free(w->again);
	free(w->packed);
}

int
main(int argc, char **argv)
{
	struct work w = { .how = { .rule = REDEFLATE_FLUSHED, .memory = 8 } };
	struct err e;

	w.block_bytes = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	w.how.level = (uint8_t)(argc > 3 ? strtoul(argv[3], NULL, 10) : LEVEL);
	if (w.block_bytes == 0 || w.block_bytes > NDZ_CHUNK_BYTES || w.how.level > 9) {
		fprintf(stderr, "usage: reconstruct IMAGE.ndz BLOCK_BYTES [LEVEL]\n");
		return 2;
	}
	int rc = run(&w, argv[1], &e);
	free_work(&w);
	if (rc == 0)
		return 0;
	fprintf(stderr, "reconstruct: %s\n", e.text);
	return err_exit_status(&e);
}
