/* meant.h: the nodes that a server is meant to serve: --nodes. */
#ifndef DOLLY_ORDER_MEANT_H
#define DOLLY_ORDER_MEANT_H

#include <stdint.h>

#include "common/base/hostlist.h"

/* Begins as all zeros: anybody is served. */
struct meant {
	struct hostlist names;
	uint8_t (*addresses)[4]; /* of each name */
	bool *taken;             /* somebody at this place of the list has joined */
};

/* A list such as node[01-32], or a file with such lists.  Errors as hostlist_add(),
 * ERR_ABSENT: a name that nobody knows. */
int meant_read(struct meant *, const char *list_or_file, struct err *);
void meant_free(struct meant *);
/* The place in the list of a node at this address, one that was not given out yet if
 * there is one; UINT32_MAX: it is not in the list. */
uint32_t meant_order(struct meant *, const uint8_t address[4]);
/* The IPv4 address of a name.  ERR_ABSENT. */
int meant_resolve(const char *name, uint8_t address[4], struct err *);

#endif /* DOLLY_ORDER_MEANT_H */
