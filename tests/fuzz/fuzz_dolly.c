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

static int
on_dial(
    void *arg, struct peer *p, const uint8_t address[4], uint16_t port, struct err *e)
{
	(void)arg;
	(void)address;
	(void)port;
	if (p->kind == PEER_SERVER) {
		to_server = p;
		return 0;
	}
	return err_set(e, ERR_IO, "nobody is there");
}

static void
on_close(void *arg, struct peer *p)
{
	(void)arg;
	gone = gone || p == watched;
}

static int
on_begin(void *arg, const struct node_image *i, struct node_target *t, struct err *e)
{
	(void)arg;
	t->in_order = i->bytes % 2 != 0;
	return i->chunks <= CHUNKS ? 0 : err_set(e, ERR_IO, "too large");
}

static bool
on_has(void *arg, uint32_t chunk)
{
	(void)arg;
	return chunk == 1;
}

static void
on_put(void *arg, uint32_t slot, uint32_t chunk, uint8_t *bytes, uint32_t length)
{
	(void)arg;
	(void)slot;
	(void)chunk;
	(void)bytes;
	if (length > CHUNK)
		abort();
}

static bool
on_proves(void *arg, uint32_t chunk, uint8_t *bytes, uint32_t length)
{
	on_put(arg, 0, chunk, bytes, length);
	return chunk % 2 == 0;
}

static void
on_finish(void *arg)
{
	(void)arg;
}

static void
on_read(void *arg, uint32_t slot, uint32_t chunk, void *to)
{
	(void)arg;
	(void)slot;
	(void)chunk;
	memset(to, 0, CHUNK);
}

static void
on_random(void *arg, void *to, size_t n)
{
	(void)arg;
	memset(to, 0, n); /* so that keys can be guessed */
}

static const struct node_ops node_ops = { on_dial, on_close, on_begin, on_has, on_put,
	on_proves, on_finish };
static const struct dolly_server_ops dolly_server_ops = { on_read, on_close, on_random,
	NULL, NULL };
static const uint8_t somewhere[4] = { 10, 9, 0, 1 };

/* In pieces, so that messages come in two halves, too. */
static void
try_node(const uint8_t *data, size_t bytes)
{
	const struct node_config c = { .name = "n",
		.port = 1,
		.spread = { 2, CHUNK, 64, 0 },
		.ops = &node_ops };
	struct node *n;
	struct err e;

	if (bytes > 1 << 16 || node_new(&n, &c, 0, &e) != 0)
		return;
	watched = to_server;
	gone = false;
	for (size_t at = 0, part; at < bytes && !gone; at += part) {
		part = bytes - at < 100 ? bytes - at : 100;
		node_bytes(n, to_server, data + at, part);
	}
	node_tick(n, 1000000);
	struct peer *child = node_accept(n, somewhere);
	watched = child;
	gone = false;
	node_bytes(n, child, data, bytes);
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
		.ops = &dolly_server_ops,
	};
	struct dolly_server *s;
	struct err e;

	if (dolly_server_new(&s, &c, 0, &e) != 0)
		return;
	for (int i = 0; i < 2; i++) {
		struct peer *p = dolly_server_accept(s, somewhere);
		watched = p;
		gone = false;
		dolly_server_bytes(s, p, data, bytes);
		if (!gone && p->kind == PEER_NEW)
			peer_free(p);
	}
	dolly_server_tick(s, 100);
	dolly_server_tick(s, 2000000); /* who is silent is set aside, */
	dolly_server_tick(s, 9000000); /* and cut out */
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
