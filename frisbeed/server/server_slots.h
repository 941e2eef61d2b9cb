/* server_slots.h: the runs that are between being read and being sent, in the order in
 * which they are sent.
 *
 * A run of blocks is in the shell's buffer of its slot (0 to ahead - 1).  Parity is
 * made of a whole chunk, for which there are SERVER_PARITY_BUFFERS larger buffers (from
 * ahead on).
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
	uint32_t at; /* blocks of it that are sent; of parity: the next group */
	bool ready;  /* read into memory */
	bool plain;  /* as packets of the base protocol, in which it was asked for */
	bool parity; /* `count` parity blocks of each group, `left` of all of them */
	uint8_t count[WIREXT_GROUPS];
	uint32_t left;
};

struct server_slots {
	struct server_slot *ring; /* of `ahead` */
	uint32_t ahead, head, used;
	uint32_t parity_used; /* a bit for each of the larger buffers */
	uint32_t parity_left; /* parity blocks of all slots that are not sent yet */
};

/* -1: no memory; server_slots_fini() also then.  ahead: 1..SERVER_AHEAD_MAX. */
int server_slots_init(struct server_slots *, uint32_t ahead);
void server_slots_fini(struct server_slots *);
/* A run of blocks behind all others; not when it is full. */
const struct server_run *server_slots_add(struct server_slots *, uint32_t chunk,
    uint32_t first, uint32_t count, bool plain);
/* Parity blocks of a chunk, behind all others; only when server_slots_takes_parity(). */
const struct server_run *server_slots_add_parity(
    struct server_slots *, uint32_t chunk, const uint8_t count[WIREXT_GROUPS]);
/* The shell has read the run of this buffer. */
void server_slots_read(struct server_slots *, uint32_t buf);
/* The next n (> 0) blocks of the first slot are sent, or need not be.  True: they were
 * its last ones, and the slot is free. */
bool server_slots_spend(struct server_slots *, uint32_t n);
/* The group of the first slot whose parity block is sent now: all groups take turns.
 * *ends: it was the last one, and the slot is free. */
uint32_t server_slots_spend_parity(struct server_slots *, bool *ends);
bool server_slots_full(const struct server_slots *);
/* Is a larger buffer free, too? */
bool server_slots_takes_parity(const struct server_slots *);
/* The one to be sent next; NULL: there is none.  It stays what it is until the next
 * call that adds one. */
const struct server_slot *server_slots_first(const struct server_slots *);
/* Has the first one been read? */
bool server_slots_ready(const struct server_slots *);
/* Has anything of its chunk been sent in this pass?  True of parity, which follows the
 * blocks. */
bool server_slot_begun(const struct server_slot *);

#endif /* FRISBEED_SERVER_SERVER_SLOTS_H */
