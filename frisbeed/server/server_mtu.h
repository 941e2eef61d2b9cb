/* server_mtu.h: how many blocks a DATA packet may have, and where the empty ends of
 * chunks begin.
 *
 * DATA packets go to the second port, so they are used only if all clients listen there
 * and the network delivers packets of that length to all of them.  This is found out by
 * probing, as in RFC 8899: the server sends MTU_PROBEs of each length, and clients
 * answer with MTU_ACKs.  As long as a client has not answered, the session uses the
 * packets of the base protocol.  A client that joins, even again, has not answered yet.
 *
 * Only server_mtu.c writes struct server_mtu and what it keeps about clients, which
 * have the numbers of server_members_index().
 */
#ifndef FRISBEED_SERVER_SERVER_MTU_H
#define FRISBEED_SERVER_SERVER_MTU_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/wirext.h"
#include "frisbeed/server/server_image.h"
#include "frisbeed/server/server_members.h"

struct server_mtu_client {
	bool ext;          /* it is there, and uses the extension */
	uint8_t largest;   /* largest packet that reaches it, in blocks; 0: not known */
	uint8_t probes;    /* how often it was probed; DOUBLED at most */
	uint64_t probe_us; /* when it is probed (again) */
};

struct server_mtu {
	struct server_image image;
	uint32_t max; /* the most blocks of a packet: 1, 2, 4, 8; 0: DATA is not used */
	uint32_t now; /* blocks of the largest packet that reaches all clients; 0: none
	                 does */
	uint16_t *content; /* by chunk: blocks before its empty end; 0: not known */
	struct server_mtu_client *client; /* by the client's number */
	/* How many clients there are for each value of `largest`; and how many of all
	 * use the extension. */
	uint32_t by_largest[WIREXT_DATA_BLOCKS + 1], ext;
	uint64_t round_us,
	    next_us; /* when the last round of MTU_PROBEs was, and the next one is */
	uint32_t number; /* of the round */
	uint32_t size;   /* blocks of the round's next probe; 0: all were sent */
	uint32_t n, id[WIREXT_MTU_PROBE_IDS]; /* the clients that the round asks */
};

/* most: the most blocks of a packet (0: no DATA packets); clients: the most clients.
 * Returns -1 without memory; server_mtu_fini() is needed then, too. */
int server_mtu_init(
    struct server_mtu *, const struct server_image *, uint32_t most, uint32_t clients);
void server_mtu_fini(struct server_mtu *);
/* The client with this number has come, has joined again, or has gone. */
void server_mtu_add(struct server_mtu *, uint64_t now_us, uint32_t i, bool ext);
void server_mtu_again(struct server_mtu *, uint64_t now_us, uint32_t i);
void server_mtu_drop(struct server_mtu *, uint32_t i);
/* An MTU_ACK of the client: the largest packet that arrived has this many blocks.
 * number: the round that it answers; 0: without being asked, it says that no larger
 * packet arrives. */
void server_mtu_hear(
    struct server_mtu *, uint64_t now_us, uint32_t i, uint32_t number, uint32_t blocks);
/* When the next MTU_PROBE is due; UINT64_MAX: there is no client to ask. */
uint64_t server_mtu_at(const struct server_mtu *);
/* Build the next MTU_PROBE, without the sender's address and session.  Returns false if
 * it is not due, or there is no client to ask. */
bool server_mtu_say(struct server_mtu *, uint64_t now_us, const struct server_members *,
    struct wirext_msg *);
/* The chunk is empty after its first `blocks` (> 0) blocks. */
void server_mtu_learn(struct server_mtu *, uint32_t chunk, uint32_t blocks);
/* How many blocks of this chunk are sent to clients that know where its empty end
 * begins. */
uint32_t server_mtu_content(const struct server_mtu *, uint32_t chunk);
/* From now on the interface of this host sends no packets of more than `blocks` (> 0)
 * blocks. */
void server_mtu_limit(struct server_mtu *, uint32_t blocks);

#endif /* FRISBEED_SERVER_SERVER_MTU_H */
