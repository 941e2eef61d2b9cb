/* source_live.h: a file that still grows, as a source of its chunks: each can be read as
 * soon as whoever writes the file says that it is there, and is waited for until then.
 *
 * live_begin(), live_has(), live_early() and live_end() are called by whoever writes the file,
 * from any thread; the source by whoever reads.
 */
#ifndef COMMON_IMAGE_READ_SOURCE_LIVE_H
#define COMMON_IMAGE_READ_SOURCE_LIVE_H

#include "common/image/read/source.h"

struct live_config {
	const char *file; /* made by whoever writes it; source_close() removes it,
	                   * once live_begin() was called; copied */
	const char *name; /* for messages; copied */
	/* This chunk is needed before all others; from any thread.  Or NULL. */
	void (*urgent)(void *arg, uint32_t chunk);
	/* These blocks of a chunk are waited for: whoever writes the file gives them by
	 * live_early() when they come, before the chunk is proved.  From any thread, and
	 * again while they do not come.  NULL: urgent() is called instead. */
	void (*reading)(void *arg, uint32_t chunk, const struct blockmap *need);
	/* The source was cancelled; from any thread.  Or NULL. */
	void (*cancelled)(void *arg);
	/* The source is closed, and is freed when this returns: nothing may be told it
	 * afterwards.  Or NULL. */
	void (*closed)(void *arg);
	void *arg;
};

struct live;

/* The source has the growing file from now on.  ERR_NOMEM. */
int live_new(struct live **, struct source *, const struct live_config *,
    struct err *);
/* Now it is known what the file will be: chunks, bytes and the identity; `live` and
 * `in_order` are not looked at.  It is made as long as that.  A second call fails the
 * source, since readers may have got what was there before. */
void live_begin(struct live *, const struct source_info *);
/* This chunk is in the file. */
void live_has(struct live *, uint32_t chunk);
/* These blocks of a chunk have come, which is not in the file yet and is not proved: whoever
 * reads finds out if they are damaged, and then waits for the chunk.  Only with `reading`. */
void live_early(struct live *, uint32_t chunk, uint32_t first, uint32_t count,
    const uint8_t *data);
/* Nothing more will come: all is there (NULL), or this has happened. */
void live_end(struct live *, const struct err *);

#endif /* COMMON_IMAGE_READ_SOURCE_LIVE_H */
