/* codec.h: the codecs that compress the data of an image.  Each codec is a file of its
 * own, and all of them have one interface.
 *
 * A fragment is one window or several (common/image/read/window.h), compressed on its
 * own.  Fragments side by side, between a head and a tail, are the stream of a chunk:
 *
 *	head | fragment | fragment | ... | tail with the Adler-32 of all data
 *
 * A compressor flushes its output after every window, so a fragment can end after any of
 * its windows: the output up to there is kept.
 * An encoder and a decoder belong to one thread at a time.
 */
#ifndef COMMON_IMAGE_CODEC_CODEC_H
#define COMMON_IMAGE_CODEC_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/image/codec/deflate.h"

/* The number of each codec in images. */
enum codec_id { CODEC_DEFLATE = 1, CODEC_ZSTD = 2 };

enum {
	CODEC_ID_MAX = CODEC_ZSTD,
	CODEC_WINDOWS_MAX = 16, /* of 64 KiB, in one fragment */
	CODEC_ENDS_BYTES = 16,  /* no head or tail is longer */
};

struct codec {
	const char *name;  /* --codec */
	enum codec_id id;  /* igzip writes what deflate reads */
	const char *lacks; /* the name of the library that this build lacks, or NULL */
	int level_min, level_max, level_default;
	unsigned windows;   /* most aligned windows in a fragment; 1: it is one window */
	uint64_t ratio_max; /* raw bytes from one byte of a stream, at most */

	/* Writing.  encoder_new() returns NULL when it is out of memory. */
	void *(*encoder_new)(int level);
	void (*encoder_free)(void *);
	/* The most bytes that a window of raw_bytes can take. */
	size_t (*bound)(size_t raw_bytes);
	/* Compress the next window of a fragment, in[n], into out[cap], cap >= bound(n).
	 * Returns the length.  fragment_bytes: with the fragment's first window, how many
	 * raw bytes the fragment may get in all; with later windows 0. */
	size_t (*window)(void *encoder, size_t fragment_bytes, const void *in, size_t n,
	    void *out, size_t cap);
	/* End the fragment behind its first n bytes, which are whole windows. */
	void (*end)(void *fragment, size_t n);

	/* The stream around the fragments.  A fragment of zeros is made without
	 * compressing; on reading, only exactly those bytes are taken for a run of
	 * zeros. */
	size_t head_bytes, tail_bytes;
	void (*head)(int level, uint8_t *head);
	void (*tail)(uint32_t adler, uint8_t *tail);
	size_t (*zeros_bytes)(uint64_t n);
	void (*zeros)(uint64_t n, void *out);
	bool (*is_zeros)(const void *in, size_t in_bytes, uint64_t n);

	/* Reading.  decoder_new() returns NULL when it is out of memory; decode() decodes
	 * one fragment into exactly out[n].  ERR_FORMAT: the fragment is damaged. */
	void *(*decoder_new)(void);
	void (*decoder_free)(void *);
	int (*decode)(void *decoder, const void *in, size_t in_bytes, void *out,
	    size_t n, struct err *);
};

extern const struct codec codec_deflate, codec_igzip, codec_zstd;

/* The codec of images with this number; NULL when it is unknown. */
const struct codec *codec_by_id(unsigned id);

/* The codec and the level that the user chose. */
struct codec_choice {
	const struct codec *codec;
	int level;
	bool usual; /* the user named neither */
};
/* The choice where the user makes none. */
#define CODEC_DEFAULT \
	{ \
		&codec_deflate, DEFLATE_LEVEL_DEFAULT, true \
	}
/* Read "deflate:6", "igzip" or "zstd:3"; without a level the codec's default is taken.
 * ERR_USAGE, or ERR_UNSUPPORTED when this build lacks the codec. */
int codec_parse(struct codec_choice *, const char *text, struct err *);

/* What a thread needs to read streams of every codec. */
struct decoder;

struct decoder *decoder_new(void); /* NULL: out of memory */
void decoder_free(struct decoder *);
/* Decode one fragment into exactly out[n].  ERR_FORMAT, ERR_NOMEM. */
int decoder_fragment(struct decoder *, const struct codec *, const void *in,
    size_t in_bytes, void *out, size_t n, struct err *);
/* The inflater of this decoder, for whole zlib streams; it stays the decoder's. */
struct inflater *decoder_inflater(struct decoder *);

#endif /* COMMON_IMAGE_CODEC_CODEC_H */
