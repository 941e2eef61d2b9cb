/* wishes.h: what an engine wants of its owner.  The engine adds wishes while the owner calls
 * it; after each call the owner takes them, in their order, and does what they say.  All
 * functions are called in the engine's thread. */
#ifndef DOLLY_ENGINE_WISHES_H
#define DOLLY_ENGINE_WISHES_H

#include "dolly/engine/peer.h"

enum { WISH_TEXT_MAX = MSG_TEXT_MAX + 64 };

enum wish_kind {
	/* Begin to connect `peer` to `address` and `port`; zeros stand for the server.  Once
	 * it is connected, the engine's output is to be sent.  A connection that fails has
	 * ended: node_closed(). */
	WISH_DIAL,
	/* Make one attempt to send the waiting bytes of `peer`, end the connection, and
	 * release the peer with peer_free(). */
	WISH_CLOSE,

	/* Of a node: */
	/* Open the target for `image`; the answer is node_opened() or node_failed(). */
	WISH_OPEN,
	/* Check and install `chunk`, whose `length` bytes are at `bytes` until the answer,
	 * node_put().  Up to spread.chunk_bytes the owner may write behind them, but must not
	 * change them, since children get them, too. */
	WISH_PUT,
	/* Is this chunk, which the target does not take now, what it should be, as far as its
	 * digest says?  The bytes are as those of WISH_PUT; the answer is node_proved(). */
	WISH_PROVE,
	/* All chunks were put: complete the target; the answer is node_finished(). */
	WISH_FINISH,

	/* Of a server: */
	/* A node has joined over `peer`, from its address: is it to be served, and where is its
	 * place?  The answer is dolly_server_admit(). */
	WISH_ADMIT,
	/* Read `chunk` into `bytes`, which has room for spread.chunk_bytes; the answer is
	 * dolly_server_read(). */
	WISH_READ,
	/* Something has happened to the member `id`, which `text` says. */
	WISH_TELL,
};

struct wish {
	enum wish_kind kind;
	struct peer *peer;
	uint8_t address[4];
	uint16_t port;
	const struct node_image *image;
	uint32_t slot, chunk, length, id;
	uint8_t *bytes;
	char text[WISH_TEXT_MAX];
};

/* All zeros: none. */
struct wishes {
	struct wish *at; /* those that were not taken are at [first] to [n - 1] */
	size_t first, n, cap;
};

/* Adds a wish.  ERR_NOMEM. */
int wishes_add(struct wishes *, const struct wish *, struct err *);
/* Takes the oldest wish.  False: there is none. */
bool wishes_take(struct wishes *, struct wish *);
/* Releases the wishes, and the peers that were to be closed. */
void wishes_free(struct wishes *);

#endif /* DOLLY_ENGINE_WISHES_H */
