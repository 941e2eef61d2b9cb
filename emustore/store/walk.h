/* walk.h: all records of a pack that can be read, from one end to the other, whatever is
 * damaged between them. */
#ifndef EMUSTORE_STORE_WALK_H
#define EMUSTORE_STORE_WALK_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "emustore/store/record.h"

struct pack_walk {
	/* Both head and body are checked. */
	int (*record)(void *arg, uint64_t at, const struct record_head *,
	    const uint8_t *body, struct err *);
	/* NULL: nobody wants to know what is damaged. */
	int (*bad)(void *arg, uint64_t at, uint64_t bytes, struct err *);
	void *arg;
};

/* Of a pack in memory.  0, or -1 when one of the functions says so. */
int pack_walk(
    const struct pack_walk *, const uint8_t *bytes, uint64_t len, struct err *);

#endif /* EMUSTORE_STORE_WALK_H */
