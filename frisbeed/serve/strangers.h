/* strangers.h: decides what an address gets before it has shown that it receives what is sent
 * to it (--unicast).
 *
 * Anybody can put another machine's address into a packet, and a server that believes such a
 * packet sends an image to a victim.  For this reason an address that only asked gets little:
 * in all at most three times the bytes that came from it, or 8 blocks if that is more, and all
 * such addresses together only some blocks a second.  An address has shown that it receives
 *	- when it sends back the cookie of the reply to its JOIN (clients of this suite),
 *	- or when it asks for the part of a chunk that it lacks after a random sample of the
 *	  chunk's blocks was sent to it (any client): nobody can guess which blocks were sent.
 *
 * This is an engine without I/O: the thread of unicast.c calls it with the time and the
 * packets.
 */
#ifndef FRISBEED_SERVE_STRANGERS_H
#define FRISBEED_SERVE_STRANGERS_H

#include <stddef.h>
#include <stdint.h>

#include "common/wire/blockmap.h"
#include "common/wire/wire.h"

struct strangers_config {
	uint8_t srcip[4];     /* the server's own address */
	uint64_t image_bytes; /* > 0 */
	uint8_t secret[32];   /* random: cookies are made with it */
	uint64_t seed;        /* random: samples are drawn with it */
};

enum strangers_verdict {
	STRANGERS_IGNORE,
	STRANGERS_REPLY,  /* send the packet in `reply` */
	STRANGERS_SAMPLE, /* send these blocks of the chunk */
	STRANGERS_PROVED, /* the address may have a stream; `join` has its JOIN, if one came */
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

/* Makes the engine; the configuration is copied.  NULL: out of memory. */
struct strangers *strangers_new(const struct strangers_config *, uint64_t now_us);
/* Releases the engine.  NULL is allowed. */
void strangers_free(struct strangers *);
/* Hears a packet of an address and port that has no stream, and says what to do.  A packet
 * that is no request of a client is ignored.  After STRANGERS_PROVED the engine forgets the
 * address, which has to show again that it receives when it comes back later. */
enum strangers_verdict strangers_hear(struct strangers *, uint64_t now_us,
    const void *pkt, size_t len, const uint8_t from[4], uint16_t port,
    struct strangers_answer *);

#endif /* FRISBEED_SERVE_STRANGERS_H */
