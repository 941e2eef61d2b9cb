/* encode.h: windows of sectors → fragments, compressed in parallel → packer.
 *
 *	next() → [compressors] → packer
 *
 * One thread asks next() for windows in order, cuts them anew where the content says so, and
 * fills batches of them.  Compressors turn windows into fragments.  The calling thread takes
 * the batches back in order and packs them.  A fixed set of batches circulates, so memory does
 * not depend on the source.
 */
#ifndef COMMON_IMAGE_WRITE_ENCODE_H
#define COMMON_IMAGE_WRITE_ENCODE_H

#include <sys/types.h>

#include "common/base/err.h"
#include "common/image/format/cut.h"
#include "common/image/write/packer.h"
#include "common/image/write/precompressed.h"

struct encode_config {
	struct codec_choice codec; /* the packer's, too */
	uint64_t jobs;             /* compressors; 0: one for each processor */
	/* It is asked before a window is compressed, where fragments are one window each;
	 * NULL: nobody is asked. */
	const struct precompressed *known;
	/* Puts the data of the next window into buf[FRAGMENT_WINDOW_BYTES], its sectors and
	 * relocations into *w, which is empty.  Returns the number of bytes, 0 at the end
	 * (however often it is asked), or -1.  It runs in a thread of its own. */
	ssize_t (*next)(void *arg, struct window *w, void *buf, struct err *);
	/* Called after each window was packed, in order, in the calling thread, with its
	 * sectors and raw bytes, and the number of the chunk that it went into.  -1 ends the
	 * work.  NULL: nobody wants to know. */
	int (*packed)(void *arg, const struct window *w, const void *raw, size_t n,
	    uint32_t chunk, struct err *);
	void *arg;
	/* Windows follow the content; zones and filler are those of struct recut_config.  Else
	 * windows stay as next() gives them. */
	bool content;
	const struct cut_zones *zones;
	const struct rangeset *filler;
	/* For a store: each fragment is one window, whatever the codec can do, and windows end
	 * where files do, too (cut.h). */
	bool single;
	bool split;  /* a window may be split where a chunk ends; only with `content` */
};

/* Pack all windows; packer_finish() is left to the caller.  Errors of next(), packed() and the
 * packer; ERR_NOMEM. */
int encode_all(const struct encode_config *, struct packer *, struct err *);

#endif /* COMMON_IMAGE_WRITE_ENCODE_H */
