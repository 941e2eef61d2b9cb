/* server_packs.h: packets of several blocks, and chunks without their empty end.
 *
 * A PACK travels on the second port, so it is of use only when everybody listens there
 * and the network carries packets of its length to all.  So clients are asked by TRYs,
 * which are as long; who does not answer keeps the group at the blocks of the base
 * protocol.  A client that joins, even again, has not answered yet.
 */
#ifndef FRISBEED_SERVER_SERVER_PACKS_H
#define FRISBEED_SERVER_SERVER_PACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/wirext.h"

struct server;
struct server_client;
struct server_out;
struct server_slot;

struct server_packs {
	uint32_t max;      /* blocks a packet: 1, 2, 4, 8; 0: none are sent */
	uint32_t now;      /* ... that reach everybody; 0: blocks must do */
	uint16_t *content; /* by chunk: blocks before the empty ones; 0: not known */
	/* Clients, by the blocks of a packet that reaches them. */
	uint32_t fits[WIREXT_PACK_BLOCKS + 1];
	uint64_t round_us, next_us; /* the last round of TRYs, and the next one */
	uint32_t number;            /* of the round */
	uint32_t size;              /* of its next packet; 0: all are out */
	uint32_t n, id[WIREXT_TRY_IDS];
};

/* -1: no memory. */
int server_packs_init(struct server *);
void server_packs_fini(struct server *);
/* A client comes, joins again, or is forgotten. */
void server_packs_add(struct server *, struct server_client *);
void server_packs_again(struct server *, struct server_client *);
void server_packs_drop(struct server *, const struct server_client *);
/* A client says what fits. */
void server_packs_hear(struct server *, const struct wirext_msg *);
/* When there is a TRY to be sent; SERVER_NEVER: nobody is to be asked. */
uint64_t server_packs_due_us(const struct server *);
/* False: it is not time, or nobody is left to be asked. */
bool server_packs_put_try(struct server *, struct server_out *);
/* How many blocks of a run of blocks that was read go out in one packet at most; 0:
 * as packets of the base protocol. */
uint32_t server_packs_size(const struct server *, const struct server_slot *);
/* How many blocks of this chunk are sent to those who know how long it is. */
uint32_t server_packs_content(const struct server *, uint32_t chunk);

#endif /* FRISBEED_SERVER_SERVER_PACKS_H */
