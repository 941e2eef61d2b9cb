/* fitting.h: the disk's partition table is fitted to the disk, and can be put back: a
 * filesystem may not be able to follow. */
#ifndef TOOLS_GROWFS_FITTING_H
#define TOOLS_GROWFS_FITTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/ptable.h"

/* What was in a place before it was written. */
struct fitting_was {
	uint64_t at; /* byte of the disk */
	size_t len;
	uint8_t *bytes; /* owned */
};

/* All zeros at first.  fitting_free() frees it. */
struct fitting {
	struct ptable_change done; /* what was done, or would be */
	struct fitting_was *was;     /* in the order of writing; owned */
	size_t n, cap;
};

/* Let the last partition reach to the end of the disk (ptable_fit()), and flush; the
 * kernel reads the table then.  dry: find out what would be done, and write nothing.
 * When it fails, what was written is put back.  Errors of ptable_fit() and of reading and
 * writing. */
int fitting_do(
    struct fitting *, const char *disk, unsigned sector_bytes, bool dry, struct err *);
/* Write back what was there before fitting_do(), in the reverse order, so that one copy
 * of a GPT is whole at any time. */
int fitting_undo(struct fitting *, const char *disk, struct err *);
void fitting_free(struct fitting *);

#endif /* TOOLS_GROWFS_FITTING_H */
