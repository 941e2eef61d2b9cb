/* client_backoff.h: for how long a message is held back, so that one of many clients
 * sends it for all.  All random choices of a client are made here, from its seed. */
#ifndef FRISBEE_CLIENT_CLIENT_BACKOFF_H
#define FRISBEE_CLIENT_CLIENT_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

/* Only client_backoff.c writes it. */
struct client_backoff {
	uint64_t rng;
};

void client_backoff_begin(struct client_backoff *, uint64_t seed);
/* A number below n, which is at least 1; all are equally likely. */
uint64_t client_backoff_random(struct client_backoff *, uint64_t n);
/* A random time of up to most_us.  Of this number of clients, only few get a short
 * one. */
uint64_t client_backoff_draw_us(
    struct client_backoff *, uint64_t most_us, uint32_t clients);
/* The time for which a NACK is held back.  Half of it is shorter for the clients
 * that lack most, and half is random: of many clients, only few send their NACK
 * before the first one is heard. lack: how many blocks this client lacks; most_lack:
 * the most that any client was heard to lack. */
uint64_t client_backoff_lack_us(struct client_backoff *, uint64_t most_us,
    uint32_t clients, uint32_t lack, uint32_t most_lack);
/* The time for which a message is held back that some of the clients send in any case.
 * voices: about how many of the clients are drawn for that, all if there are fewer.
 * *voice: whether this client is one of them.  A client that is drawn waits up to
 * most_us, any other one up to `others` times as long. */
uint64_t client_backoff_voice_us(struct client_backoff *, uint64_t most_us,
    uint32_t clients, uint32_t voices, uint32_t others, bool *voice);

#endif /* FRISBEE_CLIENT_CLIENT_BACKOFF_H */
