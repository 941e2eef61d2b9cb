/* source.h: where the chunks of one image, or of any file, come from: a file or pipe
 * (source_disk.c), a store, a session of the network, other images.
 *
 * A source gives out bytes and believes none of them: image.h checks what belongs to the
 * image, chunk.h what a chunk holds.  Every chunk is 1 MiB; the last one of a file is filled
 * up with zeros.  Errors name the source.
 */
#ifndef COMMON_IMAGE_READ_SOURCE_H
#define COMMON_IMAGE_READ_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/wire/blockmap.h"

enum {
	SOURCE_BLOCK_BYTES = WIRE_BLOCK_BYTES,
	SOURCE_CHUNK_BYTES = WIRE_CHUNK_BLOCKS * WIRE_BLOCK_BYTES,
};
/* The number of chunks of a source that knows it only at its end. */
#define SOURCE_CHUNKS_UNKNOWN UINT32_MAX

struct source_info {
	uint32_t chunks;     /* or SOURCE_CHUNKS_UNKNOWN */
	uint64_t bytes;      /* of the file; UINT64_MAX: not known */
	bool in_order;       /* source_next() alone; source_read() is refused */
	bool live;           /* it still grows: source_read() may wait for others */
	bool has_identity;   /* the network knows the file by this identity: */
	uint8_t identity[16];
};

/* How soon blocks are needed. */
enum source_when {
	SOURCE_NOW,      /* somebody waits for them */
	SOURCE_SOON,     /* somebody will wait for them */
	SOURCE_WHENEVER, /* nobody waits: they are taken as they come */
};

/* What a source is made of; `self` is passed to each function.  read() puts block b of those
 * that are needed at to + (b - first) * SOURCE_BLOCK_BYTES; none of them is before `first`.
 * want and cancel may be NULL: nothing is done then. */
struct source_ops {
	const char *(*name)(void *self);
	int (*info)(void *self, struct source_info *, struct err *);
	int (*read)(void *self, uint32_t chunk, const struct blockmap *need, uint32_t first,
	    void *to, struct err *);
	void (*want)(void *self, uint32_t chunk, const struct blockmap *, enum source_when);
	bool (*other)(void *self, unsigned attempt); /* NULL: always false */
	/* NULL: it is read by number alone. */
	int (*next)(void *self, uint32_t *chunk, void *to, size_t *bytes, struct err *);
	/* Of a source that is live; else NULL. */
	int (*arrivals_fd)(void *self);
	int (*arrived)(void *self, uint32_t *chunk, struct err *);
	void (*cancel)(void *self);
	void (*close)(void *self);
};

struct source {
	const struct source_ops *ops;
	void *self;
};

/* The source's name, for messages; it belongs to the source. */
const char *source_name(const struct source *);
/* What is known of the source; waits until it is known.  ERR_IO, ERR_CANCELLED. */
int source_info(struct source *, struct source_info *, struct err *);
/* Read the blocks `need` (NULL: all) of a chunk into their places in `to`, which has room
 * for the whole chunk, or up to the last needed block; other bytes there are not touched.
 * From any thread; returns when the blocks are there.  ERR_FORMAT: behind the end.
 * ERR_UNSUPPORTED: in_order. */
int source_read(
    struct source *, uint32_t chunk, const struct blockmap *need, void *to, struct err *);
/* Read the blocks [first, first + count) of a chunk into to[count * SOURCE_BLOCK_BYTES]. */
int source_read_run(struct source *, uint32_t chunk, uint32_t first, uint32_t count,
    void *to, struct err *);
/* Announce that these blocks (NULL: all) will be read.  It never waits.  From any thread. */
void source_want(
    struct source *, uint32_t chunk, const struct blockmap *, enum source_when);
/* Tell the source that what this thread was given turned out to be damaged, for the
 * `attempt`-th time.  True: the source has the chunks from elsewhere, too; what this thread
 * reads next comes from there, if possible.  Attempt 0: it comes from anywhere again. */
bool source_other(struct source *, unsigned attempt);
/* Give out a chunk that was not given out yet, whichever is available first, into
 * to[SOURCE_CHUNK_BYTES].  *bytes is its length, less than a chunk only at the end of a
 * file.  1; 0: all were given out; -1.  From one thread at a time. */
int source_next(
    struct source *, uint32_t *chunk, void *to, size_t *bytes, struct err *);
/* Of a source that is live, after source_info(): a descriptor for poll(2), readable when
 * source_arrived() may have something; -1: it is not live, everything is here. */
int source_arrivals_fd(struct source *);
/* 1: *chunk has come completely since the last call, and is told once; 0: none has; -1: no
 * more will come, and the error says why.  From one thread at a time. */
int source_arrived(struct source *, uint32_t *chunk, struct err *);
/* Make all calls that wait for the source, now or later, return ERR_CANCELLED.  From any
 * thread. */
void source_cancel(struct source *);
/* Nobody may be using the source any more.  NULL, and a source that is all zeros, are fine. */
void source_close(struct source *);

struct disk;
/* Make a source of the bytes of a file, a pipe or a store's image, from the first one on.  The
 * disk is taken over, also on failure.  ERR_NOMEM. */
int source_of_disk(struct source *, struct disk *, struct err *);

#endif /* COMMON_IMAGE_READ_SOURCE_H */
