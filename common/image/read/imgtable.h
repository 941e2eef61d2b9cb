/* imgtable.h: the partition table that the image of a disk holds, read out of its
 * chunks.
 *
 * The table begins with sector 0, which chunk 0 has; the tables of logical partitions,
 * and a backup GPT, may lie anywhere on the disk.  Whoever has the chunks therefore asks
 * which sector is needed next, and shows the chunk that answers for it, until the
 * partition that is looked for is known or nothing more is needed:
 *
 *	imgtable_learn(chunk 0)
 *	while (imgtable_find(n) == NULL && imgtable_needs(&sector))
 *		imgtable_learn(the chunk with that sector)
 */
#ifndef COMMON_IMAGE_READ_IMGTABLE_H
#define COMMON_IMAGE_READ_IMGTABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/ptable.h"
#include "common/image/read/chunk.h"

struct imgtable;

/* ERR_NOMEM. */
int imgtable_new(struct imgtable **, struct err *);
void imgtable_free(struct imgtable *); /* NULL is fine */
/* Learn from chunk `number`, which is decrypted; it is borrowed for the call.  Chunk 0 comes
 * first.  When sectors of the chunk are needed, it is decoded, and checked as far as it has
 * digests.  ERR_FORMAT: it is damaged.  ERR_NOMEM. */
int imgtable_learn(struct imgtable *, uint32_t number, const struct chunk *,
    const void *bytes, struct err *);
/* The partition of that number, valid until more is learned; NULL: there is none, or it is
 * not known yet. */
const struct partition *imgtable_find(const struct imgtable *, unsigned number);
/* A sector of the image that may describe more partitions.  Returns false if there
 * is none. */
bool imgtable_needs(struct imgtable *, uint64_t *sector);
/* Say that no chunk has this sector: imgtable_needs() will not ask for it again.  ERR_NOMEM. */
int imgtable_cannot(struct imgtable *, uint64_t sector, struct err *);
/* The whole table as it is known by now; NULL: no table with partitions is known. */
const struct ptable *imgtable_table(const struct imgtable *);
/* Open what is known of the table as a disk as large as the image's; what is not known is
 * zeros.  The table must outlive the disk.  ERR_NOMEM. */
int imgtable_open(struct imgtable *, struct disk **, struct err *);
/* Was this partition left out when the image was made?  Only images of this suite say
 * so; of others, false. */
bool imgtable_left_out(const struct imgtable *, unsigned number);
/* Sets the error that says why that partition is not available, and which ones are: "it has
 * partitions 1, 2, 5".  ERR_ABSENT; ERR_UNSUPPORTED of a delta without the table; ERR_FORMAT
 * of a table that cannot be read.  Returns -1. */
int imgtable_refuse(const struct imgtable *, unsigned number, struct err *);

#endif /* COMMON_IMAGE_READ_IMGTABLE_H */
