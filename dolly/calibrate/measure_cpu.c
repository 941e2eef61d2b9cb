/* measure_cpu.c: copies, digests and decompresses what is in memory (measure_cpu.h).
 * calibrate.c calls it, in the program's first thread. */
#include "dolly/calibrate/measure_cpu.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/sha256.h"
#include "common/disk/disk.h"
#include "common/image/codec/codec.h"

enum {
	/* The areas of all copies are larger than the caches: 64 MiB for one thread,
	 * and a quarter of that for each of several. */
	AREA_BYTES = 64 << 20,
	AREA_SHARES_MAX = 4,
	PIECE_BYTES = 1 << 20,
	SAMPLE_WINDOWS = 16, /* of the program's file, 64 KiB each */
};

void
fill_with_noise(void *to, size_t n)
{
	uint64_t x = 88172645463325252u; /* xorshift: any seed but 0 */
	uint8_t *at = to;

	for (size_t i = 0; i < n; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		at[i] = (uint8_t)(x >> 32);
	}
}

/* --- copies --- */

struct copying {
	uint8_t *from, *to;
	size_t bytes, at; /* of each area; the place of the next piece */
};

static int
copying_new(struct copying *c, size_t bytes, struct err *e)
{
	*c = (struct copying){ malloc(bytes), malloc(bytes), bytes, 0 };
	if (c->from == NULL || c->to == NULL)
		return err_nomem(e, "areas to copy");
	memset(c->from, 1, bytes); /* the first touch of a page is no part of a copy */
	memset(c->to, 2, bytes);
	return 0;
}

static void
copying_free(struct copying *c)
{
	free(c->from);
	free(c->to);
}

static int
copy_piece(void *arg, double *bytes, struct err *e)
{
	struct copying *c = arg;

	(void)e;
	memcpy(c->to + c->at, c->from + c->at, PIECE_BYTES);
	__asm__ volatile("" : : "r"(c->to) : "memory"); /* the copy is not left out */
	c->at = (c->at + PIECE_BYTES) % c->bytes;
	*bytes += PIECE_BYTES;
	return 0;
}

int
measure_copies(struct measured *m, double seconds, unsigned threads, struct err *e)
{
	size_t area = AREA_BYTES /
	              (threads < AREA_SHARES_MAX ? threads : AREA_SHARES_MAX);
	struct copying *c = calloc(threads, sizeof *c);
	void **args = calloc(threads, sizeof *args);
	int rc = c != NULL && args != NULL ? 0 : err_nomem(e, "areas to copy");

	for (unsigned i = 0; rc == 0 && i < threads; i++) {
		args[i] = &c[i];
		rc = copying_new(&c[i], area / PIECE_BYTES * PIECE_BYTES, e);
	}
	if (rc == 0)
		rc = measure_threads(m, seconds, copy_piece, args, threads, e);
	for (unsigned i = 0; c != NULL && i < threads; i++)
		copying_free(&c[i]);
	free(args);
	free(c);
	return rc;
}

int
measure_copy(struct measured *m, double seconds, struct err *e)
{
	return measure_copies(m, seconds, 1, e);
}

/* --- digests --- */

static int
digest_piece(void *arg, double *bytes, struct err *e)
{
	uint8_t digest[SHA256_BYTES];

	(void)e;
	sha256(arg, PIECE_BYTES, digest);
	*bytes += PIECE_BYTES;
	return 0;
}

int
measure_digest(struct measured *m, double seconds, struct err *e)
{
	void *piece = malloc(PIECE_BYTES);

	if (piece == NULL)
		return err_nomem(e, "bytes for a digest");
	fill_with_noise(piece, PIECE_BYTES);
	int rc = measure_repeat(m, seconds, digest_piece, piece, e);
	free(piece);
	return rc;
}

/* --- decompression --- */

/* A sample, in windows that were compressed one by one. */
struct sample {
	const struct codec *codec;
	void *decoder;
	size_t windows;
	uint8_t *packed[SAMPLE_WINDOWS];
	size_t packed_bytes[SAMPLE_WINDOWS];
	uint8_t raw[FRAGMENT_WINDOW_BYTES]; /* what comes out */
};

static int
unpack_sample(void *arg, double *bytes, struct err *e)
{
	struct sample *s = arg;

	for (size_t i = 0; i < s->windows; i++) {
		if (s->codec->decode(s->decoder, s->packed[i], s->packed_bytes[i],
			s->raw, sizeof s->raw, e) != 0)
			return -1;
		*bytes += sizeof s->raw;
	}
	return 0;
}

static int
pack_window(struct sample *s, void *encoder, const uint8_t *window, struct err *e)
{
	size_t cap = s->codec->bound(FRAGMENT_WINDOW_BYTES), i = s->windows;

	s->packed[i] = malloc(cap);
	if (s->packed[i] == NULL)
		return err_nomem(e, "a sample");
	s->packed_bytes[i] = s->codec->window(encoder, FRAGMENT_WINDOW_BYTES, window,
	    FRAGMENT_WINDOW_BYTES, s->packed[i], cap);
	s->codec->end(s->packed[i], s->packed_bytes[i]);
	s->windows++;
	return 0;
}

/* Compresses the beginning of this program's file. */
static int
pack_sample(struct sample *s, void *encoder, struct err *e)
{
	uint8_t window[FRAGMENT_WINDOW_BYTES];
	struct disk *d;
	struct err ignored;

	if (disk_open(&d, "/proc/self/exe", DISK_READ, e) != 0)
		return -1;
	size_t n = disk_size_bytes(d) / sizeof window;
	int rc = n > 0 ? 0 : err_set(e, ERR_IO, "this program's file is too short");
	for (size_t i = 0; rc == 0 && i < n && i < SAMPLE_WINDOWS; i++) {
		rc = disk_read(d, window, sizeof window, i * sizeof window, e);
		if (rc == 0)
			rc = pack_window(s, encoder, window, e);
	}
	(void)disk_close(d, &ignored);
	return rc;
}

static double
compression_of(const struct sample *s)
{
	double raw = 0, packed = 0;

	for (size_t i = 0; i < s->windows; i++) {
		raw += FRAGMENT_WINDOW_BYTES;
		packed += (double)s->packed_bytes[i];
	}
	return raw / packed;
}

static void
sample_free(struct sample *s)
{
	if (s->decoder != NULL)
		s->codec->decoder_free(s->decoder);
	for (size_t i = 0; i < s->windows; i++)
		free(s->packed[i]);
	free(s);
}

int
measure_decompress(
    struct measured *m, double seconds, double *compression, struct err *e)
{
	const struct codec_choice choice = CODEC_DEFAULT;
	struct sample *s = calloc(1, sizeof *s);

	if (s == NULL)
		return err_nomem(e, "a sample");
	s->codec = choice.codec;
	s->decoder = s->codec->decoder_new();
	void *encoder = s->codec->encoder_new(choice.level);
	int rc = s->decoder != NULL && encoder != NULL ? pack_sample(s, encoder, e)
	                                               : err_nomem(e, "a codec");
	if (rc == 0) {
		*compression = compression_of(s);
		rc = measure_repeat(m, seconds, unpack_sample, s, e);
	}
	if (encoder != NULL)
		s->codec->encoder_free(encoder);
	sample_free(s);
	return rc;
}
