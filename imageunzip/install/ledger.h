/* ledger.h: remembers what a target must hold where: sums of digests of what was written
 * there last, of all places (--read-back), or of a few.
 *
 * The disk is divided into blocks of 64 KiB.  Of a block the ledger knows which sectors
 * were written, and the sum of their digests, so sectors can be written in any order and
 * in any pieces; where something is written again, the digests of what stands there are
 * taken away first.  A block takes 32 bytes of memory.  Digests are of XXH64: they find what
 * a disk does wrong, which does not look for contents of the same digest.
 *
 * A few places are: a block at random of each 16 MiB of the first GiB, and of each GiB
 * behind it; another one in each run.  So what is lost is found surely if it is all that was
 * written to one of these zones, and else by chance.  Zones are short in front, because a
 * disk that wraps round has its end there again, over what was written before, in whichever
 * order threads write.  The block of a zone that is written first, or the lowest one, would
 * not do: in the first zone it is what lies behind the partition table, and most images
 * store nothing that comes to lie there.
 */
#ifndef IMAGEUNZIP_INSTALL_LEDGER_H
#define IMAGEUNZIP_INSTALL_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/disk.h"

enum {
	LEDGER_BLOCK_BYTES = 64 << 10,
	LEDGER_BLOCK_SECTORS = LEDGER_BLOCK_BYTES / SECTOR_BYTES,
};

/* Sectors of one block. */
struct ledger_part {
	uint64_t block;  /* its number on the disk */
	uint64_t has[2]; /* a bit for each sector, the lowest first */
	uint64_t sum[2]; /* of the digests of these sectors */
};

/* What one chunk has written. */
struct ledger_parts {
	struct ledger_part *p; /* owned */
	size_t n, cap;
};

struct ledger;

/* What is noted. */
enum ledger_what {
	LEDGER_DATA, /* it is to be remembered */
	LEDGER_FILL, /* of free space: only where something was remembered already */
};

/* Make an empty ledger of the disk, which stays the caller's.  all: remember all places.
 * base: the byte of the disk where the target begins.  ERR_NOMEM; ERR_IO: no random
 * numbers. */
int ledger_new(struct ledger **, struct disk *, bool all, uint64_t base, struct err *);
void ledger_free(struct ledger *); /* NULL is fine */
bool ledger_is_whole(const struct ledger *); /* does it remember all places? */
/* Does the ledger remember any of these bytes? */
bool ledger_touches(struct ledger *, uint64_t at, uint64_t bytes);
/* Called before `bytes` bytes are written at byte `at` of the disk, a multiple of 512,
 * when earlier writes of the same place are done; data NULL: zeros.  A last sector that
 * is short ends the disk.  parts: what was noted is added there, too, or NULL.  From any
 * thread.  Errors of reading, ERR_NOMEM. */
int ledger_note(struct ledger *, enum ledger_what, uint64_t at, const void *data,
    uint64_t bytes, struct ledger_parts *, struct err *);
/* Note a part that an earlier run has noted.  false: some of its sectors are remembered
 * already, so that the block cannot be known any more, and is forgotten. */
bool ledger_take(struct ledger *, const struct ledger_part *, struct err *);
/* Get the first part whose block is `from` or a later one; false: there is none. */
bool ledger_next(const struct ledger *, uint64_t from, struct ledger_part *);
/* Does a block that holds these bytes hold the part?  Bytes that do not count are set to zero. */
bool ledger_holds(const struct ledger *, const struct ledger_part *,
    uint8_t bytes[LEDGER_BLOCK_BYTES]);

#endif /* IMAGEUNZIP_INSTALL_LEDGER_H */
