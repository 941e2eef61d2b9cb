/* node_digests.c: what the server itself says of each chunk (node_impl.h).  A chunk passes through
 * other nodes, which could change it and the digest in it; so it is put and sent on at once, and
 * counts when the server has said this digest.  Called by the other parts of the node, in the
 * engine's thread. */
#include "dolly/engine/node_impl.h"

enum { ASK_US = 1000000 }; /* the server says what is new once a second */

bool
node_make_digests(struct node *n, uint32_t chunks)
{
	struct node_digests *d = &n->digests;

	d->of = calloc(chunks, sizeof *d->of);
	return d->of != NULL && chunkmap_make(&d->said, chunks) &&
	       chunkmap_make(&d->unsaid, chunks);
}

void
node_free_digests(struct node *n)
{
	struct node_digests *d = &n->digests;

	free(d->of);
	chunkmap_free(&d->said);
	chunkmap_free(&d->unsaid);
}

static bool
is_same(const struct node_digest *d, const uint8_t *digest)
{
	return memcmp(d->is, digest, sizeof d->is) == 0;
}

static void
hear(struct node *n, uint32_t chunk, const uint8_t *digest)
{
	struct node_digests *d = &n->digests;
	const struct node_digest was = d->of[chunk];

	chunkmap_add(&d->said, chunk);
	memcpy(d->of[chunk].is, digest, sizeof was.is);
	if (chunkmap_take(&d->unsaid, chunk) && !is_same(&was, digest))
		node_take_back(n, chunk, was.from);
}

int
node_hear_digests(struct node *n, const struct msg *m, struct err *e)
{
	const struct node_digests *d = &n->digests;

	if (n->spread == NULL || n->putting.finishing)
		return 0;
	for (unsigned i = 0; i < m->ndigests; i++) {
		uint32_t chunk = m->chunk + i;
		if (chunk >= n->server.image.chunks)
			return err_set(e, ERR_FORMAT,
			    "the server says what chunk %u is, which does not exist", chunk);
		if (chunkmap_has(&d->said, chunk) && !is_same(&d->of[chunk], m->digests[i]))
			return err_set(e, ERR_REFUSED,
			    "the server says that chunk %u is another one than before: what it "
			    "serves has changed, or is packed in another way", chunk);
		hear(n, chunk, m->digests[i]);
	}
	node_check_whole(n);
	return 0;
}

bool
node_digest_differs(const struct node *n, uint32_t chunk, const uint8_t *digest)
{
	const struct node_digests *d = &n->digests;

	return digest != NULL && chunkmap_has(&d->said, chunk) && !is_same(&d->of[chunk], digest);
}

bool
node_note_digest(struct node *n, uint32_t chunk, const uint8_t *digest, uint32_t from)
{
	struct node_digests *d = &n->digests;

	if (digest == NULL || chunkmap_has(&d->said, chunk))
		return !node_digest_differs(n, chunk, digest);
	memcpy(d->of[chunk].is, digest, sizeof d->of[chunk].is);
	d->of[chunk].from = from;
	chunkmap_add(&d->unsaid, chunk);
	return true;
}

uint32_t
node_unsaid(const struct node *n)
{
	if (n->server.version < MSG_VERSION_DIGESTS || n->putting.finishing)
		return 0;
	return n->digests.unsaid.count;
}

void
node_ask_for_digests(struct node *n)
{
	struct node_digests *d = &n->digests;

	if (n->server.peer == NULL || n->server.away_us != 0 ||
	    (d->asked_us != 0 && n->now_us - d->asked_us < ASK_US))
		return;
	d->asked_us = n->now_us | 1; /* 0 has a meaning */
	node_say_want(n->server.peer, &d->unsaid);
}
