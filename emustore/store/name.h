/* name.h: how images in a store are called: "ubuntu24", "lab/web:3", "x:latest". */
#ifndef EMUSTORE_STORE_NAME_H
#define EMUSTORE_STORE_NAME_H

#include <stdint.h>

#include "common/base/err.h"

enum { STORE_NAME_MAX = 128 };

struct store_name {
	char name[STORE_NAME_MAX + 1];
	uint32_t version; /* from 1; 0: the latest, or a new one */
};

/* Parts of letters, digits and "._+-", divided by "/"; none is empty or begins
 * with a dot or a minus sign, so that none leads anywhere.  ERR_USAGE. */
int store_name_get(struct store_name *, const char *text, struct err *);

#endif /* EMUSTORE_STORE_NAME_H */
