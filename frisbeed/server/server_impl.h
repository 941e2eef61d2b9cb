/* server_impl.h: the wiring of the server's engine: its parts, and what its files tell
 * each other.
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
#include "frisbeed/server/server_counters.h"
#include "frisbeed/server/server_credit.h"
#include "frisbeed/server/server_scheduled.h"
#include "frisbeed/server/server_growing.h"
#include "frisbeed/server/server_image.h"
#include "frisbeed/server/server_life.h"
#include "frisbeed/server/server_pace.h"
#include "frisbeed/server/server_mtu.h"
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
#include "frisbeed/server/server_voters.h"

/* The engine is made of parts, each of which only the file of its name writes.  What is
 * below is wiring: which part is told what.  The configuration and the time are
 * written by server.c. */
struct server {
	struct server_config cfg;
	struct server_log log;
	struct server_image image;
	uint64_t now_us; /* as the shell said last */

	/* What is sent, in the order of its way. */
	struct growing growing;       /* is it here? */
	struct carousel carousel;     /* what the extension's clients want */
	struct server_queue queue;    /* what will be read */
	struct server_slots slots;    /* what is read */
	struct server_sent sent;      /* what was sent */
	struct server_given given;    /* to whom */
	struct repair repair;         /* parity that is wanted */
	struct server_packs packs;    /* how large packets may be */
	struct server_sets sets;      /* do chunks take turns? */
	struct server_shares shares;  /* who goes first */
	struct server_credit credit;  /* how much clients can take */

	/* When it is sent. */
	struct pace pace;
	struct rate rate; /* with -D */
	struct server_life life;

	/* Who is there, and what is said to them besides. */
	struct server_roll roll;
	struct voters voters;
	struct server_replies replies;
	struct server_announce announce;
	struct server_stamps stamps;

	struct server_counters counters;
};

/* server.c */
uint32_t server_chunk_blocks(const struct server *s, uint32_t chunk);
void server_bad_packet(struct server *s, const uint8_t from[4], const struct err *e);
/* A packet as only servers send them, and not ours. */
void server_hear_other(struct server *s, const uint8_t from[4]);

void server_set_now(struct server *s, uint64_t now_us);
/* When -T runs out if nothing more happens. */
uint64_t server_ends_us(const struct server *s);

/* server_clients.c */
int server_clients_init(struct server *s); /* -1: no memory */
void server_clients_fini(struct server *s);
/* A client joins, perhaps again; *known: it was there already. */
const struct server_client *server_client_joined(
    struct server *s, const uint8_t ip[4], uint32_t id, bool ext, bool *known);
/* A request of the base protocol does not tell the id; when nobody of its address is known,
 * an old client is counted. */
void server_client_asks(struct server *s, const uint8_t ip[4]);
/* A client says something by the extension.  NULL: it has just left. */
const struct server_client *server_client_speaks(
    struct server *s, const uint8_t ip[4], uint32_t id);
void server_client_left(struct server *s, uint64_t now_us, const struct wire_msg *m);
/* The log is told of an address that complains alone, now and then. */
void server_name_complainer(struct server *s, const uint8_t ip[4]);

/* server_join.c */
/* The carousel is to send what a client that begins to listen now will not receive of
 * this chunk anyway. */
void server_want_chunk(struct server *s, uint32_t chunk);
/* All that is wanted of the chunk by now is given out. */
void server_chunk_given(struct server *s, uint32_t chunk);
/* Has all of the chunk been given out since this client came? */
bool server_has_given(
    const struct server *s, uint32_t chunk, const struct server_client *);
void server_handle_join(struct server *s, uint64_t now_us, const struct wire_msg *m,
    const void *pkt, size_t len);
void server_handle_join2(struct server *s, uint64_t now_us, const struct wire_msg *m);

/* Is the pace set by nothing but what clients ask for and can take? */
static inline bool
server_unpaced(const struct server *s)
{
	return s->cfg.gap_us == 0;
}

/* Do chunks take turns?  Not when there are clients that would take the turn of another
 * chunk for the end of this one. */
static inline bool
server_in_sets(const struct server *s)
{
	return s->sets.on && !server_unpaced(s) && s->roll.no_sets == 0 &&
	       s->roll.ext == server_roll_count(&s->roll);
}

static inline bool
server_same_set(uint32_t a, uint32_t b)
{
	return a / WIREXT_INTERLEAVE == b / WIREXT_INTERLEAVE;
}

/* How many blocks, with parity, will be sent of what was given out so far. */
static inline uint64_t
server_pending(const struct server *s)
{
	return s->queue.blocks + s->slots.parity_left;
}

/* server_request.c */
void server_handle_request(struct server *s, uint64_t now_us, const struct wire_msg *m);
void server_handle_prequest(
    struct server *s, uint64_t now_us, const struct wire_msg *m);
/* Blocks of a chunk that a request of the base protocol wants: how many of them were not
 * coming anyway. */
uint32_t server_add_asked(
    struct server *s, uint32_t chunk, const struct blockmap *blocks);

/* server_ext.c */
bool server_is_idle(const struct server *s);
/* A client has to say first that it can take more. */
bool server_is_held(const struct server *s);
/* Nothing will be sent unless somebody asks: what is still wanted is held back until a
 * client can take it, and the clients that wanted it may be gone. */
bool server_is_quiet(const struct server *s);
void server_ext_input(struct server *s, uint64_t now_us, const void *pkt, size_t len,
    const uint8_t from[4]);

/* server_read.c */
/* When parity of a chunk that lacks somewhere may be read. */
uint64_t server_parity_due_us(const struct server *s);

/* server_speed.c */
/* The pace becomes what the rate says. */
void server_follow_rate(struct server *s);
/* A block is about to be sent: is the rate still right? */
void server_judge_rate(struct server *s, uint64_t now_us);

/* server_say.c */
/* A packet of this length that has been put into out->pkt is to be sent. */
void server_send_packet(struct server *s, struct server_out *out, size_t len);
/* A message of the extension that a part wants to say. */
void server_send_ext(struct server *s, struct wirext_msg *m, struct server_out *out);
uint64_t server_reply_at(const struct server *s, uint64_t now_us);
uint64_t server_state_at(const struct server *s, uint64_t now_us);
uint64_t server_try_at(const struct server *s, uint64_t now_us);
bool server_say_reply(struct server *s, uint64_t now_us, struct server_out *out);
bool server_say_state(struct server *s, uint64_t now_us, struct server_out *out);
bool server_say_try(struct server *s, uint64_t now_us, struct server_out *out);

#endif /* FRISBEED_SERVER_SERVER_IMPL_H */
