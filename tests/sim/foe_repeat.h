/* foe_repeat.h: a stranger that clients take for the server.  It answers each JOIN before
 * it is asked, and repeats the server's blocks with its own address, until a chunk of
 * what it sent was proved; then it lies. */
#ifndef TESTS_SIM_FOE_REPEAT_H
#define TESTS_SIM_FOE_REPEAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/wire/wirext.h"

enum foe_lies {
	FOE_LIES_MUTE,   /* it only announces that all chunks will come */
	FOE_LIES_LITTLE, /* ... and repeats a block now and then */
	FOE_LIES_STALE,  /* it announces that the image has changed */
	FOE_LIES,
};
enum { FOE_COPIES = 512 };

/* A packet of the server, as if the stranger had sent it; len 0: none. */
struct foe_copy {
	size_t len;
	uint8_t bytes[WIRE_PACKET_MAX];
};

struct foe_repeat {
	enum foe_lies lies;
	uint8_t ip[4];
	uint32_t chunks;      /* that it repeats for a client that begins, before it lies */
	uint32_t chunks_left; /* that it will begin to hear before it lies */
	uint32_t chunk; /* the last one of which a block passed; UINT32_MAX: none */
	bool proves;          /* what passes is repeated */
	bool says_block;      /* STATE was said since a block was */
	uint64_t state_ns;    /* when STATE is said next */
	struct foe_copy reply, state, last; /* of the server's; last: its last block */
	struct foe_copy queue[FOE_COPIES];  /* what is to be repeated, from head on */
	uint32_t head, n;
};

/* What it does is drawn. */
void foe_repeat_begin(struct foe_repeat *, const uint8_t ip[4], uint64_t *rng);
void foe_repeat_hears(struct foe_repeat *, const void *pkt, size_t len);
/* Writes the next packet, and returns its length; 0: there is none. */
size_t foe_repeat_speaks(struct foe_repeat *, uint64_t now_ns, void *pkt);
/* Has it more to repeat, so that only its link limits it? */
bool foe_repeat_hurries(const struct foe_repeat *);

#endif /* TESTS_SIM_FOE_REPEAT_H */
