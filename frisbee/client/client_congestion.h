/* client_congestion.h: whether the network is congested.  The server's time signals
 * show for how long packets wait in queues.  Congestion is reported if blocks are lost
 * while packets wait, and more of them than are lost otherwise.  The queue of a small
 * port on a fast network is too short to be seen: there, losses come in step with the
 * server's bursts, here and there in all that is sent, and are more than usual.  Losses
 * without a queue are reported, too, if they are many.
 *
 * The clocks of server and client need not agree: the shortest time that a signal took
 * in the last seconds counts as the time without a queue.
 */
#ifndef FRISBEE_CLIENT_CLIENT_CONGESTION_H
#define FRISBEE_CLIENT_CLIENT_CONGESTION_H

#include <stdbool.h>
#include <stdint.h>

enum { CLIENT_CONGESTION_DELAYS = 3 };

/* What losses are like: without a queue, in step with bursts, with a queue.  The rate causes
 * those of the last two kinds. */
enum client_congestion_kind {
	CLIENT_CONGESTION_LOST,
	CLIENT_CONGESTION_STEP,
	CLIENT_CONGESTION_QUEUE,
	CLIENT_CONGESTION_KINDS,
};

/* Only client_congestion.c writes it. */
struct client_congestion {
	bool begun;
	uint64_t gaps, last_gaps; /* places where blocks were missing: so far, and in the last
	                             stretch */
	uint32_t clients;    /* how many clients watch the same losses */
	uint64_t sent;       /* how many blocks had been sent at the last signal */
	uint64_t of;         /* blocks sent since the last signal that was judged */
	uint64_t last_of;    /* blocks sent between that signal and the one before it */
	uint64_t pending_us; /* when the signal that is to be judged was read; 0: there
	                        is none */
	uint32_t pending_epoch,
	    epochs[2];      /* the epochs of the last two judged signals */
	int64_t offset;     /* sent - received at the first signal */
	int64_t missing;    /* blocks beyond the offset that had not arrived at the last
	                       signal */
	int64_t lost;       /* how many of them are certainly lost */
	int64_t base_us[2]; /* the shortest time of a signal: in this period, and in the
	                       last one */
	uint64_t base_from_us;
	uint64_t
	    delay_us[CLIENT_CONGESTION_DELAYS]; /* the delays of the last signals */
	uint64_t most_delay_us;
	unsigned clear; /* stretches in a row in which nothing was lost, or no more than the
	                   link loses without a queue */
	uint64_t hears_at_us; /* when the server is told so, which asks; 0: it does not */
	double share; /* the share of blocks lost over the last signals */
	uint64_t few_lost,
	    few_of; /* losses and blocks so far, which are too few for a share */
	double quiet_lost, quiet_of; /* recent losses and blocks without a queue */
	unsigned quiet_n;            /* stretches among these, up to enough of them */
	double quiet_base_us; /* the shortest time of a signal when these were counted */
	unsigned quiet_wait; /* stretches that may be older than the shortest time, and are
	                        not counted */
	double excess; /* losses with a queue beyond those that are usual without one */
	/* The complaint that is to be sent. */
	uint32_t say_epoch;        /* the epoch of the rate that it is about */
	uint32_t say_lost,
	    say_of; /* its losses; without a queue, those over the last signals */
	enum client_congestion_kind say_kind;
	uint64_t say_at_us; /* when it is to be sent; 0: there is none */
	bool voice;         /* it is sent even if others complain */
	/* The first epoch about which this client has not complained. */
	uint32_t unsaid[CLIENT_CONGESTION_KINDS];
	uint32_t heard; /* the first epoch about which no other client was heard whose losses
	                   the rate causes */
};

/* A time signal of the server arrived: its time, and how many blocks the server has
 * sent so far. */
void client_congestion_signal(struct client_congestion *, uint64_t now_us,
    uint64_t time_us, uint32_t epoch, uint64_t sent);
/* Judge the last signal; `received` blocks have arrived so far, and `gaps` times some were
 * missing between two that came one after the other.  Blocks and signals
 * are read from two sockets: the blocks sent before a signal are certainly counted
 * when everything that had arrived by then has been read.  Returns true if blocks
 * were lost before the signal before the last one, and the server should know: it is told
 * once of each epoch and kind. */
bool client_congestion_judge(
    struct client_congestion *, uint64_t now_us, uint64_t received, uint64_t gaps);

/* This number of clients watches for losses. */
void client_congestion_clients(struct client_congestion *, uint32_t clients);
/* Send a complaint about what was judged last, at this time. voice: even if others
 * complain first.  Without voice, nothing is sent if another was heard to complain
 * about losses that the rate causes in the same epoch or a later one. */
void client_congestion_say(struct client_congestion *, uint64_t at_us, bool voice);
/* Another client complains about the rate of this epoch (caused: about losses of which the rate
 * is the cause), so this client need not send what it holds back, nor what it measures later
 * about an epoch that has begun by now. */
void client_congestion_heard(struct client_congestion *, uint32_t epoch, bool caused);
/* The server asks who hears everything: if this client does, it says so at this time.
 * And is it to be said now? */
void client_congestion_asked(struct client_congestion *, uint64_t at_us);
bool client_congestion_hears(struct client_congestion *, uint64_t now_us);
/* When a complaint, or an answer to that, is to be sent; UINT64_MAX: there is none. */
uint64_t client_congestion_at_us(const struct client_congestion *);
/* Is the complaint to be sent now?  If so, it counts as sent. */
bool client_congestion_says(struct client_congestion *, uint64_t now_us);
/* The server was restarted. */
void client_congestion_forget(struct client_congestion *);

#endif /* FRISBEE_CLIENT_CLIENT_CONGESTION_H */
