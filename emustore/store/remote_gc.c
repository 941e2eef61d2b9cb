/* remote_gc.c: what no image needs goes in two steps.  First a pack is condemned, which
 * keeps new images from using it; at least a grace later, when every put that began
 * before has ended, it is removed if still nothing needs it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emustore/store/remote_check.h"
#include "emustore/store/remote_impl.h"
#include "emustore/store/stored.h"

struct pack_use {
	struct index_object o;
	uint64_t live, live_bytes, fragments;
	bool copy, condemn, remove;
};

struct collecting {
	struct store *s;
	struct remote *r;
	struct gc_stats *stats;
	unsigned dead_percent;
	struct marks used;
	struct pack_use *v; /* ascending */
	size_t n;
};

static int
add_use(void *arg, const struct index_object *o, struct err *e)
{
	struct collecting *g = arg;
	struct pack_use *v = realloc(g->v, (g->n + 1) * sizeof *v);

	if (v == NULL)
		return err_nomem(e, "the list of packs");
	g->v = v;
	g->v[g->n++] = (struct pack_use){ .o = *o };
	return 0;
}

static struct pack_use *
find_use(struct collecting *g, uint32_t number)
{
	for (size_t lo = 0, hi = g->n; lo < hi;) {
		size_t mid = (lo + hi) / 2;
		if (g->v[mid].o.number == number)
			return &g->v[mid];
		if (g->v[mid].o.number < number)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

/* An image that cannot be read may need anything: then nothing is removed. */
static int
mark_image(void *arg, const struct index_image *i, struct err *e)
{
	struct collecting *g = arg;
	struct stored *d;

	if (stored_open_image(&d, g->s, i, e) != 0)
		return -1;
	int rc = stored_each_fragment(d, marks_add_used, &g->used, e);
	stored_free(d);
	return rc;
}

static int
count_uses(struct collecting *g, struct err *e)
{
	struct index_fragment f = { 0 };
	int rc;

	while ((rc = index_fragment_from(g->s->index, f.number + 1, &f, e)) == 1) {
		struct pack_use *u = find_use(g, f.pack);
		if (u == NULL)
			continue;
		u->fragments++;
		if (!marks_has(&g->used, f.number))
			continue;
		u->live++;
		u->live_bytes += record_whole_bytes(
		    FRAGMENT_HEAD_BYTES + (uint64_t)f.bytes);
	}
	return rc;
}

/* By the server's clock alone. */
static bool
is_old(const struct collecting *g, const struct listed *x)
{
	return x != NULL && g->r->server_now > x->modified &&
	       g->r->server_now - x->modified > g->r->grace_seconds;
}

static void
judge(struct collecting *g, struct pack_use *u)
{
	char table[REMOTE_KEY_BYTES];
	uint64_t own = record_whole_bytes(4);
	uint64_t dead = u->o.bytes > own + u->live_bytes
	                    ? u->o.bytes - own - u->live_bytes
	                    : 0;

	key_of_table(u->o.id, table);
	if (u->o.condemned) {
		u->copy = u->live > 0; /* a put that had begun needs it */
		u->remove = u->live == 0 &&
		            is_old(g, listing_find(&g->r->condemned, u->o.id));
		return;
	}
	/* A young one may be of a put that is under way. */
	if (!is_old(g, listing_find(&g->r->tables, table + strlen("tables/"))))
		return;
	u->condemn = dead * 100 > u->o.bytes * g->dead_percent;
	u->copy = u->condemn && u->live > 0;
}

/* Those that are still needed of packs that are to go, into new ones. */
static int
copy_live(struct collecting *g, struct err *e)
{
	struct remote_put *put;
	struct index_fragment f = { 0 };
	int rc = remote_put_new(&put, g->r, e);

	if (rc != 0)
		return -1;
	while ((rc = index_fragment_from(g->s->index, f.number + 1, &f, e)) == 1) {
		const struct pack_use *u = find_use(g, f.pack);
		struct index_fragment copy = f;
		if (u == NULL || !u->copy || !marks_has(&g->used, f.number))
			continue;
		rc = remote_put_copy(put, &copy, e);
		if (rc != 0)
			break;
	}
	if (rc == 0)
		rc = remote_put_flush(put, e);
	remote_put_free(put);
	return rc;
}

static int
condemn(struct collecting *g, const struct pack_use *u, struct err *e)
{
	char key[REMOTE_KEY_BYTES];

	key_of_condemned(u->o.id, key);
	g->stats->bytes_condemned += u->o.bytes;
	return s3_put(g->r->s3, key, "condemned\n", 10, e);
}

/* The marker goes last: until then nobody uses what is left of the pack. */
static int
remove_pack(struct collecting *g, const struct pack_use *u, struct err *e)
{
	void (*const keys[])(const char *, char[REMOTE_KEY_BYTES]) = { key_of_table,
		key_of_pack, key_of_condemned };
	char key[REMOTE_KEY_BYTES];

	if (remote_check_age(g->r, e) != 0)
		return -1;
	for (int i = 0; i < 3; i++) {
		keys[i](u->o.id, key);
		if (s3_delete(g->r->s3, key, e) != 0)
			return -1;
	}
	g->stats->packs++;
	g->stats->fragments += u->fragments;
	g->stats->bytes_freed += u->o.bytes;
	return 0;
}

static int
act(struct collecting *g, struct err *e)
{
	bool copy = false;

	for (size_t i = 0; i < g->n; i++)
		copy = copy || g->v[i].copy;
	if (copy && copy_live(g, e) != 0)
		return -1;
	for (size_t i = 0; i < g->n; i++) {
		if (g->v[i].condemn && condemn(g, &g->v[i], e) != 0)
			return -1;
		if (g->v[i].o.condemned && !g->v[i].remove)
			g->stats->bytes_condemned += g->v[i].o.bytes;
		if (g->v[i].remove && remove_pack(g, &g->v[i], e) != 0)
			return -1;
	}
	return 0;
}

/* Has the pack of that file no table, so that it counts for nobody? */
static bool
is_orphan(const struct collecting *g, const char *folder, const char *key)
{
	char id[PACK_ID_CHARS + 1], table[REMOTE_KEY_BYTES];

	if (strcmp(folder, "claims/") == 0)
		return true; /* of a put that has ended long ago */
	snprintf(id, sizeof id, "%.64s", key);
	if (!pack_id_ok(id))
		return false;
	key_of_table(id, table);
	return listing_find(&g->r->tables, table + strlen("tables/")) == NULL;
}

/* What puts that were cut short, or gc, have left. */
static int
remove_old(struct collecting *g, const char *folder, struct err *e)
{
	struct listing l = { 0 };
	char key[REMOTE_KEY_BYTES + S3_KEY_MAX];
	int rc = listing_get(&l, g->r->s3, folder, NULL, e);

	for (size_t i = 0; i < l.n && rc == 0; i++) {
		if (!is_old(g, &l.v[i]) || !is_orphan(g, folder, l.v[i].key))
			continue;
		snprintf(key, sizeof key, "%s%s", folder, l.v[i].key);
		rc = remote_check_age(g->r, e);
		if (rc == 0)
			rc = s3_delete(g->r->s3, key, e);
		g->stats->bytes_freed += rc == 0 ? l.v[i].bytes : 0;
	}
	listing_free(&l);
	return rc;
}

static int
collect(struct collecting *g, struct err *e)
{
	const char *first;

	if (remote_unreadable(g->r, &first) > 0)
		return err_set(e, ERR_FORMAT,
		    "nothing is removed while something cannot be read: %s", first);
	if (g->r->server_now == 0)
		return err_set(
		    e, ERR_FORMAT, "%s: the server does not tell its time", g->s->dir);
	if (index_check(g->s->index, e) != 0 || marks_new(&g->used, g->s, e) != 0 ||
	    index_each_object(g->s->index, add_use, g, e) != 0 ||
	    index_each_image(g->s->index, mark_image, g, e) != 0 ||
	    count_uses(g, e) != 0)
		return -1;
	for (size_t i = 0; i < g->n; i++)
		judge(g, &g->v[i]);
	/* Orphans by the lists of before, which new puts are not in: they are old. */
	if (act(g, e) != 0 || remove_old(g, "packs/", e) != 0 ||
	    remove_old(g, "condemned/", e) != 0 || remove_old(g, "claims/", e) != 0)
		return -1;
	return remote_refresh(g->r, e);
}

int
remote_gc(struct store *s, unsigned dead_percent, struct gc_stats *stats, struct err *e)
{
	struct collecting g = {
		.s = s, .r = s->remote, .stats = stats, .dead_percent = dead_percent
	};
	int rc = collect(&g, e);

	free(g.used.bits);
	free(g.v);
	return rc;
}
