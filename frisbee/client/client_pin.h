/* client_pin.h: whose packets count as the server's.
 *
 * The first usable answer to JOIN pins its sender's address.  From then on blocks,
 * parity and everything else that a server says count only from that address.  The pin
 * is provisional until a chunk that came from it alone was proved; until then another
 * answer moves it when no blocks come from it, or wrong ones.  A proved pin moves only
 * when nothing at all came from it for two seconds, to whoever answers a JOIN with the
 * same image.
 *
 * A neighbour can get that proof by repeating the server's own blocks.  So when others
 * answer with the same image, too, a proved pin also moves when no blocks came from it
 * for two seconds, when one of its chunks is wrong, or when another one sends far more
 * of what is lacking; and whoever was given up does not come back soon.
 * docs/protocol-rules.md ("Whom to believe") says what is promised against which
 * neighbours.
 */
#ifndef FRISBEE_CLIENT_CLIENT_PIN_H
#define FRISBEE_CLIENT_CLIENT_PIN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/wirext.h"

/* As many other senders of the same image are watched.  When there are more, the one that
 * sent least of what was lacking is forgotten. */
enum { CLIENT_PIN_OTHERS = 4 };

/* Another sender that says that it serves the same image. */
struct client_pin_other {
	bool known;
	bool given_up; /* it was pinned, and another one took its place */
	uint8_t addr[4];
	uint32_t missed; /* blocks of it that were lacking, and not taken, lately */
};

/* Only client_pin.c writes it. */
struct client_pin {
	uint32_t number; /* of senders that were pinned so far; 0: nobody is */
	uint8_t addr[4];
	bool proved;        /* a chunk that came from this sender alone was proved */
	bool doubted;       /* a chunk from it was wrong, and it may be no server */
	uint64_t heard_us;  /* its last packet */
	uint64_t blocks_us; /* its last block or parity, or the beginning */
	bool named;         /* the user named the server: nobody else will do */
	bool believed;      /* whoever is pinned counts as proved */
	uint64_t spread_us; /* this client asks later than others by this time */
	/* Of the image that is loaded, as its sender says; not all servers say it. */
	bool identified;
	uint8_t identity[WIREXT_IDENTITY_BYTES];
	/* A sender of another image that was heard, too; or, where the user named the
	 * server, another one that answered (ignored). */
	bool disputed, ignored;
	uint8_t other[4];
	uint32_t needed;    /* blocks of it that were lacking, lately; with others alone */
	struct client_pin_other others[CLIENT_PIN_OTHERS];
};

/* named: the user said who the server is.  any_file: the load is of a file in which nothing
 * proves the sender.  The seed tells clients apart that ask at the same time. */
void client_pin_begin(struct client_pin *, bool named, bool any_file, uint64_t seed);
/* The sender of this answer is pinned. */
void client_pin_set(struct client_pin *, uint64_t now_us, const uint8_t from[4]);
/* The pinned sender says which image it serves.  NULL: it does not say it. */
void client_pin_identify(struct client_pin *, const uint8_t *identity);
/* Is an image with this identity (NULL: not known) another one than the one that is
 * loaded? And is it certainly the same? */
bool client_pin_other_image(const struct client_pin *, const uint8_t *identity);
bool client_pin_same_image(const struct client_pin *, const uint8_t *identity);
/* Is the packet from the pinned sender?  Then the sender was heard. */
bool client_pin_hears(struct client_pin *, uint64_t now_us, const uint8_t from[4]);
/* A block or parity came from the pinned sender. */
void client_pin_block(struct client_pin *, uint64_t now_us);
/* A chunk was proved that came from pinned senders with this number alone. */
void client_pin_prove(struct client_pin *, uint32_t number);
/* Another sender says that it serves another image. */
void client_pin_dispute(struct client_pin *, const uint8_t from[4]);
/* Another one than the server that the user named has answered. */
void client_pin_ignore(struct client_pin *, const uint8_t from[4]);
/* Another sender says that it serves the same image. */
void client_pin_rival(struct client_pin *, const uint8_t from[4]);
/* Is another one known?  Then what is lacking is to be counted, of the pinned sender and
 * of others. */
bool client_pin_has_rival(const struct client_pin *);
/* This number of blocks came that were lacking: from the pinned sender, or from another
 * one. */
void client_pin_needed(struct client_pin *, uint32_t blocks);
void client_pin_missed(struct client_pin *, const uint8_t from[4], uint32_t blocks);
/* A chunk that came from the pinned sender alone was wrong. */
void client_pin_doubt(struct client_pin *);
/* The client itself kept the sender silent until now. */
void client_pin_excuse(struct client_pin *, uint64_t now_us);

/* May this other sender, which answers, take the place of the pinned one? */
bool client_pin_may_move(
    const struct client_pin *, uint64_t now_us, const uint8_t from[4]);
/* When to ask by JOIN who else is there; UINT64_MAX: never. */
uint64_t client_pin_ask_at_us(const struct client_pin *);
/* When a proved sender that stays silent, or sends no blocks beside another one, is given
 * up. */
uint64_t client_pin_lost_at_us(const struct client_pin *);

#endif /* FRISBEE_CLIENT_CLIENT_PIN_H */
