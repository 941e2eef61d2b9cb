/* server_repair.h: how many parity blocks the groups of each chunk still need.
 *
 * A report says how many blocks a client lacks in each group.  The largest number
 * of all reports is sent once, after a while in which others may speak, too.  So that
 * few need to speak at all, a number that follows the reports is sent with every
 * chunk unasked.
 * Source of the policy: the study in docs/simulator.md.
 *
 * Only server_repair.c writes struct repair.
 */
#ifndef FRISBEED_SERVER_SERVER_REPAIR_H
#define FRISBEED_SERVER_SERVER_REPAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/wirext.h"

struct repair_chunk {
	uint8_t want[WIREXT_GROUPS];   /* to be sent */
	uint8_t late[WIREXT_GROUPS];   /* to be sent when nobody wants anything else */
	uint8_t coming[WIREXT_GROUPS]; /* given out, not sent yet */
	uint8_t next[WIREXT_GROUPS];   /* index of the next parity block */
	uint8_t unasked;               /* as many went with the data */
	bool listed, listed_late, begun_late, reported;
	bool usual; /* what is usual was sent because of a report that is not believed */
	bool waiting; /* what goes with the data is not out yet */
};

struct repair_due {
	uint32_t chunk;
	uint64_t at_us;
};

/* What decides; numbers of parity blocks are for a group. */
struct repair_policy {
	double budget;       /* reports a second that the server likes to hear */
	double crowd_budget; /* the same from `crowd` clients on */
	uint32_t crowd;
	uint32_t few; /* with fewer clients no parity goes unasked */
	/* Once a second unasked parity goes up by `gain` times reports per budget, at most
	 * step_up; it goes down by step_down below `low` of the budget, and by fast_down
	 * below very_low. */
	double gain, step_up, low, step_down, very_low, fast_down;
	/* While there are too many reports: towards this share of what a chunk lacked,
	 * and at most so much at once. */
	double share, learn_step;
	double most;   /* that go unasked */
	double evened; /* of the unasked ones is left when chunks begin to take turns */
	/* What chunks usually lack is learned from those who ask for no more than a
	 * share of what they may (one over usual_share), averaged over usual_smooth
	 * reports, and forgotten over usual_forget of the others. */
	uint32_t usual_share;
	double usual_smooth, usual_forget;
	uint32_t late_at_once; /* of what is late, in one part */
};

extern const struct repair_policy repair_usual;

struct repair {
	const struct repair_policy *policy;
	uint32_t nchunks;
	struct repair_chunk *chunks;
	struct repair_due *ring; /* of nchunks: chunks with want, oldest first */
	uint32_t head, n;
	uint32_t *late_ring; /* of nchunks: chunks with late */
	uint32_t late_head, nlate;
	/* Unasked parity: blocks for a group. */
	double unasked;
	uint64_t judged_us;
	uint32_t reports; /* since then */
	double budget;    /* a second, of them */
	bool few;         /* clients */
	double carry;     /* of the fractions */
	double usual;     /* blocks of a group that a chunk lacks, by most reports */
};

/* The policy stays the caller's.  -1: no memory; repair_fini() also then. */
int repair_init(struct repair *, uint32_t nchunks, uint64_t now_us,
    const struct repair_policy *);
void repair_fini(struct repair *);
/* A client lacks `lack` blocks of each group; they are to be sent window_us from now
 * on.  Of those that nobody has asked for before, at most `most` are sent then, and the
 * rest late.  Returns how many are sent then.  Besides, once for each pass of a chunk,
 * as many are sent as chunks usually lack: other clients may need them, and have kept
 * silent. */
uint32_t repair_report(struct repair *, uint32_t chunk,
    const uint8_t lack[WIREXT_GROUPS], uint32_t most, uint64_t now_us,
    uint64_t window_us);
/* The chunk is sent anew. */
void repair_pass(struct repair *, uint32_t chunk);
/* Once for each message with reports. */
void repair_count_message(struct repair *);
/* A chunk's data has been given out: what goes with it unasked. */
void repair_add_unasked(
    struct repair *, uint32_t chunk, uint64_t now_us, uint32_t clients);
/* From now on the worst that a chunk lacks is nearer to the mean. */
void repair_even_out(struct repair *);
/* The first chunk whose time has come: give out its counts. */
bool repair_next(
    struct repair *, uint64_t now_us, uint32_t *chunk, uint8_t count[WIREXT_GROUPS]);
/* A part of what may come late, when the caller has nothing else to send. */
bool repair_next_late(struct repair *, uint32_t *chunk, uint8_t count[WIREXT_GROUPS]);
/* When that will be, of what is not late; UINT64_MAX: nothing is wanted. */
uint64_t repair_due_us(const struct repair *);
/* One of a group's is sent now: its index. */
uint8_t repair_sent(struct repair *, uint32_t chunk, uint32_t group);
/* Is any parity of the chunk wanted or coming? */
bool repair_busy(const struct repair *, uint32_t chunk);

#endif /* FRISBEED_SERVER_SERVER_REPAIR_H */
