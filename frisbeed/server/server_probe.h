/* server_probe.h: which answers the probes of "frisbee --doctor" get.  Packets and time
 * go in, packets come out, and the session is not affected.
 *
 * An answer is never longer than its probe, and goes only to the sender of the probe or
 * to the own group.  All answers together have at most SERVER_PROBE_BYTES_S a second on
 * average and SERVER_PROBE_BURST_BYTES at once (100 probes as long as blocks, and 100
 * short ones), so nobody can use this server to flood a network.  Further probes are
 * counted and not answered.
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
	SERVER_PROBE_COST_BYTES =
	    128, /* what an answer costs in addition to its length */
	SERVER_PROBE_ASKERS =
	    16, /* how many askers are counted; the oldest is replaced */
};

struct server_probe {
	uint8_t srcip[4], group[4];
	uint16_t port;
	uint32_t session;
	uint64_t tokens, filled_us;
	bool mute;       /* see PROBE_MUTE */
	uint32_t blocks; /* how many blocks the session has sent */
	struct server_probe_asker {
		uint8_t ip[4];
		uint32_t id, heard, by_group, direct;
		uint64_t at_us; /* 0: nobody */
	} askers[SERVER_PROBE_ASKERS];
};

struct server_probe_answer {
	bool to_group; /* to the group, not to the sender */
	size_t len;
	uint8_t pkt[PROBE_BYTES_MAX];
};

void server_probe_init(struct server_probe *, const uint8_t srcip[4],
    const uint8_t group[4], uint16_t port, uint32_t session, uint64_t now_us);
/* What answers contain from now on: the server's address, how many blocks the session
 * has sent, and whether packets leave this machine at all. */
void server_probe_moved(struct server_probe *, const uint8_t srcip[4]);
void server_probe_sent(struct server_probe *, uint32_t blocks);
void server_probe_mute(struct server_probe *, bool mute);
/* Answer a packet for which probe_is() is true.  Returns the number of answers. */
unsigned server_probe_input(struct server_probe *, uint64_t now_us, const void *pkt,
    size_t len, const uint8_t from[4], bool by_group,
    struct server_probe_answer out[2]);

#endif /* FRISBEED_SERVER_SERVER_PROBE_H */
