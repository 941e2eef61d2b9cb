/* maker.h: makes a new image; every new image is made here.  Windows of sectors go in, and
 * chunks come out:
 *
 *	next() → [compressors] → packer → signed and encrypted → output
 *
 * maker_new() settles what image it will be, maker_run() stores all windows, and
 * maker_end() writes what only the end tells.  One thread calls all three: it packs,
 * seals and writes.  The output stays the caller's: output_commit() gives the image its
 * name after a good maker_end(), and output_abort() gives it up at any time.  One maker
 * makes one image.
 */
#ifndef COMMON_IMAGE_WRITE_MAKER_H
#define COMMON_IMAGE_WRITE_MAKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/err.h"
#include "common/disk/output.h"
#include "common/disk/rangeset.h"
#include "common/image/codec/codec.h"
#include "common/image/format/basis.h"
#include "common/image/format/cut.h"
#include "common/image/format/ext.h"
#include "common/image/format/format.h"
#include "common/image/format/lost.h"
#include "common/image/format/sealer.h"
#include "common/image/read/window.h"
#include "common/image/write/precompressed.h"

/* Where windows end. */
enum maker_windows {
	MAKER_USUAL, /* the user said nothing: MAKER_CONTENT, or MAKER_STORE in a store */
	/* Where the content says so (common/image/format/cut.h); the last window of a chunk is
	 * split, so that the image is as small as it can be. */
	MAKER_CONTENT,
	/* The same, but no window is split, windows end where files do, too, and each one is a
	 * fragment: a store keeps what is the same in several images once. */
	MAKER_STORE,
	MAKER_ALIGNED, /* at multiples of 64 KiB of the disk */
};

/* What the user says of how an image is made.  In brackets, the programs' options. */
struct maker_choice {
	struct codec_choice codec; /* --codec, -z, --fast */
	enum maker_windows windows; /* --windows */
	struct sealer_config sealer; /* --sign, --encrypt */
	uint64_t jobs;             /* threads that compress (-j); 0: one each processor */
	bool v3, v5;               /* the version (-3, -5); neither: as it needs */
	bool has_uuid;             /* the UUID (-u), which makes version 5 */
	uint8_t uuid[NDZ_UUID_BYTES];
};

/* ERR_USAGE when the choices contradict each other.  maker_new() relies on it. */
int maker_check(const struct maker_choice *, struct err *);

/* A window that was packed. */
struct maker_packed {
	const struct window *window;
	const void *raw;     /* its data, window_bytes() of it */
	uint32_t chunk;      /* number of the chunk that it is in */
	uint64_t data_bytes; /* of all windows that were packed, with this one */
};

/* One image.  Pointers are borrowed until maker_free(). */
struct maker_config {
	const struct maker_choice *how;
	const char *program; /* "imagezip": chunk 0 has it, with the suite's version */
	const char *source;  /* what the image is made of, for messages */
	uint64_t total;      /* sectors of the source; UINT64_MAX: the end tells */
	bool prefer_v5;      /* version 5 unless the user wants version 3 */
	struct ext_image image;       /* into chunk 0; made_at and tool need not be set */
	struct ext_state state, base; /* NONE, or into every chunk */
	const struct rangeset *freed; /* of a delta: sectors that are free by now; or NULL */
	struct basis *basis;          /* of a delta: samples of its base; or NULL */
	struct tail tail;             /* of a disk; n is 0 when there is none */
	const struct reach *reach;    /* how far partitions reach, or NULL */
	/* For windows that follow the content: the zones of the disk, and the sectors that
	 * are free and stored nevertheless; each may be NULL. */
	const struct cut_zones *zones;
	const struct rangeset *filler;
	/* The NDZ_UUID_BYTES of a UUID that the new image keeps, unless the user gives
	 * another one or the image is signed or encrypted.  NULL: it gets a new UUID. */
	const uint8_t *keep_uuid;
	/* Puts the data of the next window into buf[FRAGMENT_WINDOW_BYTES], its sectors and
	 * relocations into the window, which is empty.  Windows come in ascending order.
	 * Returns the number of bytes, 0 at the end (however often it is asked), or -1.  It
	 * is called in a thread of its own, and only during maker_run(). */
	ssize_t (*next)(void *arg, struct window *, void *buf, struct err *);
	/* Called for each window in order, in the thread of maker_run(); -1 ends the
	 * work.  NULL: nobody wants to know. */
	int (*packed)(void *arg, const struct maker_packed *, struct err *);
	/* Called in front of each chunk that is written, in the thread of maker_run()
	 * and maker_end().  NULL: nobody wants to know. */
	void (*chunk)(void *arg);
	void *arg; /* of next(), packed() and chunk() */
	/* Takes each chunk, NDZ_CHUNK_BYTES, in order, in the thread of maker_run() and
	 * maker_end(), when maker_run() is told no output; -1 ends the work.  Else NULL. */
	int (*take)(void *taker, const void *chunk, struct err *);
	void *taker;
	const struct precompressed *known; /* as struct encode_config has it */
};

struct maker;

/* Begin an image; the config is copied.  ERR_USAGE when the user wants version 3 of
 * something too large for it, ERR_NOMEM, or the error of a key file that cannot be read:
 * all that can be wrong before there is an output. */
int maker_new(struct maker **, const struct maker_config *, struct err *);
/* Store all windows.  Chunks are appended to the output, which is open, and borrowed
 * until maker_end() returns; NULL: they go to take() of the config.  The error of next(),
 * packed() or take(), ERR_IO of the output, or
 * ERR_CANCELLED when the work is to end (cancel.h): the image is worth nothing then. */
int maker_run(struct maker *, struct output *, struct err *);

/* What is known when all windows are stored. */
struct maker_ending {
	uint64_t total;       /* size of the imaged area, in sectors */
	uint32_t short_bytes; /* how much of its last sector a file has; 0: all */
	struct lostset *lost; /* sectors that are zeros since they could not be read */
};

/* Write the last chunk, after a good maker_run().  ERR_FORMAT "nothing to store" of an
 * image without data, ERR_IO of the output, or ERR_NOMEM. */
int maker_end(struct maker *, const struct maker_ending *, struct err *);
/* Free everything but the output, and wipe the keys.  NULL is fine. */
void maker_free(struct maker *);

/* How much was read and written so far; zeros for NULL. */
struct maker_totals {
	uint64_t data_bytes; /* stored, before compression */
	uint32_t chunks;     /* of NDZ_CHUNK_BYTES each */
};
struct maker_totals maker_totals(const struct maker *);

#endif /* COMMON_IMAGE_WRITE_MAKER_H */
