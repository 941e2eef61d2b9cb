/* auth.h: every packet of a session is authenticated (--group-key).
 *
 * Engines and loops know nothing of this: the sockets (sock.h) put a header in front of each
 * packet that they send, and hand on only what comes with one that is right.  Who knows the
 * group's key can take part; what anybody else sends means nothing.  docs/protocol-wire.md has the
 * bytes and says what is promised.
 *
 *	HELLO	client: who are you?  It is of no session, and makes none
 *	WELCOME	server: the number of its session, and the ids of those that asked, so
 *		that they know that it is there now, and no recording
 *	SERVER, CLIENT	a packet of the session
 *	NONE	a server that has no key, to who thinks that it has
 *
 * Each sender has a key of its own, made of the group's, its random id and the session, and
 * numbers its packets; no number is taken twice.  A sender is remembered only after a
 * packet of its was right; when there is no room, the sender heard longest ago gives way.
 *
 * There is no socket, clock or thread inside; a struct auth belongs to one thread.
 * Without a key, packets of the session pass as they are, and authenticated ones are
 * counted and dropped.
 */
#ifndef COMMON_NET_AUTH_H
#define COMMON_NET_AUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/base/keyfile.h"
#include "common/net/gmac.h"
#include "common/net/ignored.h"

enum {
	AUTH_HEADER_BYTES = 48,
	AUTH_KEY_BYTES = KEYFILE_SECRET_BYTES,
	AUTH_ASKER_BYTES = 16,
	AUTH_ASKERS = 60, /* in one WELCOME */
	AUTH_PACKET_MAX = AUTH_HEADER_BYTES + AUTH_ASKERS * AUTH_ASKER_BYTES,
	AUTH_PARTS_MAX = 2, /* that a packet is gathered of */
};

/* The two ports of a session: what goes to one means nothing at the other. */
enum auth_port { AUTH_FIRST, AUTH_SECOND, AUTH_PORTS };

struct auth_config {
	bool server;
	const uint8_t *key; /* AUTH_KEY_BYTES; NULL: none */
	uint64_t id;        /* random; each auth has its own */
	uint64_t session;   /* server: random, not 0; client: 0 */
	uint64_t seed;      /* random, and never sent */
	uint8_t group[4];   /* zeros where there is no group */
	uint16_t port;      /* the first one, the server's */
	uint32_t senders;   /* remembered at once, > 0 */
};

struct auth;

/* Copies the key.  ERR_NOMEM, ERR_UNSUPPORTED. */
int auth_new(struct auth **, const struct auth_config *, struct err *);
/* NULL is fine; wipes the keys. */
void auth_free(struct auth *);
/* Does it have a key?  NULL has none. */
bool auth_is_on(const struct auth *);
struct ignored *auth_ignored(struct auth *);

/* Sending.  May packets of the session go out?  A client must have been welcomed. */
bool auth_may_seal(const struct auth *);
/* Makes the header of a packet that consists of these n parts (at most AUTH_PARTS_MAX).
 * -1: libcrypto fails. */
int auth_seal(struct auth *, enum auth_port, const struct gmac_part *, unsigned n,
    uint8_t header[AUTH_HEADER_BYTES], struct err *);
/* Is it time for a client to say HELLO?  To be asked before each packet that it sends. */
bool auth_wants_hello(const struct auth *);
size_t auth_put_hello(struct auth *, uint8_t pkt[AUTH_PACKET_MAX]);
/* Makes a WELCOME to all clients that have said HELLO since the last one; 0: none has. */
size_t auth_put_welcome(struct auth *, uint8_t pkt[AUTH_PACKET_MAX]);
/* Makes a packet for a sender that seems not to know whether the session is authenticated:
 * a WELCOME to nobody, or NONE. */
size_t auth_put_notice(struct auth *, uint8_t pkt[AUTH_PACKET_MAX]);

/* Receiving.  Returns what the packet holds for the session, *n bytes, or NULL for nothing.
 * from_port only serves to tell the sender of a packet that was not taken. */
const uint8_t *auth_open(struct auth *, enum auth_port, const uint8_t *pkt, size_t len,
    const uint8_t from[4], uint16_t from_port, size_t *n);
/* Was a client welcomed to a session since this was last asked? */
bool auth_was_welcomed(struct auth *);

/* For the stream of one client of the session (--unicast), which has a thread of its own: a
 * new struct auth with its own id, which remembers what was last taken, and from whom. */
int auth_branch(struct auth **, const struct auth *, uint64_t id, struct err *);
/* The end of a branch: packets that it has taken are not taken again. */
void auth_merge(struct auth *, const struct auth *branch);

#endif /* COMMON_NET_AUTH_H */
