/* name.h: names of images in a store: "ubuntu24", "lab/web:3", "x:latest". */
#ifndef EMUSTORE_STORE_NAME_H
#define EMUSTORE_STORE_NAME_H

#include <stdint.h>

#include "common/base/err.h"

enum { STORE_NAME_MAX = 128 };

struct store_name {
	char name[STORE_NAME_MAX + 1];
	uint32_t version; /* from 1; 0: the latest version, or a new one */
};

/* Read a name with an optional version (":3" or ":latest").  A name consists of parts of
 * letters, digits and "._+-", divided by "/".  No part is empty or begins with one of
 * "._+-", so that no name leads out of its folder.  ERR_USAGE: the text is not such a
 * name, or its version is not from 1 to INT32_MAX. */
int store_name_get(struct store_name *, const char *text, struct err *);

#endif /* EMUSTORE_STORE_NAME_H */
