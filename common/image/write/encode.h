/* encode.h: windows of sectors → fragments, compressed in parallel → packer.
 *
 *	next() → [compressors] → packer
 *
 * One thread asks next() for windows in order, cuts them anew where the content says so, and
 * fills batches of them; compressors turn windows into fragments; the calling thread takes the batches back in
 * order and packs them.  A fixed set of batches circulates, so memory does not depend on
 * the source.
 */
#ifndef COMMON_IMAGE_WRITE_ENCODE_H
#define COMMON_IMAGE_WRITE_ENCODE_H

#include <sys/types.h>

#include "common/base/err.h"
#include "common/image/format/cut.h"
#include "common/image/write/known.h"
#include "common/image/write/packer.h"

struct encode_config {
	struct codec_choice codec; /* the packer's, too */
	uint64_t jobs;             /* compressors; 0: one a processor */
	/* Asked before a window is compressed, by codecs whose fragments are one window
	 * each; NULL: nobody is. */
	const struct known *known;
	/* The data of the next window into buf[FRAGMENT_WINDOW_BYTES], its sectors
	 * and relocations into *w, which is empty.  The number of bytes, 0 at the
	 * end (however often it is asked), or -1.  Runs in a thread of its own. */
	ssize_t (*next)(void *arg, struct window *w, void *buf, struct err *);
	/* After each window was packed, in order, in the calling thread: its sectors
	 * and raw bytes, and the number of the chunk that it went into.  NULL: nobody
	 * wants to know. */
	int (*packed)(void *arg, const struct window *w, const void *raw, size_t n,
	    uint32_t chunk, struct err *);
	void *arg;
	/* Windows follow the content (recut.h, whose zones and filler these are).  Else they
	 * stay as next() gives them. */
	bool content;
	const struct cut_zones *zones;
	const struct rangeset *filler;
};

/* Pack all windows; packer_finish() is left to the caller. */
int encode_all(const struct encode_config *, struct packer *, struct err *);

#endif /* COMMON_IMAGE_WRITE_ENCODE_H */
