/* feeder_onto.h: makes a feeder with a destination behind it, as a load does, and feeds
 * it. */
#ifndef TESTS_UNIT_FEEDER_ONTO_H
#define TESTS_UNIT_FEEDER_ONTO_H

#include "common/image/read/feeder.h"
#include "imageunzip/install/destination.h"
#include "tests/t.h"

static inline struct feeder *
feeder_onto(struct destination *d, uint32_t buffers, struct mailbox *to)
{
	const struct feeder_config c = { .buffers = buffers,
		.box = to,
		.keys = d->any_file ? NULL : &d->install.opener,
		.open = destination_open,
		.open_arg = d };
	struct feeder *f = NULL;
	struct err e;

	T_CHECK(feeder_new(&f, &c, &e) == 0);
	return f;
}

/* Puts a whole chunk that is in the feeder's buffer. */
static inline void
feed(struct feeder *f, uint32_t chunk, uint32_t buf, uint32_t bytes)
{
	feeder_put(f, buf, &(struct feeder_chunk){ .number = chunk, .length = bytes });
}

#endif /* TESTS_UNIT_FEEDER_ONTO_H */
