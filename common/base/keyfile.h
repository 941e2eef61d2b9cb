/* keyfile.h: small files with keys. */
#ifndef COMMON_BASE_KEYFILE_H
#define COMMON_BASE_KEYFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"

enum { KEYFILE_BYTES_MAX = 4096, KEYFILE_SECRET_BYTES = 32 };

enum keyfile_kind {
	KEYFILE_PRIVATE,    /* signs */
	KEYFILE_PUBLIC,     /* verifies; the only one that is no secret */
	KEYFILE_ENCRYPTION, /* encrypts and decrypts */
	KEYFILE_GROUP,      /* of those who load together: --group-key */
	KEYFILE_TOKEN,      /* of those who may ask a master server: --token */
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

/* "a key for encryption", for sentences. */
const char *keyfile_name(enum keyfile_kind);

/* Keys of 32 random bytes (KEYFILE_ENCRYPTION, KEYFILE_GROUP, KEYFILE_TOKEN), in a line that begins with
 * what they are for.  Errors as above; ERR_FORMAT: it is none.  Wipe the key after use. */
int keyfile_read_secret(const char *path, enum keyfile_kind,
    uint8_t key[KEYFILE_SECRET_BYTES], struct err *);
/* As keyfile_write(); ERR_IO also when there are no random numbers. */
int keyfile_make_secret(const char *path, enum keyfile_kind, struct err *);

#endif /* COMMON_BASE_KEYFILE_H */
