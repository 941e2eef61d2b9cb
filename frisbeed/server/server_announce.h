/* server_announce.h: when STATE is sent, and what it says.
 *
 * STATE tells all clients with the extension which chunks still come.  It is sent once
 * a second; when nothing comes any more, more often, so that a client that lacks
 * something notices and says so; and less often again when nobody answers.
 *
 * Only server_announce.c writes struct server_announce.
 */
#ifndef FRISBEED_SERVER_SERVER_ANNOUNCE_H
#define FRISBEED_SERVER_SERVER_ANNOUNCE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/wirext.h"

/* What is to be announced, as the engine knows it now. */
struct server_scene {
	uint32_t clients; /* with the extension */
	uint64_t sent;    /* blocks and parity blocks so far */
	bool idle;        /* nothing is wanted */
	bool held;        /* what is wanted waits for credit */
	bool silent;      /* nothing is wanted, or what is wanted waits for credit, and no
	                     client sends any message */
	bool interleave;  /* the blocks of eight chunks are interleaved */
};

struct server_announce {
	bool used;           /* a client with the extension has been heard */
	bool stale;          /* the file has changed */
	bool pending;        /* STATE is to be sent at once */
	bool asks;           /* ... and asks who hears everything */
	uint64_t heard_us;   /* the last message of the extension; 0: all have left */
	uint64_t said_us;    /* the last STATE */
	uint64_t
	    idle_told; /* how many blocks had been sent when idleness was announced */
	bool interleave_told;      /* what was announced last of interleaving */
	uint32_t interleave_again; /* how often this is still to be repeated */
	uint32_t first;            /* the first chunk of the next map */
};

void server_announce_init(struct server_announce *);
/* A client with the extension was heard. */
void server_announce_heard(struct server_announce *, uint64_t now_us);
/* The last of them has left: nobody is to be told anything. */
void server_announce_alone(struct server_announce *);
/* Send STATE at once. */
void server_announce_now(struct server_announce *);
/* ... and ask who hears everything. */
void server_announce_ask(struct server_announce *);
/* The file has changed: from now on only this is announced. */
void server_announce_stale(struct server_announce *);
/* When STATE is sent next; UINT64_MAX: not until something happens. */
uint64_t server_announce_at(
    const struct server_announce *, uint64_t now_us, const struct server_scene *);
/* The chunks that the next STATE describes: as many as fit; successive STATEs go round
 * all of them.  The caller sets a bit for each chunk that will still be sent. */
struct wirext_map server_announce_map(const struct server_announce *, uint32_t nchunks,
    const uint8_t bits[WIREXT_MAP_CHUNKS / 8]);
/* STATE with that map, without the sender's address, session and identity. */
void server_announce_say(struct server_announce *, uint64_t now_us,
    const struct server_scene *, uint32_t nchunks, const struct wirext_map *,
    struct wirext_msg *);

#endif /* FRISBEED_SERVER_SERVER_ANNOUNCE_H */
