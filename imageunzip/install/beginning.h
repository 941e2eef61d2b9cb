/* beginning.h: the first MiB of a disk, with its partition table, as the chunk that
 * begins with sector 0 stores it; read before anything is written. */
#ifndef IMAGEUNZIP_INSTALL_BEGINNING_H
#define IMAGEUNZIP_INSTALL_BEGINNING_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/err.h"
#include "common/image/read/chunk.h"

enum { BEGINNING_BYTES = 1 << 20 };

struct beginning;

/* Decode the first MiB from a chunk that begins with sector 0, after checking the chunk's
 * digest. The chunk and its bytes must outlive the result, which beginning_free() frees.
 * ERR_FORMAT, ERR_NOMEM. */
int beginning_of(
    struct beginning **, const struct chunk *, const void *bytes, struct err *);
void beginning_free(struct beginning *);
/* The pread() of a struct disk_ops; reading what the chunk does not store fails with EIO. */
ssize_t beginning_pread(void *beginning, void *buf, size_t len, uint64_t off);

#endif /* IMAGEUNZIP_INSTALL_BEGINNING_H */
