/* names.h: the names of images as words of a file of statements, and as names of files in
 * one folder. */
#ifndef MFRISBEED_MASTER_NAMES_H
#define MFRISBEED_MASTER_NAMES_H

#include <stdbool.h>

#include "common/base/err.h"
#include "common/wire/master.h"

enum { NAMES_ENCODED_BYTES = 3 * MASTER_NAME_MAX + 1 };

/* Encodes a name.  Letters, digits and most signs stay.  All other bytes become % and two
 * hexadecimal digits: blanks, control characters, bytes beyond ASCII, "%", "#", "/", and
 * a dot at the beginning.  Different names have different results. */
void names_encode(const char *name, char out[NAMES_ENCODED_BYTES]);
/* Decodes a name in place.  ERR_USAGE: two digits do not follow a %. */
int names_decode(char *, struct err *);

/* Is it the name of the signature of an image, "IMAGE.sig" or, as Emulab says it, "IMAGE,sig"?  Then
 * `image` is IMAGE, and the name becomes "IMAGE.sig", which has as many bytes. */
bool names_of_signature(char *name, char image[MASTER_NAME_MAX + 1]);

#endif /* MFRISBEED_MASTER_NAMES_H */
