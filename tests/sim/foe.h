/* foe.h: strangers on the group that want to harm, each from its own address: what
 * they say.  They hear everything, and may send a small share of what the link takes.
 */
#ifndef TESTS_SIM_FOE_H
#define TESTS_SIM_FOE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/wire/wirext.h"

enum foe_does {
	FOE_DRAWN,    /* by the seed */
	FOE_COMPLAIN, /* about the rate, in every epoch */
	FOE_LIE,      /* reports of what it does not lack */
	FOE_FLOOD,    /* joins, requests, wants, goes on, nonsense */
	FOE_REPLAY,   /* what others have said, with its own address */
	FOE_FORGE,    /* what only a server says, made up or said before */
	FOE_KINDS,
};
enum { FOE_KEPT = 64 };

struct foe {
	enum foe_does does;
	uint8_t ip[4];
	uint32_t id, nchunks;
	uint32_t session, epoch; /* as it heard lastly */
	uint64_t rng, said;
	uint64_t gap_ns;  /* between two of its packets, at least */
	uint64_t wire_ns; /* ... for each byte of them */
	uint32_t kept;    /* packets that it may send again */
	struct {
		size_t len;
		uint8_t bytes[WIREXT_PACKET_MAX];
	} heard[FOE_KEPT];
};

/* May send 1,000 packets a second, and a twentieth of the link, at most. */
void foe_init(struct foe *, enum foe_does, uint64_t seed, uint64_t link_bits);
void foe_hears(struct foe *, const void *pkt, size_t len);
/* The next packet, into pkt[WIREXT_PACKET_MAX]: its length; 0: it has nothing to say. */
size_t foe_speaks(struct foe *, void *pkt);
/* How long it is silent after a packet of `len` bytes, in nanoseconds. */
uint64_t foe_rests_ns(const struct foe *, size_t len);

#endif /* TESTS_SIM_FOE_H */
