/* The engines of dolly in virtual time: a thousand nodes, whose links have a rate and a
 *delay, and some of which die or hang at moments that a seed says. test_dolly_sim [SEED
 *[NODES]]	failures of another seed, among more nodes */
#include <stdlib.h>

#include "dolly/engine/node.h"
#include "dolly/engine/server.h"
#include "tests/t.h"

enum {
	CHUNK = 8192,
	PACKET = CHUNK + MSG_FRAME_BYTES + MSG_DATA_BYTES,
	WINDOW_BYTES = 4 * PACKET, /* of a connection: what is under way */
	DELAY_US = 100,
	US_A_KB = 1250, /* of a link */
	TICK_US = 100000,
	FAIL_MOST = 100000000,
};

enum kind { TICK, CONNECT, PACKET_IN, CLOSED, PUT, READ, FINISH };

struct conn;
struct end;

struct host {
	uint32_t id; /* 0: the server */
	struct node *node;
	bool dead, hung;
	uint64_t free_us; /* its link */
	uint64_t done_us; /* it is whole since */
	uint32_t put;     /* chunks */
	struct end *ends; /* of its connections, the newest one first */
};

struct packet {
	struct packet *next;
	size_t n;
	uint8_t bytes[PACKET];
};

struct conn {
	struct conn *all;
	struct host *host[2];
	struct peer *peer[2];
	size_t under_way[2];                       /* from that side */
	bool open;                                 /* the other side has accepted */
	struct packet *unread[2], **unread_end[2]; /* for that side */
	struct end {
		struct end *next; /* of the same host */
		struct conn *conn;
		int side;
	} end[2];
};

struct event {
	uint64_t at_us, seq;
	enum kind kind;
	struct host *host;
	struct conn *conn;
	int side; /* that it is for */
	struct packet *packet;
	uint32_t slot;
	unsigned life; /* READ: of the server, which it is for */
};

static struct world {
	struct event *heap;
	size_t n, cap;
	uint64_t now_us, seq, random;
	struct host *hosts; /* [0]: the server */
	uint32_t nodes, hung;
	struct dolly_server *server;
	unsigned life; /* 0: the first server, 1: the one that came back */
	struct conn *conns;
} w;

static uint64_t
random_next(void)
{
	w.random = w.random * 6364136223846793005u + 1442695040888963407u;
	return w.random >> 33;
}

static bool
before(const struct event *a, const struct event *b)
{
	return a->at_us < b->at_us || (a->at_us == b->at_us && a->seq < b->seq);
}

static void
push(struct event ev)
{
	if (w.n == w.cap) {
		w.cap = 2 * w.cap + 1024;
		w.heap = realloc(w.heap, w.cap * sizeof *w.heap);
		if (w.heap == NULL)
			abort();
	}
	size_t i = w.n++;
	ev.seq = w.seq++;
	for (; i > 0 && before(&ev, &w.heap[(i - 1) / 2]); i = (i - 1) / 2)
		w.heap[i] = w.heap[(i - 1) / 2];
	w.heap[i] = ev;
}

static struct event
pop(void)
{
	struct event top = w.heap[0], last = w.heap[--w.n];
	size_t i = 0;

	for (size_t c; (c = 2 * i + 1) < w.n; i = c) {
		if (c + 1 < w.n && before(&w.heap[c + 1], &w.heap[c]))
			c++;
		if (!before(&w.heap[c], &last))
			break;
		w.heap[i] = w.heap[c];
	}
	w.heap[i] = last;
	return top;
}

/* --- connections --- */

static size_t
output(struct host *h, struct peer *p, const void **at)
{
	return h->id == 0 ? dolly_server_output(w.server, p, at)
	                  : node_output(h->node, p, at);
}

static bool
is_gone(const struct host *h)
{
	return h->dead || h->hung;
}

static struct packet *
packet_new(void)
{
	struct packet *k = malloc(sizeof *k);

	if (k == NULL)
		abort();
	k->next = NULL;
	k->n = 0;
	return k;
}

/* The next packet of that side, if the window has room for it. */
static struct packet *
gather(struct conn *c, int side)
{
	struct host *h = c->host[side];
	struct peer *p = c->peer[side];
	struct packet *k = NULL;
	const void *at;
	size_t n;

	while (c->under_way[side] + (k != NULL ? k->n : 0) < WINDOW_BYTES &&
	       (k == NULL || k->n < PACKET) && (n = output(h, p, &at)) > 0) {
		k = k != NULL ? k : packet_new();
		n = n < PACKET - k->n ? n : PACKET - k->n;
		memcpy(k->bytes + k->n, at, n);
		k->n += n;
		if (h->id == 0)
			dolly_server_sent(w.server, p, n);
		else
			node_sent(h->node, p, n);
	}
	return k;
}

static void
pump(struct conn *c, int side)
{
	struct host *h = c->host[side];
	struct packet *k;

	if (!c->open || c->peer[side] == NULL || is_gone(h))
		return;
	while ((k = gather(c, side)) != NULL) {
		uint64_t start = h->free_us > w.now_us ? h->free_us : w.now_us;
		h->free_us = start + k->n * US_A_KB / 1024;
		c->under_way[side] += k->n;
		push((struct event){ .at_us = h->free_us + DELAY_US,
		    .kind = PACKET_IN,
		    .conn = c,
		    .side = !side,
		    .packet = k });
	}
}

static void
take_unread(struct conn *c, int side)
{
	struct host *h = c->host[side];
	struct packet *k;

	while ((k = c->unread[side]) != NULL && c->peer[side] != NULL && !is_gone(h)) {
		struct peer *p = c->peer[side];
		if (!(h->id == 0 ? dolly_server_reads(w.server, p)
				 : node_reads(h->node, p)))
			return;
		c->unread[side] = k->next;
		if (k->next == NULL)
			c->unread_end[side] = &c->unread[side];
		c->under_way[!side] -= k->n;
		if (h->id == 0)
			dolly_server_bytes(w.server, p, k->bytes, k->n);
		else
			node_bytes(h->node, p, k->bytes, k->n);
		free(k);
		pump(c, !side);
	}
}

/* Whatever a host can do now, on all its connections. */
static void
go_on(struct host *h)
{
	if (h->id == 0)
		dolly_server_resume(w.server);
	else
		node_resume(h->node);
	for (struct end *x = h->ends, *next; x != NULL; x = next) {
		next = x->next;
		take_unread(x->conn, x->side);
	}
	for (struct end *x = h->ends; x != NULL; x = x->next)
		pump(x->conn, x->side);
}

static struct conn *
connect_to(struct host *from, struct peer *p, struct host *to)
{
	struct conn *c = calloc(1, sizeof *c);

	if (c == NULL)
		abort();
	c->host[0] = from;
	c->host[1] = to;
	c->peer[0] = p;
	for (int i = 0; i < 2; i++) {
		c->end[i] = (struct end){ c->host[i]->ends, c, i };
		c->host[i]->ends = &c->end[i];
		c->unread_end[i] = &c->unread[i];
	}
	p->io = &c->end[0];
	c->all = w.conns;
	w.conns = c;
	return c;
}

static int
on_dial(
    void *arg, struct peer *p, const uint8_t address[4], uint16_t port, struct err *e)
{
	uint32_t id = (uint32_t)address[1] << 16 | (uint32_t)address[2] << 8 |
	              address[3];
	struct conn *c = connect_to(arg, p, &w.hosts[id]);

	(void)port;
	(void)e;
	if (!w.hosts[id].hung)
		push((struct event){ .at_us = w.now_us + DELAY_US,
		    .kind = w.hosts[id].dead ? CLOSED : CONNECT,
		    .conn = c });
	return 0;
}

static void
on_close(void *arg, struct peer *p)
{
	struct host *h = arg;
	const struct end *end = p->io;
	struct conn *c = end->conn;

	pump(c, end->side);
	c->peer[end->side] = NULL;
	push((struct event){
	    .at_us = (h->free_us > w.now_us ? h->free_us : w.now_us) + DELAY_US,
	    .kind = CLOSED,
	    .conn = c,
	    .side = !end->side });
}

static void
do_connect(struct conn *c)
{
	struct host *to = c->host[1];
	uint32_t id = c->host[0]->id;
	const uint8_t address[4] = { 10, (uint8_t)(id >> 16), (uint8_t)(id >> 8),
		(uint8_t)id };

	if (to->hung || c->peer[0] == NULL)
		return;
	if (!to->dead)
		c->peer[1] = to->id == 0 ? dolly_server_accept(w.server, address)
		                         : node_accept(to->node, address);
	if (c->peer[1] == NULL) {
		push((struct event){ .at_us = w.now_us, .kind = CLOSED, .conn = c });
		return;
	}
	c->peer[1]->io = &c->end[1];
	c->open = true;
	pump(c, 0);
}

static void
do_closed(struct conn *c, int side)
{
	struct host *h = c->host[side];
	struct peer *p = c->peer[side];

	take_unread(c, side);
	p = c->peer[side];
	if (p == NULL || is_gone(h))
		return;
	if (h->id == 0)
		dolly_server_closed(w.server, p, "closed");
	else
		node_closed(h->node, p, "closed");
}

/* --- what the engines ask for --- */

static int
on_begin(void *arg, const struct node_image *i, struct node_target *t, struct err *e)
{
	(void)arg;
	(void)i;
	(void)e;
	t->chunk0_first = true;
	return 0;
}

static bool
on_has(void *arg, uint32_t chunk)
{
	(void)arg;
	(void)chunk;
	return false;
}

static void
on_put(void *arg, uint32_t slot, uint32_t chunk, const void *bytes, uint32_t length)
{
	struct host *h = arg;

	(void)length;
	h->put += ((const uint8_t *)bytes)[0] == (uint8_t)chunk;
	push((struct event){
	    .at_us = w.now_us + 1, .kind = PUT, .host = h, .slot = slot });
}

static void
on_finish(void *arg)
{
	push((struct event){ .at_us = w.now_us + 1, .kind = FINISH, .host = arg });
}

static void
on_read(void *arg, uint32_t slot, uint32_t chunk, void *to)
{
	(void)arg;
	memset(to, (int)(chunk & 0xff), CHUNK);
	push((struct event){
	    .at_us = w.now_us + 1, .kind = READ, .host = w.hosts, .slot = slot,
	    .life = w.life });
}

static void
on_random(void *arg, void *to, size_t n)
{
	(void)arg;
	for (size_t i = 0; i < n; i++)
		((uint8_t *)to)[i] = (uint8_t)random_next();
}

static const struct node_ops node_ops = { on_dial, on_close, on_begin, on_has, on_put,
	on_finish };
static const struct dolly_server_ops dolly_server_ops = { on_read, on_close, on_random,
	NULL, NULL };

static void
do_host(const struct event *ev)
{
	struct host *h = ev->host;

	if (is_gone(h))
		return;
	switch (ev->kind) {
	case TICK:
		if (h->id == 0)
			dolly_server_tick(w.server, w.now_us);
		else
			node_tick(h->node, w.now_us);
		push((struct event){
		    .at_us = w.now_us + TICK_US, .kind = TICK, .host = h });
		break;
	case PUT:
		node_put(h->node, ev->slot, NODE_PUT_DONE, NULL);
		break;
	case FINISH:
		h->done_us = w.now_us;
		node_finished(h->node, NULL);
		break;
	default:
		if (ev->life != w.life)
			return;
		dolly_server_read(w.server, ev->slot, CHUNK, NULL);
	}
	go_on(h);
}

static void
step(void)
{
	const struct event ev = pop();
	struct conn *c = ev.conn;

	w.now_us = ev.at_us;
	if (c == NULL) {
		do_host(&ev);
		return;
	}
	if (ev.kind == CONNECT)
		do_connect(c);
	else if (ev.kind == CLOSED)
		do_closed(c, ev.side);
	else if (c->peer[ev.side] == NULL)
		free(ev.packet);
	else {
		*c->unread_end[ev.side] = ev.packet;
		c->unread_end[ev.side] = &ev.packet->next;
	}
	if (!is_gone(c->host[ev.side]))
		go_on(c->host[ev.side]);
}

/* --- runs --- */

static void
start_server(uint32_t nodes, uint32_t chunks, unsigned arity, uint64_t start_us)
{
	const struct dolly_server_config sc = { .spread = { 16, CHUNK, CHUNK, chunks },
		.bytes = (uint64_t)chunks * CHUNK,
		.arity = arity,
		.rack = ROSTER_NO_RACK,
		.nodes = nodes,
		.start_us = start_us,
		.deadline_us = 3000000,
		.linger_us = 1000000,
		.ops = &dolly_server_ops,
		.arg = w.hosts };
	struct err e;

	if (dolly_server_new(&w.server, &sc, w.now_us, &e) != 0)
		abort();
}

static void
start(uint32_t nodes, uint32_t chunks, unsigned arity)
{
	struct err e;

	w.nodes = nodes;
	w.hosts = calloc(nodes + 1, sizeof *w.hosts);
	if (w.hosts == NULL)
		abort();
	start_server(nodes, chunks, arity, 0);
	for (uint32_t i = 0; i <= nodes; i++) {
		struct host *h = &w.hosts[i];
		const struct node_config nc = { .name = "n",
			.port = 1,
			.patience_us = 60000000,
			.spread = { 16, CHUNK, CHUNK, 0 },
			.ops = &node_ops,
			.arg = h };
		h->id = i;
		if (i > 0 && node_new(&h->node, &nc, 0, &e) != 0)
			abort();
		push((struct event){ .at_us = i, .kind = TICK, .host = h });
	}
}

/* A process that is killed: its connections end.  One that hangs: they do not. */
static void
lose_host(struct host *h, bool hangs)
{
	h->hung = hangs;
	w.hung += hangs;
	h->dead = !hangs;
	for (struct end *x = h->ends; x != NULL && !hangs; x = x->next)
		if (x->conn->peer[!x->side] != NULL)
			push((struct event){ .at_us = w.now_us + DELAY_US,
			    .kind = CLOSED,
			    .conn = x->conn,
			    .side = !x->side });
}

static uint64_t
last_done(uint32_t *whole)
{
	uint64_t last = 0;

	*whole = 0;
	for (uint32_t i = 1; i <= w.nodes; i++) {
		if (is_gone(&w.hosts[i]))
			continue;
		*whole += w.hosts[i].done_us > 0;
		last = w.hosts[i].done_us > last ? w.hosts[i].done_us : last;
	}
	return last;
}

static void
forget_packets(void)
{
	for (; w.n > 0; w.n--)
		free(w.heap[w.n - 1].packet);
	for (struct conn *c = w.conns, *next; c != NULL; c = next) {
		next = c->all;
		for (int side = 0; side < 2; side++) {
			for (struct packet *k; (k = c->unread[side]) != NULL; free(k))
				c->unread[side] = k->next;
			if (c->peer[side] != NULL && c->peer[side]->kind == PEER_NEW)
				peer_free(c->peer[side]);
		}
		free(c);
	}
}

static void
end_run(void)
{
	forget_packets();
	dolly_server_free(w.server);
	for (uint32_t i = 1; i <= w.nodes; i++)
		node_free(w.hosts[i].node);
	free(w.hosts);
	free(w.heap);
}

/* Until the server has ended.  `lost` hosts die or hang, by the seed, while chunks are
 * sent.  The time when the last one was whole; *whole: how many; *right: of these have
 * had each chunk, once. */
static uint64_t
run(uint32_t nodes, uint32_t chunks, unsigned arity, uint32_t lost, uint64_t seed,
    uint32_t *whole, uint32_t *right)
{
	struct err e;

	w = (struct world){ .random = seed };
	start(nodes, chunks, arity);
	uint64_t span = (uint64_t)chunks * CHUNK / 1024 * US_A_KB, next = span / 20;
	for (uint32_t gone = 0;
	     dolly_server_over(w.server, &e) == 0 && w.now_us < FAIL_MOST;) {
		step();
		if (gone < lost && w.now_us >= next) {
			struct host *h = &w.hosts[1 + random_next() % nodes];
			gone += !is_gone(h);
			if (!is_gone(h))
				lose_host(h, random_next() % 4 == 0);
			next += random_next() % (2 * span / lost);
		}
	}
	uint64_t last = last_done(whole);
	*right = 0;
	for (uint32_t i = 1; i <= nodes; i++)
		*right += !is_gone(&w.hosts[i]) && w.hosts[i].put == chunks;
	end_run();
	return last;
}

/* The server is killed: its connections end, and what it had is gone. */
static void
kill_server(void)
{
	lose_host(w.hosts, false);
	for (struct end *x = w.hosts->ends; x != NULL; x = x->next) {
		struct peer **p = &x->conn->peer[x->side];
		if (*p != NULL && (*p)->kind == PEER_NEW)
			peer_free(*p);
		*p = NULL;
		x->conn->open = false;
	}
	dolly_server_free(w.server);
	w.life++;
}

/* A server that dies when half is done, and comes back after three seconds. */
static void
server_dies(uint32_t nodes, uint32_t chunks, unsigned arity)
{
	struct err e;
	uint32_t whole, right = 0, before = 0;
	uint64_t death = (uint64_t)chunks * CHUNK / 1024 * US_A_KB * arity / 2;

	w = (struct world){ .random = 5 };
	start(nodes, chunks, arity);
	while (w.now_us < death)
		step();
	for (uint32_t i = 1; i <= nodes; i++)
		before += w.hosts[i].put;
	kill_server();
	while (w.now_us < death + 3000000)
		step();
	w.hosts->dead = false;
	start_server(nodes, chunks, arity, 2000000);
	push((struct event){ .at_us = w.now_us, .kind = TICK, .host = w.hosts });
	while (dolly_server_over(w.server, &e) == 0 && w.now_us < FAIL_MOST)
		step();
	uint64_t sent = dolly_server_bytes_sent(w.server);
	(void)last_done(&whole);
	for (uint32_t i = 1; i <= nodes; i++)
		right += w.hosts[i].put == chunks;
	printf("# %u nodes, the server dies: %u chunks were there, %llu KB came again\n",
	    nodes, before, (unsigned long long)sent / 1024);
	T_CHECK(before > chunks / 4);
	T_CHECK(whole == nodes && right == nodes); /* no chunk was put twice */
	T_CHECK(sent < (uint64_t)arity * chunks * PACKET * 3 / 4);
	end_run();
}

static void
failures(uint32_t nodes, unsigned arity, uint32_t lost, uint64_t seed)
{
	uint32_t whole, right;
	uint64_t us = run(nodes, 200, arity, lost, seed, &whole, &right);
	const uint32_t hung = w.hung;

	printf("# %u nodes, %u lost (%u hung), arity %u, seed %llu: %.3f s\n", nodes,
	    lost, hung, arity, (unsigned long long)seed, (double)us / 1e6);
	T_CHECK(whole == nodes - lost);
	T_CHECK(right == nodes - lost);
}

int
main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	uint32_t whole, right, chunks = 300;
	uint32_t nodes = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 300;

	uint64_t one = run(1, chunks, 1, 0, 1, &whole, &right);
	T_CHECK(whole == 1 && right == 1);
	uint64_t all = run(nodes, chunks, 1, 0, 1, &whole, &right);
	T_CHECK(whole == nodes && right == nodes);
	uint64_t fill = (uint64_t)(nodes - 1) * (US_A_KB * PACKET / 1024 + DELAY_US);
	printf("# 1 node %.3f s, %u nodes %.3f s, fill %.3f s\n", (double)one / 1e6,
	    nodes, (double)all / 1e6, (double)fill / 1e6);
	T_CHECK((double)all < 1.03 * (double)(one + fill));
	failures(nodes / 3, 1, nodes / 60, seed);
	failures(nodes / 3, 2, nodes / 60, seed + 1);
	failures(30, 30, 3, seed + 2);
	server_dies(8, 200, 1);
	server_dies(40, 200, 3);
	return t_done();
}
