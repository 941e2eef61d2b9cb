/* feeder_onto.h: makes a client's feeder with a target behind it, as a load does. */
#ifndef TESTS_UNIT_FEEDER_ONTO_H
#define TESTS_UNIT_FEEDER_ONTO_H

#include "frisbee/load/feeder.h"
#include "frisbee/load/load_target.h"
#include "tests/t.h"

static inline struct feeder *
feeder_onto(struct load_target *t, uint32_t buffers, struct mailbox *to)
{
	struct load_config c = { .keepalive_us = 0 };
	struct prover *p = NULL;
	struct feeder *f = NULL;
	struct sink sink;
	struct err e;

	T_CHECK(load_into(&c, t, &e) == 0);
	if (!c.any_file)
		T_CHECK(prover_new(&p, &c.opener, false, &e) == 0);
	T_CHECK(c.open(c.open_arg, &sink, &e) == 0);
	T_CHECK(feeder_new(&f, buffers, p, &sink, to, &e) == 0);
	return f;
}

#endif /* TESTS_UNIT_FEEDER_ONTO_H */
