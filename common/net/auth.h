/* auth.h: every packet of a session is authenticated (--group-key).
 *
 * Engines and loops know nothing of this: the sockets (sock.h) put a header in front of each
 * packet that they send, and hand on only packets whose header is right.  Anybody who knows the
 * group's key can take part; packets of others are ignored.  docs/protocol-wire.md describes the
 * bytes, and docs/protocol-rules.md (14) says what is promised.
 *
 *	HELLO	a client asks for the session; the packet belongs to no session
 *	WELCOME	a server sends the number of its session and the ids of the clients that
 *		asked, so that these know that the packet is new and no recording
 *	SERVER, CLIENT	a packet of the session
 *	NONE	a server without a key tells so to a client that has one
 *
 * Each sender has a key of its own, made of the group's key, its random id and the session, and
 * numbers its packets; no number is taken twice.  A sender is remembered only after one of its
 * packets was right; when there is no room, the sender heard longest ago is forgotten.
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
	AUTH_ASKERS = 60, /* the most clients that one WELCOME names */
	AUTH_PACKET_MAX = AUTH_HEADER_BYTES + AUTH_ASKERS * AUTH_ASKER_BYTES,
	AUTH_PARTS_MAX = 2, /* the most parts that a packet is gathered from */
};

/* The two ports of a session.  A packet for one port is ignored at the other. */
enum auth_port { AUTH_FIRST, AUTH_SECOND, AUTH_PORTS };

struct auth_config {
	bool server;
	const uint8_t *key; /* AUTH_KEY_BYTES; NULL: none */
	uint64_t id;        /* random; each auth has its own */
	uint64_t session;   /* server: random, not 0; client: 0 */
	uint64_t seed;      /* random, and never sent */
	uint8_t group[4];   /* zeros where there is no group */
	uint16_t port;      /* the first port, of the server */
	uint32_t senders;   /* the most that are remembered at a time, > 0 */
};

struct auth;

/* Make a struct auth; the key is copied.  ERR_NOMEM; ERR_UNSUPPORTED: libcrypto does not have
 * what is needed. */
int auth_new(struct auth **, const struct auth_config *, struct err *);
/* Wipe the keys and free all.  NULL is fine. */
void auth_free(struct auth *);
/* Has this struct auth a key?  NULL has none. */
bool auth_is_on(const struct auth *);
/* The counts of packets that were not taken; they belong to the struct auth. */
struct ignored *auth_ignored(struct auth *);

/* Sending. */

/* May packets of the session be sent?  A client must have been welcomed before. */
bool auth_may_seal(const struct auth *);
/* Make the header of a packet that consists of these n parts (at most AUTH_PARTS_MAX).
 * ERR_UNSUPPORTED: libcrypto fails. */
int auth_seal(struct auth *, enum auth_port, const struct gmac_part *, unsigned n,
    uint8_t header[AUTH_HEADER_BYTES], struct err *);
/* Is it time for a client to send a HELLO?  To be asked before each packet that it sends. */
bool auth_wants_hello(const struct auth *);
/* Make a HELLO.  Returns its length; 0: libcrypto fails. */
size_t auth_put_hello(struct auth *, uint8_t pkt[AUTH_PACKET_MAX]);
/* Make a WELCOME to clients that have sent a HELLO and were not welcomed yet, AUTH_ASKERS at
 * most.  Returns its length; 0: there are none, or libcrypto fails. */
size_t auth_put_welcome(struct auth *, uint8_t pkt[AUTH_PACKET_MAX]);
/* Make a packet for a sender that seems not to know whether the session is authenticated: a
 * WELCOME that names no client, or NONE.  Returns its length; 0: libcrypto fails. */
size_t auth_put_notice(struct auth *, uint8_t pkt[AUTH_PACKET_MAX]);

/* Receiving. */

/* Check a packet that has come at this port.  Returns what it holds for the session, *n bytes
 * inside pkt, or NULL for nothing.  `from` and from_port are only needed to answer the sender of
 * a packet that was not taken. */
const uint8_t *auth_open(struct auth *, enum auth_port, const uint8_t *pkt, size_t len,
    const uint8_t from[4], uint16_t from_port, size_t *n);
/* Was this client welcomed to a session since auth_was_welcomed() was last called? */
bool auth_was_welcomed(struct auth *);

/* Make a struct auth for the stream of one client of the session (--unicast), which has a thread
 * of its own.  It has its own id, and remembers the sender that was heard last and which of its
 * packets were taken.  Errors of auth_new(). */
int auth_branch(struct auth **, const struct auth *, uint64_t id, struct err *);
/* To be called at the end of a branch: packets that the branch has taken are not taken again.
 * The branch stays the caller's. */
void auth_merge(struct auth *, const struct auth *branch);

#endif /* COMMON_NET_AUTH_H */
