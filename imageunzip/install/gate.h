/* gate.h: is this image meant for this target?
 *
 * Two things are refused before anything is written, unless --force: an image of
 * something else than what the target is (a whole disk's into a partition, a
 * partition's onto a disk that has a partition table), and a delta onto a disk that
 * does not hold its base.  Chunk 0 tells, so no other chunk may be written before it
 * was looked at.
 */
#ifndef IMAGEUNZIP_INSTALL_GATE_H
#define IMAGEUNZIP_INSTALL_GATE_H

#include <stdbool.h>

#include "common/base/err.h"
#include "common/image/format/ext.h"
#include "imageunzip/install/target.h"

struct gate {
	/* Something that chunk 0 says of the base was looked for on the target. */
	bool compared;
	bool closed; /* chunk 0 was not looked at, and is waited for */
	/* What this delta writes is on the disk in part: an installation of it was
	 * interrupted, perhaps in the middle of a sample. */
	bool begun;
};

void gate_init(struct gate *, const struct target *);
/* Is an image of which chunk 0 says this meant for the target?  ERR_REFUSED with a sentence
 * that says how it is meant; ERR_IO.  Reads the target's partition table where that
 * matters. */
int gate_check_meant(const struct target *, const struct ext *, struct err *);
/* Look at chunk 0 and open the gate.  An image that is no delta passes.  begun: the target
 * shows that an installation of this delta was interrupted.  ERR_REFUSED: the disk does not
 * hold the base, or the delta does not say what the base held. */
int gate_open(struct gate *, struct target *, const struct ext *, bool begun,
    struct err *);
/* Any other chunk: does the disk hold what this chunk replaces, or has it been written
 * before?  stores: it has data for the target; with --only ERR_REFUSED when neither this
 * chunk nor chunk 0 says what the base held in the partition.  From any thread, once the
 * gate is open, before the chunk is written. */
int gate_check_chunk(const struct gate *, struct target *, const struct ext *,
    bool stores, struct err *);

#endif /* IMAGEUNZIP_INSTALL_GATE_H */
