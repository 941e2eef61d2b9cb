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

/* "2" or "1,5" into the struct only_list at `at`: a cli_opt's call.  ERR_USAGE, with
 * what can be done instead, for what are no numbers of partitions. */
int only_list_set(void *at, const char *arg, struct err *);

/* Does the chunk answer for any of these sectors? */
bool only_touches(const struct ndz_header *, struct range sectors);
/* The chunk as if the image were of these sectors alone: *out answers for those that
 * the chunk shares with them, and stores what it stores of them, all counted from the
 * first of them.  It has no relocations, and perhaps no regions; with nothing in common
 * it answers for no sector. */
void only_header(
    const struct ndz_header *, struct range sectors, struct ndz_header *out);
/* The end of what the chunk stores of these sectors, counted from the first of them; 0: it
 * stores none of them. */
uint64_t only_stored_end(const struct ndz_header *, struct range sectors);

#endif /* COMMON_IMAGE_READ_ONLY_H */
