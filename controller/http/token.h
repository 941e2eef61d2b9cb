/* token.h: who may change something: whoever has a line of the file of tokens. */
#ifndef CONTROLLER_HTTP_TOKEN_H
#define CONTROLLER_HTTP_TOKEN_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/err.h"

enum { TOKEN_BYTES_MIN = 16, TOKEN_BYTES_MAX = 256 };

/* Make the file with one random token, for this user alone, unless it is there.  ERR_IO. */
int token_make(const char *path, struct err *);
/* Read the first token of the file into token[cap].  ERR_IO; ERR_FORMAT: it has none. */
int token_first(const char *path, char *token, size_t cap, struct err *);
/* Does this header, "Bearer TOKEN" or NULL, name a line of the file?  Lines that are shorter than
 * TOKEN_BYTES_MIN or begin with # do not count.  The file is read at each call, so that a token
 * that was taken out of it counts no more. */
bool token_counts(const char *path, const char *header);

#endif /* CONTROLLER_HTTP_TOKEN_H */
