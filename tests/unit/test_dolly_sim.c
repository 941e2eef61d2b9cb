/* The engines of dolly in virtual time: a thousand nodes, whose links have a rate and a
 *delay, and some of which die or hang at moments that a seed says, or have a slow disk.
 *
 *	test_dolly_sim [SEED [NODES]]	failures of another seed, among more nodes
 *	test_dolly_sim --seed SEED --foes NODES CHUNKS	each kind of foe, in chains and trees of 3:
 *							tests/sim/seeds runs many seeds
 *	test_dolly_sim foe SEED NODES CHUNKS ARITY KIND	one of them; SHOW=1 tells of each node
 *	test_dolly_sim orders SEEDS	so many orders of events about one server
 *	test_dolly_sim paper		long chains: what bench/paper_dolly prints */
#include <stdlib.h>

#include "common/base/zero.h"
#include "dolly/engine/node.h"
#include "dolly/engine/server.h"
#include "tests/random.h"
#include "tests/sim/heap.h"
#include "tests/sim/stream.h"
#include "tests/t.h"

enum {
	CHUNK = 8192,
	PACKET = CHUNK + MSG_FRAME_BYTES + MSG_DATA_BYTES,
	WINDOW_BYTES = 4 * PACKET, /* of a connection: what is under way */
	US_A_KB = 1250, /* of a link */
	US_A_KB_SLOW = 10 * US_A_KB,
	ACT_US = 100000, /* an engine acts so often */
	NO_ANSWER_US = 5000000, /* until who connects to a walled host gives up */
	DEADLINE_US = 3000000,
	FAIL_MOST = 100000000,
	FOE_EVERY = 20,
	COMEBACKS = 5, /* of one that dies and comes back */
	FOE_SLOWER = 20, /* what is slow takes so many times as long */
	DETECTION_US = 5000000,
	REAL_CHUNK = 1 << 20,
};

/* What is wrong with a host that goes on. */
enum foe {
	FRIEND,
	SENDS_SLOWLY,
	TAKES_SLOWLY, /* its disk */
	SPOILS,       /* some of the chunks that it sends: its memory */
	MUTE,         /* no chunk leaves it */
	DEAF,         /* it hears who its children are, and not what they want */
	LIES,         /* about all of its links */
	COMES_BACK,   /* it dies, and comes back with nothing */
	FOES,
	FORGES,       /* it changes some of the chunks that it sends, and the digests in them */
};

enum kind { ACT, CONNECT, PACKET_IN, CLOSED, PUT, READ, FINISH, GO_ON, DIE, COME };

struct conn;
struct end;

struct host {
	uint32_t id; /* 0: the server */
	struct node *node;
	struct dolly_server *server; /* NULL: it is none */
	uint32_t home;               /* the host where this one finds its server */
	uint8_t image;               /* that it serves, or gets */
	bool dead, hung;
	bool walled; /* nobody reaches its port */
	bool old;    /* it speaks an older version of the protocol */
	enum foe foe;
	struct stream_line line;
	uint64_t disk_us; /* its disk is busy until then; each chunk takes it */
	uint64_t put_us;
	uint64_t done_us; /* it is whole since */
	uint32_t put;     /* chunks */
	uint32_t unread;  /* packets that wait for room */
	bool goes_on;     /* a GO_ON of it is due */
	unsigned life;    /* times that it has died, and may have come back */
	struct end *ends; /* of its connections, the newest one first */
};

struct conn {
	struct conn *all;
	struct host *host[2];
	struct peer *peer[2];
	struct stream_way way[2]; /* from that side */
	bool open;                /* the other side has accepted */
	struct end {
		struct end *next; /* of the same host */
		struct conn *conn;
		int side;
	} end[2];
};

struct event {
	struct heap_item turn; /* the first member */
	enum kind kind;
	struct host *host;
	struct conn *conn;
	int side; /* that it is for */
	struct stream_packet *packet;
	uint32_t slot;
	unsigned life; /* of the host, which it is for */
	bool damaged;  /* PUT: the chunk, as its own digest says */
	uint8_t digest[MSG_DIGEST_BYTES]; /* PUT, READ: of the chunk */
};

static struct world {
	struct heap heap;
	uint64_t now_us;
	struct host *hosts; /* [0]: the server */
	uint32_t nodes, hung;
	bool show;
	uint64_t us_a_kb; /* of each link */
	uint64_t slow; /* bytes a second; who takes fewer is cut out */
	struct dolly_server *server;
	struct conn *conns;
	bool two;    /* there is a second server, behind the strangers */
	bool digests; /* the server says the digests of its chunks */
	bool changed; /* what the server serves was changed */
	bool listed; /* the server serves none but its nodes, as with --nodes */
	unsigned dialled_strangers;
} w;

static uint32_t
id_of(const uint8_t address[4])
{
	return (uint32_t)address[1] << 16 | (uint32_t)address[2] << 8 | address[3];
}

static void
push(struct event ev)
{
	struct event *x = malloc(sizeof *x);

	if (x == NULL)
		abort();
	*x = ev;
	x->life = ev.host != NULL ? ev.host->life : 0;
	heap_add(&w.heap, &x->turn, ev.turn.time);
}

/* --- connections --- */

static size_t
output(struct host *h, struct peer *p, const void **at)
{
	return h->server != NULL ? dolly_server_output(h->server, p, at)
	                         : node_output(h->node, p, at);
}

static bool
is_gone(const struct host *h)
{
	return h->dead || h->hung;
}

static void grant(struct host *);

/* Some of the chunks that a host sends are damaged on their way through its memory.  Who forges
 * them changes the digest, too, which is the second byte. */
static void
spoil(const struct host *h, const struct peer *p, uint8_t *first, size_t n)
{
	if ((h->foe != SPOILS && h->foe != FORGES) || p->child == NULL || draw(8) != 0 ||
	    p->child->sent != MSG_FRAME_BYTES + MSG_DATA_BYTES || n < 2)
		return;
	first[0] ^= 0xff;
	first[1] ^= h->foe == FORGES ? 0xff : 0;
}

/* The next packet of that side, if the window has room for it. */
static struct stream_packet *
gather(struct conn *c, int side)
{
	struct host *h = c->host[side];
	struct peer *p = c->peer[side];
	struct stream_packet *k = NULL;
	const void *at;
	size_t n;

	c->way[side].mute = h->foe == MUTE && p->child != NULL;
	while (stream_has_room(&c->way[side], k != NULL ? k->n : 0) &&
	       (k == NULL || k->n < PACKET) && (n = output(h, p, &at)) > 0) {
		k = k != NULL ? k : stream_packet_new(PACKET);
		n = n < PACKET - k->n ? n : PACKET - k->n;
		memcpy(k->bytes + k->n, at, n);
		spoil(h, p, k->bytes + k->n, n);
		k->n += n;
		if (h->server != NULL)
			dolly_server_sent(h->server, p, n);
		else
			node_sent(h->node, p, n);
	}
	return k;
}

static void
pump(struct conn *c, int side)
{
	struct host *h = c->host[side];
	struct stream_packet *k;

	if (!c->open || c->peer[side] == NULL || is_gone(h))
		return;
	while ((k = gather(c, side)) != NULL) {
		size_t as = k->n;
		if (w.digests && h->server != NULL && c->peer[side]->kind == PEER_NODE)
			as /= REAL_CHUNK / CHUNK; /* digests are as long as those of real chunks */
		/* A slow link has a queue for each connection: what is said passes by. */
		struct stream_line by = { .us_a_kb = w.us_a_kb };
		bool passes_by = h->foe == SENDS_SLOWLY && k->n < PACKET / 4;
		push((struct event){
		    .turn.time = stream_send(
			passes_by ? &by : &h->line, &c->way[side], k->n, as, w.now_us),
		    .kind = PACKET_IN,
		    .conn = c,
		    .side = !side,
		    .packet = k });
	}
}

/* What a host hears of a packet. */
static size_t
heard(const struct host *h, const struct peer *p, const struct stream_packet *k)
{
	const size_t hello = MSG_FRAME_BYTES + 8 + MSG_KEY_BYTES;

	if (h->foe != DEAF || (p->kind != PEER_NEW && p->kind != PEER_CHILD))
		return k->n;
	return p->kind == PEER_CHILD ? 0 : k->n < hello ? k->n : hello;
}

/* What a host has sent may have made room for what has come. */
static void
go_on_soon(struct host *h)
{
	if (h->unread == 0 || h->goes_on || is_gone(h))
		return;
	h->goes_on = true;
	push((struct event){ .turn.time = w.now_us, .kind = GO_ON, .host = h });
}

static void
take_unread(struct conn *c, int side)
{
	struct host *h = c->host[side];
	struct stream_way *way = &c->way[!side];

	while (way->unread != NULL && c->peer[side] != NULL && !is_gone(h)) {
		struct peer *p = c->peer[side];
		if (!(h->server != NULL ? dolly_server_reads(h->server, p)
					: node_reads(h->node, p)))
			return;
		struct stream_packet *k = stream_take(way);
		h->unread--;
		if (h->server != NULL)
			dolly_server_input(h->server, p, k->bytes, k->n);
		else if (heard(h, p, k) > 0)
			node_input(h->node, p, k->bytes, heard(h, p, k));
		grant(h);
		free(k);
		pump(c, !side);
		go_on_soon(c->host[!side]);
	}
}

/* Whatever a host can do now, on all its connections. */
static void
go_on(struct host *h)
{
	if (h->server != NULL)
		dolly_server_resume(h->server);
	else
		node_resume(h->node);
	grant(h);
	for (struct end *x = h->ends, *next; x != NULL; x = next) {
		next = x->next;
		take_unread(x->conn, x->side);
	}
	for (struct end *x = h->ends; x != NULL; x = x->next)
		pump(x->conn, x->side);
}

/* p: NULL: what comes to `from` is thrown away. */
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
		c->way[i].window = WINDOW_BYTES;
	}
	if (p != NULL)
		p->io = &c->end[0];
	c->all = w.conns;
	w.conns = c;
	return c;
}

static void
dial(struct host *h, const struct wish *wish)
{
	bool server = is_zero(wish->address, sizeof wish->address);
	uint32_t id = server ? h->home : id_of(wish->address);
	struct conn *c = connect_to(h, wish->peer, &w.hosts[id]);

	w.dialled_strangers += id > w.nodes && !server;
	if (w.hosts[id].walled)
		push((struct event){
		    .turn.time = w.now_us + NO_ANSWER_US, .kind = CLOSED, .conn = c });
	else if (!w.hosts[id].hung)
		push((struct event){ .turn.time = w.now_us + STREAM_DELAY_US,
		    .kind = w.hosts[id].dead ? CLOSED : CONNECT,
		    .conn = c });
}

static void
hang_up(struct host *h, struct peer *p)
{
	const struct end *end = p->io;
	struct conn *c = end->conn;

	pump(c, end->side);
	c->peer[end->side] = NULL;
	peer_free(p);
	push((struct event){ .turn.time = stream_end(&h->line, w.now_us),
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
		c->peer[1] = to->server != NULL ? dolly_server_accept(to->server, address)
		                                : node_accept(to->node, address);
	if (c->peer[1] == NULL) {
		push((struct event){ .turn.time = w.now_us, .kind = CLOSED, .conn = c });
		return;
	}
	c->peer[1]->io = &c->end[1];
	c->open = c->peer[0]->reached = true;
	pump(c, 0);
}

static void
do_closed(struct conn *c, int side)
{
	struct host *h = c->host[side];
	struct peer *p = c->peer[side];

	take_unread(c, side);
	p = c->peer[side];
	if (p != NULL && h->hung) /* it hears of it when it goes on, if it does */
		push((struct event){
		    .turn.time = w.now_us + ACT_US,
		    .kind = CLOSED,
		    .conn = c,
		    .side = side });
	if (p == NULL || is_gone(h))
		return;
	if (h->server != NULL)
		dolly_server_closed(h->server, p, "closed");
	else
		node_closed(h->node, p, "closed");
	grant(h);
}

/* --- what the engines want --- */

/* The digest in a chunk, as its second byte. */
static uint8_t
digest_of(const uint8_t *chunk)
{
	return chunk[0] ^ 0x5a;
}

/* Does the digest in the chunk fit? */
static bool
fits(const uint8_t *chunk)
{
	return chunk[1] == digest_of(chunk);
}

static const uint8_t *
as_said(const uint8_t digest[MSG_DIGEST_BYTES])
{
	return w.digests ? digest : NULL;
}

static void
put(struct host *h, const struct wish *wish)
{
	struct event ev = { .kind = PUT, .host = h, .slot = wish->slot,
		.damaged = !fits(wish->bytes) };

	h->put += !ev.damaged && wish->bytes[0] == (uint8_t)(wish->chunk + h->image);
	h->disk_us = (h->disk_us > w.now_us ? h->disk_us : w.now_us) + h->put_us;
	ev.turn.time = h->disk_us;
	memset(ev.digest, digest_of(wish->bytes), sizeof ev.digest);
	push(ev);
}

static void
prove(struct host *h, const struct wish *wish)
{
	uint8_t digest[MSG_DIGEST_BYTES];

	memset(digest, digest_of(wish->bytes), sizeof digest);
	node_proved(h->node, wish->slot, fits(wish->bytes), as_said(digest));
}

static void
read_chunk(struct host *h, const struct wish *wish)
{
	struct event ev = { .turn.time = w.now_us + 1, .kind = READ, .host = h, .slot = wish->slot };

	memset(wish->bytes, (uint8_t)(wish->chunk + h->image + w.changed), CHUNK);
	wish->bytes[1] = digest_of(wish->bytes);
	memset(ev.digest, digest_of(wish->bytes), sizeof ev.digest);
	push(ev);
}

static void
draw_key(uint8_t *to, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = (uint8_t)draw(256);
}

static void
admit(struct host *h, const struct peer *p)
{
	struct dolly_server_guest g = {
		.spot = { dolly_server_roster(h->server)->joined, ROSTER_NO_RACK,
		    ROSTER_NOT_LISTED }
	};

	if (w.listed && id_of(p->address) > w.nodes)
		g.refused = "a stranger";
	else
		draw_key(g.key, sizeof g.key);
	dolly_server_admit(h->server, &g);
}

/* With SHOW in the environment, what the server says of its nodes. */
static void
tell(const struct host *h, const struct wish *wish)
{
	const struct member *m = roster_find(dolly_server_roster(h->server), wish->id);
	uint32_t id = id_of(m->address);

	if (w.show)
		printf("# %.3f s: %u (%d), of %u: %s\n", (double)w.now_us / 1e6, id,
		    w.hosts[id].foe, m->from, wish->text);
}

/* Does what the engine of a host wants, as its owner does after each call. */
static void
grant(struct host *h)
{
	struct wish wish;

	while (h->server != NULL ? dolly_server_take_wish(h->server, &wish)
	                         : node_take_wish(h->node, &wish))
		switch (wish.kind) {
		case WISH_DIAL:
			dial(h, &wish);
			break;
		case WISH_CLOSE:
			hang_up(h, wish.peer);
			break;
		case WISH_OPEN:
			h->image = wish.image->identity[0];
			node_opened(h->node, &(struct node_target){ .chunk0_first = true });
			break;
		case WISH_PUT:
			put(h, &wish);
			break;
		case WISH_PROVE:
			prove(h, &wish);
			break;
		case WISH_FINISH:
			push((struct event){
			    .turn.time = w.now_us + 1, .kind = FINISH, .host = h });
			break;
		case WISH_ADMIT:
			admit(h, wish.peer);
			break;
		case WISH_READ:
			read_chunk(h, &wish);
			break;
		case WISH_TELL:
			tell(h, &wish);
		}
}

static struct peer *server_of(const struct host *);
static void kill_node(struct host *);
static void come_back(struct host *);

/* What a node has just told the server about its links becomes lies: nothing has passed,
 * and it has waited all the time. */
static void
lie(struct host *h)
{
	struct peer *p = server_of(h);
	struct buf lies = { 0 };
	struct msg m;
	struct err e;

	if (p == NULL || p->out_at > 0)
		return;
	for (size_t at = 0, n; at < p->out.len; at += n) {
		struct rd r = rd_from(p->out.base + at, p->out.len - at);
		n = MSG_FRAME_BYTES + rd_le32(&r);
		uint8_t type = rd_u8(&r);
		if (type != MSG_REPORT ||
		    msg_read(&m, type, rd_sub(&r, n - MSG_FRAME_BYTES), &e) != 0) {
			buf_bytes(&lies, p->out.base + at, n);
			continue;
		}
		for (unsigned i = 0; i < m.nlinks; i++) {
			m.links[i].bytes = 0;
			m.links[i].waited_ms = (uint32_t)(w.now_us / 1000);
			m.links[i].wanted = 1;
		}
		msg_write(&lies, &m);
	}
	p->out.len = 0;
	buf_bytes(&p->out, lies.base, lies.len);
	buf_free(&lies);
}

static void
act_later(struct host *h)
{
	push((struct event){ .turn.time = h->server != NULL
	        ? dolly_server_deadline(h->server)
	        : node_deadline(h->node),
	    .kind = ACT,
	    .host = h });
}

/* What has happened to a process that is stopped: it hears of it when it goes on. */
static void
hear_later(const struct event *ev)
{
	struct event later = *ev;

	if (!ev->host->hung || ev->life != ev->host->life || ev->kind == ACT)
		return;
	later.turn.time = w.now_us + ACT_US;
	push(later);
}

static void
do_host(const struct event *ev)
{
	static const struct err damage = { .kind = ERR_FORMAT, .text = "damaged" };
	struct host *h = ev->host;

	if (ev->kind == COME)
		come_back(h);
	if (is_gone(h) || ev->life != h->life) {
		hear_later(ev);
		return;
	}
	switch (ev->kind) {
	case ACT:
		if (h->server != NULL)
			dolly_server_act(h->server, w.now_us);
		else
			node_act(h->node, w.now_us);
		grant(h);
		if (h->foe == LIES)
			lie(h);
		act_later(h);
		break;
	case GO_ON:
		h->goes_on = false;
		break;
	case DIE:
		kill_node(h);
		push((struct event){ .turn.time = w.now_us + 100000 + draw(1000000),
		    .kind = COME, .host = h });
		return;
	case COME:
		break;
	case PUT:
		if (ev->damaged)
			node_put_damaged(h->node, ev->slot, &damage);
		else
			node_put(h->node, ev->slot, as_said(ev->digest));
		grant(h);
		break;
	case FINISH:
		h->done_us = w.now_us;
		node_finished(h->node, NULL);
		break;
	default:
		dolly_server_read(h->server, ev->slot, CHUNK, as_said(ev->digest), NULL);
		grant(h);
	}
	go_on(h);
}

static void
step(void)
{
	struct event *next = (struct event *)heap_take(&w.heap);
	const struct event ev = *next;
	struct conn *c = ev.conn;

	free(next);
	w.now_us = ev.turn.time;
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
		stream_arrived(&c->way[!ev.side], ev.packet);
		c->host[ev.side]->unread++;
	}
	if (is_gone(c->host[ev.side]))
		return;
	/* The server has a connection with each node: it looks at them all when it acts. */
	struct host *h = c->host[ev.side];
	if (ev.kind == PACKET_IN && h->server != NULL) {
		take_unread(c, ev.side);
		dolly_server_resume(h->server);
		grant(h);
		pump(c, ev.side);
	} else
		go_on(c->host[ev.side]);
}

/* --- runs --- */

static void
make_server(
    struct host *h, uint32_t nodes, uint32_t chunks, unsigned arity, uint64_t start_us)
{
	struct dolly_server_config sc = { .spread = { 16, CHUNK, CHUNK, chunks },
		.bytes = (uint64_t)chunks * CHUNK,
		.arity = arity,
		.rack = ROSTER_NO_RACK,
		.nodes = nodes,
		.start_us = start_us,
		.deadline_us = DEADLINE_US,
		.slow = w.slow,
		.linger_us = 1000000 };
	struct err e;

	sc.identity[0] = h->image;
	draw_key(sc.key, sizeof sc.key);
	if (dolly_server_new(&h->server, &sc, w.now_us, &e) != 0)
		abort();
}

static void
start_server(uint32_t nodes, uint32_t chunks, unsigned arity, uint64_t start_us)
{
	make_server(w.hosts, nodes, chunks, arity, start_us);
	w.server = w.hosts->server;
}

/* The process of a host begins, which acts for the first time then. */
static void
begin_host(struct host *h, uint64_t act_us)
{
	const struct node_config nc = { .name = "n",
		.port = 1,
		.patience_us = 60000000,
		.spread = { 16, CHUNK, CHUNK, 0 } };
	struct err e;

	if (h->server == NULL && node_new(&h->node, &nc, w.now_us, &e) != 0)
		abort();
	grant(h);
	push((struct event){ .turn.time = act_us, .kind = ACT, .host = h });
}

static void
start(uint32_t nodes, uint32_t chunks, unsigned arity)
{
	w.nodes = nodes;
	w.hosts = calloc(nodes + 3, sizeof *w.hosts);
	if (w.hosts == NULL)
		abort();
	w.hosts[nodes + 1] = (struct host){ .id = nodes + 1, .dead = true }; /* strangers */
	start_server(nodes, chunks, arity, 0);
	for (uint32_t i = 0; i <= nodes; i++) {
		struct host *h = &w.hosts[i];
		h->id = i;
		h->put_us = 1;
		h->line.us_a_kb = w.us_a_kb;
		h->home = w.two && i % 2 == 1 ? nodes + 2 : 0;
		begin_host(h, i);
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
			push((struct event){ .turn.time = w.now_us + STREAM_DELAY_US,
			    .kind = CLOSED,
			    .conn = x->conn,
			    .side = !x->side });
}

/* A process is killed: its connections end, and what it had is gone.  Its owner frees the
 * engine. */
static void
kill_host(struct host *h)
{
	lose_host(h, false);
	for (struct end *x = h->ends; x != NULL; x = x->next) {
		struct peer **p = &x->conn->peer[x->side];
		if (*p != NULL && (*p)->kind == PEER_NEW)
			peer_free(*p);
		*p = NULL;
		x->conn->open = false;
	}
	h->life++;
	h->unread = 0;
	h->goes_on = false;
}

static void
kill_node(struct host *h)
{
	kill_host(h);
	node_free(h->node);
	h->node = NULL;
	h->put = 0;
	h->done_us = 0;
}

/* It comes back with nothing, and dies again, five times in all. */
static void
come_back(struct host *h)
{
	h->dead = false;
	begin_host(h, w.now_us);
	if (h->life < COMEBACKS)
		push((struct event){ .turn.time = w.now_us + 500000 + draw(3000000),
		    .kind = DIE, .host = h });
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
	while (w.heap.n > 0) {
		struct event *x = (struct event *)heap_take(&w.heap);
		free(x->packet);
		free(x);
	}
	for (struct conn *c = w.conns, *next; c != NULL; c = next) {
		next = c->all;
		for (int side = 0; side < 2; side++) {
			stream_forget(&c->way[side]);
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
	dolly_server_free(w.hosts[w.nodes + 2].server);
	for (uint32_t i = 1; i <= w.nodes; i++)
		node_free(w.hosts[i].node);
	free(w.hosts);
	free(w.heap.items);
}

struct scene {
	uint32_t nodes, chunks;
	unsigned arity;
	uint64_t seed;
	uint32_t lost;      /* so many hosts die, or hang, while chunks are sent; */
	bool none_hangs;    /* they all die */
	uint32_t slow_node; /* its disk takes slow_put_us for a chunk; 0: none */
	uint64_t slow_put_us;
	uint64_t slow; /* as of --slow */
	uint64_t us_a_kb; /* of each link; 0: US_A_KB */
	uint64_t without_us; /* the time without foes */
	enum foe foe;     /* one host of FOE_EVERY is one; FOES: of any kind but FORGES */
	bool digests;     /* the server says digests also without those that forge them */
};

struct outcome {
	uint64_t us;    /* when the last living node was whole */
	uint32_t whole; /* living nodes */
	uint32_t right; /* of these have had each chunk, once */
	uint32_t whole_friends;
	uint64_t friends_us;
	uint32_t friends, well; /* who is no foe; who of these has had each chunk in time */
	double worst;           /* the longest time of a friend, as friend_limit_us() counts */
	uint32_t out;   /* were cut out, or are gone */
};

/* The time in which the first chunk passes from one node to the last one. */
static uint64_t
fill_us(uint32_t nodes, uint64_t us_a_kb)
{
	return (uint64_t)(nodes - 1) * (us_a_kb * PACKET / 1024 + STREAM_DELAY_US);
}

static uint32_t
count_out(void)
{
	const struct roster *r = dolly_server_roster(w.server);
	uint32_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		n += r->members[i]->state == MEMBER_OUT;
	return n;
}

/* Loses one host at a moment of each of so many equal parts of the time in which chunks
 * are certainly still sent. */
static void
lose_some(const struct scene *s)
{
	uint64_t span = (uint64_t)s->chunks * CHUNK / 1024 * w.us_a_kb;
	uint64_t part = s->lost > 0 ? span * 9 / 10 / s->lost : 1;
	uint64_t next = span / 20 + draw(part);
	uint64_t end = FAIL_MOST + 2 * fill_us(s->nodes, w.us_a_kb) + 2 * span +
	               (s->foe != FRIEND ? s->nodes / FOE_EVERY * (uint64_t)DETECTION_US : 0);
	struct err e;

	for (uint32_t gone = 0; dolly_server_over(w.server, &e) == 0 && w.now_us < end;) {
		step();
		if (gone == s->lost || w.now_us < next)
			continue;
		struct host *h = &w.hosts[1 + draw(s->nodes)];
		if (is_gone(h))
			continue;
		lose_host(h, !s->none_hangs && gone % 4 == 1);
		next = span / 20 + ++gone * part + draw(part);
	}
}

/* How many foes were between a node and the server when they began. */
static uint32_t
foes_before(const struct scene *s, uint32_t id)
{
	uint32_t n = 0;

	while (id > s->arity) {
		id = (id - s->arity - 1) / s->arity + 1;
		n += w.hosts[id].foe != FRIEND;
	}
	return n;
}

static void
look_at_friends(const struct scene *s, struct outcome *o)
{
	for (uint32_t i = 1; i <= s->nodes; i++) {
		const struct host *h = &w.hosts[i];
		if (h->foe != FRIEND)
			continue;
		o->friends++;
		uint64_t limit_us = s->without_us * 115 / 100 +
		                    foes_before(s, i) * (uint64_t)DETECTION_US;
		o->well += h->done_us > 0 && h->put == s->chunks && h->done_us <= limit_us;
		o->whole_friends += h->done_us > 0 && h->put == s->chunks;
		double over = (double)h->done_us / (double)(limit_us + 1);
		o->worst = over > o->worst ? over : o->worst;
		o->friends_us = h->done_us > o->friends_us ? h->done_us : o->friends_us;
		if (w.show && (h->done_us == 0 || h->done_us > limit_us))
			printf("# %u: %.3f s, limit %.3f s, put %u\n", i, (double)h->done_us / 1e6,
			    (double)limit_us / 1e6, h->put);
	}
}

/* Makes foes of some hosts. */
static void
corrupt_some(const struct scene *s)
{
	if (s->foe == FRIEND)
		return;
	for (uint32_t k = 0; k < (s->nodes + FOE_EVERY - 1) / FOE_EVERY;) {
		/* A single one has others behind it. */
		struct host *h = &w.hosts[s->nodes > FOE_EVERY ? 1 + draw(s->nodes) : 2];
		if (h->foe != FRIEND)
			continue;
		h->foe = s->foe != FOES ? s->foe : SENDS_SLOWLY + k % (FOES - SENDS_SLOWLY);
		if (h->foe == SENDS_SLOWLY)
			h->line.us_a_kb *= FOE_SLOWER;
		if (h->foe == TAKES_SLOWLY)
			h->put_us = CHUNK / 1024 * w.us_a_kb * FOE_SLOWER;
		if (h->foe == COMES_BACK)
			push((struct event){ .turn.time = 500000 + draw(3000000),
			    .kind = DIE, .host = h });
		k++;
	}
}

/* Until the server has ended. */
static struct outcome
run(const struct scene *s)
{
	struct outcome o = { 0 };

	draw_seed = s->seed;
	w = (struct world){ .slow = s->slow,
		.digests = s->foe == FORGES || s->digests,
		.us_a_kb = s->us_a_kb > 0 ? s->us_a_kb : US_A_KB };
	start(s->nodes, s->chunks, s->arity);
	if (s->slow_node > 0)
		w.hosts[s->slow_node].put_us = s->slow_put_us;
	corrupt_some(s);
	w.show = (s->foe != FRIEND || s->slow_node) && getenv("SHOW") != NULL;
	lose_some(s);
	look_at_friends(s, &o);
	o.us = last_done(&o.whole);
	o.out = count_out();
	for (uint32_t i = 1; i <= s->nodes; i++)
		o.right += !is_gone(&w.hosts[i]) && w.hosts[i].put == s->chunks;
	end_run();
	return o;
}

static void
kill_server(void)
{
	kill_host(w.hosts);
	dolly_server_free(w.server);
	w.server = w.hosts->server = NULL;
}

/* A server that dies when half is done, and comes back after three seconds. */
static void
server_dies(uint32_t nodes, uint32_t chunks, unsigned arity)
{
	struct err e;
	uint32_t whole, right = 0, before = 0;
	uint64_t death = (uint64_t)chunks * CHUNK / 1024 * US_A_KB * arity / 2;

	w = (struct world){ .us_a_kb = US_A_KB, .digests = true };
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
	push((struct event){ .turn.time = w.now_us, .kind = ACT, .host = w.hosts });
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

/* A node that says nothing for longer than it takes to be set aside, and goes on before
 * the deadline: it is not cut out, the others lose little, and all become whole. */
static void
wakes_up(uint32_t nodes, uint32_t chunks)
{
	uint64_t span = (uint64_t)chunks * CHUNK / 1024 * US_A_KB;
	struct err e;
	uint32_t whole;

	w = (struct world){ .us_a_kb = US_A_KB };
	start(nodes, chunks, 1);
	struct host *h = &w.hosts[nodes / 2];
	uint32_t second = nodes / 2 + 1; /* of the chain: behind it */
	while (w.now_us < span / 2)
		step();
	h->hung = true;
	while (w.now_us < span / 2 + DEADLINE_US / 2)
		step();
	uint32_t then = w.hosts[second].put;
	while (w.now_us < span / 2 + DEADLINE_US * 3 / 4)
		step();
	T_CHECK(w.hosts[second].put > then);
	h->hung = false;
	push((struct event){ .turn.time = w.now_us, .kind = ACT, .host = h });
	go_on(h);
	while (dolly_server_over(w.server, &e) == 0 && w.now_us < FAIL_MOST)
		step();
	uint64_t us = last_done(&whole);
	printf("# a node of %u hangs for a while: %.3f s\n", nodes, (double)us / 1e6);
	T_CHECK(whole == nodes && count_out() == 0);
	end_run();
}

/* A node whose port nobody reaches is whole long before its child gets another parent:
 * both are let go in the end, and the server ends. */
static void
walled(uint32_t nodes, uint32_t chunks)
{
	struct err e;
	uint32_t whole;

	w = (struct world){ .us_a_kb = US_A_KB };
	start(nodes, chunks, 1);
	w.hosts[1].walled = true;
	while (dolly_server_over(w.server, &e) == 0 && w.now_us < FAIL_MOST)
		step();
	uint64_t us = last_done(&whole);
	printf("# nobody reaches a node of %u: %.3f s\n", nodes, (double)us / 1e6);
	T_CHECK(w.hosts[1].done_us > 0 && w.hosts[1].done_us < NO_ANSWER_US);
	T_CHECK(dolly_server_over(w.server, &e) == 1);
	T_CHECK(whole == nodes && count_out() == 0);
	end_run();
}

/* A node that is whole and hangs while the next one still works: it lacks nothing, and is
 * not reported as if it did. */
static void
hangs_when_whole(uint32_t chunks)
{
	struct err e;

	w = (struct world){ .us_a_kb = US_A_KB };
	start(2, chunks, 1);
	w.hosts[2].put_us = 2 * DEADLINE_US / chunks;
	while (w.hosts[1].done_us == 0 && w.now_us < FAIL_MOST)
		step();
	for (uint64_t told_us = w.now_us + ACT_US; w.now_us < told_us;)
		step();
	T_CHECK(w.hosts[2].done_us == 0);
	w.hosts[1].hung = true;
	while (dolly_server_over(w.server, &e) == 0 && w.now_us < FAIL_MOST)
		step();
	T_CHECK(w.hosts[2].done_us > w.hosts[1].done_us + DEADLINE_US);
	T_CHECK(dolly_server_over(w.server, &e) == 1 && count_out() == 0);
	end_run();
}

/* Breaks the connection of a node with its parent: both sides notice. */
static void
break_parent(const struct host *h)
{
	for (const struct end *x = h->ends; x != NULL; x = x->next) {
		const struct peer *p = x->conn->peer[x->side];
		if (p != NULL && p->kind == PEER_PARENT && x->conn->open)
			for (int side = 0; side < 2; side++)
				push((struct event){ .turn.time = w.now_us,
				    .kind = CLOSED,
				    .conn = x->conn,
				    .side = side });
	}
}

/* A connection that breaks every few chunks, and can always be made again: the node goes
 * on each time, and is not cut out. */
static void
breaks(uint32_t chunks, unsigned times)
{
	struct err e;
	uint32_t whole;

	w = (struct world){ .us_a_kb = US_A_KB };
	start(1, chunks, 1);
	for (unsigned i = 1; i <= times; i++) {
		while (w.hosts[1].put < i * chunks / (times + 1) && w.now_us < FAIL_MOST &&
		       dolly_server_over(w.server, &e) == 0)
			step();
		break_parent(&w.hosts[1]);
	}
	while (dolly_server_over(w.server, &e) == 0 && w.now_us < FAIL_MOST)
		step();
	uint64_t us = last_done(&whole);
	printf("# a connection breaks %u times: %.3f s\n", times, (double)us / 1e6);
	T_CHECK(whole == 1 && w.hosts[1].put == chunks && count_out() == 0);
	end_run();
}

/* The connection of a node with its server, on the node's side. */
static struct peer *
server_of(const struct host *h)
{
	for (const struct end *x = h->ends; x != NULL; x = x->next)
		if (x->conn->peer[x->side] != NULL &&
		    x->conn->peer[x->side]->kind == PEER_SERVER)
			return x->conn->peer[x->side];
	return NULL;
}

/* Tells a node that another one is its parent, as a server would that lies. */
static void
say_parent_of(struct host *h, uint32_t parent)
{
	const struct member *m = dolly_server_roster(w.server)->members[parent - 1];
	struct msg p = { .type = MSG_PARENT,
		.id = parent,
		.port = m->port };
	struct buf b = { 0 };

	memcpy(p.address, m->address, sizeof p.address);
	memcpy(p.key, m->key, sizeof p.key);
	msg_write(&b, &p);
	node_input(h->node, server_of(h), b.base, b.len);
	grant(h);
	buf_free(&b);
}

/* A server that makes each node the parent of another one, in a circle without itself:
 * nothing passes, nobody is busy with it, and after a server that is right all are whole. */
static void
ring(uint32_t nodes, uint32_t chunks)
{
	uint64_t begin_us = (uint64_t)chunks * CHUNK / 1024 * US_A_KB / 2, steps = 0;
	struct err e;
	uint32_t whole, right = 0;

	w = (struct world){ .us_a_kb = US_A_KB };
	start(nodes, chunks, 1);
	while (w.now_us < begin_us)
		step();
	for (uint32_t i = 1; i <= nodes; i++)
		say_parent_of(&w.hosts[i], i % nodes + 1);
	while (w.now_us < begin_us + 1000000)
		step();
	for (; w.now_us < begin_us + 2000000; steps++)
		step();
	printf("# %u nodes in a circle: %llu events a second\n", nodes,
	    (unsigned long long)steps);
	/* A node acts, its PROGRESS, and what answers it, ten times a second each. */
	T_CHECK(steps < 60 * (uint64_t)(nodes + 1));
	kill_server();
	while (w.now_us < begin_us + 4000000)
		step();
	w.hosts->dead = false;
	start_server(nodes, chunks, 1, 2000000);
	push((struct event){ .turn.time = w.now_us, .kind = ACT, .host = w.hosts });
	while (dolly_server_over(w.server, &e) == 0 && w.now_us < FAIL_MOST)
		step();
	(void)last_done(&whole);
	for (uint32_t i = 1; i <= nodes; i++)
		right += w.hosts[i].put == chunks;
	T_CHECK(whole == nodes && right == nodes);
	end_run();
}

/* Has a node what it should have after two_servers()? */
static bool
is_well(const struct host *h, uint32_t chunks, bool may_follow)
{
	struct err e;

	if (may_follow)
		return h->done_us > 0 && h->put == chunks;
	return h->done_us == 0 && node_over(h->node, &e) == -1 && e.kind == ERR_REFUSED;
}

/* Two servers of one name, of which each node finds one, and the second has another plan,
 * or another image, too.  With `dies` the first one dies, and its nodes come to the second:
 * they go on with the same image, and take nothing of another one.  Nobody else is
 * disturbed, and no chunk is put twice. */
static void
two_servers(uint32_t nodes, uint32_t chunks, bool dies, bool same)
{
	uint64_t death_us = 500000 + (uint64_t)chunks * CHUNK / 1024 * US_A_KB / 2;
	struct host *second;
	struct err e;
	uint32_t well = 0;

	w = (struct world){ .us_a_kb = US_A_KB, .two = true, .digests = true };
	start(nodes, chunks, 1);
	dolly_server_free(w.server);
	start_server(nodes, chunks, 1, 500000);
	second = &w.hosts[nodes + 2];
	*second = (struct host){ .id = nodes + 2, .line.us_a_kb = w.us_a_kb, .image = !same };
	make_server(second, nodes, chunks, 3, 500000);
	begin_host(second, 1);
	while (w.now_us < death_us)
		step();
	if (dies)
		kill_server();
	for (uint32_t i = 1; i <= nodes && dies; i++)
		w.hosts[i].home = nodes + 2;
	while ((dolly_server_over(second->server, &e) == 0 ||
		       (!dies && dolly_server_over(w.server, &e) == 0)) &&
	       w.now_us < FAIL_MOST)
		step();
	for (uint32_t i = 1; i <= nodes; i++)
		well += is_well(&w.hosts[i], chunks, !dies || same || i % 2 == 1);
	printf("# two servers of %s%s: %u of %u nodes well\n", same ? "one image" : "two images",
	    dies ? ", one dies" : "", well, nodes);
	T_CHECK(well == nodes && w.now_us < FAIL_MOST);
	end_run();
}

static void
failures(uint32_t nodes, unsigned arity, uint32_t lost, uint64_t seed)
{
	const struct outcome o = run(&(struct scene){ .nodes = nodes,
	    .chunks = 200,
	    .arity = arity,
	    .lost = lost,
	    .seed = seed });

	printf("# %u nodes, %u lost (%u hung), arity %u, seed %llu: %.3f s\n", nodes,
	    lost, w.hung, arity, (unsigned long long)seed, (double)o.us / 1e6);
	T_CHECK(o.whole == nodes - lost);
	T_CHECK(o.right == nodes - lost);
}

/* A chain in which nobody fails: its time, divided by that of one hop and the fill. */
static double
chain(uint32_t nodes, uint32_t chunks, uint64_t us_a_kb, uint64_t *us)
{
	const struct outcome one = run(&(struct scene){
	    .nodes = 1, .chunks = chunks, .arity = 1, .seed = 1, .us_a_kb = us_a_kb });
	const struct outcome all = run(&(struct scene){ .nodes = nodes,
	    .chunks = chunks,
	    .arity = 1,
	    .seed = 1,
	    .us_a_kb = us_a_kb });

	T_CHECK(one.whole == 1 && one.right == 1);
	T_CHECK(all.whole == nodes && all.right == nodes);
	*us = all.us;
	return (double)all.us / (double)(one.us + fill_us(nodes, us_a_kb));
}

/* One node of twenty dies, or with `hang` dies or, of four one, hangs: the time of the
 * others, divided by that of a chain of the same links in which nobody does. */
static double
some_fail(uint32_t nodes, uint32_t chunks, uint64_t us_a_kb, bool hang, uint64_t chain_us,
    uint64_t seed)
{
	const uint32_t lost = nodes / 20;
	const struct outcome o = run(&(struct scene){ .nodes = nodes,
	    .chunks = chunks,
	    .arity = 1,
	    .lost = lost,
	    .none_hangs = !hang,
	    .seed = seed,
	    .us_a_kb = us_a_kb });

	T_CHECK(o.whole == nodes - lost && o.right == nodes - lost);
	return (double)o.us / (double)chain_us;
}

/* The disk of a node in the middle takes ten times as long as the network: the time of
 * the others beyond that of a chain without it, in deadlines, after one of which the
 * node is cut out. */
static double
one_is_slow(uint32_t nodes, uint32_t chunks, uint64_t chain_us)
{
	const uint64_t chunk_us = CHUNK / 1024 * US_A_KB;
	const struct outcome o = run(&(struct scene){ .nodes = nodes,
	    .chunks = chunks,
	    .arity = 1,
	    .seed = 1,
	    .slow_node = nodes / 2,
	    .slow_put_us = 10 * chunk_us,
	    .slow = CHUNK * 1000000ull / chunk_us / 2 });

	T_CHECK(o.whole == nodes - 1 && o.right == nodes - 1 && o.out == 1);
	return ((double)o.us - (double)chain_us) / DEADLINE_US;
}

/* The rows of make paper-dolly: name, figure, the figure of the ideal, its limit. */
static int
paper(void)
{
	static const struct {
		uint32_t nodes, chunks;
		double limit;
	} chains[] = { { 1000, 2000, 1.03 }, { 10000, 400, 1.05 } };
	uint64_t us[2];

	setvbuf(stdout, NULL, _IOLBF, 0);

	for (size_t i = 0; i < 2; i++) {
		double x = chain(chains[i].nodes, chains[i].chunks, US_A_KB, &us[i]);
		printf("row\tchain of %u nodes, time over one hop and the fill\t%.4f\t1\t%g\n",
		    chains[i].nodes, x, chains[i].limit);
		T_CHECK(x < chains[i].limit);
	}
	for (uint64_t seed = 1; seed <= 3; seed++) {
		double x = some_fail(1000, 2000, US_A_KB, false, us[0], seed);
		printf("row\t5 %% of 1000 nodes die (seed %llu), time over nobody "
		       "dies\t%.4f\t1\t1.1\n",
		    (unsigned long long)seed, x);
		T_CHECK(x < 1.1);
	}
	(void)chain(1000, 2000, US_A_KB_SLOW, &us[1]);
	for (uint64_t seed = 1; seed <= 3; seed++) {
		double x = some_fail(1000, 2000, US_A_KB_SLOW, true, us[1], seed);
		printf("row\t5 %% of 1000 nodes die or hang (%u hang, seed %llu), time over "
		       "nobody does\t%.4f\t1\t1.1\n",
		    w.hung, (unsigned long long)seed, x);
		T_CHECK(w.hung > 0 && x < 1.1);
	}
	double x = one_is_slow(1000, 2000, us[0]);
	printf("row\tone slow node of 1000, time lost in deadlines\t%.4f\t1\t1.1\n", x);
	T_CHECK(x < 1.1);
	return t_done();
}

static unsigned foes_tried, foes_failed;

/* What comes of a scene without foes: it is the same for each kind of them. */
static const struct outcome *
without_foes(const struct scene *s)
{
	static struct scene of[2];
	static struct outcome known[2];
	const size_t i = s->arity > 1;

	if (of[i].nodes != s->nodes || of[i].chunks != s->chunks || of[i].arity != s->arity ||
	    of[i].seed != s->seed || of[i].digests != s->digests)
		known[i] = run(s);
	of[i] = *s;
	return &known[i];
}

static void
foes(uint32_t nodes, uint32_t chunks, unsigned arity, enum foe foe, uint64_t seed)
{
	static const char *const names[] = { "friends", "send slowly", "take slowly",
		"spoil chunks", "are mute", "are deaf", "lie", "die and come back",
		"are any foes", "forge chunks" };
	struct scene s = { .nodes = nodes,
		.chunks = chunks,
		.arity = arity,
		.seed = seed,
		.digests = foe == FORGES,
		.slow = 1024 * 1000000ull / US_A_KB / 3 / arity };

	const struct outcome none = *without_foes(&s);
	T_CHECK(none.whole_friends == nodes && none.out == 0);
	s.without_us = none.friends_us;
	s.foe = foe;
	const struct outcome o = run(&s);
	printf("# 5 %% of %u nodes %s, arity %u, seed %llu: %u of %u friends whole, %u in time, "
	       "%.3f s for %.3f s, %u out, at %.3f\n",
	    nodes, names[foe], arity, (unsigned long long)seed, o.whole_friends, o.friends, o.well,
	    (double)o.friends_us / 1e6, (double)none.friends_us / 1e6, o.out, o.worst);
	bool well = T_CHECK(o.whole_friends == o.friends);
	well &= T_CHECK(o.well == o.friends);
	if (!well)
		printf("FAILED: 5 %% of %u nodes %s, arity %u, seed %llu: %u of %u friends whole, %u "
		       "in time, at %.3f\n    test_dolly_sim foe %llu %u %u %u %d\n",
		    nodes, names[foe], arity, (unsigned long long)seed, o.whole_friends, o.friends,
		    o.well, o.worst, (unsigned long long)seed, nodes, chunks, arity, foe);
	foes_tried++;
	foes_failed += !well;
	/* A single one that takes what comes is whole, too. */
	if (nodes <= FOE_EVERY && foe != TAKES_SLOWLY && foe != LIES && foe != COMES_BACK)
		T_CHECK(o.out == 0 && o.whole == nodes);
}

/* Each kind of foe, in chains and in trees; without `both` in one of them by turns. */
static void
all_foes(uint32_t nodes, uint32_t chunks, uint64_t seed, bool both)
{
	for (enum foe f = SENDS_SLOWLY; f <= FORGES; f++)
		for (unsigned arity = 1; arity <= 3; arity += 2)
			if (both || (f + seed) % 2 == (arity == 1))
				foes(nodes, chunks, arity, f, seed);
}

/* A node of an older version of the protocol, as it is when it begins. */
static void
make_old(struct host *h, uint8_t version)
{
	const size_t highest = MSG_FRAME_BYTES + 4 + 2; /* behind "doly" and the lowest version */

	server_of(h)->out.base[highest] = version;
	h->old = true;
}

static unsigned
children_of_old(void)
{
	const struct roster *r = dolly_server_roster(w.server);
	unsigned n = 0;

	for (size_t i = 0; i < r->n; i++)
		if (w.hosts[r->members[i]->id].old)
			n += r->members[i]->children;
	return n;
}

/* Nodes of an older version are waited for at the beginning like all others, and become whole.
 * Those of version 3 measure nothing, and nobody ever gets chunks from them.  Those of version 4
 * hear no digests, and are like all others. */
static void
old_ones(uint32_t nodes, uint32_t chunks, unsigned arity, uint32_t every, uint8_t version)
{
	struct err e;
	uint32_t whole, right = 0;
	unsigned behind = 0;

	w = (struct world){ .us_a_kb = US_A_KB, .digests = true };
	start(nodes, chunks, arity);
	for (uint32_t i = 1; i <= nodes; i += every)
		make_old(&w.hosts[i], version);
	while (dolly_server_over(w.server, &e) == 0 && w.now_us < FAIL_MOST) {
		step();
		behind += children_of_old();
	}
	uint64_t us = last_done(&whole);
	for (uint32_t i = 1; i <= nodes; i++)
		right += w.hosts[i].put == chunks;
	printf("# %u nodes, arity %u, one of %u speaks version %u: %.3f s\n", nodes, arity, every,
	    version, (double)us / 1e6);
	T_CHECK(whole == nodes && right == nodes && count_out() == 0);
	T_CHECK((behind == 0) == (version == 3 || every == 1));
	end_run();
}

/* Of suspects that wait until one of them has got its chunks, one hangs: it has the deadline that
 * those with a place have, and not the time of those before it. */
static void
hangs_while_it_waits(uint32_t chunks)
{
	const struct member *waits;
	struct err e;

	w = (struct world){ .us_a_kb = US_A_KB };
	start(3, chunks, 1);
	for (uint32_t i = 1; i <= 3; i++)
		make_old(&w.hosts[i], 3);
	w.hosts[1].put_us = 3 * DEADLINE_US / chunks;
	while (w.now_us < DEADLINE_US / 2)
		step();
	waits = dolly_server_roster(w.server)->members[1];
	T_CHECK(waits->state == MEMBER_WAITS && !waits->placed);
	w.hosts[2].hung = true;
	while (w.now_us < 2 * DEADLINE_US)
		step();
	T_CHECK(waits->state == MEMBER_OUT && w.hosts[1].done_us == 0);
	while (dolly_server_over(w.server, &e) == 0 && w.now_us < FAIL_MOST)
		step();
	T_CHECK(dolly_server_over(w.server, &e) == 1);
	T_CHECK(w.hosts[1].put == chunks && w.hosts[3].put == chunks && count_out() == 1);
	end_run();
}

/* The link from the server is too slow, and the first node behind it gets another place when it is
 * whole and the second one is not: it has lost its child then, and is let go. */
static void
parted_when_whole(uint32_t chunks)
{
	struct err e;

	w = (struct world){ .us_a_kb = US_A_KB, .slow = 1024 * 1000000ull / US_A_KB };
	start(2, chunks, 1);
	w.hosts[2].put_us = CHUNK / 1024 * 2 * US_A_KB;
	while (dolly_server_over(w.server, &e) == 0 && w.now_us < FAIL_MOST)
		step();
	T_CHECK(dolly_server_over(w.server, &e) == 1 && count_out() == 0);
	T_CHECK(w.hosts[1].put == chunks && w.hosts[2].put == chunks);
	end_run();
}

/* Several nodes of a tree take slowly, and are leaves of one parent in the end, which says of all of
 * them at once that they do: the server does not wait for one after the other. */
static void
slow_leaves(uint32_t nodes, uint32_t chunks, uint32_t slow)
{
	struct err e;
	uint32_t right = 0;

	w = (struct world){ .us_a_kb = US_A_KB, .slow = 1024 * 1000000ull / US_A_KB / 3 / 3 };
	start(nodes, chunks, 3);
	for (uint32_t i = nodes - slow + 1; i <= nodes; i++)
		w.hosts[i].put_us = CHUNK / 1024 * US_A_KB * FOE_SLOWER;
	while (dolly_server_over(w.server, &e) == 0 && w.now_us < FAIL_MOST)
		step();
	for (uint32_t i = 1; i <= nodes - slow; i++)
		right += w.hosts[i].put == chunks;
	printf("# %u of %u nodes in a tree take slowly: %.3f s, %u out\n", slow, nodes,
	    (double)w.now_us / 1e6, count_out());
	T_CHECK(right == nodes - slow && count_out() == slow);
	T_CHECK(w.now_us < 8 * (uint64_t)DEADLINE_US);
	end_run();
}

/* The child of a node whose disk is slow asks again for a damaged chunk before the node's disk has
 * got to it: the node, too, gets the chunk again, and is whole only then. */
static void
damaged_and_slow(uint32_t chunks)
{
	struct err e;

	draw_seed = 1;
	w = (struct world){ .us_a_kb = US_A_KB };
	start(3, chunks, 1);
	w.hosts[1].foe = SPOILS;
	w.hosts[2].put_us = 4 * ACT_US;
	while (dolly_server_over(w.server, &e) == 0 && w.now_us < FAIL_MOST)
		step();
	T_CHECK(dolly_server_over(w.server, &e) == 1);
	T_CHECK(w.hosts[2].done_us > 0 && w.hosts[2].put == chunks);
	T_CHECK(w.hosts[3].done_us == 0 || w.hosts[3].put == chunks);
	end_run();
}

static void
restart_server(uint32_t nodes, uint32_t chunks, unsigned arity, uint64_t start_us)
{
	kill_server();
	w.hosts->dead = false;
	start_server(nodes, chunks, arity, start_us);
	push((struct event){ .turn.time = w.now_us, .kind = ACT, .host = w.hosts });
}

/* Of three nodes behind a server one is gone: it was whole, and has ended, or it has died.  The server is
 * killed, too, and started again, to wait for all three.  It does not wait for ever, since the two
 * others have chunks already. */
static void
comes_back_for_some(uint32_t chunks, bool was_whole)
{
	struct err e;

	w = (struct world){ .us_a_kb = US_A_KB, .digests = true };
	start(3, chunks, ROSTER_MAX);
	for (uint32_t i = 2; i <= 3; i++)
		w.hosts[i].put_us = 10 * ACT_US;
	while (was_whole ? node_over(w.hosts[1].node, &e) == 0 : w.hosts[2].put < chunks / 2)
		step();
	if (!was_whole)
		kill_node(&w.hosts[1]);
	T_CHECK(w.hosts[2].done_us == 0 && w.hosts[3].done_us == 0);
	restart_server(3, chunks, 1, 0);
	uint64_t at_us = w.now_us;
	while (!dolly_server_has_begun(w.server) && w.now_us < FAIL_MOST)
		step();
	T_CHECK(w.now_us - at_us >= DEADLINE_US && w.now_us - at_us < 2 * DEADLINE_US);
	while (dolly_server_over(w.server, &e) == 0 && w.now_us < FAIL_MOST)
		step();
	T_CHECK(dolly_server_over(w.server, &e) == 1 && count_out() == 0);
	T_CHECK(w.hosts[2].put == chunks && w.hosts[3].put == chunks);
	end_run();
}

/* Nodes that have nothing are waited for, however late the last one comes. */
static void
first_start_waits(void)
{
	struct err e;

	w = (struct world){ .us_a_kb = US_A_KB, .digests = true };
	start(3, 50, 1);
	kill_node(&w.hosts[3]);
	while (w.now_us < 10 * (uint64_t)DEADLINE_US)
		step();
	T_CHECK(!dolly_server_has_begun(w.server));
	w.hosts[3].life = COMEBACKS;
	come_back(&w.hosts[3]);
	while (dolly_server_over(w.server, &e) == 0 && w.now_us < FAIL_MOST)
		step();
	T_CHECK(dolly_server_over(w.server, &e) == 1);
	for (uint32_t i = 1; i <= 3; i++)
		T_CHECK(w.hosts[i].put == 50);
	end_run();
}

/* What the server serves is changed while it is sent, and chunks are read again: the server says
 * so and ends, and no node takes two different files for one. */
static void
is_changed(uint32_t chunks)
{
	struct err e = { 0 };

	draw_seed = 1;
	w = (struct world){ .us_a_kb = US_A_KB, .digests = true };
	start(3, chunks, 1);
	w.hosts[1].foe = SPOILS;
	while (w.hosts[1].put < chunks / 2)
		step();
	w.changed = true;
	while (dolly_server_over(w.server, &e) == 0 && w.now_us < FAIL_MOST)
		step();
	T_CHECK(dolly_server_over(w.server, &e) == -1 && e.kind == ERR_IO);
	T_CHECK(strstr(e.text, "was changed") != NULL);
	T_CHECK(w.hosts[2].done_us == 0 && w.hosts[3].done_us == 0 && count_out() == 3);
	end_run();
}

/* A server with another file of the same name and size comes back, and the nodes do not know it by
 * its identity: whoever hears of a chunk that it has had before gives up. */
static void
comes_back_changed(uint32_t nodes, uint32_t chunks)
{
	struct err e;
	uint32_t whole, refused = 0;

	w = (struct world){ .us_a_kb = US_A_KB, .digests = true };
	start(nodes, chunks, 1);
	while (w.hosts[1].put < chunks / 2)
		step();
	w.changed = true;
	kill_node(&w.hosts[nodes]);
	come_back(&w.hosts[nodes]);
	restart_server(nodes, chunks, 1, 3000000);
	while (dolly_server_over(w.server, &e) == 0 && w.now_us < FAIL_MOST)
		step();
	(void)last_done(&whole);
	for (uint32_t i = 1; i < nodes; i++)
		refused += node_over(w.hosts[i].node, &e) == -1 && e.kind == ERR_REFUSED;
	T_CHECK(refused == nodes - 1);
	end_run();
}

/* What a stranger says: that it joins, that it is a child, or nothing that has a meaning. */
static void
say_something(struct buf *b)
{
	struct msg m = { .type = draw(2) == 0 ? MSG_JOIN : MSG_HELLO,
		.version_lo = MSG_VERSION_OLDEST,
		.version_hi = MSG_VERSION,
		.port = (uint16_t)draw(65536),
		.id = (uint32_t)draw(w.nodes + 1) };

	draw_key(m.key, sizeof m.key);
	msg_write(b, &m);
	if (draw(3) == 0)
		b->base[draw(b->len)] ^= 0xff;
	if (draw(4) == 0)
		b->len = draw(b->len);
}

/* A stranger connects to the server, or to a node, says something, and goes a little later. */
static void
visit(struct host *to)
{
	struct host *stranger = &w.hosts[w.nodes + 1];
	const uint8_t address[4] = { 10, (uint8_t)(stranger->id >> 16),
		(uint8_t)(stranger->id >> 8), (uint8_t)stranger->id };
	struct conn *c = connect_to(stranger, NULL, to);
	struct buf b = { 0 };

	c->peer[1] = to->server != NULL ? dolly_server_accept(to->server, address)
	                                : node_accept(to->node, address);
	c->peer[1]->io = &c->end[1];
	c->open = true;
	say_something(&b);
	if (to->server != NULL)
		dolly_server_input(to->server, c->peer[1], b.base, b.len);
	else
		node_input(to->node, c->peer[1], b.base, b.len);
	grant(to);
	buf_free(&b);
	go_on(to);
	push((struct event){ .turn.time = w.now_us + draw(200000),
	    .kind = CLOSED, .conn = c, .side = 1 });
}

static struct outcome
visited(uint32_t nodes, uint32_t chunks, unsigned arity, bool listed, uint64_t every_us)
{
	struct outcome o = { 0 };
	struct err e;

	draw_seed = nodes + arity;
	w = (struct world){ .us_a_kb = US_A_KB, .listed = listed };
	start(nodes, chunks, arity);
	for (uint64_t next = 1000; dolly_server_over(w.server, &e) == 0 && w.now_us < FAIL_MOST;) {
		step();
		if (every_us == 0 || w.now_us < next)
			continue;
		struct host *to = &w.hosts[draw(2) * draw(nodes + 1)];
		/* When nodes have ended, more of them come to the server. */
		bool ended = to->id > 0 && node_over(to->node, &e) != 0;
		for (int i = 0; i < (ended ? 8 : 1); i++)
			visit(ended ? w.hosts : to);
		next = w.now_us + every_us;
	}
	o.us = last_done(&o.whole);
	for (uint32_t i = 1; i <= nodes; i++)
		o.right += w.hosts[i].put == chunks;
	return o;
}

/* Strangers come to the server and to nodes all the time: with --nodes they cost nothing,
 * and nobody dials them.  Else they join and go, but all nodes are whole. */
static void
strangers(uint32_t nodes, uint32_t chunks, unsigned arity, bool listed)
{
	const struct outcome none = visited(nodes, chunks, arity, listed, 0);
	end_run();
	const struct outcome o = visited(nodes, chunks, arity, listed, 20000);
	unsigned entries = (unsigned)dolly_server_roster(w.server)->n;
	struct err e;

	printf("# %u nodes, arity %u, strangers come%s: %.3f s for %.3f s, %u entries, "
	       "dialled %u times\n",
	    nodes, arity, listed ? " and are refused" : "", (double)o.us / 1e6,
	    (double)none.us / 1e6, entries, w.dialled_strangers);
	T_CHECK(none.whole == nodes && o.whole == nodes && o.right == nodes);
	/* Those of one address that are kept, and those that are there at once. */
	T_CHECK(entries <= nodes + (listed ? 0 : 64 + 32));
	/* Each visit may prolong the time for which it lingers, but not for ever. */
	T_CHECK(dolly_server_over(w.server, &e) == 1 && w.now_us < o.us + 15000000);
	T_CHECK(!listed || (w.dialled_strangers == 0 && o.us < none.us * 102 / 100));
	end_run();
}

/* A node that dies again and again, and never gets further, comes back sooner than the server
 * is done with lingering: the server ends. */
static void
crash_loop(uint32_t chunks, uint64_t life_us)
{
	struct err e;

	draw_seed = 1;
	w = (struct world){ .us_a_kb = US_A_KB, .digests = true };
	start(2, chunks, 1);
	for (uint64_t dies_us = life_us; dolly_server_over(w.server, &e) == 0 && w.now_us < FAIL_MOST;) {
		step();
		if (w.now_us < dies_us)
			continue;
		kill_node(&w.hosts[2]);
		w.hosts[2].life += COMEBACKS; /* its end is here, and not come_back()'s */
		come_back(&w.hosts[2]);
		dies_us = w.now_us + life_us;
	}
	printf("# a node dies every %.2f s: the server ends after %.3f s, %llu have joined\n",
	    (double)life_us / 1e6, (double)w.now_us / 1e6,
	    (unsigned long long)dolly_server_roster(w.server)->joined);
	T_CHECK(dolly_server_over(w.server, &e) == 1);
	T_CHECK(w.hosts[1].put == chunks && w.hosts[2].put < chunks);
	const struct member *last = dolly_server_roster(w.server)->members[1];
	T_CHECK(last->state == MEMBER_OUT && last->why[0] != '\0');
	end_run();
}

/* A server for which no node comes, or whose only node goes before it begins: it ends
 * with its time. */
static void
nobody_comes(bool one_goes)
{
	struct err e;

	w = (struct world){ .us_a_kb = US_A_KB };
	start(one_goes ? 1 : 0, 50, 1);
	dolly_server_free(w.server);
	start_server(2, 50, 1, 2000000);
	while (one_goes && w.now_us < 1000000)
		step();
	if (one_goes)
		lose_host(&w.hosts[1], false);
	while (dolly_server_over(w.server, &e) == 0 && w.now_us < FAIL_MOST)
		step();
	T_CHECK(dolly_server_over(w.server, &e) == 1);
	T_CHECK(w.now_us >= 2000000 && w.now_us < 5000000);
	end_run();
}

/* Nodes that begin before their server: they wait for it, for as long as a server that
 * went away. */
static void
server_is_late(uint64_t late_us)
{
	struct err e;
	uint32_t whole;

	w = (struct world){ .us_a_kb = US_A_KB };
	start(3, 50, 1);
	w.hosts->dead = true;
	while (w.now_us < late_us)
		step();
	w.hosts->dead = false;
	push((struct event){ .turn.time = w.now_us, .kind = ACT, .host = w.hosts });
	while (dolly_server_over(w.server, &e) == 0 && w.now_us < FAIL_MOST)
		step();
	uint64_t us = last_done(&whole);
	printf("# the server comes %.0f s late: %.3f s\n", (double)late_us / 1e6, (double)us / 1e6);
	T_CHECK(whole == 3 && us < 2 * late_us + 5000000);
	end_run();
}

/* What happens to a node while the server waits, sends, or lingers. */
enum fate { STAYS, COMES_LATE, NEVER_COMES, COMES_AND_GOES, HANGS, HANGS_FOR_A_WHILE, FATES };

static void
begin_fate(struct host *h, enum fate fate)
{
	if (fate != COMES_LATE && fate != NEVER_COMES && fate != COMES_AND_GOES)
		return;
	kill_node(h);
	h->life = fate == COMES_AND_GOES ? 1 : COMEBACKS;
	if (fate != NEVER_COMES)
		push((struct event){
		    .turn.time = 1 + draw(6000000), .kind = COME, .host = h });
}

/* A node stops, or goes on. */
static void
happen(struct host *h, bool *hangs)
{
	if (is_gone(h) && !h->hung)
		return;
	h->hung = *hangs && !h->hung;
	*hangs = h->hung;
	if (h->hung)
		return;
	push((struct event){ .turn.time = w.now_us, .kind = ACT, .host = h });
	go_on(h);
}

/* A server that dies when a node has all chunks and its disk is not done with the last ones: the
 * node waits for the server, which reads these chunks again to say what they are. */
static void
dies_before_all_is_said(uint32_t chunks)
{
	struct err e;

	w = (struct world){ .us_a_kb = US_A_KB, .digests = true };
	start(1, chunks, 1);
	w.hosts[1].put_us = 2 * ACT_US;
	while (w.hosts[1].put < chunks)
		step();
	kill_server();
	while (w.now_us < w.hosts[1].disk_us + 1000000)
		step();
	T_CHECK(w.hosts[1].done_us == 0 && node_over(w.hosts[1].node, &e) == 0);
	w.hosts->dead = false;
	start_server(1, chunks, 1, 2000000);
	push((struct event){ .turn.time = w.now_us, .kind = ACT, .host = w.hosts });
	while (dolly_server_over(w.server, &e) == 0 && w.now_us < FAIL_MOST)
		step();
	T_CHECK(dolly_server_over(w.server, &e) == 1 && count_out() == 0);
	T_CHECK(w.hosts[1].done_us > 0 && w.hosts[1].put == chunks);
	T_CHECK(dolly_server_bytes_sent(w.server) < CHUNK);
	end_run();
}

/* The node that a server without --start-after loses when it dies: while another one has chunks, one
 * dies, too.  Is the server to die now?  No: it would wait for a node that has ended, and those that
 * wait with it have nothing. */
static bool
lose_with_server(enum fate *fates)
{
	struct host *has = NULL;
	struct err e;

	for (uint32_t i = 1; i <= w.nodes; i++) {
		struct host *h = &w.hosts[i];
		if (is_gone(h) || h->put == 0 || node_over(h->node, &e) != 0)
			continue;
		if (has != NULL) {
			fates[i] = NEVER_COMES;
			kill_node(h);
			return true;
		}
		has = h;
	}
	return has != NULL;
}

/* Nodes come, go, hang and wake up, and the server is killed and started again, in an order
 * that a seed says, before it begins, while it sends, and while it lingers.  A server with
 * --start-after always ends, and one without it when all of its nodes have come, or one of
 * those that are there has chunks; whoever stays is whole. */
static void
order_of_events(uint64_t seed)
{
	enum { NODES = 4, CHUNKS = 150 };
	enum fate fates[NODES + 1] = { STAYS };
	bool hangs[NODES + 1];
	uint64_t at_us[NODES + 1], wakes_us[NODES + 1];
	struct err e;

	draw_seed = seed;
	w = (struct world){ .us_a_kb = US_A_KB, .digests = true };
	unsigned arity = 1 + draw(2) * 2;
	bool after = draw(4) > 0, dies = draw(2) > 0;
	uint64_t start_us = after ? 500000 + draw(5000000) : 0, death_us = draw(8000000);
	start(NODES, CHUNKS, arity);
	dolly_server_free(w.server);
	start_server(NODES, CHUNKS, arity, start_us);
	for (uint32_t i = 1; i <= NODES; i++) {
		fates[i] = after ? draw(FATES) : draw(2); /* all come */
		hangs[i] = fates[i] == HANGS || fates[i] == HANGS_FOR_A_WHILE;
		at_us[i] = hangs[i] ? draw(6000000) : UINT64_MAX;
		wakes_us[i] = fates[i] == HANGS_FOR_A_WHILE ? at_us[i] + draw(5000000) : UINT64_MAX;
		begin_fate(&w.hosts[i], fates[i]);
	}
	while (dolly_server_over(w.server, &e) == 0 && w.now_us < FAIL_MOST) {
		step();
		for (uint32_t i = 1; i <= NODES; i++)
			if (w.now_us >= at_us[i]) {
				at_us[i] = wakes_us[i];
				wakes_us[i] = UINT64_MAX;
				happen(&w.hosts[i], &hangs[i]);
			}
		if (dies && w.now_us >= death_us) {
			dies = false;
			if (after || lose_with_server(fates))
				restart_server(NODES, CHUNKS, arity, after ? start_us + 3000000 : 0);
		}
	}
	bool ended = T_CHECK(dolly_server_over(w.server, &e) == 1);
	for (uint32_t i = 1; i <= NODES; i++)
		ended &= fates[i] != STAYS || T_CHECK(w.hosts[i].put == CHUNKS);
	if (!ended)
		printf("# order of events %llu: %.3f s\n", (unsigned long long)seed,
		    (double)w.now_us / 1e6);
	end_run();
}

int
main(int argc, char **argv)
{
	if (argc > 2 && strcmp(argv[1], "orders") == 0) {
		for (uint64_t s = strtoull(argv[2], NULL, 10); s > 0; s--)
			order_of_events(s);
		return t_done();
	}
	if (argc > 1 && strcmp(argv[1], "paper") == 0)
		return paper();
	if (argc > 6 && strcmp(argv[1], "foe") == 0) {
		foes((uint32_t)atoi(argv[3]), (uint32_t)atoi(argv[4]),
		    (unsigned)atoi(argv[5]), (enum foe)atoi(argv[6]),
		    strtoull(argv[2], NULL, 10));
		return t_done();
	}
	if (argc > 5 && strcmp(argv[1], "--seed") == 0 && strcmp(argv[3], "--foes") == 0) {
		setvbuf(stdout, NULL, _IOLBF, 0);
		all_foes((uint32_t)atoi(argv[4]), (uint32_t)atoi(argv[5]),
		    strtoull(argv[2], NULL, 10), true);
		int rc = t_done();
		printf("%u cases, %u failed\n", foes_tried, foes_failed);
		return rc;
	}
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	uint32_t nodes = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 300;
	uint64_t us;

	double x = chain(nodes, 300, US_A_KB, &us);
	printf("# %u nodes in a chain: %.3f of one hop and the fill\n", nodes, x);
	T_CHECK(x < 1.03);
	x = chain(100, 1000, US_A_KB, &us);
	T_CHECK(x < 1.03);
	x = some_fail(100, 1000, US_A_KB, false, us, seed);
	printf("# one node of twenty dies: %.3f of the time\n", x);
	T_CHECK(x < 1.1);
	x = one_is_slow(100, 1000, us);
	printf("# one slow node: %.3f deadlines\n", x);
	T_CHECK(x < 1.1);
	(void)chain(100, 1000, US_A_KB_SLOW, &us);
	x = some_fail(100, 1000, US_A_KB_SLOW, true, us, seed);
	printf("# one node of twenty dies or hangs (%u hang): %.3f of the time\n", w.hung, x);
	T_CHECK(x < 1.1);
	wakes_up(20, 200);
	walled(3, 50);
	hangs_when_whole(50);
	breaks(400, 12);
	ring(3, 200);
	ring(9, 200);
	failures(nodes / 3, 1, nodes / 60, seed);
	failures(nodes / 3, 2, nodes / 60, seed + 1);
	failures(30, 30, 3, seed + 2);
	server_dies(8, 200, 1);
	server_dies(40, 200, 3);
	for (int i = 0; i < 4; i++)
		two_servers(20, 200, i % 2 == 1, i < 2);
	nobody_comes(false);
	nobody_comes(true);
	for (uint64_t s = seed; s < seed + 40; s++)
		order_of_events(s);
	server_is_late(7000000);
	strangers(20, 300, 1, true);
	strangers(20, 300, 3, false);
	crash_loop(300, 700000);
	crash_loop(300, 50000);
	for (uint8_t version = 3; version <= 4; version++) {
		old_ones(20, 200, 1, 7, version);
		old_ones(20, 200, 3, 7, version);
	}
	old_ones(3, 200, 1, 1, 3);
	hangs_while_it_waits(100);
	for (uint32_t chunks = 100; chunks <= 160; chunks += 20)
		parted_when_whole(chunks);
	damaged_and_slow(100);
	slow_leaves(11, 200, 4);
	dies_before_all_is_said(7);
	comes_back_for_some(30, true);
	comes_back_for_some(30, false);
	first_start_waits();
	is_changed(100);
	comes_back_changed(3, 100);
	for (enum foe f = SENDS_SLOWLY; f <= FORGES; f++)
		for (unsigned arity = 1; arity <= 3 && f != FOES; arity += 2)
			foes(FOE_EVERY, 500, arity, f, seed);
	/* Many enough that some have bad ones on both sides. */
	foes(300, 400, 1, SPOILS, seed);
	foes(300, 400, 1, FORGES, seed);
	/* Who takes slowly anywhere in a tree holds up those beside it and before it. */
	foes(300, 400, 3, TAKES_SLOWLY, seed);
	foes(300, 400, 3, FOES, seed);
	/* Who is held up by one of two such that follow each other is not taken for slow itself. */
	foes(40, 500, 1, TAKES_SLOWLY, 14);
	for (uint64_t s = seed; s < seed + 3; s++)
		all_foes(60, 500, s, false);
	return t_done();
}
