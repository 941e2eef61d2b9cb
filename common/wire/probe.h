/* probe.h: PROBE and ECHO of the second port, which show whether packets reach the
 * server and its answers this client.  They belong to no session: servers and
 * clients of a load ignore them. docs/protocol-wire.md describes them to the byte. */
#ifndef COMMON_WIRE_PROBE_H
#define COMMON_WIRE_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"

enum {
	PROBE_KIND = 16,
	PROBE_ECHO_KIND = 17,
	PROBE_BYTES_MIN = 48, /* of both kinds; a longer packet ends in zeros */
	PROBE_BYTES_MAX = 1056,
};

enum probe_flag {
	PROBE_GROUP = 1,         /* probe: answer to the group; echo: sent to the group */
	PROBE_DIRECT = 2,        /* probe: answer to the sender; echo: sent to the sender */
	PROBE_CAME_BY_GROUP = 4, /* echo: the probe came by the group */
	/* Echo: the server's last packet to the group did not leave its machine. */
	PROBE_MUTE = 8,
};

struct probe {
	bool echo;
	uint8_t srcip[4];
	uint32_t session; /* 0 in a probe: any session */
	uint32_t id;      /* of the client that asks; random */
	uint16_t number, flags;
	/* Only in echoes, counted so far for this id: the probes that have come, and the
	 * answers to the group and to the sender, this one included. */
	uint32_t heard, by_group, direct;
	uint16_t port; /* the first port of the session */
	uint8_t group[4];
	/* How many blocks and parity blocks the session has sent so far (the number
	 * wraps); 0 from servers that do not say it. */
	uint32_t blocks;
};

/* Is the packet a PROBE or an ECHO?  Only the header is looked at. */
bool probe_is(const void *pkt, size_t len);
/* Decode a packet.  ERR_FORMAT: it is of neither kind, too short or too long. */
int probe_get(struct probe *, const void *pkt, size_t len, struct err *);
/* Encode as exactly len bytes.  False: len is not PROBE_BYTES_MIN to PROBE_BYTES_MAX. */
bool probe_put(const struct probe *, void *pkt, size_t len);

#endif /* COMMON_WIRE_PROBE_H */
