/* greedy.h: peers that ask for everything, all the time, and take nothing: what they
 * say. */
#ifndef TESTS_SIM_GREEDY_H
#define TESTS_SIM_GREEDY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct greedy {
	bool old; /* requests of the base protocol; else the extension's messages */
	uint8_t ip[4];
	uint32_t id, nchunks, session;
	uint64_t said; /* messages so far */
};

/* The next message, into pkt[WIRE_PACKET_MAX]: its length. */
size_t greedy_speaks(struct greedy *, void *pkt);

#endif /* TESTS_SIM_GREEDY_H */
