/* walk.h: all records of a pack that can be read, from one end to the other, whatever is
 * damaged between them. */
#ifndef EMUSTORE_STORE_WALK_H
#define EMUSTORE_STORE_WALK_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "emustore/store/record.h"

struct pack_walk {
	/* Called for each record, `at` bytes into the pack; head and body are checked.
	 * body has h->body_bytes bytes, which are borrowed.  Returns 0, or another value
	 * to stop. */
	int (*record)(void *arg, uint64_t at, const struct record_head *,
	    const uint8_t *body, struct err *);
	void *arg;
};

/* Walk over a pack of len bytes in memory.  Returns 0, or what one of the functions
 * returned when it stopped the walk. */
int pack_walk(
    const struct pack_walk *, const uint8_t *bytes, uint64_t len, struct err *);

#endif /* EMUSTORE_STORE_WALK_H */
