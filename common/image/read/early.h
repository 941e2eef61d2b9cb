/* early.h: blocks of a growing file that are there before their chunk is complete and proved.
 *
 * They lie in a file of their own, which has no name, at the same place as in the growing one;
 * a map for each chunk that has any tells which.  The caller has a lock: nothing here waits.
 *
 * Only early.c writes struct early.
 */
#ifndef COMMON_IMAGE_READ_EARLY_H
#define COMMON_IMAGE_READ_EARLY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/wire/blockmap.h"

struct early {
	int fd; /* -1: not open */
	uint32_t chunks;
	struct blockmap **maps; /* by chunk; NULL: none */
};

/* Before anything else. */
void early_init(struct early *);
/* The file is made beside `path`, where there is room for the image.  ERR_IO, ERR_NOMEM. */
int early_open(struct early *, const char *path, uint32_t chunks, struct err *);
/* Keep `count` blocks from block `first` of a chunk on.  False: they could not be kept. */
bool early_keep(struct early *, uint32_t chunk, uint32_t first, uint32_t count,
    const uint8_t *data);
/* The chunk is in the growing file: its blocks are needed here no more. */
void early_forget(struct early *, uint32_t chunk);
/* The blocks of `need` that are not here. */
struct blockmap early_lacks(
    const struct early *, uint32_t chunk, const struct blockmap *need);
/* Blocks that are all here; block `first` goes to the beginning of `to`.  `name` is for the
 * message.  ERR_IO. */
int early_read(const struct early *, const char *name, uint32_t chunk,
    const struct blockmap *need, uint32_t first, uint8_t *to, struct err *);
void early_close(struct early *);

#endif /* COMMON_IMAGE_READ_EARLY_H */
