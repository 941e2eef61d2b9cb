/* only.h: imagedump --only: which parts of an image belong to some of its
 * partitions. */
#ifndef TOOLS_IMAGEDUMP_ONLY_H
#define TOOLS_IMAGEDUMP_ONLY_H

#include "common/base/json.h"
#include "common/image/read/chunk.h"
#include "common/image/read/image.h"
#include "common/image/read/only.h"

struct only_view;

int only_view_new(struct only_view **, const struct only_list *, struct err *);
void only_view_free(struct only_view *); /* NULL is fine */
/* Every chunk of the image, in order; its bytes are looked at for the call. */
int only_view_take(struct only_view *, uint32_t number, const struct chunk *,
    const void *bytes, struct err *);
/* Behind the last one: find the partitions.  ERR_USAGE: one is not there. */
int only_view_settle(struct only_view *, struct image *, struct err *);
/* Then: a line for each on standard output; or into an object that is open. */
int only_view_print(struct only_view *, struct err *);
int only_view_json(struct only_view *, struct json *, struct err *);

#endif /* TOOLS_IMAGEDUMP_ONLY_H */
