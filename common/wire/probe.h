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
	PROBE_BYTES_MIN = 48, /* both; what is longer ends in zeros */
	PROBE_BYTES_MAX = 1056,
};

enum probe_flag {
	PROBE_GROUP = 1,         /* answer to the group; this answer went there */
	PROBE_DIRECT = 2,        /* answer to the sender; this answer did */
	PROBE_CAME_BY_GROUP = 4, /* of an echo: the probe did */
	/* Of an echo: what the server sent to the group last did not leave its machine. */
	PROBE_MUTE = 8,
};

struct probe {
	bool echo;
	uint8_t srcip[4];
	uint32_t session; /* 0 in a probe: whichever it is */
	uint32_t id;      /* of who asks, random */
	uint16_t number, flags;
	/* only in echoes: how many with this id were answered so far, with this one */
	uint32_t heard, by_group, direct;
	uint16_t port; /* the first one */
	uint8_t group[4];
	/* How many blocks and parity blocks the session has sent so far (the number
	 * wraps); 0 from servers that do not tell. */
	uint32_t blocks;
};

/* Of either kind, by the header alone. */
bool probe_is(const void *pkt, size_t len);
/* ERR_FORMAT: neither kind, too short, too long. */
int probe_get(struct probe *, const void *pkt, size_t len, struct err *);
/* Encode as exactly len bytes; false: len is impossible. */
bool probe_put(const struct probe *, void *pkt, size_t len);

#endif /* COMMON_WIRE_PROBE_H */
