/* token.h: who may change something by HTTP: whoever has a token of the file of tokens
 * (imagekey(8)).  The header has the 64 digits of it. */
#ifndef CONTROLLER_HTTP_TOKEN_H
#define CONTROLLER_HTTP_TOKEN_H

#include "common/base/keyfile.h"

enum { TOKEN_TEXT_BYTES = 2 * KEYFILE_SECRET_BYTES + 1 };

/* Make the file with one random token, for this user alone, unless it has some.  One that is no
 * file of tokens is kept as PATH.old.  ERR_IO; ERR_REFUSED. */
int token_make(const char *path, struct err *);
/* Read the digits of the first token of the file.  Errors of keyfile_read_tokens(). */
int token_first(const char *path, char text[TOKEN_TEXT_BYTES], struct err *);
/* Does this header, "Bearer DIGITS" or NULL, name a token of the file?  The file is
 * read at each call, so that a token that was taken out of it counts no more, and
 * nobody has one when the file is gone. */
bool token_counts(const char *path, const char *header);

#endif /* CONTROLLER_HTTP_TOKEN_H */
