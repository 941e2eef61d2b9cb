/* keyfile.h: small files with keys. */
#ifndef COMMON_BASE_KEYFILE_H
#define COMMON_BASE_KEYFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"

/* TOKENS_MAX: those for which a file has room. */
enum {
	KEYFILE_BYTES_MAX = 16384,
	KEYFILE_SECRET_BYTES = 32,
	KEYFILE_TOKENS_MAX = KEYFILE_BYTES_MAX / (2 * KEYFILE_SECRET_BYTES)
};

enum keyfile_kind {
	KEYFILE_PRIVATE,    /* signs images */
	KEYFILE_PUBLIC,     /* verifies signatures; the only kind that is no secret */
	KEYFILE_ENCRYPTION, /* encrypts and decrypts */
	KEYFILE_GROUP,      /* shared by the programs of a session: --group-key */
	KEYFILE_TOKEN,      /* shown to a master server or a controller: --token, --token-file */
	KEYFILE_KINDS
};

/* Read the whole file into buf, with a NUL behind its *n bytes.  ERR_FORMAT when it begins
 * like a key of another kind; ERR_REFUSED when its group or others have any access to a
 * secret key, or it is a named pipe; ERR_FORMAT when it is too long; ERR_IO.  The content is not checked further.
 * Wipe buf after use. */
int keyfile_read(const char *path, enum keyfile_kind, char buf[KEYFILE_BYTES_MAX + 1],
    size_t *n, struct err *);
/* Write data[n] to a new file and flush it to the disk: mode 0600 when secret, else 0644.
 * A file that exists is never replaced (ERR_REFUSED).  ERR_IO otherwise, and no file is
 * left. */
int keyfile_write(
    const char *path, bool secret, const void *data, size_t n, struct err *);

/* The name of a kind for sentences: "a key for encryption". */
const char *keyfile_name(enum keyfile_kind);

/* Read a key of 32 random bytes (KEYFILE_ENCRYPTION, KEYFILE_GROUP, KEYFILE_TOKEN), which
 * stands in hex in one line that begins with the key's purpose.  The errors of
 * keyfile_read(); ERR_FORMAT also when the file is no such key.  Wipe the key after use. */
int keyfile_read_secret(const char *path, enum keyfile_kind,
    uint8_t key[KEYFILE_SECRET_BYTES], struct err *);
/* The same for a file of tokens, of which each line is one; empty lines and those that
 * begin with # are none.  keyfile_read_secret() reads the first one.  ERR_FORMAT: a line
 * is no token, or none is. */
struct keyfile_tokens {
	size_t n;
	uint8_t token[KEYFILE_TOKENS_MAX][KEYFILE_SECRET_BYTES];
};
int keyfile_read_tokens(const char *path, struct keyfile_tokens *, struct err *);
/* Make a new random key.  Returns the length of the text, which such a file has.  Wipe it
 * after use. */
enum { KEYFILE_TEXT_BYTES = 32 + 2 * KEYFILE_SECRET_BYTES + 2 };
size_t keyfile_new_secret(enum keyfile_kind, char text[KEYFILE_TEXT_BYTES]);
/* Make a new random key and write it with keyfile_write(), whose errors it returns; ERR_IO
 * also when the system gives no random numbers. */
int keyfile_make_secret(const char *path, enum keyfile_kind, struct err *);

#endif /* COMMON_BASE_KEYFILE_H */
