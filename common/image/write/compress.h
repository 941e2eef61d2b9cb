/* compress.h: windows → fragments.
 *
 * A batch is some windows on their way from the reader to the packer.  A compressor makes
 * runs of them: a run is windows that are one fragment together.  Where a chunk ends is
 * known only when everything before it is packed, and a run may be too long for its chunk.
 * Such a run is cut, and what is behind the cut is compressed once more, as the beginning of
 * the next chunk.  The window at the cut is split, so that the chunk is filled, and the next
 * one begins with the rest of it.  A compressor that is told in time how much room there is
 * does this itself, else the packer's thread; the image is the same either way.
 */
#ifndef COMMON_IMAGE_WRITE_COMPRESS_H
#define COMMON_IMAGE_WRITE_COMPRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/image/write/packer.h"
#include "common/image/write/precompressed.h"

enum {
	/* The raw data of a batch, and therefore of a fragment, at most. */
	BATCH_BYTES = EXT_FRAGMENT_RAW_MAX,
	/* Windows that follow the content have 16 KiB or more, but for a few. */
	BATCH_WINDOWS = 64,
	/* The windows of a batch that are split, at most; few batches have more than one. */
	BATCH_SPLITS = 8,
	BATCH_PARTS = BATCH_WINDOWS + BATCH_SPLITS,
	/* Every codec's bound() is above the length of a window by no more than this. */
	WINDOW_SLACK_BYTES = 1024,
};

/* Windows [first, first + n) of a batch. */
struct run {
	unsigned first, n;
	bool zero;
	bool begins; /* a chunk begins with this run */
	bool again;  /* it is to be compressed, and its output is worth nothing */
	bool stopped; /* windows behind it belong to it, too: it is known not to fit */
	bool hashed;  /* it has its digest */
	uint8_t digest[EXT_FRAGMENT_DIGEST_BYTES];
};

struct batch {
	unsigned n;
	struct window windows[BATCH_PARTS]; /* each good for window_check() */
	size_t raw_at[BATCH_PARTS + 1];     /* where each one's data begins in raw */
	/* The compressor's work.  The bytes of a run begin in `out` at out_at of its first
	 * window; ends[i] is how many bytes the run has up to the end of window i, and
	 * adlers[i] the Adler-32 of the raw data of window i. */
	size_t out_at[BATCH_PARTS];
	size_t ends[BATCH_PARTS];
	uint32_t adlers[BATCH_PARTS];
	unsigned nruns;
	unsigned settled; /* the first runs, of which it is known in which chunk they are */
	struct run runs[BATCH_PARTS];
	uint32_t chunks[BATCH_PARTS]; /* the packer's: where each window went */
	uint8_t raw[BATCH_BYTES];
	/* Either half of a window may be a fragment, so each has slack. */
	uint8_t out[BATCH_BYTES + 2 * BATCH_WINDOWS * WINDOW_SLACK_BYTES];
};

/* What one thread compresses with. */
struct compressor {
	const struct codec *codec;
	void *encoder;
	bool several; /* a fragment may have several windows */
	bool split;   /* windows may be split */
};

/* A compressor whose fragments have as many windows as the codec lets them have, and that does
 * not split windows.  ERR_NOMEM. */
int compressor_init(struct compressor *, const struct codec_choice *, struct err *);
void compressor_free(struct compressor *);

/* ask() returns true when it is known already how much room the chunk has in front of the
 * batch; tell() is told how much it has behind the batch, as soon as that is known.  ask
 * NULL: neither is called. */
struct rooms {
	bool (*ask)(void *arg, struct packer_room *);
	void (*tell)(void *arg, const struct packer_room *);
	void *arg;
};
/* Could the batch take one more window of up to `bytes` bytes? */
bool batch_has_room(const struct batch *, size_t bytes);
/* Make runs of all windows of the batch, whose digests are left to batch_hash(). */
void compress_batch(struct compressor *, struct batch *, const struct rooms *);
/* compress_batch() and batch_hash() together, where fragments are one window each: the digests are
 * made first, and then only what `known` does not find is compressed. */
void compress_unknown(struct compressor *, struct batch *, const struct precompressed *);
/* batch_hash() makes the digests that runs of a batch and of `other` (or NULL) lack.  Two
 * digests cost little more than one, so a run that would be left over in the first batch is
 * hashed together with a run of `other`.  batch_hash_odd(): would one be left over? */
void batch_hash(struct batch *, struct batch *other);
bool batch_hash_odd(const struct batch *);

/* Pack a batch that was compressed.  The compressor is the packer's own, as the others are, for
 * runs that must be cut.  Errors as packer_add(). */
int batch_pack(struct packer *, struct compressor *, struct batch *, struct err *);

#endif /* COMMON_IMAGE_WRITE_COMPRESS_H */
