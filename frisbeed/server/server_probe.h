/* server_probe.h: which answers the probes of "frisbee --doctor" get: packets and time
 * in, packets out, nothing of the session touched.
 *
 * An answer is never longer than its probe, goes to nobody but the probe's sender or
 * our own group, and all together are at most SERVER_PROBE_BYTES_S a second on average and
 * SERVER_PROBE_BURST_BYTES at once (100 probes as long as blocks, and 100 short ones), so
 * nobody can make us flood anything.  What is over that is heard and counted, not answered.
 *
 * Only server_probe.c writes struct server_probe.
 */
#ifndef FRISBEED_SERVER_SERVER_PROBE_H
#define FRISBEED_SERVER_SERVER_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/wire/probe.h"

enum {
	SERVER_PROBE_BYTES_S = 32768,
	SERVER_PROBE_BURST_BYTES = 163840,
	SERVER_PROBE_COST_BYTES = 128, /* of an answer, besides its length */
	SERVER_PROBE_ASKERS = 16,      /* are told apart; the oldest gives way */
};

struct server_probe {
	uint8_t srcip[4], group[4];
	uint16_t port;
	uint32_t session;
	uint64_t tokens, filled_us;
	bool mute;       /* see PROBE_MUTE */
	uint32_t blocks; /* that the session has sent */
	struct server_probe_asker {
		uint8_t ip[4];
		uint32_t id, heard, by_group, direct;
		uint64_t at_us; /* 0: nobody */
	} askers[SERVER_PROBE_ASKERS];
};

struct server_probe_answer {
	bool to_group; /* else to the sender */
	size_t len;
	uint8_t pkt[PROBE_BYTES_MAX];
};

void server_probe_init(struct server_probe *, const uint8_t srcip[4],
    const uint8_t group[4], uint16_t port, uint32_t session, uint64_t now_us);
/* What answers say from now on: our address, the blocks that the session has sent, and
 * whether our packets leave this machine at all. */
void server_probe_moved(struct server_probe *, const uint8_t srcip[4]);
void server_probe_sent(struct server_probe *, uint32_t blocks);
void server_probe_mute(struct server_probe *, bool mute);
/* A packet that probe_is(); how many answers there are. */
unsigned server_probe_input(struct server_probe *, uint64_t now_us, const void *pkt,
    size_t len, const uint8_t from[4], bool by_group,
    struct server_probe_answer out[2]);

#endif /* FRISBEED_SERVER_SERVER_PROBE_H */
