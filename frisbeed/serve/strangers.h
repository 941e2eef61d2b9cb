/* strangers.h: what an address gets before it has shown that it receives what is sent to it
 * (--unicast).
 *
 * Anybody can put somebody else's address into a packet, and a server that believes it sends an
 * image to a victim.  So an address that only asked gets little: in all at most three times the
 * bytes that came from it, or 8 blocks if that is more, and all such addresses together only
 * some blocks a second.  It has shown that it receives
 *	- when it sends back the cookie of our reply to its JOIN (clients of this suite),
 *	- or when it asks for the part of a chunk that it lacks after a random sample of the
 *	  chunk's blocks was sent to it: nobody can guess which ones these were (any client).
 *
 * An engine without I/O: the thread of unicast.c calls it, with the time and what came.
 */
#ifndef FRISBEED_SERVE_STRANGERS_H
#define FRISBEED_SERVE_STRANGERS_H

#include <stddef.h>
#include <stdint.h>

#include "common/wire/blockmap.h"
#include "common/wire/wire.h"

struct strangers_config {
	uint8_t srcip[4];     /* our own address */
	uint64_t image_bytes; /* > 0 */
	uint8_t secret[32];   /* random: cookies are made with it */
	uint64_t seed;        /* random: samples are drawn with it */
};

enum strangers_verdict {
	STRANGERS_IGNORE,
	STRANGERS_REPLY,  /* send the packet in `reply` */
	STRANGERS_SAMPLE, /* send these blocks of the chunk */
	STRANGERS_PROVED, /* it may have a stream; its JOIN is in `join` if it came */
};

struct strangers_answer {
	uint8_t reply[WIRE_PACKET_MAX];
	size_t reply_bytes;
	uint32_t chunk;
	struct blockmap blocks;
	uint8_t join[WIRE_PACKET_MAX];
	size_t join_bytes; /* 0: none came */
};

struct strangers;

/* NULL: out of memory. */
struct strangers *strangers_new(const struct strangers_config *, uint64_t now_us);
void strangers_free(struct strangers *);
/* A packet of an address and port that has no stream.  What is no question of a client is
 * ignored.  After STRANGERS_PROVED the address is forgotten here: whoever comes back from it
 * later has to show it again. */
enum strangers_verdict strangers_hear(struct strangers *, uint64_t now_us,
    const void *pkt, size_t len, const uint8_t from[4], uint16_t port,
    struct strangers_answer *);

#endif /* FRISBEED_SERVE_STRANGERS_H */
