/* several.h: several sources of the same image as one: when one fails or is slow, the next is
 * asked. */
#ifndef STREAM_SOURCES_SEVERAL_H
#define STREAM_SOURCES_SEVERAL_H

#include <stddef.h>

#include "common/base/err.h"
#include "common/image/read/source.h"

/* The n sources are taken over, also on failure; they can be read in any order.  ERR_FORMAT:
 * their lengths differ, or their first or last chunks do. */
int source_of_several(struct source *, struct source *members, size_t n, struct err *);

#endif /* STREAM_SOURCES_SEVERAL_H */
