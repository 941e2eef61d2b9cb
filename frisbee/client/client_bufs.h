/* client_bufs.h: the chunk buffers, and what each of them lacks.  It knows no packet and no time
 * but what it is told.
 *
 * A buffer is free, filling (some blocks are here, others are to come), complete (all that is
 * needed is here), or taken by the shell.  With parity, a block of parity may lie where a
 * missing block will be; each counts for its group, any block of which it can replace.
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

/* What any client was heard to report as lacking.  Only client_nack.c writes it, but for
 * the buffer that begins with an empty one. */
struct client_nacked {
	uint8_t most[WIREXT_GROUPS]; /* blocks of each group */
	uint64_t at_us; /* the last report that said more than those before */
};

/* Only client_bufs.c writes it. */
struct client_buffer {
	enum buffer_state state;
	bool dubious; /* the beginning of its chunk was dropped: it may give way */
	uint32_t chunk;
	uint32_t nmissing;
	struct blockmap missing;
	struct blockmap
	    need;       /* the chunk counts as complete when these blocks are here */
	bool final;     /* need will not grow any more */
	uint32_t nlack; /* blocks or parity that are still needed, */
	uint8_t lack[WIREXT_GROUPS]; /* and how many of each group */
	uint8_t
	    parity_at[WIRE_CHUNK_BLOCKS]; /* 1 + its index; 0: no parity lies there */
	uint8_t newest[WIREXT_GROUPS];    /* 1 + index of the parity that came last */
	bool spent;   /* parity that is here came again: the server has no other */
	bool ended;   /* the blocks of its empty end are here */
	uint32_t pin; /* its blocks came from the sender with this number */
	bool mixed;   /* and from another one */
	uint64_t passed_us;  /* when its last pass ended */
	uint64_t settled_us; /* when nothing of that pass is on its way any more */
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
	uint32_t again;     /* in order: this chunk came damaged, and goes first */
	bool has_again;     /* there is such a chunk */
	uint32_t ntaken;    /* chunks that are final and taken, or that the shell had */
	uint32_t nreleased; /* of their buffers, those that were given back */
	struct blockmap zeros;
};

/* This number of buffers, all free; in_order: chunks are given out in order.  False: there
 * is not enough memory; client_bufs_free() is needed all the same. */
bool client_bufs_make(struct client_bufs *, uint32_t n, bool in_order);
/* Free the memory: there are no buffers then. */
void client_bufs_free(struct client_bufs *);
/* The number of this buffer. */
static inline uint32_t
client_bufs_number(const struct client_bufs *bufs, const struct client_buffer *b)
{
	return (uint32_t)(b - bufs->at);
}
/* Is there no buffer that anything could come for? */
bool client_bufs_starved(const struct client_bufs *);

/* What is known of a chunk that begins. */
struct client_beginning {
	uint32_t chunk, blocks;
	struct blockmap need; /* at first */
	bool final;           /* and it will not grow */
	bool dubious;
	uint32_t pin; /* the number of the sender */
};
/* A free buffer, of which there is one, is this chunk's. */
struct client_buffer *client_bufs_begin(
    struct client_bufs *, const struct client_beginning *);
/* Give up a dubious chunk other than `kept` for one that begins; NULL: there is none. */
const struct client_buffer *client_bufs_drop_dubious(
    struct client_bufs *, uint32_t kept);
/* The chunk is not dubious any more: it was asked for, whole. */
void client_buffer_sure(struct client_buffer *);

/* What became of a block: it was here already; it was missing; and with it the chunk became
 * complete. */
enum buffer_came { BUFFER_HAD, BUFFER_GOT, BUFFER_ENDS };
/* This block came from the sender with this number. */
enum buffer_came client_bufs_block(
    struct client_bufs *, struct client_buffer *, uint32_t block, uint32_t pin);
/* This parity came; when it is of use, *place is where it goes.  BUFFER_HAD: it is not. */
enum buffer_came client_bufs_parity(struct client_bufs *, struct client_buffer *,
    uint32_t group, uint32_t index, uint32_t pin, uint32_t *place);
/* It is known which blocks of its chunk are empty. */
void client_buffer_ended(struct client_buffer *);
/* These are to be filled with zeros.  Returns a copy that lasts until the next time. */
const struct blockmap *client_bufs_zeros(struct client_bufs *, const struct blockmap *);
/* What is still lacking of what is needed. */
struct blockmap client_lack(const struct client_buffer *);

/* A pass of the chunk has ended; until settled_us something of it may still come. */
void client_buffer_passed(struct client_buffer *, uint64_t now_us, uint64_t settled_us);
/* That time is another one. */
void client_buffer_settle(struct client_buffer *, uint64_t settled_us);
/* Nothing of any pass is on its way any more. */
void client_bufs_settle_all(struct client_bufs *, uint64_t now_us);
/* The next time after now at which one of the chunks that are filling is settled, or `at`
 * when that is earlier. */
uint64_t client_bufs_settled_before(
    const struct client_bufs *, uint64_t now_us, uint64_t at);

/* The next complete chunk is taken; with k, in order, it may have to be awaited.  NULL: there
 * is none. */
const struct client_buffer *client_bufs_take(
    struct client_bufs *, const struct client_chunks *k);
/* A chunk that was taken is needed with these blocks, too.  final: and with no more.  True:
 * they are all here, so it is complete again. */
bool client_bufs_need(struct client_bufs *, struct client_buffer *,
    const struct blockmap *need, bool final, uint64_t settled_us);
/* What was lost of a chunk that came damaged. */
struct client_lost {
	uint32_t blocks;     /* of the chunk in all */
	uint32_t pin;        /* the number of the sender that is pinned now */
	struct blockmap bad; /* damaged blocks */
	bool parts;          /* the chunk was loaded in parts */
	uint64_t settled_us;
};
/* It is filling again.  Returns how many of the blocks had not been needed before. */
uint32_t client_bufs_lose(
    struct client_bufs *, struct client_buffer *, const struct client_lost *);
/* The shell gives a buffer back. */
void client_bufs_release(struct client_bufs *, uint32_t buf);
/* A chunk needs no buffer, since the shell has it; or needs one after all. */
void client_bufs_skip_chunk(struct client_bufs *);
void client_bufs_want_chunk(struct client_bufs *);

/* Are the very blocks of the chunk to be asked for?  All parity of a group has been sent, or
 * parity is not trusted. */
static inline bool
client_asks_blocks(const struct client_buffer *b)
{
	return client_damage_suspects(&b->damage) || b->spent;
}

#endif /* FRISBEE_CLIENT_CLIENT_BUFS_H */
