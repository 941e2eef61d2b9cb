/* share.c: simulates several servers on one link (share.h).  shares.c calls it, in the program's
 * only thread. */
#include "tests/sim/share.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/wire/wirext.h"
#include "frisbee/client/client.h"
#include "frisbeed/server/server.h"
#include "tests/sim/net.h"

enum {
	CHUNKS = 6000, /* more than can be sent meanwhile */
	RUN_BLOCKS = 32,
	AHEAD = 64,
	BUFFERS = 64,
	LATE_NS = 200000,
	ENVELOPE_BYTES = 8 + 20 + 18 + 20, /* UDP, IP, Ethernet, preamble and gap */
	WAY_MAX = 8192,                    /* packets on their way */
};
static const uint64_t NEVER = UINT64_MAX, US = 1000, SLICE_NS = 500000000, SETTLED_NS = 1000000000;

struct sent {
	uint64_t at_ns;
	size_t len;
	uint8_t bytes[WIRE_PACKET_MAX];
};

/* Packets on their way, in the order in which they arrive. */
struct way {
	struct sent *ring;
	uint32_t head, n;
};

struct couple {
	struct server_config of_server;
	struct server *server; /* NULL: it has ended */
	struct client *client;
	uint8_t server_ip[4], client_ip[4];
	uint64_t start_ns;
	struct way down, up;
	uint64_t wakes_ns;               /* the server: not before */
	uint64_t arrived, sent, dropped; /* bytes on the link, while measured */
	uint64_t slice, before; /* arrived in this half second; in all those before the end */
	uint32_t chunks, taken; /* of the image; by the client */
};

struct link {
	const struct share *sh;
	struct couple *couples;
	uint64_t rng, now_ns, free_ns;
	uint64_t from_ns, till_ns; /* measured */
	uint64_t slice_ns;         /* when the half second ends */
	uint64_t slices;           /* so many before the end */
	bool begun;                /* a whole one */
};

static void
push(struct way *w, uint64_t at_ns, const void *bytes, size_t len)
{
	assert(w->n < WAY_MAX);
	struct sent *s = &w->ring[(w->head + w->n++) % WAY_MAX];
	s->at_ns = at_ns;
	s->len = len;
	memcpy(s->bytes, bytes, len);
}

static const struct sent *
pop(struct way *w)
{
	const struct sent *s = &w->ring[w->head];

	w->head = (w->head + 1) % WAY_MAX;
	w->n--;
	return s;
}

static uint64_t
first_ns(const struct way *w)
{
	return w->n > 0 ? w->ring[w->head].at_ns : NEVER;
}

/* Onto the link that all servers share. */
static void
send_down(struct link *k, struct couple *c, const void *bytes, size_t len)
{
	bool counts = k->now_ns >= k->from_ns;
	uint64_t wait = k->free_ns > k->now_ns ? k->free_ns - k->now_ns : 0;
	uint64_t wire = len + ENVELOPE_BYTES;

	c->sent += counts ? wire : 0;
	if ((double)wait * (double)k->sh->link_bits / 8e9 > k->sh->queue_bytes) {
		c->dropped += counts ? wire : 0;
		return;
	}
	k->free_ns = k->now_ns + wait + wire * 8 * 1000000000 / k->sh->link_bits;
	c->arrived += counts ? wire : 0;
	c->slice += wire;
	if (random_fraction(&k->rng) >= k->sh->loss)
		push(&c->down, k->free_ns + k->sh->latency_us * US, bytes, len);
}

static void
read_at_once(struct server *s)
{
	struct server_run run;

	while (server_read_next(s, &run))
		server_read_done(s, run.buf);
}

static void
send_parity(struct link *k, struct couple *c, const struct server_out *out)
{
	uint8_t pkt[WIRE_BLOCK_PACKET_BYTES] = { 0 };

	wirext_put_parity_header(
	    pkt, c->server_ip, c->of_server.ext.session, out->chunk, out->group, out->index, 0);
	send_down(k, c, pkt, sizeof pkt);
}

static void
send_block(struct link *k, struct couple *c, const struct server_out *out)
{
	uint8_t pkt[WIRE_BLOCK_PACKET_BYTES] = { 0 };

	wire_put_block_header(pkt, c->server_ip, out->chunk, out->block);
	send_down(k, c, pkt, sizeof pkt);
}

static uint64_t
end_ns(const struct link *k)
{
	return k->sh->end_us != 0 ? k->from_ns + k->sh->end_us * US : NEVER;
}

static uint64_t
back_ns(const struct link *k)
{
	return end_ns(k) + k->sh->down_us * US;
}

/* Does this couple's server come back? */
static bool
comes_back(const struct link *k, const struct couple *c)
{
	return c == k->couples && k->sh->down_us != 0;
}

/* The server that comes back has its address, its image and its rate, and is another session. */
static void
server_fate(struct link *k, struct couple *c)
{
	if (!comes_back(k, c) || k->now_ns < end_ns(k))
		return;
	if (k->now_ns < back_ns(k)) {
		server_free(c->server);
		c->server = NULL;
	} else if (c->server == NULL) {
		c->of_server.ext.session++;
		c->server = server_new(&c->of_server, k->now_ns / US);
		assert(c->server != NULL);
		c->wakes_ns = 0;
	}
}

static void
step_server(struct link *k, struct couple *c)
{
	struct server_out out;

	server_fate(k, c);
	while (first_ns(&c->up) <= k->now_ns) {
		const struct sent *s = pop(&c->up);
		if (c->server != NULL)
			server_input(c->server, k->now_ns / US, s->bytes, s->len, c->client_ip);
	}
	if (c->server == NULL)
		return;
	read_at_once(c->server);
	if (k->now_ns < c->wakes_ns)
		return;
	c->wakes_ns = NEVER;
	while (server_output(c->server, k->now_ns / US, &out)) {
		if (out.kind == SERVER_OUT_BLOCK)
			send_block(k, c, &out);
		else if (out.kind == SERVER_OUT_PARITY)
			send_parity(k, c, &out);
		else
			send_down(k, c, out.pkt, out.len);
		read_at_once(c->server);
	}
}

static void
begin_client(struct link *k, struct couple *c)
{
	struct client_config cfg = { .clientid = (uint32_t)random_next(&k->rng) >> 1,
		.seed = random_next(&k->rng),
		.buffers = BUFFERS,
		.readahead = 2,
		.in_progress = 8,
		.redo_us = 1000000,
		.tick_us = 30000,
		.idle_ticks = 3,
		.join_us = 500000,
		.ext = !k->sh->old,
		.parity = true };

	memcpy(cfg.srcip, c->client_ip, 4);
	c->client = client_new(&cfg, k->now_ns / US);
	assert(c->client != NULL);
}

static void
step_client(struct link *k, struct couple *c)
{
	uint8_t pkt[WIRE_PACKET_MAX];
	struct client_store st;
	uint32_t chunk, buf, bytes;
	size_t len;

	if (k->now_ns < c->start_ns)
		return;
	if (c->client == NULL)
		begin_client(k, c);
	while (first_ns(&c->down) <= k->now_ns) {
		const struct sent *s = pop(&c->down);
		client_input(
		    c->client, k->now_ns / US, s->bytes, s->len, c->server_ip, &st);
	}
	while (client_take(c->client, &chunk, &buf, &bytes)) {
		client_release(c->client, k->now_ns / US, buf);
		if (++c->taken == c->chunks)
			client_finish(c->client, k->now_ns / US, &(struct wire_stats){ 0 });
	}
	while ((len = client_output(c->client, k->now_ns / US, pkt)) > 0)
		push(&c->up, k->now_ns + k->sh->latency_us * US, pkt, len);
}

/* Timers are not exact, and no two machines' the same. */
static uint64_t
wakes_ns(struct link *k, struct couple *c, uint64_t now_us)
{
	if (c->server == NULL)
		return back_ns(k);
	uint64_t due = server_deadline(c->server, now_us);

	if (due == NEVER)
		c->wakes_ns = NEVER;
	else if (c->wakes_ns == NEVER || c->wakes_ns < due * US)
		c->wakes_ns = due * US + random_next(&k->rng) % LATE_NS;
	return c->wakes_ns;
}

static uint64_t
next_ns(struct link *k, struct couple *c)
{
	if (c->client == NULL)
		return c->start_ns;
	uint64_t now_us = k->now_ns / US;
	uint64_t server = wakes_ns(k, c, now_us),
		 client = client_deadline(c->client, now_us);
	uint64_t at = client == NEVER ? NEVER : client * US;
	at = at < server ? at : server;
	at = at < first_ns(&c->down) ? at : first_ns(&c->down);
	return at < first_ns(&c->up) ? at : first_ns(&c->up);
}

static void
begin_couple(struct link *k, struct couple *c, uint8_t i)
{
	c->chunks = c == k->couples && k->sh->chunks != 0 ? k->sh->chunks : CHUNKS;
	c->of_server = (struct server_config){ .image_bytes = (uint64_t)c->chunks << 20,
		.whole_chunks = true,
		.srcip = { 10, 0, 1, i },
		.run_blocks = RUN_BLOCKS,
		.ahead = AHEAD,
		.rate_bits = k->sh->rate_bits,
		.dynamic = true,
		.ext = { .on = true, .parity = true, .port = 5008, .session = 1 } };

	memcpy(c->server_ip, c->of_server.srcip, 4);
	memcpy(c->client_ip, (uint8_t[]){ 10, 0, 2, i }, 4);
	c->server = server_new(&c->of_server, 0);
	c->down.ring = calloc(WAY_MAX, sizeof *c->down.ring);
	c->up.ring = calloc(WAY_MAX, sizeof *c->up.ring);
	assert(c->server != NULL && c->down.ring != NULL && c->up.ring != NULL);
	c->start_ns = random_next(&k->rng) % (k->sh->start_us + 1) * US;
	if (k->from_ns < c->start_ns)
		k->from_ns = c->start_ns;
}

static void
end_couple(struct couple *c)
{
	server_free(c->server);
	client_free(c->client);
	free(c->down.ring);
	free(c->up.ring);
}

/* The first server has ended for good, and its client. */
static bool
is_over(const struct link *k, const struct couple *c)
{
	return c == k->couples && k->sh->down_us == 0 && k->now_ns >= end_ns(k);
}

/* Takes what one of the others got in the half second that is over. */
static void
take_slice(const struct link *k, struct couple *c, struct share_outcome *out)
{
	double kept = (double)c->slice * (double)k->slices / (double)c->before;

	if (k->slice_ns <= end_ns(k)) {
		c->before += c->slice;
		return;
	}
	out->most_kept = kept > out->most_kept ? kept : out->most_kept;
	out->least_kept = kept < out->least_kept || out->least_kept == 0 ? kept : out->least_kept;
}

/* One half second ends when the first server does.  What comes before the first whole one counts for
 * nothing, nor does the first second: the last client still joins then. */
static void
look(struct link *k, struct share_outcome *out)
{
	if (k->sh->end_us == 0 || k->now_ns < k->slice_ns)
		return;
	bool counts = k->begun;
	k->slices += counts && k->slice_ns <= end_ns(k);
	for (uint32_t i = 1; i < k->sh->servers; i++) {
		if (counts)
			take_slice(k, &k->couples[i], out);
		k->couples[i].slice = 0;
	}
	k->begun = k->slice_ns != 0;
	k->slice_ns = k->begun ? k->slice_ns + SLICE_NS : k->from_ns + SETTLED_NS + k->sh->end_us * US % SLICE_NS;
}

static void
sum_up(const struct link *k, struct share_outcome *out)
{
	double sum = 0, squares = 0, sent = 0, dropped = 0;
	uint32_t n = k->sh->servers;

	for (uint32_t i = 0; i < n; i++) {
		const struct couple *c = &k->couples[i];
		sum += (double)c->arrived;
		squares += (double)c->arrived * (double)c->arrived;
		sent += (double)c->sent;
		dropped += (double)c->dropped;
	}
	out->jain = squares > 0 ? sum * sum / (n * squares) : 0;
	out->use = sum * 8e6 / ((double)k->sh->link_bits * (double)k->sh->measure_us);
	out->loss = sent > 0 ? dropped / sent : 0;
	out->whole = k->couples[0].taken == k->couples[0].chunks;
}

void
share_run(const struct share *sh, uint64_t seed, struct share_outcome *out)
{
	struct link k = { .sh = sh, .rng = seed };

	*out = (struct share_outcome){ 0 };
	k.couples = calloc(sh->servers, sizeof *k.couples);
	assert(k.couples != NULL && sh->servers < UINT8_MAX);
	for (uint32_t i = 0; i < sh->servers; i++)
		begin_couple(&k, &k.couples[i], (uint8_t)(i + 1));
	k.till_ns = k.from_ns + sh->measure_us * US;
	while (k.now_ns < k.till_ns) {
		uint64_t at = NEVER;
		for (uint32_t i = 0; i < sh->servers; i++) {
			if (is_over(&k, &k.couples[i]))
				continue;
			step_client(&k, &k.couples[i]);
			step_server(&k, &k.couples[i]);
		}
		look(&k, out);
		for (uint32_t i = is_over(&k, k.couples); i < sh->servers; i++) {
			uint64_t next = next_ns(&k, &k.couples[i]);
			at = at < next ? at : next;
		}
		k.now_ns = at > k.now_ns ? at : k.now_ns + US;
	}
	sum_up(&k, out);
	for (uint32_t i = 0; i < sh->servers; i++)
		end_couple(&k.couples[i]);
	free(k.couples);
}
