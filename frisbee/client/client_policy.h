/* client_policy.h: what a client requests while it loads, and in which order.  A policy
 * is a value.
 *
 * A speaker is one reason to send a message: chunks that are needed now, lost blocks,
 * chunks ahead, credit, a NACK.  A policy is the list of speakers, in the order in
 * which they are asked.  A new reason is one file with the two functions of a speaker,
 * and a line in client_policy.c.
 */
#ifndef FRISBEE_CLIENT_CLIENT_POLICY_H
#define FRISBEE_CLIENT_CLIENT_POLICY_H

#include <stddef.h>
#include <stdint.h>

struct client;

struct client_speaker {
	/* Put the packet that is to be sent now into pkt.  Returns its length, or 0. */
	size_t (*say)(struct client *, uint64_t now_us, void *pkt);
	/* When it may have a message to send even if nothing happens before; a time
	 * that is not in the future means that there is none.  NULL: there never is
	 * one. */
	uint64_t (*at_us)(const struct client *, uint64_t now_us);
};

struct client_policy {
	const char *name;
	const struct client_speaker *speakers; /* ends with one that has no functions */
};

/* The policy of the base protocol, also for chunks in parts, and that of the
 * extension. */
extern const struct client_policy client_base_policy, client_ext_policy;

/* Ask the speakers in order.  If none has a message, schedule when to ask again: at
 * the earliest time that one of them named, but after a tick at the latest. */
size_t client_policy_say(
    const struct client_policy *, struct client *, uint64_t now_us, void *pkt);

#endif /* FRISBEE_CLIENT_CLIENT_POLICY_H */
