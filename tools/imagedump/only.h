/* only.h: imagedump --only: which parts of an image belong to some of its
 * partitions. */
#ifndef TOOLS_IMAGEDUMP_ONLY_H
#define TOOLS_IMAGEDUMP_ONLY_H

#include "common/base/json.h"
#include "common/image/read/chunk.h"
#include "common/image/read/image.h"
#include "common/image/read/only.h"

struct only_view;

/* Make a view of these partitions; the list is copied.  only_view_free() frees it.  ERR_NOMEM. */
int only_view_new(struct only_view **, const struct only_list *, struct err *);
void only_view_free(struct only_view *); /* NULL is fine */
/* Take the next chunk.  Every chunk of the image is to be given, in order, with its number and
 * its bytes, which are borrowed for the call.  Errors as imgtable_learn(). */
int only_view_take(struct only_view *, uint32_t number, const struct chunk *,
    const void *bytes, struct err *);
/* After the last chunk: find the partitions.  Chunks may be read again where the image is
 * seekable.  Errors as imgtable_refuse() when one of the partitions is not there, and as
 * image_read(), chunk_parse() and imgtable_learn(). */
int only_view_settle(struct only_view *, struct image *, struct err *);
/* After only_view_settle(): put the member "only" into the object that is open, or
 * print a line for each partition to standard output, where that is NULL.  ERR_NOMEM. */
int only_view_show(struct only_view *, struct json *, struct err *);

#endif /* TOOLS_IMAGEDUMP_ONLY_H */
