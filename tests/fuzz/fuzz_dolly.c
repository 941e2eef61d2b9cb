/* Bytes from the network of dolly: messages come back as they were read, and a server
 * and a node get anything as what a peer says. */
#include <stdlib.h>

#include "dolly/engine/node.h"
#include "dolly/engine/server.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

enum { CHUNK = 256, CHUNKS = 4 };

static struct peer *to_server;
static struct peer *watched; /* one that this file has, */
static bool gone;            /* ... until the engine closes it */

static void
try_message(const uint8_t *data, size_t bytes)
{
	struct buf out = { 0 }, again = { 0 };
	struct msg m, back;
	struct err e;

	if (bytes == 0 ||
	    msg_read(&m, data[0], rd_from(data + 1, bytes - 1), &e) != 0 ||
	    m.type == MSG_DATA)
		return;
	msg_write(&out, &m);
	if (msg_read(&back, data[0],
		rd_from(out.base + MSG_FRAME_BYTES, out.len - MSG_FRAME_BYTES),
		&e) != 0)
		abort();
	msg_write(&again, &back);
	if (again.len != out.len || memcmp(again.base, out.base, out.len) != 0)
		abort();
	buf_free(&out);
	buf_free(&again);
}

/* The owner looks at all bytes that it is given. */
static uint8_t
sum(const struct wish *w)
{
	uint8_t x = 0;

	if (w->length > CHUNK)
		abort();
	for (uint32_t i = 0; i < w->length; i++)
		x ^= w->bytes[i];
	return x;
}

static const uint8_t *
digest_of(const struct wish *w)
{
	static uint8_t digest[MSG_DIGEST_BYTES];

	memset(digest, sum(w), sizeof digest);
	return digest;
}

static void
hang_up(struct peer *p)
{
	gone = gone || p == watched;
	peer_free(p);
}

static void
begin(struct node *n, const struct node_image *i)
{
	const struct err large = { .kind = ERR_IO, .text = "too large" };

	if (i->chunks > CHUNKS) {
		node_failed(n, &large);
		return;
	}
	node_has(n, 1);
	node_opened(n, &(struct node_target){ .in_order = i->bytes % 2 != 0 });
}

static void
grant_node(struct node *n)
{
	struct wish w;

	while (node_take_wish(n, &w))
		if (w.kind == WISH_DIAL && w.peer->kind == PEER_SERVER)
			to_server = w.peer;
		else if (w.kind == WISH_DIAL)
			node_closed(n, w.peer, "nobody is there");
		else if (w.kind == WISH_CLOSE)
			hang_up(w.peer);
		else if (w.kind == WISH_OPEN)
			begin(n, w.image);
		else if (w.kind == WISH_PROVE)
			node_proved(n, w.slot, sum(&w) % 2 == 0, digest_of(&w));
		else if (w.kind == WISH_PUT)
			node_put(n, w.slot, digest_of(&w));
}

static void
grant_server(struct dolly_server *s)
{
	struct wish w;

	while (dolly_server_take_wish(s, &w))
		if (w.kind == WISH_CLOSE)
			hang_up(w.peer);
		else if (w.kind == WISH_ADMIT) /* with a key that can be guessed */
			dolly_server_admit(s, &(struct dolly_server_guest){ 0 });
		else if (w.kind == WISH_READ)
			memset(w.bytes, 0, CHUNK);
}

static const uint8_t somewhere[4] = { 10, 9, 0, 1 };

/* In pieces, so that messages come in two halves, too. */
static void
try_node(const uint8_t *data, size_t bytes)
{
	const struct node_config c = { .name = "n",
		.port = 1,
		.spread = { 2, CHUNK, 64, 0 } };
	struct node *n;
	struct err e;

	if (bytes > 1 << 16 || node_new(&n, &c, 0, &e) != 0)
		return;
	grant_node(n);
	watched = to_server;
	gone = false;
	for (size_t at = 0, part; at < bytes && !gone; at += part) {
		part = bytes - at < 100 ? bytes - at : 100;
		node_input(n, to_server, data + at, part);
		grant_node(n);
	}
	node_act(n, 1000000);
	grant_node(n);
	struct peer *child = node_accept(n, somewhere);
	watched = child;
	gone = false;
	node_input(n, child, data, bytes);
	grant_node(n);
	if (!gone && child->kind != PEER_CHILD)
		peer_free(child);
	else if (!gone)
		node_closed(n, child, "the end");
	node_free(n);
}

static void
try_server(const uint8_t *data, size_t bytes)
{
	const struct dolly_server_config c = {
		.spread = { 4, CHUNK, 64, CHUNKS },
		.bytes = CHUNK * CHUNKS,
		.arity = 2,
		.rack = ROSTER_NO_RACK,
		.nodes = 1,
		.deadline_us = 4000000,
	};
	struct dolly_server *s;
	struct err e;

	if (dolly_server_new(&s, &c, 0, &e) != 0)
		return;
	for (int i = 0; i < 2; i++) {
		struct peer *p = dolly_server_accept(s, somewhere);
		watched = p;
		gone = false;
		dolly_server_input(s, p, data, bytes);
		grant_server(s);
		if (!gone && p->kind == PEER_NEW)
			peer_free(p);
	}
	/* Who is silent is set aside, and cut out. */
	for (uint64_t now_us = 100; now_us < 10000000; now_us += 1000000) {
		dolly_server_act(s, now_us);
		grant_server(s);
	}
	dolly_server_free(s);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	try_message(data, bytes);
	try_node(data, bytes);
	try_server(data, bytes);
	return 0;
}
