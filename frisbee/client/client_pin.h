/* client_pin.h: whose packets count as the server's, and what may end a load.
 *
 * The first usable answer to JOIN pins its sender's address.  From then on blocks,
 * parity and everything else that a server says count only from that address.  The pin
 * is provisional until a chunk that came from it alone was proved; until then another
 * answer moves it when no blocks come from it, or wrong ones.  A proved pin moves only
 * when nothing at all came from it for two seconds, to whoever answers a JOIN with the
 * same image.  docs/protocol.md says what is promised against which neighbours.
 *
 * A claim is a message of the pinned sender's that would end the load: another image, a
 * file that was changed.  One packet with a forged address can say so; it is believed
 * when it is repeated for a second in which nothing speaks for the image that was begun,
 * though the server is asked by JOIN all the time.
 */
#ifndef FRISBEE_CLIENT_CLIENT_PIN_H
#define FRISBEE_CLIENT_CLIENT_PIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct client_pin {
	uint32_t number; /* so many were pinned so far; 0: nobody is */
	uint8_t addr[4];
	bool proved;  /* a chunk that came from it alone was */
	bool doubted; /* ... or was wrong, before any was proved */
	uint64_t heard_us;  /* its last packet */
	uint64_t blocks_us; /* its last block or parity, or the beginning */
};

struct client_claim {
	const char *why;   /* what is claimed; NULL: nothing is */
	uint8_t addr[4];   /* by whom */
	uint64_t since_us; /* for the first time, */
	uint64_t last_us;  /* ... and lastly */
	uint64_t ask_us;   /* the server is asked then */
	bool denied;       /* ever, and lastly then: */
	uint64_t denied_us;
};

struct client;

#define CLIENT_OTHER_IMAGE "has another image now than the one that was begun"

/* The sender of this answer is pinned. */
void client_pin_set(struct client *, uint64_t now_us, const uint8_t from[4]);
/* Is it from the pinned sender?  Then it was heard. */
bool client_pin_hears(struct client *, uint64_t now_us, const uint8_t from[4]);
/* May another one that answers take its place? */
bool client_pin_may_move(const struct client *, uint64_t now_us);
/* It answers, but too early: when to ask who is there. */
void client_pin_ask_later(struct client *, uint64_t now_us);
/* When who is there is to be asked by JOIN; CLIENT_NEVER: it need not be. */
uint64_t client_pin_ask_at_us(const struct client *);

/* The pinned sender, or while joining whoever answers, says that the load cannot be done.
 * `why` is a constant, the end of a sentence that begins with the address.  Refuses when
 * that is confirmed. */
void client_claim_hear(
    struct client *, uint64_t now_us, const uint8_t from[4], const char *why);
/* ... or what contradicts that. */
void client_claim_deny(struct client *, uint64_t now_us);
/* When to ask it again; CLIENT_NEVER: nothing is claimed. */
uint64_t client_claim_ask_at_us(const struct client *);
/* A JOIN when it is time to ask about a claim, or 0. */
size_t client_claim_output(struct client *, uint64_t now_us, void *pkt);

#endif /* FRISBEE_CLIENT_CLIENT_PIN_H */
