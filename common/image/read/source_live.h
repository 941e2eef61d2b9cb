/* source_live.h: a file that still grows, as a source of its chunks.  A chunk can be read as
 * soon as whoever writes the file says that it is there; until then readers wait for it.
 *
 * Whoever writes the file calls live_begin(), live_has(), live_early() and live_end(), from
 * any thread; whoever reads it calls the source.
 */
#ifndef COMMON_IMAGE_READ_SOURCE_LIVE_H
#define COMMON_IMAGE_READ_SOURCE_LIVE_H

#include "common/image/read/source.h"

struct live_config {
	const char *file; /* made by whoever writes it; source_close() removes it,
	                   * once live_begin() was called; copied */
	const char *name; /* for messages; copied */
	/* Told that this chunk is needed before all others; from any thread.  Or NULL. */
	void (*urgent)(void *arg, uint32_t chunk);
	/* Told that a reader waits for these blocks of a chunk: whoever writes the file gives
	 * them by live_early() when they come, before the chunk is proved.  It is called from
	 * any thread, and again while they do not come.  NULL: urgent() is called instead. */
	void (*reading)(void *arg, uint32_t chunk, const struct blockmap *need);
	/* A reader that waits fails with ERR_IO when nothing has come for this time; it can read
	 * again later.  0: it waits for ever. */
	uint64_t silence_us;
	/* Told that the source was cancelled; from any thread.  Or NULL. */
	void (*cancelled)(void *arg);
	/* Told that the source is closed.  The struct live is freed when this returns, and
	 * must not be used afterwards.  Or NULL. */
	void (*closed)(void *arg);
	void *arg;
};

struct live;

/* Make a source of a growing file.  source_close() frees *out.  ERR_NOMEM. */
int live_new(struct live **, struct source *, const struct live_config *,
    struct err *);
/* Say what the file will be: its chunks, bytes and identity; `live` and `in_order` are not
 * looked at.  The file is made that long.  A second call makes the source fail, since readers
 * may have got what was there before. */
void live_begin(struct live *, const struct source_info *);
/* Say that this chunk is in the file. */
void live_has(struct live *, uint32_t chunk);
/* Hand in blocks of a chunk that is not in the file yet and is not proved; data is copied.  A
 * reader finds out if they are damaged, and then waits for the chunk.  Only with reading(). */
void live_early(struct live *, uint32_t chunk, uint32_t first, uint32_t count,
    const uint8_t *data);
/* Say that nothing more will come: everything is there (NULL), or this error has happened. */
void live_end(struct live *, const struct err *);

#endif /* COMMON_IMAGE_READ_SOURCE_LIVE_H */
