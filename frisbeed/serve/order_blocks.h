/* order_blocks.h: the list of the blocks of an image that machines have read when they
 * started from it.
 *
 * The order of these reads is a file (common/image/format/order.h) that names sectors of the disk.  The
 * list has the blocks that a client needs to read these sectors (sectors_blocks.h), in the same
 * order, each once.
 */
#ifndef FRISBEED_SERVE_ORDER_BLOCKS_H
#define FRISBEED_SERVE_ORDER_BLOCKS_H

#include <stdint.h>

#include "common/base/err.h"
#include "common/wire/wirext.h"

enum {
	/* Blocks of a session's list: 128 MiB.  A client keeps at most 256 MiB of what
	 * comes before its chunk is complete, or an eighth of its memory if that is less
	 * (common/image/read/early.h); blocks beyond that replace blocks that were not
	 * read yet.  A machine reads less than 128 MiB until a user is logged in. */
	ORDER_BLOCKS_MAX = 1 << 17,
};

/* Everything that pointers here lead to belongs to the caller. */
struct order_config {
	const char *order; /* the file; there may be none */
	const char *image; /* a file, or a name in the store */
	const char *store; /* NULL: a file */
	uint32_t chunks;   /* of the image that is served: the list names no others */
	uint32_t blocks_most; /* of the list, which ends there */
};

struct order_blocks {
	struct wirext_run *runs; /* owned; NULL: there are none */
	uint32_t n, blocks;      /* runs; blocks in them */
	uint32_t machines;       /* the number of machines whose reads were recorded */
};

/* Make the list.  The order, and headers and tables of the image's chunks are read, which may take
 * minutes where the image is large and its disk slow.  Errors are those of
 * order_read_regular(), served_disk() and sectors_open_disk(); ERR_ABSENT: there is no order;
 * ERR_REFUSED: it is no file, or of a disk of another size; ERR_FORMAT; ERR_CANCELLED. */
int order_blocks_make(struct order_blocks *, const struct order_config *, struct err *);
void order_blocks_free(struct order_blocks *); /* leaves an empty list */

#endif /* FRISBEED_SERVE_ORDER_BLOCKS_H */
