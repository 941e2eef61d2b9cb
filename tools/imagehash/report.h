/* report.h: what imagehash tells. */
#ifndef TOOLS_IMAGEHASH_REPORT_H
#define TOOLS_IMAGEHASH_REPORT_H

#include "common/disk/rangeset.h"
#include "common/image/format/sig.h"
#include "tools/imagehash/options.h"

/* -R, or JSON of it: to standard output.  ERR_IO when it does not arrive. */
enum { EXIT_DIFFERS = 4 };

int imagehash_signature(const struct options *, const struct sig *, struct err *);
/* Blocks and sectors that were compared, and those that differ. */
struct difference {
	size_t blocks;
	uint64_t sectors;
	size_t nranges, cap;
	struct range *ranges; /* one a block, ascending; owned */
	uint64_t different;   /* sectors of them */
};
/* One more block that differs; they come ascending. */
int difference_add(struct difference *, struct range, struct err *);
void difference_free(struct difference *); /* leaves none */
/* To standard output, unless quiet; with -X neighbours become one, for good. */
int report_difference(
    const struct options *, const struct sig *, struct difference *, struct err *);

#endif /* TOOLS_IMAGEHASH_REPORT_H */
