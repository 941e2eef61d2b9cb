/* first_mib.h: the first MiB of a disk, with its partition table, as the chunk that
 * begins with sector 0 stores it; read before anything is written. */
#ifndef COMMON_TARGET_FIRST_MIB_H
#define COMMON_TARGET_FIRST_MIB_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/err.h"
#include "common/image/read/chunk.h"

enum { FIRST_MIB_BYTES = 1 << 20 };

struct first_mib;

/* Decode the first MiB from a chunk that begins with sector 0, after checking the chunk's
 * digest. The result is freed with first_mib_free(). ERR_FORMAT, ERR_NOMEM. */
int first_mib_of(
    struct first_mib **, const struct chunk *, const void *bytes, struct err *);
void first_mib_free(struct first_mib *);
/* The pread() of a struct disk_ops; reading what the chunk does not store fails with EIO. */
ssize_t first_mib_pread(void *first_mib, void *buf, size_t len, uint64_t off);

#endif /* COMMON_TARGET_FIRST_MIB_H */
