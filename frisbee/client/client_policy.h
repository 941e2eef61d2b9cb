/* client_policy.h: what a client asks for while it loads, and in which order: a policy is a value.
 *
 * A speaker is one reason to say something: chunks that are needed now, what was lost, chunks
 * ahead, credit, a report.  A policy is the list of those that are asked, first things first.
 * A new reason is one file with the two functions of a speaker, and a line in client_policy.c.
 */
#ifndef FRISBEE_CLIENT_CLIENT_POLICY_H
#define FRISBEE_CLIENT_CLIENT_POLICY_H

#include <stddef.h>
#include <stdint.h>

struct client;

struct client_speaker {
	/* The length of the packet that it has to say now, put into pkt, or 0. */
	size_t (*say)(struct client *, uint64_t now_us, void *pkt);
	/* When it may have something to say though nothing happens before; now or earlier:
	 * there is no such time.  NULL: there never is. */
	uint64_t (*at_us)(const struct client *, uint64_t now_us);
};

struct client_policy {
	const char *name;
	const struct client_speaker
	    *speakers; /* the one behind the last has no functions */
};

/* Of the base protocol, also for chunks in parts; and of the extension. */
extern const struct client_policy client_base_policy, client_ext_policy;

/* Ask each in turn; when none has anything to say, schedule when to ask again: the earliest time
 * that one named, and in a tick at the latest. */
size_t client_policy_say(
    const struct client_policy *, struct client *, uint64_t now_us, void *pkt);

#endif /* FRISBEE_CLIENT_CLIENT_POLICY_H */
