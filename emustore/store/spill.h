/* spill.h: bytes that are written one behind the other, and then read anywhere.  They are in
 * memory as long as they are few, and else in a file without a name, so that a large image needs
 * no more memory than a small one. */
#ifndef EMUSTORE_STORE_SPILL_H
#define EMUSTORE_STORE_SPILL_H

#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/err.h"

enum { SPILL_MEMORY_BYTES = 32 << 20 };

/* Several threads may read at once when nothing is added any more.  Only spill.c uses the
 * members. */
struct spill {
	const char *folder;
	size_t most;    /* bytes that stay in memory */
	struct buf mem; /* those that are not in the file */
	int fd;         /* -1: there is no file */
	uint64_t filed; /* bytes in the file */
};

/* What a reader has of the file: one for each thread.  All zeros: nothing. */
struct spill_view {
	struct buf bytes;
	uint64_t at;
};

/* No bytes.  folder: for the file, needed as long as bytes are added; NULL: TMPDIR, or
 * /var/tmp.  most: bytes that stay in memory, SPILL_MEMORY_BYTES in the product. */
struct spill spill_new(const char *folder, size_t most);
/* Close the file, and free the bytes. */
void spill_free(struct spill *);
/* How many bytes were added. */
uint64_t spill_bytes(const struct spill *);
/* Add n bytes.  ERR_NOMEM; ERR_IO: there is no room for the file. */
int spill_add(struct spill *, const void *bytes, size_t n, struct err *);
/* The n bytes from byte `at`, of which all were added (asserted); they stay where they are until
 * the next call with this view.  They are aligned as `at` and the last `at` of this view are, up
 * to 16.  NULL: ERR_NOMEM, ERR_IO. */
const void *spill_at(
    const struct spill *, struct spill_view *, uint64_t at, size_t n, struct err *);
/* Free what the view has. */
void spill_view_free(struct spill_view *);

#endif /* EMUSTORE_STORE_SPILL_H */
