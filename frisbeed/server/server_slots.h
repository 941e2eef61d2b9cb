/* server_slots.h: the runs that are being read or wait to be sent, in the order in
 * which they are sent.
 *
 * A run of blocks is in the shell's buffer of its slot (0 to ahead - 1).  Parity is
 * made of a whole chunk, for which there are SERVER_PARITY_BUFFERS larger buffers, with
 * the numbers from `ahead` on.  Blocks that somebody waits for have slots of their
 * own, without parity, whose buffers have the numbers behind those.
 *
 * Only server_slots.c writes struct server_slots.
 */
#ifndef FRISBEED_SERVER_SERVER_SLOTS_H
#define FRISBEED_SERVER_SERVER_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/wirext.h"
#include "frisbeed/server/server.h"

struct server_slot {
	struct server_run run;
	uint32_t at; /* how many of its blocks were sent; of parity: the next group */
	bool ready;  /* it has been read into memory */
	bool plain; /* it is sent in packets of the base protocol, which requested it */
	bool parity; /* parity: `count` blocks of each group, `left` in all */
	uint8_t count[WIREXT_GROUPS];
	uint32_t left;
};

struct server_slots {
	struct server_slot *ring; /* `ahead` slots */
	uint32_t ahead, head, used;
	uint32_t first_buf;   /* the buffer of the first slot */
	uint32_t parity_used; /* a bit for each of the larger buffers */
	uint32_t parity_left; /* how many parity blocks of all slots are not sent yet */
};

/* ahead: 1..SERVER_AHEAD_MAX.  Returns -1 without memory; server_slots_fini() is needed
 * then, too. */
int server_slots_init(struct server_slots *, uint32_t ahead, uint32_t first_buf);
void server_slots_fini(struct server_slots *);
/* Add a run of blocks behind all others.  There must be a free slot. */
const struct server_run *server_slots_add(struct server_slots *, uint32_t chunk,
    uint32_t first, uint32_t count, bool plain);
/* Add parity blocks of a chunk behind all others.  server_slots_takes_parity() must be
 * true. */
const struct server_run *server_slots_add_parity(
    struct server_slots *, uint32_t chunk, const uint8_t count[WIREXT_GROUPS]);
/* The shell has read the run of this buffer. */
void server_slots_read(struct server_slots *, uint32_t buf);
/* The next n (> 0) blocks of the first slot are sent, or are not needed.  Returns true
 * if they were its last ones; the slot is free then. */
bool server_slots_spend(struct server_slots *, uint32_t n);
/* The group of the first slot whose parity block is sent now; the groups alternate.
 * *ends: it was the slot's last block, and the slot is free. */
uint32_t server_slots_spend_parity(struct server_slots *, bool *ends);
/* How many blocks of all slots are not sent yet. */
uint32_t server_slots_left(const struct server_slots *);
bool server_slots_full(const struct server_slots *);
/* Are a slot and one of the larger buffers free? */
bool server_slots_takes_parity(const struct server_slots *);
/* The slot that is sent next, or NULL.  The pointer is valid until the next call that
 * adds one. */
const struct server_slot *server_slots_first(const struct server_slots *);
/* Has the first slot been read? */
bool server_slots_ready(const struct server_slots *);
/* Has any block of the slot's chunk been sent in this pass?  For parity, which follows
 * the blocks, this is true. */
bool server_slot_begun(const struct server_slot *);

#endif /* FRISBEED_SERVER_SERVER_SLOTS_H */
