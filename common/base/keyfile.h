/* keyfile.h: small files with keys. */
#ifndef COMMON_BASE_KEYFILE_H
#define COMMON_BASE_KEYFILE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/err.h"

enum { KEYFILE_BYTES_MAX = 4096 };

/* The whole file into buf, with a NUL behind it.  A secret one that its group or
 * others may read or write is ERR_REFUSED.  Wipe buf after use. */
int keyfile_read(const char *path, bool secret, char buf[KEYFILE_BYTES_MAX + 1],
    size_t *n, struct err *);
/* A new file, flushed to the disk: mode 0600 when secret, else 0644.  One that is
 * there already is never replaced (ERR_REFUSED). */
int keyfile_write(
    const char *path, bool secret, const void *data, size_t n, struct err *);

#endif /* COMMON_BASE_KEYFILE_H */
