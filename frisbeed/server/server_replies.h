/* server_replies.h: the clients whose JOIN or JOIN2 has not been answered yet.
 *
 * One reply to JOIN answers all clients that have sent one; a reply to JOIN2 answers
 * one client. The rate of replies is limited, so that strangers that join all the time
 * cannot fill the network with them.
 *
 * Only server_replies.c writes struct server_replies.
 */
#ifndef FRISBEED_SERVER_SERVER_REPLIES_H
#define FRISBEED_SERVER_SERVER_REPLIES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/wire.h"
#include "frisbeed/server/server_image.h"

/* How many JOIN2s may wait.  A client whose JOIN2 is dropped repeats it. */
enum { SERVER_REPLIES_JOIN2 = 64 };

struct server_replies {
	bool join;   /* a client waits for the reply to JOIN */
	bool probed; /* a client only wants to know the reply, and does not join */
	uint32_t n,
	    id[SERVER_REPLIES_JOIN2]; /* the clients that wait for a reply to JOIN2 */
	uint64_t paid_us; /* when all replies so far fit into the allowed rate */
};

/* A client sends JOIN.  probe: it only wants the reply, and does not join. */
void server_replies_join(struct server_replies *, bool probe);
/* The client with this id sends JOIN2. */
void server_replies_join2(struct server_replies *, uint32_t id);
/* When the next reply may be sent; UINT64_MAX: no client waits for one. */
uint64_t server_replies_at(const struct server_replies *);
/* Build the next reply, without the sender's address.  Returns false if it is not due,
 * or no client waits. */
bool server_replies_say(struct server_replies *, uint64_t now_us,
    const struct server_image *, struct wire_msg *);

#endif /* FRISBEED_SERVER_SERVER_REPLIES_H */
