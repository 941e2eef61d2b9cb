/* server_replies.h: the clients whose JOIN or JOIN2 has not been replied to yet.
 *
 * One reply to JOIN answers all that have asked; a reply to JOIN2 answers one client.
 * Replies are few: strangers that join all the time shall not fill the network with
 * them.
 *
 * Only server_replies.c writes struct server_replies.
 */
#ifndef FRISBEED_SERVER_SERVER_REPLIES_H
#define FRISBEED_SERVER_SERVER_REPLIES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/wire.h"
#include "frisbeed/server/server_image.h"

/* JOIN2s that wait; a client whose JOIN2 is dropped repeats it. */
enum { SERVER_REPLIES_JOIN2 = 64 };

struct server_replies {
	bool join;   /* somebody waits for the reply to JOIN */
	bool probed; /* somebody only wanted to know what it says */
	uint32_t n, id[SERVER_REPLIES_JOIN2]; /* of clients that wait for one to JOIN2 */
	uint64_t paid_us; /* all replies so far are paid for then, at the pace allowed */
};

/* A client asks by JOIN; probe: it only asks for the answer, and does not join. */
void server_replies_join(struct server_replies *, bool probe);
/* The client with this id asks by JOIN2. */
void server_replies_join2(struct server_replies *, uint32_t id);
/* When the next reply may be sent; UINT64_MAX: nobody waits for one. */
uint64_t server_replies_at(const struct server_replies *);
/* The next reply, without the sender's address; false: it is not time, or nobody waits. */
bool server_replies_say(struct server_replies *, uint64_t now_us,
    const struct server_image *, struct wire_msg *);

#endif /* FRISBEED_SERVER_SERVER_REPLIES_H */
