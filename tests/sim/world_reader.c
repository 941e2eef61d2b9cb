/* world_reader.c: clients that read the image while it comes, all in one recorded order, as
 * machines do that boot from it at the same time.
 *
 * A reader reads some blocks, thinks, and reads the next ones.  Blocks that it has, because
 * their chunk is complete or because they came for itself or for another reader, it reads at
 * once.  A reader that knows the order asks for several reads before it does them, as a streaming
 * disk does (stream/disk/fill_ahead.c).  world_client.c calls this at the turns of a client and for what its engine hands out,
 * in the program's only thread. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/world_impl.h"

enum { FEW = 2 }; /* reads that are asked for ahead while one waits */

/* Draws the order in which readers read.  It is the same for all readers and in every run of a
 * seed, because it does not use w->rng. */
static void
draw_order(struct world *w, uint64_t seed)
{
	const struct scenario *sc = w->sc;
	uint64_t rng = seed ^ UINT64_C(0x9e3779b97f4a7c15);

	for (uint32_t i = 0; i < sc->reads; i++) {
		w->order[i].chunk = (uint32_t)(random_next(&rng) % w->nchunks);
		w->order[i].first = (uint16_t)(random_next(&rng) %
		                               (WIRE_CHUNK_BLOCKS - sc->read_blocks + 1));
		w->order[i].count = (uint16_t)sc->read_blocks;
	}
}

void
world_setup_readers(struct world *w, uint64_t seed)
{
	const struct scenario *sc = w->sc;

	if (sc->readers == 0)
		return;
	assert(sc->ahead <= AHEAD_MOST);
	w->order = calloc(sc->reads, sizeof *w->order);
	w->read_us = calloc((size_t)sc->reads * sc->readers, sizeof *w->read_us);
	assert(w->order != NULL && w->read_us != NULL);
	draw_order(w, seed);
	for (uint32_t i = 0; i < sc->readers; i++) {
		w->nodes[i].early = calloc(w->nchunks, sizeof *w->nodes[i].early);
		assert(w->nodes[i].early != NULL);
	}
}

void
world_free_readers(struct world *w)
{
	free(w->order);
	free(w->read_us);
	for (uint32_t i = 0; i < w->sc->clients; i++)
		free(w->nodes[i].early);
}

static bool
reads(const struct world *w, const struct node *nd)
{
	return nd->early != NULL && nd->nread < w->sc->reads && nd->engine != NULL &&
	       client_chunks(nd->engine) > 0;
}

void
world_reader_hears(struct world *w, struct node *nd, const struct client_store *st)
{
	uint8_t expected[WIRE_BLOCK_BYTES];

	if (st->beside == 0 || nd->early == NULL)
		return;
	struct blockmap those = blockmap_range(st->block, st->beside);
	for (uint32_t i = 0; i < st->beside; i++) {
		memset(expected, 0, sizeof expected);
		world_fill_block(w, OWN_IMAGE, expected, st->chunk, st->block + i);
		if (memcmp(expected, st->data + (size_t)i * WIRE_BLOCK_BYTES,
			sizeof expected) != 0)
			world_fail(w, "a reader gets another block than %u of chunk %u",
			    st->block + i, st->chunk);
	}
	blockmap_add(&nd->early[st->chunk], &those);
	nd->reader_hears = true;
}

/* The blocks that this read still lacks. */
static struct blockmap
lack(const struct world *w, const struct node *nd, uint32_t read)
{
	const struct wirext_run *r = &w->order[read];
	struct blockmap need = blockmap_range(r->first, r->count);

	if (nd->done[r->chunk])
		need = blockmap_range(0, 0);
	return blockmap_minus(need, &nd->early[r->chunk]);
}

/* What lies in a chunk buffer is read there, as the program does it when a reader asks. */
static void
take_from_buffer(struct world *w, struct node *nd, uint32_t read)
{
	uint32_t chunk = w->order[read].chunk, buf;
	struct blockmap here;

	if (!client_has_some(nd->engine, chunk, &buf, &here))
		return;
	const struct shadow *sh = &nd->shadow[buf];
	struct blockmap wrong = blockmap_minus(here, &sh->have);
	for (uint32_t b = blockmap_next(&here, 0); b < WIRE_CHUNK_BLOCKS;
	     b = blockmap_next(&here, b + 1))
		if (sh->parity[b] != 0)
			blockmap_set(&wrong, b);
	if (!sh->used || sh->chunk != chunk || !blockmap_empty(&wrong))
		world_fail(w, "a reader gets what is not there of chunk %u", chunk);
	blockmap_add(&nd->early[chunk], &here);
}

/* A reader has what it waited for: notes the time of the read. */
static void
end_read(struct world *w, struct node *nd)
{
	uint64_t us = nd->asked_ns == 0 ? 0 : (w->now_ns - nd->asked_ns) / US;

	world_trace(w, "client %u: read %u took %.3f ms", (unsigned)(nd - w->nodes) + 1,
	    nd->nread, (double)us / 1000);
	w->read_us[w->nread_us++] = us;
	w->nthere += nd->asked_ns == 0;
	nd->nread++;
	nd->asked_ns = 0;
	nd->reads_ns = w->now_ns + w->sc->think_us * US;
	if (nd->nread == w->sc->reads)
		nd->boot_ns = w->now_ns - nd->start_ns;
}

/* Forgets the flights whose blocks have all come. */
static void
land(const struct world *w, struct node *nd)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < nd->nflights; i++) {
		struct blockmap need = lack(w, nd, nd->flights[i]);
		if (!blockmap_empty(&need))
			nd->flights[n++] = nd->flights[i];
	}
	nd->nflights = n;
}

/* Asks for the next reads of the order, as many as may be asked for now. */
static void
fetch_ahead(struct world *w, struct node *nd)
{
	uint32_t most = nd->asked_ns != 0 ? FEW : w->sc->ahead;

	if (nd->reader_hears)
		land(w, nd);
	nd->reader_hears = false;
	for (; nd->nflights < most && nd->next_ahead < w->sc->reads; nd->next_ahead++) {
		uint32_t read = nd->next_ahead;
		take_from_buffer(w, nd, read);
		struct blockmap need = lack(w, nd, read);
		if (blockmap_empty(&need))
			continue;
		nd->flights[nd->nflights++] = read;
		client_read(nd->engine, w->now_ns / US, w->order[read].chunk, &need);
	}
}

void
world_reader_step(struct world *w, struct node *nd)
{
	while (reads(w, nd) && w->now_ns >= nd->reads_ns) {
		if (nd->asked_ns == 0)
			take_from_buffer(w, nd, nd->nread);
		struct blockmap need = lack(w, nd, nd->nread);
		if (blockmap_empty(&need)) {
			end_read(w, nd);
			continue;
		}
		if (nd->asked_ns == 0) {
			nd->asked_ns = w->now_ns;
			client_read(nd->engine, w->now_ns / US, w->order[nd->nread].chunk,
			    &need);
		}
		break;
	}
	if (w->sc->ahead > 0 && reads(w, nd))
		fetch_ahead(w, nd);
}

uint64_t
world_reader_next_ns(const struct world *w, const struct node *nd)
{
	return reads(w, nd) && nd->asked_ns == 0 ? nd->reads_ns : NEVER;
}

static int
by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The times in which the readers have done all reads. */
static void
sum_boots(struct world *w)
{
	struct outcome *out = w->out;
	uint32_t n = 0;

	for (uint32_t i = 0; i < w->sc->readers; i++) {
		uint64_t us = w->nodes[i].boot_ns / US;
		n += us > 0;
		out->boot_mean_us += (double)us;
		out->boot_worst_us = us > out->boot_worst_us ? us : out->boot_worst_us;
	}
	out->boot_mean_us /= n > 0 ? n : 1;
}

void
world_sum_readers(struct world *w)
{
	struct outcome *out = w->out;
	uint32_t n = w->nread_us;

	if (n == 0)
		return;
	sum_boots(w);
	out->there = (double)w->nthere / n;
	for (uint32_t i = 0; i < n; i++)
		out->read_mean_us += (double)w->read_us[i] / n;
	qsort(w->read_us, n, sizeof *w->read_us, by_value);
	out->reads = n;
	out->read_median_us = w->read_us[n / 2];
	out->read_99_us = w->read_us[(uint64_t)n * 99 / 100];
	out->read_worst_us = w->read_us[n - 1];
}
