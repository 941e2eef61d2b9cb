/* client_load.h: is the network overloaded?  From the server's time signals: how long
 * packets queue up, and how many blocks are lost meanwhile.  Losses without a queue
 * are told, too, when they are many.
 *
 * The clocks of the two need not agree: the shortest way that a signal was seen to
 * take in the last seconds counts as one without a queue.
 */
#ifndef FRISBEE_CLIENT_LOAD_H
#define FRISBEE_CLIENT_LOAD_H

#include <stdbool.h>
#include <stdint.h>

struct client_load {
	bool begun;
	uint64_t sent, seen; /* blocks, at the last signal */
	uint32_t last_epoch; /* ... of which it was */
	int64_t base_us[2];  /* shortest way: in this stretch of time, and the last */
	uint64_t base_from_us;
	uint64_t delay_us, last_delay_us, most_delay_us;
	double share; /* of blocks lost, over the last signals */
	/* What there is to complain about. */
	uint32_t epoch, lost, of; /* without a queue: over the last signals */
	bool queue;               /* there was one */
	uint64_t say_at_us;       /* 0: nothing */
};

/* A signal of the server's: its time, and how many blocks it has sent; `seen` arrived
 * here.  True: blocks were lost since the last one, and the server should know; epoch,
 * lost, of and queue say more. */
bool client_load_signal(struct client_load *, uint64_t now_us, uint64_t time_us,
    uint32_t epoch, uint64_t sent, uint64_t seen);

#endif /* FRISBEE_CLIENT_LOAD_H */
