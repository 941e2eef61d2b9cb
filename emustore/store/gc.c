#include "emustore/store/gc.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "common/base/wr.h"
#include "emustore/store/check.h"
#include "emustore/store/remote_check.h"
#include "emustore/store/stored.h"

struct pack_use {
	struct index_pack pack;
	uint64_t live_bytes, live; /* records of fragments and images in use */
};

struct gc {
	struct store *s;
	struct gc_stats *stats;
	struct marks used;
	struct pack_use *packs; /* ascending */
	size_t npacks;
	struct pack_use *victim; /* being copied */
	uint64_t copied;
};

static struct pack_use *
find_pack(struct gc *g, uint32_t number)
{
	for (size_t lo = 0, hi = g->npacks; lo < hi;) {
		size_t mid = (lo + hi) / 2;
		if (g->packs[mid].pack.number == number)
			return &g->packs[mid];
		if (g->packs[mid].pack.number < number)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

static void
count_use(struct gc *g, uint32_t pack, uint64_t body_bytes)
{
	struct pack_use *u = find_pack(g, pack);

	if (u == NULL)
		return;
	u->live++;
	u->live_bytes += record_whole_bytes(body_bytes);
}

/* An image that cannot be read may need anything: then nothing is removed. */
static int
mark_image(void *arg, const struct index_image *i, struct err *e)
{
	struct gc *g = arg;
	struct stored *d;

	if (stored_open_image(&d, g->s, i, e) != 0)
		return -1;
	count_use(g, i->pack, i->bytes);
	int rc = stored_each_fragment(d, marks_add_used, &g->used, e);
	stored_free(d);
	return rc;
}

static int
list_packs(struct gc *g, struct err *e)
{
	struct index_pack p = { 0 };
	int rc;

	while ((rc = index_pack_from(g->s->index, p.number + 1, &p, e)) == 1) {
		struct pack_use *packs = realloc(
		    g->packs, (g->npacks + 1) * sizeof *packs);
		if (packs == NULL)
			return err_nomem(e, "the list of packs");
		g->packs = packs;
		g->packs[g->npacks++] = (struct pack_use){ .pack = p };
	}
	return rc;
}

static int
sweep_index(struct gc *g, struct err *e)
{
	struct index_fragment f = { 0 };
	int rc;

	while ((rc = index_fragment_from(g->s->index, f.number + 1, &f, e)) == 1) {
		if (marks_has(&g->used, f.number)) {
			count_use(g, f.pack, FRAGMENT_HEAD_BYTES + (uint64_t)f.bytes);
			continue;
		}
		if (index_delete_fragment(g->s->index, f.number, e) != 0)
			return -1;
		g->stats->fragments++;
	}
	return rc;
}

/* The index has a fragment elsewhere than here: another copy, or is the index damaged
 * and this the only one?  0: it is there. */
static int
check_elsewhere(struct gc *g, const struct index_fragment *f, struct err *e)
{
	struct buf body = { 0 };
	struct record_head h;
	uint32_t slot;

	if (!marks_has(&g->used, f->number))
		return 0;
	int rc = f->pack == 0 ? err_set(e, ERR_FORMAT, "it is lost")
	                      : packs_slot(g->s->packs, f->pack, &slot, e);
	if (rc == 0)
		rc = packs_read_record(g->s->packs, slot, f->at, &h, &body, e);
	bool there = rc == 0 && h.type == RECORD_FRAGMENT && h.number == f->number;
	if (!there && (rc == 0 || check_is_damage(e)))
		rc = err_set(e, ERR_FORMAT,
		    "%s: fragment %" PRIu64 " is not where the index has it "
		    "(emustore repair --index)",
		    g->s->dir, f->number);
	buf_free(&body);
	return rc;
}

/* Is it the record that the index means? */
static int
is_live(struct gc *g, uint64_t at, const struct record_head *h, const uint8_t *body,
    size_t body_bytes, struct err *e)
{
	uint32_t pack = g->victim->pack.number;
	struct index_fragment f;

	if (h->type == RECORD_REMOVED)
		return 1; /* its image may be in another pack */
	if (h->type == RECORD_FRAGMENT) {
		int rc = index_get_fragment(g->s->index, h->number, &f, e);
		if (rc != 1)
			return rc;
		return f.pack == pack && f.at == at ? 1 : check_elsewhere(g, &f, e);
	}
	if (h->type != RECORD_IMAGE)
		return 0;
	struct index_image *i = malloc(sizeof *i);
	struct recipe_image *about = malloc(sizeof *about);
	struct rd r = rd_from(body, body_bytes);
	int rc = i == NULL || about == NULL ? err_nomem(e, "an image")
	                                    : recipe_get_image(about, &r, e);
	if (rc == 0)
		rc = index_find_image(g->s->index, &about->name, i, e);
	if (rc == 1)
		rc = i->pack == pack && i->at == at;
	free(i);
	free(about);
	return rc;
}

static int
copy_record(void *arg, uint64_t at, const struct record_head *h, const uint8_t *body,
    size_t body_bytes, struct err *e)
{
	struct gc *g = arg;
	uint32_t pack;
	uint64_t to;
	int rc = is_live(g, at, h, body, body_bytes, e);

	if (rc <= 0)
		return rc;
	if (store_append(g->s, h->type, h->number, body, body_bytes, NULL, 0, &pack,
		&to, e) != 0 ||
	    pack_flush(&g->s->w, e) != 0)
		return -1;
	if (h->type == RECORD_REMOVED)
		return 0;
	g->copied++;
	return h->type == RECORD_IMAGE
	           ? index_move_image(g->s->index, h->number, pack, to, e)
	           : index_move_fragment(g->s->index, h->number, pack, to, e);
}

static int
replace_pack(struct gc *g, struct pack_use *u, struct err *e)
{
	struct pack_walk w = {
		.data = true, .end = u->pack.bytes, .record = copy_record, .arg = g
	};
	uint32_t slot;

	g->victim = u;
	g->copied = 0;
	int rc = packs_slot(g->s->packs, u->pack.number, &slot, e);
	/* What was in a pack that is gone was marked as lost. */
	if (rc != 0 && u->live == 0 && e->os == ENOENT)
		return index_delete_pack(g->s->index, u->pack.number, e);
	if (rc != 0 || packs_walk(g->s->packs, slot, &w, e) != 0)
		return -1;
	if (g->copied != u->live)
		return err_set(e, ERR_FORMAT,
		    "%s: %" PRIu64 " of its %" PRIu64 " records in use can be read "
		    "(emustore repair)",
		    packs_name(g->s->packs, slot), g->copied, u->live);
	g->stats->packs++;
	return index_delete_pack(g->s->index, u->pack.number, e);
}

static bool
is_victim(const struct pack_use *u, unsigned dead_percent)
{
	uint64_t own = record_whole_bytes(4),
		 dead = u->pack.bytes > own + u->live_bytes
	                    ? u->pack.bytes - own - u->live_bytes
	                    : 0;

	return dead * 100 > u->pack.bytes * dead_percent;
}

/* Victims are marked by live_bytes UINT64_MAX when they were copied. */
static int
replace_packs(struct gc *g, unsigned dead_percent, struct err *e)
{
	struct buf list = { 0 };
	uint64_t at, n = 0;
	uint32_t pack;
	int rc = 0;

	for (size_t i = 0; i < g->npacks && rc == 0; i++) {
		if (!is_victim(&g->packs[i], dead_percent))
			continue;
		/* Nothing more into a pack that may be the next to go. */
		if (n++ == 0)
			rc = store_end_pack(g->s, e);
		if (rc == 0)
			rc = replace_pack(g, &g->packs[i], e);
		buf_le32(&list, g->packs[i].pack.number);
	}
	/* What was copied is on the disk before this says so. */
	if (rc == 0 && n > 0)
		rc = store_sync(g->s, e);
	if (rc == 0 && n > 0)
		rc = store_append(g->s, RECORD_REPLACES, n, list.base, list.len, NULL,
		    0, &pack, &at, e);
	buf_free(&list);
	return rc;
}

static uint64_t
all_bytes(struct store *s)
{
	struct index_totals t;
	struct err ignored;

	return index_totals(s->index, &t, &ignored) == 0 ? t.pack_bytes : 0;
}

static int
collect(struct gc *g, unsigned dead_percent, struct err *e)
{
	uint64_t before = all_bytes(g->s);

	/* What a damaged index has lost would look like what nobody needs. */
	if (index_check(g->s->index, e) != 0 || marks_new(&g->used, g->s, e) != 0 ||
	    list_packs(g, e) != 0 ||
	    index_each_image(g->s->index, mark_image, g, e) != 0 ||
	    sweep_index(g, e) != 0 || replace_packs(g, dead_percent, e) != 0 ||
	    store_commit(g->s, e) != 0)
		return -1;
	uint64_t after = all_bytes(g->s);
	g->stats->bytes_freed = before > after ? before - after : 0;
	return store_remove_strays(g->s, e);
}

int
gc_run(struct store *s, unsigned dead_percent, struct gc_stats *stats, struct err *e)
{
	struct gc g = { .s = s, .stats = stats };

	if (s->remote != NULL)
		return remote_gc(s, dead_percent, stats, e);
	int rc = store_begin(s, e);

	if (rc == 0)
		rc = collect(&g, dead_percent, e);
	free(g.used.bits);
	free(g.packs);
	return rc;
}
