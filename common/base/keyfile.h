/* keyfile.h: small files with keys. */
#ifndef COMMON_BASE_KEYFILE_H
#define COMMON_BASE_KEYFILE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/err.h"

enum { KEYFILE_BYTES_MAX = 4096 };

enum keyfile_kind {
	KEYFILE_PRIVATE,    /* signs */
	KEYFILE_PUBLIC,     /* verifies; the only one that is no secret */
	KEYFILE_ENCRYPTION, /* encrypts and decrypts */
	KEYFILE_KINDS
};

/* The whole file into buf, with a NUL behind it.  ERR_USAGE when it begins like a key
 * of another kind, ERR_REFUSED when its group or others may read or write a secret one.
 * What is in it is not looked at further.  Wipe buf after use. */
int keyfile_read(const char *path, enum keyfile_kind, char buf[KEYFILE_BYTES_MAX + 1],
    size_t *n, struct err *);
/* A new file, flushed to the disk: mode 0600 when secret, else 0644.  One that is
 * there already is never replaced (ERR_REFUSED). */
int keyfile_write(
    const char *path, bool secret, const void *data, size_t n, struct err *);

#endif /* COMMON_BASE_KEYFILE_H */
