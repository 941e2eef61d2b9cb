/* client_pin.h: whose packets count as the server's.
 *
 * The first usable answer to JOIN pins its sender's address.  From then on blocks,
 * parity and everything else that a server says count only from that address.  The pin
 * is provisional until a chunk that came from it alone was proved; until then another
 * answer moves it when no blocks come from it, or wrong ones.  A proved pin moves only
 * when nothing at all came from it for two seconds, to whoever answers a JOIN with the
 * same image.  docs/protocol-rules.md ("Whom to believe") says what is promised against which
 * neighbours.
 */
#ifndef FRISBEE_CLIENT_CLIENT_PIN_H
#define FRISBEE_CLIENT_CLIENT_PIN_H

#include <stdbool.h>
#include <stdint.h>

/* Only client_pin.c writes it. */
struct client_pin {
	uint32_t number; /* of senders that were pinned so far; 0: nobody is */
	uint8_t addr[4];
	bool proved;        /* a chunk that came from this sender alone was proved */
	bool doubted;       /* a chunk from it was wrong before any was proved */
	uint64_t heard_us;  /* its last packet */
	uint64_t blocks_us; /* its last block or parity, or the beginning */
	bool named;         /* the user named the server: nobody else will do */
	bool believed;      /* whoever is pinned counts as proved */
	uint64_t spread_us; /* this client asks later than others by this time */
};

/* named: the user said who the server is.  any_file: the load is of a file in which nothing
 * proves the sender.  The seed tells clients apart that ask at the same time. */
void client_pin_begin(struct client_pin *, bool named, bool any_file, uint64_t seed);
/* The sender of this answer is pinned. */
void client_pin_set(struct client_pin *, uint64_t now_us, const uint8_t from[4]);
/* Is the packet from the pinned sender?  Then the sender was heard. */
bool client_pin_hears(struct client_pin *, uint64_t now_us, const uint8_t from[4]);
/* A block or parity came from the pinned sender. */
void client_pin_block(struct client_pin *, uint64_t now_us);
/* A chunk was proved that came from pinned senders with this number alone. */
void client_pin_prove(struct client_pin *, uint32_t number);
/* A chunk that came from the pinned sender alone was wrong. */
void client_pin_doubt(struct client_pin *);
/* The client itself kept the sender silent until now. */
void client_pin_excuse(struct client_pin *, uint64_t now_us);

/* May another sender that answers take the place of the pinned one? */
bool client_pin_may_move(const struct client_pin *, uint64_t now_us);
/* When to ask by JOIN who else is there; UINT64_MAX: never. */
uint64_t client_pin_ask_at_us(const struct client_pin *);
/* When a proved sender that stays silent is given up. */
uint64_t client_pin_lost_at_us(const struct client_pin *);

#endif /* FRISBEE_CLIENT_CLIENT_PIN_H */
