/* server_repair.h: how many parity blocks the groups of each chunk still need.
 *
 * A NACK says how many blocks a client lacks in each group.  As many parity blocks as the
 * largest number in all NACKs are sent once, after a while in which other clients may
 * send theirs.  So that few clients need to send one at all, proactive parity follows
 * every chunk, as many blocks as the NACKs of earlier chunks suggest.
 * docs/protocol-rules.md (7) says why.
 *
 * Only server_repair.c writes struct repair.
 */
#ifndef FRISBEED_SERVER_SERVER_REPAIR_H
#define FRISBEED_SERVER_SERVER_REPAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/wirext.h"

struct repair_chunk {
	uint8_t want[WIREXT_GROUPS];   /* parity blocks to be sent */
	uint8_t late[WIREXT_GROUPS];   /* to be sent when nothing else is wanted */
	uint8_t coming[WIREXT_GROUPS]; /* scheduled, not sent yet */
	uint8_t next[WIREXT_GROUPS];   /* index of the next parity block */
	uint8_t proactive; /* parity blocks per group that followed the data */
	bool listed, listed_late, begun_late, reported;
	bool usual; /* the usual amount was sent, because of a NACK that is not believed
	             */
	bool waiting; /* its proactive parity has not been scheduled yet */
};

struct repair_due {
	uint32_t chunk;
	bool waits;      /* for NACKs of other clients, as long as the caller says */
	uint64_t since_us;
};

/* The constants of the policy.  Numbers of parity blocks are per group. */
struct repair_policy {
	double budget;       /* NACKs a second that the server aims at */
	double crowd_budget; /* NACKs a second with `crowd` clients or more */
	uint32_t crowd;
	uint32_t few; /* with fewer clients there is no proactive parity */
	/* Once a second, proactive parity rises by `gain` times NACKs / budget, but at
	 * most by step_up; below `low` of the budget it falls by step_down, and below
	 * very_low of it by fast_down. */
	double gain, step_up, low, step_down, very_low, fast_down;
	/* While there are too many NACKs, proactive parity approaches this share of
	 * what a chunk lacked, by at most learn_step blocks at a time. */
	double share, learn_step;
	double most;   /* the most proactive parity */
	double evened; /* the part of it that is left when interleaving begins */
	/* What chunks usually lack is learned from NACKs that ask for at most 1 /
	 * usual_share of what they may, averaged over usual_smooth NACKs, and forgotten
	 * over usual_forget NACKs of the other kind. */
	uint32_t usual_share;
	double usual_smooth, usual_forget;
	uint32_t late_at_once; /* late parity blocks that are sent in one part */
};

extern const struct repair_policy repair_usual;

struct repair {
	const struct repair_policy *policy;
	uint32_t nchunks;
	struct repair_chunk *chunks;
	struct repair_due *ring; /* nchunks entries: chunks with want, oldest first */
	uint32_t head, n;
	uint32_t *late_ring; /* nchunks entries: chunks with late */
	uint32_t late_head, nlate;
	double proactive;   /* proactive parity blocks per group */
	uint64_t judged_us; /* when `proactive` was last adjusted */
	uint32_t reports;   /* messages with NACKs since then */
	double budget;      /* how many of them a second are acceptable */
	bool few;           /* there are fewer than policy->few clients */
	double carry;       /* fractions of blocks that were not sent yet */
	double
	    usual; /* blocks of a group that a chunk lacks, according to most NACKs */
};

/* The policy must stay valid.  Returns -1 without memory; repair_fini() is needed then,
 * too. */
int repair_init(struct repair *, uint32_t nchunks, uint64_t now_us,
    const struct repair_policy *);
void repair_fini(struct repair *);
/* A client lacks `lack` blocks of each group; parity for them is to be sent when the
 * window has passed that repair_due_us() is called with.  Of the parity blocks that are
 * not scheduled or wanted already, at most `most` are sent then, and the others late.
 * Returns how many are sent then.  In addition, once in each pass of a chunk, as many are
 * sent as chunks usually lack: other clients may need them, too, and have kept silent
 * because of this NACK. */
uint32_t repair_report(struct repair *, uint32_t chunk,
    const uint8_t lack[WIREXT_GROUPS], uint32_t most, uint64_t now_us);
/* A new pass of the chunk begins. */
void repair_pass(struct repair *, uint32_t chunk);
/* Count a message with NACKs. */
void repair_count_message(struct repair *);
/* The data of a chunk was scheduled: schedule its proactive parity. */
void repair_add_proactive(
    struct repair *, uint32_t chunk, uint64_t now_us, uint32_t clients);
/* Interleaving has begun, so less proactive parity is needed from now on. */
void repair_even_out(struct repair *);
/* Take the first chunk whose time has come, with the number of parity blocks of each
 * group.  window_us: as repair_due_us(). */
bool repair_next(struct repair *, uint64_t now_us, uint64_t window_us, uint32_t *chunk,
    uint8_t count[WIREXT_GROUPS]);
/* Take a part of the late parity, when the caller has nothing else to send. */
bool repair_next_late(struct repair *, uint32_t *chunk, uint8_t count[WIREXT_GROUPS]);
/* When repair_next() will have something, if the first NACK of a chunk waits window_us for those
 * of other clients; UINT64_MAX: nothing is wanted. */
uint64_t repair_due_us(const struct repair *, uint64_t window_us);
/* A parity block of the group is sent now.  Returns its index. */
uint8_t repair_sent(struct repair *, uint32_t chunk, uint32_t group);
/* Is any parity of the chunk wanted, or scheduled and not sent? */
bool repair_busy(const struct repair *, uint32_t chunk);

#endif /* FRISBEED_SERVER_SERVER_REPAIR_H */
