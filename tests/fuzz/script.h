/* script.h: a fuzz input as a script for a protocol engine: records of one byte
 * operation, two bytes argument; OP_PACKET is followed by that many bytes. */
#ifndef TESTS_FUZZ_SCRIPT_H
#define TESTS_FUZZ_SCRIPT_H

#include "common/base/rd.h"

enum script_op { OP_PACKET, OP_TIME_MS, OP_PULL, OP_FINISH, OP_COUNT };

struct script_step {
	enum script_op op;
	uint16_t arg;
	const uint8_t *pkt; /* of arg bytes */
};

static inline bool
script_next(struct rd *r, struct script_step *s)
{
	s->op = (enum script_op)(rd_u8(r) % OP_COUNT);
	s->arg = rd_le16(r);
	s->pkt = s->op == OP_PACKET ? rd_bytes(r, s->arg) : NULL;
	return rd_ok(r);
}

/* The address that a packet claims to come from: the engines compare the two. */
static inline void
script_source(const struct script_step *s, uint8_t ip[4])
{
	struct rd r = rd_from(s->pkt, s->arg);

	rd_skip(&r, 12);
	rd_copy(&r, ip, 4);
}

#endif /* TESTS_FUZZ_SCRIPT_H */
