/* only.h: the partitions of an image that --only selects, and the parts of a chunk
 * that belong to them. */
#ifndef COMMON_IMAGE_READ_ONLY_H
#define COMMON_IMAGE_READ_ONLY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/image/format/format.h"

enum { ONLY_MAX = 16 }; /* partitions at a time */

/* n 0: the whole image is meant. */
struct only_list {
	unsigned n;
	unsigned number[ONLY_MAX];
};

/* Read "2" or "1,5" into the struct only_list at `at`; this is call() of a struct cli_opt.
 * ERR_USAGE: `arg` is no list of partition numbers; the message says what can be done
 * instead. */
int only_list_set(void *at, const char *arg, struct err *);

/* Does the chunk answer for any of these sectors? */
bool only_touches(const struct ndz_header *, struct range sectors);
/* Make the header that the chunk would have if the image were of `sectors` alone.  *out
 * answers for those of `sectors` for which the chunk does, and stores those that the chunk
 * stores, all counted from the first of `sectors`.  *out has no relocations, and perhaps no
 * regions; when chunk and `sectors` have nothing in common, it answers for no sector. */
void only_header(
    const struct ndz_header *, struct range sectors, struct ndz_header *out);
/* The end of what the chunk stores of these sectors, counted from the first of them; 0: the
 * chunk stores none of them. */
uint64_t only_stored_end(const struct ndz_header *, struct range sectors);

#endif /* COMMON_IMAGE_READ_ONLY_H */
