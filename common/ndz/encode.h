/* encode.h: windows of sectors → fragments, compressed in parallel → packer.
 *
 *	next() → [compressors] → packer
 *
 * One thread asks next() for windows in order and fills jobs of up to 16 of
 * them; compressors turn windows into fragments; the calling thread takes the
 * jobs back in order and packs them.  A fixed set of jobs circulates, so memory
 * does not depend on the source.
 */
#ifndef COMMON_NDZ_ENCODE_H
#define COMMON_NDZ_ENCODE_H

#include <sys/types.h>

#include "common/base/err.h"
#include "common/ndz/packer.h"

struct encode_config {
	int level;			/* 0..9 */
	uint64_t jobs;			/* compressors; 0: one a processor */
	/* The data of the next window into buf[FRAGMENT_WINDOW_BYTES], its sectors
	 * into f->regions, its relocations into f->relocs.  The number of bytes, 0
	 * at the end, or -1.  Runs in a thread of its own. */
	ssize_t (*next)(void *arg, struct fragment *f, void *buf, struct err *);
	/* After each fragment was packed, in order, in the calling thread: its
	 * sectors and raw bytes, and the number of the chunk that it went into.
	 * NULL: nobody wants to know. */
	int (*packed)(void *arg, const struct fragment *f, const void *raw, size_t n,
	    uint32_t chunk, struct err *);
	void *arg;
};

/* Pack all windows; packer_finish() is left to the caller. */
int encode_all(const struct encode_config *, struct packer *, struct err *);

#endif /* COMMON_NDZ_ENCODE_H */
