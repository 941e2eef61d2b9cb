/* names.h: the names of images as words of a file of statements, and as names of files in one folder. */
#ifndef MFRISBEED_MASTER_NAMES_H
#define MFRISBEED_MASTER_NAMES_H

#include "common/base/err.h"
#include "common/wire/master.h"

enum { NAMES_ENCODED_BYTES = 3 * MASTER_NAME_MAX + 1 };

/* Letters, digits and most signs stay; everything else becomes % and two hexadecimal digits: blanks, "%", "#",
 * "/", and a dot at the beginning.  Different names have different results. */
void names_encode(const char *name, char out[NAMES_ENCODED_BYTES]);
/* The name that was encoded, in place.  ERR_USAGE: a % without two digits follows. */
int names_decode(char *, struct err *);

#endif /* MFRISBEED_MASTER_NAMES_H */
