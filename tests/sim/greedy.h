/* greedy.h: clients that ask for everything all the time and use nothing, and the
 * messages that they send. */
#ifndef TESTS_SIM_GREEDY_H
#define TESTS_SIM_GREEDY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct greedy {
	bool old; /* speaks the base protocol, otherwise the extension */
	uint8_t ip[4];
	uint32_t id, nchunks, session;
	uint64_t said; /* number of messages so far */
};

/* Writes the next message into pkt[WIRE_PACKET_MAX], and returns its length. */
size_t greedy_speaks(struct greedy *, void *pkt);

#endif /* TESTS_SIM_GREEDY_H */
