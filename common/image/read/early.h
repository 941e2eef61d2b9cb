/* early.h: keeps blocks of a growing file that come before their chunk is complete and proved.
 *
 * Early blocks are kept in a file without a name, each at its place in the growing file.  Each
 * chunk that has early blocks has a map of them.  The caller holds a lock during every call.
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

/* Make a struct in which nothing is open; called before anything else. */
void early_init(struct early *);
/* Make the file beside `path`, where there is room for the image.  After an error
 * early_close() is still to be called.  ERR_IO, ERR_NOMEM. */
int early_open(struct early *, const char *path, uint32_t chunks, struct err *);
/* Keep `count` blocks of a chunk, from block `first` on.  False: they could not be kept. */
bool early_keep(struct early *, uint32_t chunk, uint32_t first, uint32_t count,
    const uint8_t *data);
/* Forget the blocks of a chunk that is in the growing file by now. */
void early_forget(struct early *, uint32_t chunk);
/* Returns the blocks of `need` that are not kept here. */
struct blockmap early_lacks(
    const struct early *, uint32_t chunk, const struct blockmap *need);
/* Read the blocks `need`, all of which are kept here, to their places in `to`, whose beginning
 * is the place of block `first`.  `name` is for the message.  ERR_IO. */
int early_read(const struct early *, const char *name, uint32_t chunk,
    const struct blockmap *need, uint32_t first, uint8_t *to, struct err *);
/* Drop all blocks and close the file, if it is open. */
void early_close(struct early *);

#endif /* COMMON_IMAGE_READ_EARLY_H */
