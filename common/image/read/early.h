/* early.h: keeps blocks of a growing file that come before their chunk is complete and
 * proved.
 *
 * They are kept in memory (stock.h), since whoever receives packets hands them in, and
 * must never wait for a disk.  When they are too many, those that were used longest ago
 * are forgotten; a reader who still needs them asks for them again.  The caller holds a
 * lock during every call. */
#ifndef COMMON_IMAGE_READ_EARLY_H
#define COMMON_IMAGE_READ_EARLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/base/stock.h"
#include "common/wire/blockmap.h"

enum { EARLY_PIECE_BLOCKS = 16 }; /* neighbours that are kept, and forgotten, together */

/* Make a stock of such blocks, for stock_free(). most_bytes 0: a default, 256 MiB or an
 * eighth of the machine's memory, whichever is less; a chunk must have room.  ERR_NOMEM.
 */
int early_open(struct stock **, size_t most_bytes, struct err *);
/* Keep `count` blocks of a chunk, from block `first` on.  False: there is no memory. */
bool early_keep(struct stock *, uint32_t chunk, uint32_t first, uint32_t count,
    const uint8_t *data);
/* Forget the blocks of a chunk that is in the growing file by now. */
void early_forget(struct stock *, uint32_t chunk);
/* Copy those of the blocks `need` that are kept here to their places in `to`, whose
 * beginning is the place of block `first`; NULL: nowhere.  Returns the others. */
struct blockmap early_read(struct stock *, uint32_t chunk, const struct blockmap *need,
    uint32_t first, uint8_t *to);

#endif /* COMMON_IMAGE_READ_EARLY_H */
