/* client.h: the client's protocol engine: packets and time in, packets out.
 *
 * The engine has no socket, clock, thread or block memory.  The shell owns `buffers`
 * numbered chunk buffers; the engine says where each block goes:
 *
 *	client_input()		a datagram: may answer "store block b in buffer k"
 *	client_output()		the next packet to send now, if any
 *	client_deadline()	when to call client_output() again
 *	client_take()		a complete chunk and its buffer, for the shell
 *	client_release()	the shell no longer needs that buffer
 *	client_finish()		all is written: queue LEAVE2
 *
 * Chunks are asked for in random order, drawn from the seed, or in sequence.  Any block
 * that is of use is taken, whichever client asked for it.  Policies decide what is asked
 * for, and when: client_requests.h for the base protocol, client_credit.h and
 * client_nack.h for the extension.  client_impl.h says what the engine is made of.
 */
#ifndef FRISBEE_CLIENT_CLIENT_H
#define FRISBEE_CLIENT_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/wire/blockmap.h"
#include "common/wire/wire.h"
#include "common/wire/wirext.h"
#include "frisbee/client/client_counters.h"

#define CLIENT_NEVER UINT64_MAX

struct client_config {
	uint32_t clientid; /* random */
	uint64_t seed;     /* of the order */
	uint8_t srcip[4];
	bool any_file;   /* -N: join with JOIN2 */
	bool has_server; /* -S: only this one is the server: client_pin.h */
	uint8_t server[4];
	uint32_t buffers;        /* chunk buffers that the shell has, >= 1 */
	uint32_t readahead;      /* -R, usual 2 */
	uint32_t in_progress;    /* usual 8, or 4 * readahead if larger */
	uint64_t redo_us;        /* -I, usual 1 s */
	uint64_t tick_us;        /* usual 30 ms */
	uint32_t idle_ticks;     /* usual 3 */
	uint64_t join_us;        /* usual 0.5 s */
	uint64_t start_delay_us; /* -r, already drawn */
	uint64_t silence_us;     /* -T: give up after this silence; 0: never */
	bool sequential; /* -O */
	/* Chunk 0 is wanted before all others: the installation waits for its
	 * content, and may keep all buffers except one until then. */
	bool chunk0_first;
	/* Which chunks are on the disk already; called once for each chunk when
	 * their number is known.  NULL: none are. */
	bool (*has)(void *arg, uint32_t chunk);
	void *has_arg;
	/* Some chunks may be on the disk, so the client names those that it wants. */
	bool resumes;
	/* The shell takes chunks in order, and a chunk gets a buffer only if it is
	 * certain that the buffer will be released.  Implies sequential; cannot be
	 * combined with has. */
	bool in_order;
	/* The number of blocks of each chunk that are needed at first; then client_need() says
	 * which others are.  0: all are needed at once.  Not for whole files, in_order or
	 * parity. */
	uint32_t first_blocks;
	bool unicast; /* the server serves this client alone; its cookie is sent back */
	bool ext;     /* offer the extension (docs/protocol-rules.md) */
	bool parity;  /* offer parity, too: the shell can decode it */
};

enum client_state {
	CLIENT_JOINING,
	CLIENT_LOADING,
	CLIENT_COMPLETE, /* every chunk was taken; the engine waits for client_finish()
	                  */
	CLIENT_LEFT,     /* LEAVE2 has been sent */
	CLIENT_GAVE_UP,  /* -T */
	CLIENT_REFUSED,  /* the reply cannot be used; see client_error() */
};

/* What client_input() wants done with the packet's data. */
struct client_store {
	uint32_t buf, chunk, block;
	const uint8_t *data; /* in the packet: WIRE_BLOCK_BYTES each, from `block` on */
	uint8_t which;       /* those to store: bit i is for block + i */
	/* These are not in the packet: they are all zero.  NULL: none. */
	const struct blockmap *zeros;
	/* How many blocks of the packet, from `block` on, are blocks that a reader waits
	 * for (client_read()) or has waited for, here or on another machine.  They are
	 * not proved, and in no buffer unless `which` says so. */
	uint32_t beside;
};

/* Copy the blocks of *st, and its zeros, into the chunk's buffer. */
static inline void
client_store_into(const struct client_store *st, uint8_t *chunk)
{
	for (uint32_t i = 0; st->which >> i != 0; i++)
		if (st->which >> i & 1)
			memcpy(chunk + (size_t)(st->block + i) * WIRE_BLOCK_BYTES,
			    st->data + (size_t)i * WIRE_BLOCK_BYTES, WIRE_BLOCK_BYTES);
	for (uint32_t b = st->zeros != NULL ? blockmap_next(st->zeros, 0)
	                                    : WIRE_CHUNK_BLOCKS;
	     b < WIRE_CHUNK_BLOCKS; b = blockmap_next(st->zeros, b + 1))
		memset(chunk + (size_t)b * WIRE_BLOCK_BYTES, 0, WIRE_BLOCK_BYTES);
}

struct client;

/* Packets that wirext_is() recognises go to, and come from, the second port. */
struct client *client_new(const struct client_config *, uint64_t now_us);
void client_free(struct client *);
/* A packet arrived from this address.  If it returns true, the shell must do *store
 * before it calls anything else. */
bool client_input(struct client *, uint64_t now_us, const void *pkt, size_t len,
    const uint8_t from[4], struct client_store *store);
/* The address that this client sends from has changed. */
void client_set_address(struct client *, const uint8_t addr[4]);
/* Put the next packet into pkt[WIRE_PACKET_MAX].  Returns its length, or 0 if there
 * is none. */
size_t client_output(struct client *, uint64_t now_us, void *pkt);
uint64_t client_deadline(const struct client *, uint64_t now_us);
/* One complete chunk that was not taken yet: its number, buffer and length in
 * bytes (short only for the last one of a file that is not an image). */
bool client_take(struct client *, uint32_t *chunk, uint32_t *buf, uint32_t *bytes);
/* With first_blocks: are all blocks here that are needed of the chunk in this
 * buffer?  If not, client_need() must be called next, and not client_release(). */
bool client_is_final(const struct client *, uint32_t buf);
/* Which blocks of the chunk in this buffer are here. */
struct blockmap client_here(const struct client *, uint32_t buf);
/* Is there a buffer, not released yet, with blocks of this chunk?  Then *buf is its number, and
 * *here has the blocks that lie in their places there; parity may lie in other places. */
bool client_has_some(
    const struct client *, uint32_t chunk, uint32_t *buf, struct blockmap *here);
/* These blocks are needed, too, of a chunk that was taken; final: no others will be.  The chunk
 * is taken again when they are here.  Meanwhile other blocks of it may be stored. */
void client_need(struct client *, uint64_t now_us, uint32_t buf,
    const struct blockmap *need, bool final);
/* Between client_take() and client_release(): where parity lies instead of blocks,
 * as 1 + its index, 0 elsewhere, for each of the chunk's WIRE_CHUNK_BLOCKS places;
 * NULL: nowhere.  The shell decodes (common/wire/parity.h). */
const uint8_t *client_parity(const struct client *, uint32_t buf);
/* Instead of client_release(): these blocks of a chunk that was taken are damaged, and needed
 * again; where parity lay there are blocks now.  The chunk is taken again when they are here, in
 * order before those that were taken already.  Returns 0; or how often the chunk came damaged,
 * when the server's own copy is damaged and the load cannot be completed. */
unsigned client_again(
    struct client *, uint64_t now_us, uint32_t buf, const struct blockmap *bad);
/* This chunk is needed after all, or once more.  It must not be on its way.  Call
 * this before the last chunk that was taken is released; otherwise client_finish()
 * may come first. */
void client_want(struct client *, uint64_t now_us, uint32_t chunk);
/* This chunk is needed now, before all others, also before the reply: it is asked for by
 * URGENT, or by a request of the base protocol where the server does not know that, as
 * soon as there is a free buffer, of which the last one is kept for it.  It means nothing
 * for a chunk that was taken, that is not asked for (cfg.has), or that comes in order.
 * When more than CLIENT_URGENT_MAX such chunks are lacking, the one that was named first
 * loses its priority. */
enum { CLIENT_URGENT_MAX = 64 };
void client_urgent(struct client *, uint64_t now_us, uint32_t chunk);
/* These blocks of a chunk are needed now, before all others, by a reader that can use
 * them before the chunk is complete: client_store.beside has them as soon as they come.
 * A server that knows URGENT is asked for them alone, and they need no buffer; of another
 * one the chunk is asked for as by client_urgent().  It means nothing for a chunk that
 * was taken.  The limit is that of client_urgent(). */
void client_read(
    struct client *, uint64_t now_us, uint32_t chunk, const struct blockmap *need);
/* The image that is being loaded, as the server describes it. */
struct client_image {
	uint32_t chunks;
	uint64_t bytes; /* of a file that is no image, the last chunk may be shorter */
	bool has_identity; /* the server speaks the extension: */
	uint8_t identity[WIREXT_IDENTITY_BYTES];
};
/* Returns false if no server has answered yet. */
bool client_image(const struct client *, struct client_image *);
/* The second port, if it was negotiated; 0: there is none. */
uint16_t client_second_port(const struct client *);
/* The second port cannot be opened, so the base protocol is used. */
void client_no_second_port(struct client *);
/* True until every chunk was taken; then the group may be left. */
bool client_wants_blocks(const struct client *);
/* The chunk in the buffer was proved, and is where it belongs. */
void client_release(struct client *, uint64_t now_us, uint32_t buf);
/* Before client_finish(): is the whole image installed?  The server shows it to its users. */
void client_set_outcome(struct client *, bool whole);
/* The shell's part of the statistics: bytes written, blocked counts, ... */
void client_finish(
    struct client *, uint64_t now_us, const struct wire_stats *shell_part);

enum client_state client_state(const struct client *);
/* When the server was last heard; the start of the load, if never. */
uint64_t client_heard_us(const struct client *);
const char *client_error(const struct client *);
/* Whose image is loaded; {0} before the reply. */
const uint8_t *client_server(const struct client *);
/* Another server of the group that says that it serves another image; NULL: none was
 * heard. */
const uint8_t *client_other_server(const struct client *);
/* Another server than the one that -S names has answered last, and was ignored; NULL:
 * none. */
const uint8_t *client_ignored_server(const struct client *);
/* How often loading has begun; 0 before the reply.  It begins anew, with nothing taken, when the
 * first answer was not the server's. */
uint32_t client_images(const struct client *);
uint32_t client_chunks(const struct client *);      /* 0 before the reply */
uint64_t client_image_bytes(const struct client *); /* 0 before the reply */
uint32_t client_chunks_taken(const struct client *);
/* The counters so far. */
struct client_counters client_counters(const struct client *);

#endif /* FRISBEE_CLIENT_CLIENT_H */
