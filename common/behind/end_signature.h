/* end_signature.h: recognises what lies at the end of a disk or partition, behind its content:
 * metadata of arrays, mirrors and the like.
 *
 * This metadata, unlike what foreign.h recognises, leaves the beginning alone, so a
 * partition table or a filesystem in front of it is valid.
 */
#ifndef COMMON_BEHIND_END_SIGNATURE_H
#define COMMON_BEHIND_END_SIGNATURE_H

#include <stddef.h>
#include <stdint.h>

#include "common/disk/disk.h"
#include "common/disk/range.h"
#include "common/image/format/ext_tail.h"

enum { END_SIGNATURES_MAX = TAIL_KINDS };

struct end_signature {
	enum tail_kind kind;
	/* Sectors of the disk, inside the area: from the beginning of the metadata to its
	 * end, or, if its end is not known, to the end of the area. */
	struct range sectors;
};

/* Find what lies at the end of the area, behind its sector `floor`: a signature in front of
 * the floor does not count, and a range that would begin there begins at the floor.
 * Returns how many were found.  What cannot be read is not recognised. */
size_t end_signature_find(struct disk *, struct range area, uint64_t floor,
    struct end_signature found[END_SIGNATURES_MAX]);
/* Find what end_signature_find() finds, and what lies directly behind a filesystem that ends at
 * sector `from` of the area, also the superblock of an array whose disk was shorter. */
size_t end_signature_find_behind(struct disk *, struct range area, uint64_t from,
    struct end_signature found[END_SIGNATURES_MAX]);

#endif /* COMMON_BEHIND_END_SIGNATURE_H */
