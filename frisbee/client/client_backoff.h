/* client_backoff.h: how long a message is held back, so that of many clients one says
 * it for all. All that a client does by chance is drawn here, from its seed.
 */
#ifndef FRISBEE_CLIENT_CLIENT_BACKOFF_H
#define FRISBEE_CLIENT_CLIENT_BACKOFF_H

#include <stdint.h>

/* Only client_backoff.c writes it. */
struct client_backoff {
	uint64_t rng;
};

void client_backoff_begin(struct client_backoff *, uint64_t seed);
/* A number below n, which is at least 1; all are equally likely. */
uint64_t client_backoff_random(struct client_backoff *, uint64_t n);
/* A time up to most_us, such that few of that many clients draw a short one. */
uint64_t client_backoff_draw_us(
    struct client_backoff *, uint64_t most_us, uint32_t clients);
/* The time for a message about what is lacking.  Half of it is shorter for the clients
 * that lack most, and half is drawn: of many clients, few speak before the first one is
 * heard. lack is what this client lacks, most_lack the most that any client was heard
 * to lack. */
uint64_t client_backoff_lack_us(struct client_backoff *, uint64_t most_us,
    uint32_t clients, uint32_t lack, uint32_t most_lack);

#endif /* FRISBEE_CLIENT_CLIENT_BACKOFF_H */
