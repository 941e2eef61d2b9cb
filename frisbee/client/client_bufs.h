/* client_bufs.h: the chunk buffers, and what each of them lacks.  It knows no packets,
 * and no time except its arguments.
 *
 * A buffer is free, filling (some blocks are here, others will come), complete (all
 * needed blocks are here), or taken by the shell.  A parity block may lie in the place
 * of a missing block; it counts for its group, of which it can replace any block.
 */
#ifndef FRISBEE_CLIENT_CLIENT_BUFS_H
#define FRISBEE_CLIENT_CLIENT_BUFS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/blockmap.h"
#include "common/wire/wirext.h"
#include "frisbee/client/client_chunks.h"
#include "frisbee/client/client_damage.h"

enum buffer_state { BUFFER_FREE, BUFFER_FILLING, BUFFER_COMPLETE, BUFFER_TAKEN };

/* The blocks that any client was heard to lack.  Only client_nack.c writes it,
 * except that a new buffer begins with an empty one. */
struct client_nacked {
	uint8_t most[WIREXT_GROUPS]; /* blocks of each group */
	uint64_t at_us; /* the last NACK that named more blocks than those before */
};

/* Only client_bufs.c writes it. */
struct client_buffer {
	enum buffer_state state;
	bool dubious; /* the beginning of its chunk was dropped, so another chunk may
	                 take it */
	uint32_t chunk;
	uint32_t nmissing;
	struct blockmap missing;
	struct blockmap
	    need;       /* the chunk counts as complete when these blocks are here */
	bool final;     /* `need` will not grow any more */
	uint32_t nlack; /* how many blocks, or parity in their place, are still needed */
	uint8_t lack[WIREXT_GROUPS]; /* nlack by group */
	uint8_t
	    parity_at[WIRE_CHUNK_BLOCKS]; /* 1 + its index; 0: no parity lies there */
	uint8_t newest[WIREXT_GROUPS];    /* 1 + index of the parity that came last */
	bool spent;   /* parity that is here came again: the server has no other */
	uint32_t end; /* the blocks of its empty end are here, from this one on; 0: none */
	uint32_t pin; /* the number of the pinned sender that its blocks came from */
	bool mixed;   /* some came from another sender */
	uint64_t repeats_us;  /* since when nothing came of it but what was here already, and
	                         that again and again; 0: it is not so */
	uint64_t repeated_us; /* when such a thing came last */
	uint64_t passed_us;  /* when its last pass ended */
	uint64_t settled_us; /* when no block of that pass can be on its way any more */
	struct client_nacked nacked;
	struct client_damage damage;
};

/* Only client_bufs.c writes it. */
struct client_bufs {
	struct client_buffer *at;
	uint32_t n;
	/* The numbers of the buffers that are free, filling in the order in which they
	 * began, and complete: a ring.  All others are taken. */
	uint32_t *free, *filling, *complete;
	uint32_t nfree, nfilling, ncomplete, complete_head;
	bool in_order;
	uint32_t again; /* in order: this chunk arrived damaged, and is taken first */
	bool has_again;     /* there is such a chunk */
	uint32_t ntaken; /* chunks that are final and taken by the shell, or were on the
	                    disk already */
	uint32_t nreleased; /* how many of their buffers the shell has given back */
	struct blockmap zeros;
};

/* Make n buffers, all free. in_order: the shell takes chunks in order.  Returns
 * false without memory; client_bufs_free() is needed then, too. */
bool client_bufs_make(struct client_bufs *, uint32_t n, bool in_order);
/* Free the memory: there are no buffers then. */
void client_bufs_free(struct client_bufs *);
/* The number of this buffer. */
static inline uint32_t
client_bufs_number(const struct client_bufs *bufs, const struct client_buffer *b)
{
	return (uint32_t)(b - bufs->at);
}
/* Is there no buffer that could receive a block? */
bool client_bufs_starved(const struct client_bufs *);

/* What is known of a chunk that begins. */
struct client_beginning {
	uint32_t chunk, blocks;
	struct blockmap need; /* at first */
	bool final;           /* `need` will not grow any more */
	bool dubious;
	uint32_t pin; /* the number of the sender */
};
/* Give a free buffer to this chunk.  There must be one. */
struct client_buffer *client_bufs_begin(
    struct client_bufs *, const struct client_beginning *);
/* Free the buffer of a dubious chunk other than `kept`, for another chunk.  Returns
 * it, or NULL if there is none. */
const struct client_buffer *client_bufs_drop_dubious(
    struct client_bufs *, uint32_t kept);
/* The chunk is not dubious any more: all of it was requested. */
void client_buffer_sure(struct client_buffer *);

/* What happened to a block: it was here already; it was missing; it was missing, and
 * the chunk is complete now. */
enum buffer_came { BUFFER_HAD, BUFFER_GOT, BUFFER_ENDS };
/* This block came from the sender with this number. */
enum buffer_came client_bufs_block(
    struct client_bufs *, struct client_buffer *, uint32_t block, uint32_t pin);
/* A parity block arrived.  *place is where it is stored.  Returns BUFFER_HAD if it
 * is not needed. */
enum buffer_came client_bufs_parity(struct client_bufs *, struct client_buffer *,
    uint32_t group, uint32_t index, uint32_t pin, uint32_t *place);
/* It is known now which blocks of its chunk are empty: those from `end` on. */
void client_buffer_ends(struct client_buffer *, uint32_t end);
/* These blocks must be filled with zeros.  Returns a copy of the set that is valid
 * until the next call. */
const struct blockmap *client_bufs_zeros(struct client_bufs *, const struct blockmap *);
/* The needed blocks that are still missing. */
struct blockmap client_lack(const struct client_buffer *);

/* Something of the chunk has come that was lacking, or was asked for. */
void client_buffer_moved(struct client_buffer *);
/* Something of the chunk has come that was here already. */
void client_buffer_repeated(struct client_buffer *, uint64_t now_us);
/* A pass of the chunk has ended.  Blocks of it may still arrive until settled_us. */
void client_buffer_passed(struct client_buffer *, uint64_t now_us, uint64_t settled_us);
/* Change that time. */
void client_buffer_settle(struct client_buffer *, uint64_t settled_us);
/* No block of any pass is on its way any more. */
void client_bufs_settle_all(struct client_bufs *, uint64_t now_us);
/* The next time after now at which one of the chunks that are filling is settled, or `at`
 * when that is earlier. */
uint64_t client_bufs_settled_before(
    const struct client_bufs *, uint64_t now_us, uint64_t at);

/* Take the next complete chunk.  With k (in order), only the next chunk in order is
 * taken.  Returns NULL if there is none. */
const struct client_buffer *client_bufs_take(
    struct client_bufs *, const struct client_chunks *k);
/* More blocks are needed of a chunk that was taken. final: no others will be.
 * Returns true if all of them are here, so that the chunk is complete again. */
bool client_bufs_need(struct client_bufs *, struct client_buffer *,
    const struct blockmap *need, bool final, uint64_t settled_us);
/* Which part of a chunk arrived damaged. */
struct client_lost {
	uint32_t blocks;     /* of the chunk in all */
	uint32_t pin;        /* the number of the sender that is pinned now */
	struct blockmap bad; /* damaged blocks */
	bool parts;          /* the chunk was loaded in parts */
	uint64_t settled_us;
};
/* The chunk is filling again.  Returns how many of the blocks had not been needed
 * before. */
uint32_t client_bufs_lose(
    struct client_bufs *, struct client_buffer *, const struct client_lost *);
/* The shell gives a buffer back. */
void client_bufs_release(struct client_bufs *, uint32_t buf);
/* A chunk needs no buffer, because it is on the disk already; or it needs one after
 * all. */
void client_bufs_skip_chunk(struct client_bufs *);
void client_bufs_want_chunk(struct client_bufs *);

/* Must the blocks of the chunk themselves be requested?  This is so if all parity of
 * a group has been sent, or parity is not trusted. */
static inline bool
client_asks_blocks(const struct client_buffer *b)
{
	return client_damage_suspects(&b->damage) || b->spent;
}

#endif /* FRISBEE_CLIENT_CLIENT_BUFS_H */
