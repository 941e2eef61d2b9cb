/* server_mtu.h: packets of several blocks, and chunks without their empty end.
 *
 * A DATA travels on the second port, so it is of use only when everybody listens there
 * and the network carries packets of its length to all.  So clients are asked by MTU_PROBEs,
 * which are as long; a client that does not answer keeps the group at the blocks of the
 * base protocol.  A client that joins, even again, has not answered yet.
 *
 * Only server_mtu.c writes struct server_packs and what it keeps about clients,
 * which the roll numbers.
 */
#ifndef FRISBEED_SERVER_SERVER_MTU_H
#define FRISBEED_SERVER_SERVER_MTU_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/wirext.h"
#include "frisbeed/server/server_image.h"
#include "frisbeed/server/server_members.h"

struct server_packs_client {
	bool ext;        /* it is there, and has the extension */
	uint8_t fits;    /* blocks of a packet that reaches it; 0: not known */
	uint8_t tries;   /* times that it was asked, up to a point */
	uint64_t try_us; /* when it is asked (again) */
};

struct server_packs {
	struct server_image image;
	uint32_t max;      /* blocks a packet: 1, 2, 4, 8; 0: none are sent */
	uint32_t now;      /* blocks of a packet that reaches everybody; 0: none does */
	uint16_t *content; /* by chunk: blocks before the empty ones; 0: not known */
	struct server_packs_client *client; /* by number in the roll */
	/* Clients, by the blocks of a packet that reaches them; of them all, those with the
	 * extension. */
	uint32_t fits[WIREXT_DATA_BLOCKS + 1], ext;
	uint64_t round_us, next_us; /* the last round of MTU_PROBEs, and the next one */
	uint32_t number;            /* of the round */
	uint32_t size;              /* of its next packet; 0: all are out */
	uint32_t n, id[WIREXT_MTU_PROBE_IDS];
};

/* most: blocks a packet (0: no packs); clients: the roll's max.  -1: no memory;
 * server_packs_fini() also then. */
int server_packs_init(struct server_packs *, const struct server_image *, uint32_t most,
    uint32_t clients);
void server_packs_fini(struct server_packs *);
/* The client with this number comes, joins again, or goes. */
void server_packs_add(struct server_packs *, uint64_t now_us, uint32_t i, bool ext);
void server_packs_again(struct server_packs *, uint64_t now_us, uint32_t i);
void server_packs_drop(struct server_packs *, uint32_t i);
/* It says what fits: in answer to the MTU_PROBEs of the round with this number, or (0) at any
 * time that no more does. */
void server_packs_hear(struct server_packs *, uint64_t now_us, uint32_t i,
    uint32_t number, uint32_t blocks);
/* When there is a MTU_PROBE to be sent; UINT64_MAX: nobody is to be asked. */
uint64_t server_packs_at(const struct server_packs *);
/* The next MTU_PROBE, without the sender's address and session.  False: it is not time, or
 * nobody is left to be asked. */
bool server_packs_say(struct server_packs *, uint64_t now_us, const struct server_roll *,
    struct wirext_msg *);
/* So many blocks (> 0) of the chunk are not all zero, from its first one on. */
void server_packs_learn(struct server_packs *, uint32_t chunk, uint32_t blocks);
/* How many blocks of this chunk are sent to clients that know how long it is. */
uint32_t server_packs_content(const struct server_packs *, uint32_t chunk);
/* From now on the interface takes no packets of more than `blocks` (> 0) blocks. */
void server_packs_limit(struct server_packs *, uint32_t blocks);

#endif /* FRISBEED_SERVER_SERVER_MTU_H */
