/* guess.h: how far an image reaches that does not say it (ext_reach.h), as those of
 * earlier versions and of other programs: its partition table and superblocks are looked
 * at in the chunks, as far as these are there. */
#ifndef IMAGEUNZIP_INSTALL_GUESS_H
#define IMAGEUNZIP_INSTALL_GUESS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/image/format/ext_reach.h"
#include "common/image/read/chunk.h"

struct guess;

/* bare: there is no partition table, but one filesystem. superblocks: those of partitions
 * matter, too, and not only where the partitions end. ERR_NOMEM. */
int guess_new(struct guess **, bool bare, bool superblocks, struct err *);
void guess_free(struct guess *); /* NULL is fine */
/* Learn from a whole chunk, chunk 0 first, and put into *found the parts that are known
 * through it. ERR_FORMAT: the chunk is damaged; ERR_NOMEM. */
int guess_learn(struct guess *, uint32_t number, const struct chunk *, const void *bytes,
    struct reach *found, struct err *);
/* A sector of the image from which more is to be learned; false: there is none. */
bool guess_lacks(struct guess *, uint64_t *sector);
/* Does the image say that it left out this partition? */
bool guess_left_out(const struct guess *, unsigned number);
/* No chunk has that sector. ERR_NOMEM. */
int guess_cannot(struct guess *, uint64_t sector, struct err *);

/* Look in a chunk for the superblock of the filesystem in these sectors of the image.
 * False: there is none, or the chunk is damaged, which shows when it is installed. */
bool guess_filesystem(const struct chunk *, const void *bytes, struct range sectors,
    struct reach_part *);

#endif /* IMAGEUNZIP_INSTALL_GUESS_H */
