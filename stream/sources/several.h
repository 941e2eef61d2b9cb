/* several.h: several sources of the same image as one.  When one fails or is slow, the next one
 * is asked. */
#ifndef STREAM_SOURCES_SEVERAL_H
#define STREAM_SOURCES_SEVERAL_H

#include <stddef.h>

#include "common/base/err.h"
#include "common/image/read/source.h"

/* Make one source of n, which are taken over, also on failure; each must be readable by chunk
 * number.  The owner of the calling thread (cancel.h) must outlast the source.  ERR_FORMAT: their
 * lengths differ, or their first or last chunks do, and not only because one of them is damaged;
 * ERR_UNSUPPORTED: they can be read in order only; errors of reading them. */
int source_of_several(struct source *, struct source *members, size_t n, struct err *);

#endif /* STREAM_SOURCES_SEVERAL_H */
