/* recut.h: windows of 64 KiB of the disk go in, as every source of them gives them out,
 * and windows come out that follow the content (common/image/format/cut.h).
 *
 * It reads one window of its source ahead, and at most one more for each that it gives
 * out.
 */
#ifndef COMMON_IMAGE_WRITE_RECUT_H
#define COMMON_IMAGE_WRITE_RECUT_H

#include <sys/types.h>

#include "common/base/err.h"
#include "common/image/format/cut.h"
#include "common/image/read/window.h"

struct recut;

struct recut_config {
	/* next() of struct encode_config; called in the thread that calls recut_next(). */
	ssize_t (*next)(void *arg, struct window *w, void *buf, struct err *);
	void *arg;
	const struct cut_zones *zones; /* borrowed, or NULL: the disk is one zone */
	const struct rangeset *filler; /* borrowed, or NULL: there is none */
	bool files; /* windows end where files do, too (cut.h) */
};

/* ERR_NOMEM. */
int recut_new(struct recut **, const struct recut_config *, struct err *);
/* Also frees the relocations of all windows that were given out.  NULL is fine. */
void recut_free(struct recut *);
/* The next window's data into buf[CUT_WINDOW_BYTES_MAX], its sectors and relocations
 * into *w. Returns the number of bytes, 0 at the end, or -1 with the error of next(),
 * or ERR_NOMEM. Besides where the rule says so, a window ends where it would have more
 * than CUT_WINDOW_BYTES_MAX bytes, WINDOW_REGIONS_MAX regions or WINDOW_RELOCS_MAX
 * relocations, and in front of what must begin a chunk. */
ssize_t recut_next(struct recut *, struct window *w, void *buf, struct err *);

#endif /* COMMON_IMAGE_WRITE_RECUT_H */
