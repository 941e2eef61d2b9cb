/* report.h: what imagehash prints: signatures, and how a disk differs from one. */
#ifndef TOOLS_IMAGEHASH_REPORT_H
#define TOOLS_IMAGEHASH_REPORT_H

#include "common/disk/rangeset.h"
#include "common/image/format/sig.h"
#include "tools/imagehash/options.h"

/* The exit status when the disk differs from the image. */
enum { EXIT_DIFFERS = 4 };

/* -R: print the signature to standard output, as text or as JSON.  ERR_NOMEM; ERR_IO: the JSON
 * cannot be written. */
int imagehash_signature(const struct options *, const struct sig *, struct err *);
/* Blocks and sectors that were compared, and those that differ.  Zeros to begin with. */
struct difference {
	size_t blocks;    /* that were compared */
	uint64_t sectors; /* that were compared */
	size_t different_blocks;
	size_t nranges, cap;
	struct range *ranges; /* sectors of the blocks that differ, ascending; owned */
	uint64_t different;   /* number of sectors in the ranges */
};
/* Add the sectors of a block that differs, which lie behind those that were added
 * before; merge: to the last range, where they touch it.  ERR_NOMEM. */
int difference_add(struct difference *, struct range, bool merge, struct err *);
void difference_free(struct difference *); /* leaves an empty one */
/* Print the difference to standard output, as JSON, or as text unless quiet.
 * ERR_NOMEM; ERR_IO: the JSON cannot be written. */
int report_difference(const struct options *, const struct sig *,
    const struct difference *, struct err *);

#endif /* TOOLS_IMAGEHASH_REPORT_H */
