/* server_impl.h: the wiring of the server's engine: its parts, and the functions that
 * its files call of each other.
 *
 * server.c begins, ends and hands out what arrives.  server_join.c handles JOINs,
 * server_request.c requests of the base protocol, server_ext.c the extension's
 * messages; server_clients.c says what follows when a client is heard.  server_read.c
 * decides what is read next, server_output.c what is sent next; server_say.c has the
 * messages, server_speed.c the rate.  All others are parts, which know nothing of
 * struct server. */
#ifndef FRISBEED_SERVER_SERVER_IMPL_H
#define FRISBEED_SERVER_SERVER_IMPL_H

#include "common/wire/blockmap.h"
#include "frisbeed/server/server.h"
#include "frisbeed/server/server_announce.h"
#include "frisbeed/server/server_carousel.h"
#include "frisbeed/server/server_contest.h"
#include "frisbeed/server/server_counters.h"
#include "frisbeed/server/server_credit.h"
#include "frisbeed/server/server_scheduled.h"
#include "frisbeed/server/server_growing.h"
#include "frisbeed/server/server_image.h"
#include "frisbeed/server/server_life.h"
#include "frisbeed/server/server_pace.h"
#include "frisbeed/server/server_mtu.h"
#include "frisbeed/server/server_order.h"
#include "frisbeed/server/server_queue.h"
#include "frisbeed/server/server_rate.h"
#include "frisbeed/server/server_repair.h"
#include "frisbeed/server/server_replies.h"
#include "frisbeed/server/server_members.h"
#include "frisbeed/server/server_sent.h"
#include "frisbeed/server/server_interleave.h"
#include "frisbeed/server/server_shares.h"
#include "frisbeed/server/server_slots.h"
#include "frisbeed/server/server_stamps.h"
#include "frisbeed/server/server_urgent.h"
#include "frisbeed/server/server_voters.h"

/* The engine is made of parts, each of which only the file of its name writes.  What is
 * below is wiring: which part is told what.  The configuration and the time are
 * written by server.c. */
struct server {
	struct server_config cfg;
	struct server_log log;
	struct server_image image;
	uint64_t now_us; /* as the shell said last */

	/* What is sent, in the order in which a block passes through the parts. */
	struct growing growing;    /* which chunks have arrived at the server */
	struct carousel carousel;  /* which blocks clients with the extension want */
	struct server_queue queue; /* which blocks will be read */
	struct server_slots slots; /* which blocks are in memory */
	struct server_urgent urgent; /* what somebody waits for, before all that */
	struct server_slots urgent_slots; /* which blocks of it are in memory */
	struct server_order order; /* what machines need that start from the image */
	struct server_sent sent;   /* which blocks were sent */
	struct server_scheduled
	    scheduled;         /* which chunks were scheduled since a client joined */
	struct repair repair;  /* which parity is wanted */
	struct server_mtu mtu; /* how large packets may be */
	struct server_interleave interleave; /* are chunks interleaved? */
	struct server_shares shares;         /* what goes before what */
	struct server_credit credit;         /* how many blocks clients can take */

	/* When it is sent. */
	struct pace pace;
	struct rate rate; /* with -D */
	struct server_life life;

	/* Which clients are there, and the messages to them. */
	struct server_members members;
	struct voters voters;
	struct contest contest; /* what they say while they are few */
	struct server_replies replies;
	struct server_announce announce;
	struct server_stamps stamps;

	struct server_counters counters;
};

/* server.c */
uint32_t server_chunk_blocks(const struct server *s, uint32_t chunk);
void server_bad_packet(struct server *s, const uint8_t from[4], const struct err *e);
/* A packet of another server was heard. */
void server_hear_other(struct server *s, const uint8_t from[4]);

void server_set_now(struct server *s, uint64_t now_us);
/* When -T ends the session if nothing more happens. */
uint64_t server_ends_us(const struct server *s);

/* server_clients.c */
int server_clients_init(struct server *s); /* -1: no memory */
void server_clients_fini(struct server *s);
/* A client joins, perhaps again.  *known: it was there already. */
const struct server_client *server_client_joined(
    struct server *s, const uint8_t ip[4], uint32_t id, bool ext, bool *known);
/* A request of the base protocol has arrived, which does not contain the client's id.
 * If no client of its address is known, a client of the base protocol is counted. */
void server_client_asks(struct server *s, const uint8_t ip[4]);
/* A message of the extension has arrived.  Returns its client, or NULL if that has just
 * left. */
const struct server_client *server_client_speaks(
    struct server *s, const uint8_t ip[4], uint32_t id);
void server_client_left(struct server *s, uint64_t now_us, const struct wire_msg *m);
/* Tell the log of an address that complains alone, but not too often. */
void server_name_complainer(struct server *s, const uint8_t ip[4]);

/* Are so few addresses there that one complaint about the rate suffices, and another one
 * that may object? */
bool server_may_be_contested(const struct server *s);
/* The address complains about the rate.  If few are there, the others are asked whether they
 * hear everything.  Does the complaint count? */
bool server_complaint_counts(struct server *s, uint64_t now_us, const uint8_t ip[4]);
/* A client asks again for what it may have lost.  If few are there, that says something about the
 * rate only while no other one hears everything: the requests get their share in any case. */
bool server_loss_counts(struct server *s, uint64_t now_us);

/* server_join.c */
/* Let the carousel send those blocks of the chunk that a client which begins to listen
 * now would not receive anyway. */
void server_want_chunk(struct server *s, uint32_t chunk);
/* How many blocks would be sent that are not wanted yet, if a client wanted this chunk? */
uint32_t server_wants_more(const struct server *s, uint32_t chunk);
/* All blocks of the chunk that are wanted by now have been scheduled. */
void server_chunk_scheduled(struct server *s, uint32_t chunk);
/* Have all blocks of the chunk been scheduled since this client joined? */
bool server_has_scheduled(
    const struct server *s, uint32_t chunk, const struct server_client *);
void server_handle_join(struct server *s, uint64_t now_us, const struct wire_msg *m,
    const void *pkt, size_t len);
void server_handle_join2(struct server *s, uint64_t now_us, const struct wire_msg *m);

/* Is the session unpaced, so that only the clients' requests and credit limit its rate?
 */
static inline bool
server_unpaced(const struct server *s)
{
	return !server_is_paced(&s->cfg);
}

/* Are the blocks of eight chunks interleaved?  Not if there are clients that would take
 * a block of another chunk for the end of this one. */
static inline bool
server_is_interleaving(const struct server *s)
{
	return s->interleave.on && !server_unpaced(s) &&
	       s->members.no_interleave == 0 &&
	       s->members.ext == server_members_count(&s->members);
}

/* Are blocks of these two chunks interleaved with each other? */
static inline bool
server_same_interleave(uint32_t a, uint32_t b)
{
	return a / WIREXT_INTERLEAVE == b / WIREXT_INTERLEAVE;
}

/* The number of blocks and parity blocks that are scheduled and not sent yet. */
static inline uint64_t
server_pending(const struct server *s)
{
	return s->queue.blocks + s->slots.parity_left;
}

/* How many blocks were sent in all, which is what uses the rate: those of URGENT_DATA, too. */
static inline uint64_t
server_sent_paced(const struct server *s)
{
	return server_sent_all(&s->sent) + s->urgent.sent;
}

/* server_request.c */
void server_handle_request(struct server *s, uint64_t now_us, const struct wire_msg *m);
void server_handle_prequest(
    struct server *s, uint64_t now_us, const struct wire_msg *m);
/* Queue blocks of a chunk that a request of the base protocol wants.  Returns how many
 * of them would not have been sent anyway. */
uint32_t server_add_asked(
    struct server *s, uint32_t chunk, const struct blockmap *blocks);

/* server_ext.c */
bool server_is_idle(const struct server *s);
/* Must a client grant more credit before anything can be sent? */
bool server_is_held(const struct server *s);
/* Will nothing be sent until a client sends a message?  What is still wanted is held
 * back then until a client can take it, and the clients that wanted it may be gone. */
bool server_is_quiet(const struct server *s);
void server_ext_input(struct server *s, uint64_t now_us, const void *pkt, size_t len,
    const uint8_t from[4]);

/* A client has begun to wait for blocks, so the blocks of the order are sent, too; but
 * not in an unpaced session, which would send all of them at once. */
static inline void
server_begin_order(struct server *s)
{
	if (!server_unpaced(s))
		server_order_begin(&s->order);
}

/* server_read.c */
/* Are all blocks scheduled that clients want, so that only parity is wanted? */
bool server_wants_only_parity(const struct server *s);
/* When a chunk may be read to make parity of it. */
uint64_t server_parity_due_us(const struct server *s);

/* server_speed.c */
/* The pace of the configuration. */
void server_init_pace(struct server *s);
/* Set the pace to the current rate. */
void server_follow_rate(struct server *s);
/* Before a block is sent: adjust the rate if it is time to. */
void server_judge_rate(struct server *s, uint64_t now_us);

/* server_say.c */
/* Send the packet of this length that has been put into out->pkt. */
void server_send_packet(struct server *s, struct server_out *out, size_t len);
/* Send a message of the extension that a part has built. */
void server_send_ext(struct server *s, struct wirext_msg *m, struct server_out *out);
uint64_t server_reply_at(const struct server *s, uint64_t now_us);
uint64_t server_state_at(const struct server *s, uint64_t now_us);
uint64_t server_mtu_probe_at(const struct server *s, uint64_t now_us);
bool server_say_reply(struct server *s, uint64_t now_us, struct server_out *out);
bool server_say_state(struct server *s, uint64_t now_us, struct server_out *out);
bool server_say_mtu_probe(struct server *s, uint64_t now_us, struct server_out *out);

#endif /* FRISBEED_SERVER_SERVER_IMPL_H */
