/* blockfiles.h: blocks and other ranges of packs as files of a folder of a limited size.  Shared
 * by all processes of a user; what it holds is not to be believed, and may vanish. */
#ifndef EMUSTORE_STORE_BLOCKFILES_H
#define EMUSTORE_STORE_BLOCKFILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"

struct blockfiles;

int blockfiles_new(
    struct blockfiles **, const char *dir, uint64_t max_bytes, struct err *);
void blockfiles_free(struct blockfiles *);
/* Read the range of n bytes from byte `at` of a pack.  Returns false if the folder does not have
 * just this range. */
bool blockfiles_get(
    struct blockfiles *, const char *id, uint64_t at, void *out, size_t n);
/* Does the folder have just this range? */
bool blockfiles_have(struct blockfiles *, const char *id, uint64_t at, size_t n);
/* What is read or written from now on belongs to an image that was loaded `loads`
 * times. */
void blockfiles_note_loads(struct blockfiles *, uint64_t loads);
/* Keep a range.  Those that were not used for longest make room; twice as many loads of an image
 * count as a use that is one day younger.  Failing does no harm. */
void blockfiles_put(
    struct blockfiles *, const char *id, uint64_t at, const void *bytes, size_t n);

#endif /* EMUSTORE_STORE_BLOCKFILES_H */
