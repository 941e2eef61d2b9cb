/* client_congestion.h: is the network overloaded?  From the server's time signals: how
 * long packets queue up, and how many blocks are lost meanwhile, more than are lost
 * when nothing queues up.  Losses without a queue are told, too, when they are many.
 *
 * The clocks of the two need not agree: the shortest way that a signal was received to
 * take in the last seconds counts as one without a queue.
 */
#ifndef FRISBEE_CLIENT_CLIENT_CONGESTION_H
#define FRISBEE_CLIENT_CLIENT_CONGESTION_H

#include <stdbool.h>
#include <stdint.h>

enum { CLIENT_CONGESTION_DELAYS = 3 };

/* Only client_congestion.c writes it. */
struct client_congestion {
	bool begun;
	uint32_t clients; /* whose losses are judged like these */
	uint64_t sent;    /* blocks that were sent until the last signal, */
	uint64_t of;      /* since the last signal that was judged, */
	uint64_t last_of; /* and between that one and the one before it */
	uint64_t
	    pending_us; /* when the signal was read that is to be judged; 0: none is */
	uint32_t pending_epoch, epochs[2]; /* of the last two that were judged */
	int64_t offset;                    /* sent - received, at the first one */
	int64_t
	    missing; /* blocks beyond the offset that had not come at the last signal */
	int64_t lost;       /* those of them that are lost, surely */
	int64_t base_us[2]; /* shortest way: in this stretch of time, and the last */
	uint64_t base_from_us;
	uint64_t delay_us[CLIENT_CONGESTION_DELAYS]; /* of the last signals */
	uint64_t most_delay_us;
	double share;                /* of blocks lost, over the last signals */
	uint64_t few_lost, few_of;   /* too few for that so far */
	double quiet_lost, quiet_of; /* without a queue, lately */
	double excess; /* losses with one that are more than usual without */
	/* What there is to complain about. */
	uint32_t say_epoch;        /* of the rate */
	uint32_t say_lost, say_of; /* without a queue: over the last signals */
	bool queue;                /* there was one */
	uint64_t say_at_us;        /* 0: nothing */
	bool voice;                /* it is said whatever others say */
};

/* A signal of the server's: its time, and how many blocks it has sent so far. */
void client_congestion_signal(struct client_congestion *, uint64_t now_us,
    uint64_t time_us, uint32_t epoch, uint64_t sent);
/* `received` blocks have arrived.  Blocks and signals are read from two sockets: blocks
 * that were sent before a signal are surely counted when, later, all that had arrived
 * was read again.  True: some were lost before the
 * signal before this one, and the server should know. */
bool client_congestion_judge(
    struct client_congestion *, uint64_t now_us, uint64_t received);

/* This number of clients looks for losses. */
void client_congestion_clients(struct client_congestion *, uint32_t clients);
/* What was judged last is to be said at this time; voice: whatever others say
 * meanwhile. */
void client_congestion_say(struct client_congestion *, uint64_t at_us, bool voice);
/* Another client complains about the rate of this epoch: that need not be said twice.
 */
void client_congestion_heard(struct client_congestion *, uint32_t epoch);
/* When there is a complaint to be said; UINT64_MAX: there is none. */
uint64_t client_congestion_at_us(const struct client_congestion *);
/* Is it to be said now?  Then it counts as said. */
bool client_congestion_says(struct client_congestion *, uint64_t now_us);
/* The server was started anew. */
void client_congestion_forget(struct client_congestion *);

#endif /* FRISBEE_CLIENT_CLIENT_CONGESTION_H */
