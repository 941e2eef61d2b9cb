/* gate.h: checks that an image is meant for its target.
 *
 * Two things are refused before anything is written, unless --force: an image of another
 * kind than the target (the image of a whole disk into a partition, the image of a
 * partition onto a disk that has a partition table), and a delta onto a disk that does
 * not hold its base. Chunk 0 says what the image is, so no other chunk may be written
 * before chunk 0 was checked.
 */
#ifndef IMAGEUNZIP_INSTALL_GATE_H
#define IMAGEUNZIP_INSTALL_GATE_H

#include <pthread.h>
#include <stdbool.h>

#include "common/base/err.h"
#include "common/disk/rangeset.h"
#include "common/image/format/ext.h"
#include "common/image/read/chunk.h"
#include "imageunzip/install/target.h"

struct gate {
	/* Something that chunk 0 says of the base was looked for on the target. */
	bool compared;
	bool closed; /* chunk 0 was not checked yet, so no chunk may be written */
	/* What all chunks replace was compared before the first one was fed. */
	bool all_compared;
	/* The target's marker or a state says that an installation of this delta was
	 * interrupted, perhaps in the middle of a sample. */
	bool begun;
	/* Sectors of samples that two chunks share, and that were compared before either of
	 * them was written; guarded by the lock. */
	pthread_mutex_t lock;
	struct rangeset shared;
};

/* The gate begins closed, unless --force is given or the target holds nothing. */
void gate_init(struct gate *, const struct target *);
void gate_free(struct gate *);
/* Is the image whose chunk 0 has this extension area meant for the target? ERR_REFUSED
 * with a sentence that says how it is meant; ERR_IO. Reads the target's partition table
 * where that matters. */
int gate_check_meant(const struct target *, const struct ext *, struct err *);
/* Check the extension area of chunk 0 and open the gate. An image that is no delta
 * passes. begun: the target's marker or a state says that an installation of this delta was
 * interrupted. c: chunk 0, or NULL when it is not here. ERR_REFUSED: the disk does not hold
 * the base, or the delta does not say what the base held. */
int gate_open(struct gate *, struct target *, const struct ext *, const struct chunk *c,
    bool begun, struct err *);
/* Check a chunk of a delta before it is written, from any thread: does the disk hold what
 * the chunk replaces, or was the chunk written before? stores: it has data for the target.
 * ERR_REFUSED when not, and, with --only, when neither this chunk nor chunk 0 says what the
 * base held in the partition. */
int gate_check_chunk(struct gate *, struct target *, const struct chunk *, bool stores,
    struct err *);

#endif /* IMAGEUNZIP_INSTALL_GATE_H */
