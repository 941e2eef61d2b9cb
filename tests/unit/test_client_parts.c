/* Clients that want chunks in order, or in parts, or not all of them, with the real
 * server on a network that loses packets, in virtual time. */
#include <stdlib.h>
#include <string.h>

#include "frisbee/client/client.h"
#include "frisbeed/server/server.h"
#include "tests/random.h"
#include "tests/t.h"

enum {
	CHUNKS = 24,
	BUFFERS = 8,
	CLIENTS_MAX = 3,
	STEP_US = 250,
	LIMIT_US = 120000000,
	FIRST = 4, /* blocks */
};

/* A client and what its shell would do. */
struct node {
	struct client *client;
	bool in_order, parts;
	uint8_t ip[4];
	uint32_t given_out;             /* final chunks */
	uint64_t busy_until, chunk_us;  /* its disk */
	struct blockmap have[BUFFERS];  /* blocks that were stored there */
	uint32_t waiting[BUFFERS], n;   /* taken, oldest first */
	uint8_t round[CHUNKS];          /* of the plan for a chunk */
	struct blockmap wanted[CHUNKS]; /* by its plan */
	bool good;
};

struct world {
	struct server *server;
	struct node nodes[CLIENTS_MAX];
	unsigned nclients, loss; /* in a thousand */
	unsigned swallow;        /* so many blocks of chunk 5, too */
	uint64_t now;
};

static const uint8_t server_ip[4] = { 10, 0, 0, 1 };

/* Chunks that a client which goes on has already. */
static bool
has(void *arg, uint32_t chunk)
{
	(void)arg;
	return chunk % 3 != 0;
}

/* What the comparison would ask for: nothing, everything, or this and that. */
static struct blockmap
planned(uint32_t chunk)
{
	struct blockmap m = { { 0 } };

	if (chunk % 7 == 3)
		return blockmap_range(0, WIRE_CHUNK_BLOCKS);
	if (chunk % 3 == 0)
		m = blockmap_range(40 + chunk, 65);
	if (chunk % 4 == 0)
		blockmap_set(&m, 1023);
	return m;
}

static void
follow_plan(struct world *w, struct node *n, uint32_t chunk, uint32_t buf)
{
	struct blockmap need = n->round[chunk]++ == 0 ? blockmap_range(1000, 3)
	                                              : planned(chunk);
	bool final = n->round[chunk] == 2;

	blockmap_add(&n->wanted[chunk], &need);
	client_need(n->client, w->now, buf, &need, final);
}

static void
take(struct world *w, struct node *n)
{
	uint32_t chunk, buf, bytes;

	while (client_take(n->client, &chunk, &buf, &bytes)) {
		struct blockmap here = client_here(n->client, buf);
		struct blockmap lack = blockmap_minus(n->wanted[chunk], &here);
		struct blockmap lies = blockmap_minus(here, &n->have[buf]);
		n->good &= blockmap_empty(&lies) &&
		           (!n->parts || blockmap_empty(&lack));
		if (!client_is_final(n->client, buf)) {
			follow_plan(w, n, chunk, buf);
			continue;
		}
		n->good &= !n->in_order || chunk == n->given_out;
		n->given_out++;
		n->waiting[n->n++] = buf;
	}
	if (n->n == 0 || w->now < n->busy_until)
		return;
	client_release(n->client, w->now, n->waiting[0]);
	n->have[n->waiting[0]] = (struct blockmap){ { 0 } };
	memmove(n->waiting, n->waiting + 1, --n->n * sizeof n->waiting[0]);
	n->busy_until = w->now + n->chunk_us;
}

static void
hear(
    struct world *w, struct node *n, const void *pkt, size_t len, const uint8_t from[4])
{
	struct client_store st;

	if (draw(1000) < w->loss ||
	    !client_input(n->client, w->now, pkt, len, from, &st))
		return;
	n->good &= st.buf < BUFFERS && st.chunk < CHUNKS;
	blockmap_set(&n->have[st.buf], st.block);
}

static void
tell_all(struct world *w, const void *pkt, size_t len, const uint8_t from[4])
{
	for (unsigned i = 0; i < w->nclients; i++)
		if (memcmp(w->nodes[i].ip, from, 4) != 0)
			hear(w, &w->nodes[i], pkt, len, from);
}

static void
send_from_server(struct world *w)
{
	static const uint8_t data[WIRE_BLOCK_BYTES];
	struct server_run run;
	struct server_out out;

	while (server_read_next(w->server, &run))
		server_read_done(w->server, run.buf);
	while (server_output(w->server, w->now, &out)) {
		uint8_t pkt[WIRE_PACKET_MAX];
		struct wire_msg m = { .type = WIRE_REQUEST,
			.subtype = WIRE_BLOCK,
			.u.block = { out.chunk, out.block, data } };
		memcpy(m.srcip, server_ip, 4);
		if (out.kind == SERVER_OUT_PACKET)
			tell_all(w, out.pkt, out.len, server_ip);
		else if (out.kind == SERVER_OUT_BLOCK && out.chunk == 5 &&
			 w->swallow > 0)
			w->swallow--;
		else if (out.kind == SERVER_OUT_BLOCK)
			tell_all(w, pkt, wire_put(&m, pkt, sizeof pkt), server_ip);
		while (server_read_next(w->server, &run))
			server_read_done(w->server, run.buf);
	}
}

static void
send_from(struct world *w, struct node *n)
{
	uint8_t pkt[WIRE_PACKET_MAX];
	size_t len;

	while ((len = client_output(n->client, w->now, pkt)) > 0) {
		server_input(w->server, w->now, pkt, len, n->ip);
		tell_all(w, pkt, len, n->ip);
	}
}

static void
world_init(struct world *w, unsigned loss, bool ext)
{
	struct server_config cfg = { .image_bytes = (uint64_t)CHUNKS << 20,
		.whole_chunks = true,
		.run_blocks = 32,
		.ahead = 8,
		.burst = 16,
		.gap_us = 1000,
		.ext = { .on = ext, .port = 9, .session = 3 } };

	*w = (struct world){ .loss = loss };
	memcpy(cfg.srcip, server_ip, 4);
	w->server = server_new(&cfg, 0);
	T_CHECK(w->server != NULL);
}

static struct node *
add(struct world *w, struct client_config cfg, uint64_t chunk_us)
{
	struct node *n = &w->nodes[w->nclients];

	*n = (struct node){ .ip = { 10, 0, 0, (uint8_t)(10 + w->nclients) },
		.in_order = cfg.in_order,
		.parts = cfg.first_blocks > 0,
		.chunk_us = chunk_us,
		.good = true };
	cfg.clientid = cfg.seed = 1 + w->nclients++;
	memcpy(cfg.srcip, n->ip, 4);
	cfg.buffers = BUFFERS;
	cfg.readahead = 2;
	cfg.in_progress = 8;
	cfg.redo_us = 1000000;
	cfg.tick_us = 30000;
	cfg.idle_ticks = 3;
	cfg.join_us = 500000;
	n->client = client_new(&cfg, 0);
	T_CHECK(n->client != NULL);
	return n;
}

static bool
all_done(const struct world *w)
{
	bool done = true;

	for (unsigned i = 0; i < w->nclients; i++)
		done &= client_state(w->nodes[i].client) == CLIENT_COMPLETE &&
		        w->nodes[i].n == 0;
	return done;
}

/* Blocks that the server sent, 0 when it did not end well. */
static uint64_t
run(struct world *w, const char *what)
{
	for (; w->now < LIMIT_US && !all_done(w); w->now += STEP_US) {
		for (unsigned i = 0; i < w->nclients; i++) {
			send_from(w, &w->nodes[i]);
			take(w, &w->nodes[i]);
		}
		send_from_server(w);
	}
	uint64_t sent = server_stats(w->server).blocks_sent;
	bool good = all_done(w);
	for (unsigned i = 0; i < w->nclients; i++) {
		good &= w->nodes[i].good;
		client_free(w->nodes[i].client);
	}
	server_free(w->server);
	printf("# %s: %.2f s, %llu blocks sent\n", what, (double)w->now / 1e6,
	    (unsigned long long)sent);
	return good ? sent : 0;
}

static void
test_in_order(bool ext, unsigned loss)
{
	struct client_config pipe = { .in_order = true, .ext = ext },
			     file = { .ext = ext };
	struct world w;

	world_init(&w, loss, ext);
	add(&w, pipe, 1000);
	uint64_t sent = run(&w, "a pipe alone");
	T_CHECK(sent >= CHUNKS * 1024);
	T_CHECK((loss > 0 || sent < (CHUNKS + 2) * 1024));
	/* What is behind a gap does not hold back what fills it. */
	world_init(&w, loss, ext);
	w.swallow = WIRE_CHUNK_BLOCKS;
	add(&w, pipe, 1000);
	T_CHECK(run(&w, "a pipe that misses a chunk") > 0);
	/* Its disk stands still for longer than anybody waits. */
	world_init(&w, loss, ext);
	add(&w, pipe, 700000);
	T_CHECK(run(&w, "a slow pipe") > 0);
	world_init(&w, loss, ext);
	add(&w, pipe, 200000);
	add(&w, file, 100);
	add(&w, pipe, 20000);
	T_CHECK(run(&w, "two pipes and a file") > 0);
}

static void
test_parts(bool ext, unsigned loss)
{
	struct client_config part = { .first_blocks = FIRST, .ext = ext },
			     file = { .ext = ext };
	uint64_t needed = 0;
	struct world w;

	for (uint32_t i = 0; i < CHUNKS; i++) {
		struct blockmap m = planned(i), more = blockmap_range(1000, 3);
		struct blockmap first = blockmap_range(0, FIRST);
		blockmap_add(&m, &more);
		blockmap_add(&m, &first);
		needed += blockmap_count(&m);
	}
	world_init(&w, loss, ext);
	struct node *n = add(&w, part, 1000);
	uint64_t sent = run(&w, "parts");
	T_CHECK(sent >= needed);
	T_CHECK(sent <= needed + needed * loss / 200);
	T_CHECK(n->given_out == CHUNKS);
	world_init(&w, loss, ext);
	for (unsigned i = 0; i < 3; i++)
		add(&w, part, 1000 + i * 20000);
	sent = run(&w, "three want the same parts");
	T_CHECK(sent >= needed);
	T_CHECK((loss > 0 || sent < 2 * needed));
	world_init(&w, loss, ext);
	add(&w, part, 1000);
	add(&w, file, 1000);
	add(&w, (struct client_config){ 0 }, 1000);
	T_CHECK(run(&w, "parts among others") > 0);
}

static void
test_resumed(unsigned loss)
{
	struct client_config rest = { .has = has, .resumes = true, .ext = true };
	struct world w;

	world_init(&w, loss, true);
	struct node *n = add(&w, rest, 1000);
	uint64_t sent = run(&w, "the rest");
	T_CHECK(n->given_out == CHUNKS / 3);
	T_CHECK(sent >= CHUNKS / 3 * 1024);
	T_CHECK(sent < (CHUNKS / 3 + 2) * 1024 + loss * 200);
}

/* Chance has it that the last block of all is lost, a whole answer, ... */
static void
test_luck(uint64_t seed, bool ext)
{
	struct client_config part = { .first_blocks = FIRST, .ext = ext },
			     pipe = { .in_order = true, .ext = ext },
			     file = { .ext = ext };
	struct world w;

	draw_seed = seed;
	world_init(&w, 30 + seed % 2 * 30, ext);
	add(&w, part, 1000);
	add(&w, file, 1000);
	add(&w, (struct client_config){ 0 }, 1000);
	T_CHECK(run(&w, "parts among others") > 0);
	world_init(&w, 30 + seed % 2 * 30, ext);
	add(&w, pipe, 200000);
	add(&w, file, 100);
	add(&w, pipe, 20000);
	T_CHECK(run(&w, "two pipes and a file") > 0);
}

int
main(void)
{
	for (unsigned loss = 0; loss <= 60; loss += 30)
		for (unsigned ext = 0; ext < 2; ext++) {
			printf("# loss %u in 1000, extension %u\n", loss, ext);
			test_in_order(ext, loss);
			test_parts(ext, loss);
			if (ext)
				test_resumed(loss);
		}
	for (uint64_t seed = 1; seed <= (T_INSTRUMENTED ? 30 : 200); seed++)
		test_luck(seed, seed % 4 != 0);
	return t_done();
}
