/* recheck.h: looks again, past the cache, at what an installation has written, when all of
 * it was flushed.  A disk that has less room than it says drops writes, or wraps round:
 * what is written behind its real end replaces what is in front.  A read directly after
 * the write shows neither. */
#ifndef IMAGEUNZIP_INSTALL_RECHECK_H
#define IMAGEUNZIP_INSTALL_RECHECK_H

#include "common/disk/rangeset.h"
#include "imageunzip/install/ledger.h"

struct recheck {
	struct rangeset bad; /* sectors of the disk that do not hold what was written */
	/* The same bytes as at the first bad sectors are so many sectors away, in either
	 * direction; 0: they are not found. */
	uint64_t wraps;
};

/* Compare all that the ledger remembers.  *out is written over; recheck_free().  ERR_IO,
 * ERR_NOMEM, ERR_CANCELLED. */
int recheck_all(const struct ledger *, struct disk *, struct recheck *out, struct err *);
void recheck_free(struct recheck *);
/* Find out, when something is bad, how far away its bytes are (`wraps`). */
void recheck_find_wrap(struct disk *, struct recheck *);
/* Say what is bad.  Returns -1 with ERR_IO. */
int recheck_fail(const struct recheck *, const struct disk *, struct err *);

#endif /* IMAGEUNZIP_INSTALL_RECHECK_H */
