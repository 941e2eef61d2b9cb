/* hostlist.h: names of machines as the cluster world writes them: "srv,node[01-32,40]".
 *
 * A bracket holds numbers and ranges of numbers, separated by commas; leading zeros of the
 * first number of a range say how many digits the others have at least.  A name has at most
 * one bracket.  Names are separated by commas, spaces or newlines. */
#ifndef COMMON_BASE_HOSTLIST_H
#define COMMON_BASE_HOSTLIST_H

#include <stddef.h>

#include "common/base/err.h"

enum {
	HOSTLIST_MAX = 65536,     /* names */
	HOSTLIST_NAME_BYTES = 254 /* one name with its final NUL (RFC 1035: 253 characters) */
};

/* Begins as all zeros. */
struct hostlist {
	char **names;
	size_t n, cap;
};

/* Append the names that `text` stands for, in its order; a name may come twice.  ERR_USAGE
 * says what cannot be understood, or that there are too many names; ERR_NOMEM.  After an
 * error, too, the list must be freed with hostlist_free(). */
int hostlist_add(struct hostlist *, const char *text, struct err *);
/* Frees the names.  The list is empty then. */
void hostlist_free(struct hostlist *);

#endif /* COMMON_BASE_HOSTLIST_H */
