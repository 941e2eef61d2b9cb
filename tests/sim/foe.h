/* foe.h: hostile strangers in the group, and the packets that they send, each from its
 * own address, but for FOE_ECHO.  A stranger receives all packets of the group, and may
 * send a small share of what the link carries. */
#ifndef TESTS_SIM_FOE_H
#define TESTS_SIM_FOE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/wire/wirext.h"
#include "tests/sim/foe_repeat.h"

enum foe_does {
	FOE_DRAWN,    /* one of the others, drawn with the seed */
	FOE_COMPLAIN, /* reports congestion in every epoch */
	FOE_LIE,      /* reports by NACK that it lacks blocks */
	FOE_FLOOD,    /* sends JOIN, REQUEST, WANT, CREDIT and random bytes */
	FOE_REPLAY,   /* repeats messages of clients, most with its own address */
	FOE_FORGE,    /* sends forged and repeated messages of a server */
	FOE_HUSH,     /* says what other clients would say, in a way that the server ignores */
	FOE_BLAME,    /* reports congestion in every epoch, and says nothing else */
	FOE_OBJECT,   /* says that it hears everything, and nothing else */
	FOE_ASK,      /* asks again for the whole chunk that has just passed */
	FOE_JOIN,     /* joins again and again, half of the time as another client */
	FOE_WANT,     /* wants all chunks again, and grants credit for them */
	FOE_URGE,     /* waits for all blocks of the chunk that has just passed */
	FOE_REPEAT,   /* is taken for the server: foe_repeat.h */
	FOE_KINDS,    /* those before it are drawn */
	FOE_ECHO = FOE_KINDS, /* repeats what the server sent, with the server's address */
};
enum { FOE_KEPT = 64 };

struct foe {
	enum foe_does does;
	uint8_t ip[4];
	uint32_t id, nchunks;
	uint32_t session, epoch; /* of the server, as heard; 0: not heard yet */
	uint32_t chunk, chunk_before; /* the last two chunks that the server sent, as heard */
	uint64_t rng, said;      /* state of the random numbers; packets sent */
	uint64_t gap_ns;         /* the least time between two of its packets */
	uint64_t wire_ns;        /* the least time for each byte of a packet */
	uint32_t kept;           /* number of packets in heard[] */
	struct {
		size_t len;
		uint8_t bytes[WIREXT_PACKET_MAX];
	} heard[FOE_KEPT]; /* packets that it may repeat */
	struct foe_repeat repeat;
};

/* Prepares a stranger, whose ip and nchunks the caller has set.  It sends at most 1,000
 * packets a second, and uses at most a twentieth of a link of link_bits bits a second; half
 * of the link while it repeats what the server sends.
 */
void foe_init(struct foe *, enum foe_does, uint64_t seed, uint64_t link_bits);
/* Hands a packet of the group to the stranger, which may keep a copy. */
void foe_hears(struct foe *, const void *pkt, size_t len);
/* The address from which it sends this packet of its own. */
const uint8_t *foe_sends_as(const struct foe *, const uint8_t *pkt, size_t len);
/* Writes the next packet into pkt[WIREXT_PACKET_MAX], and returns its length; 0: there
 * is none. */
size_t foe_speaks(struct foe *, uint64_t now_ns, void *pkt);
/* For how many nanoseconds the stranger is silent after a packet of len bytes. */
uint64_t foe_rests_ns(const struct foe *, size_t len);

#endif /* TESTS_SIM_FOE_H */
