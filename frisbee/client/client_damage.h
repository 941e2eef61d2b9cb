/* client_damage.h: a chunk that came damaged: which blocks are accepted when it is asked
 * for again, and when the server's own copy must be the reason.
 *
 * A neighbour that forges the server's address can spoil any chunk, as often as it comes;
 * that must not end a load.  It cannot keep the server's own blocks away, though: they
 * come, too, and differ.  So from the first damage on a checksum is kept of each block of
 * the chunk, and a chunk of which a block came with two contents, at once or one after
 * the other, is only asked for again.  So is one whose blocks came from two senders.
 * From the second time on nothing of the chunk is taken before somebody has asked for it,
 * so that what was forged does not make the server's answer needless.
 */
#ifndef FRISBEE_CLIENT_CLIENT_DAMAGE_H
#define FRISBEE_CLIENT_CLIENT_DAMAGE_H

#include <stdbool.h>
#include <stdint.h>

/* Only client_damage.c writes it, but for the buffer that begins with an empty one. */
struct client_damage {
	unsigned times; /* the chunk came damaged since it got its buffer */
	unsigned
	    counted; /* those of the last times that came from one sender, undisputed */
	uint64_t since_us; /* when the first of these was */
	uint64_t rest_us;  /* the chunk is not asked for before this time */
	bool plain;        /* client_damage_suspects() */
	bool closed;       /* no block is taken before somebody asked for the chunk */
	bool disputed;     /* since the last damage, a block arrived that differed from
	                      before */
	uint32_t *sums; /* of the blocks that came, 0: not known; NULL: none are kept */
};

/* A block of the chunk arrived, needed or not; it has WIRE_BLOCK_BYTES. */
void client_damage_compare(struct client_damage *, uint32_t block, const uint8_t *data);
/* A client requested the chunk, so blocks that arrive may be the answer. */
void client_damage_asked(struct client_damage *);
/* The chunk arrived damaged once more. one_sender: all of it came from the pinned
 * sender.  Returns true if, as far as can be known, it arrived as the server sent
 * it. */
bool client_damage_count(struct client_damage *, uint64_t now_us, bool one_sender);
/* Is the server's own copy damaged, as far as can be known? */
bool client_damage_is_servers(const struct client_damage *, uint64_t now_us);
/* The chunk is requested again. plain: other chunks wait for it, so only blocks are
 * accepted, and no parity. */
void client_damage_begin_anew(struct client_damage *, uint64_t now_us, bool plain);
/* The buffer belongs to no chunk any more. */
void client_damage_end(struct client_damage *);

/* The chunk came damaged more than once, or all others wait for it: only blocks themselves
 * are taken, no parity and no word of an empty end, and they are asked for by requests of
 * the base protocol, which the server serves first. */
static inline bool
client_damage_suspects(const struct client_damage *d)
{
	return d->plain;
}

#endif /* FRISBEE_CLIENT_CLIENT_DAMAGE_H */
