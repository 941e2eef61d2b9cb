/* gc.c: removes what no image needs.
 *
 * In a folder the lock keeps others from counting on such data, so it is removed at once.
 * In a bucket a pack is condemned first, which keeps new images from using it; at least a
 * grace later, when every put that began before has ended, it is removed if still nothing
 * needs it.
 *
 * A put that counts on a pack has listed the markers before that pack's was made, and asks
 * for its image at most half a grace later; the other half is for that request.  gc lists
 * the images at least a grace after the marker, so it sees this one.  If two gcs each
 * condemn the pack in which the other sees a fragment, only condemned packs have it, and it
 * is copied before the pack in which it is looked for goes.
 *
 * Called by the program, in its thread.
 */
#include "emustore/store/gc.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/grow.h"
#include "common/base/sha256.h"
#include "emustore/objects/folder.h"
#include "emustore/store/stored.h"
#include "emustore/store/writer.h"

/* A pack is small if it has less than 1/SMALL_PART of what a pack may have.  When there are at
 * least SMALL_MANY small packs (with --all: SMALL_ALL), they are put together. */
enum { SMALL_PART = 4, SMALL_MANY = 16, SMALL_ALL = 2, ROOM_FOR_TABLE = 1 << 20 };

struct pack_use {
	struct index_pack p;
	uint64_t live, live_bytes, fragments; /* in use, and in all */
	bool copy, go; /* what is in use is copied; the pack goes, or is condemned */
};

struct collecting {
	struct store *s;
	struct gc_stats *stats;
	unsigned dead_percent;
	const struct gc_watch *watch;
	uint64_t copied_bytes, copy_bytes; /* of those that are copied, in all */
	uint8_t *used; /* a bit for each fragment's number; owned */
	struct pack_use *v; /* ascending by number, until they are sorted by use */
	size_t n, cap;
	/* What could not be removed holds up nothing else. */
	uint64_t refused;
	struct err why; /* the first of them */
};

/* Remove an object.  If the server or the system refuses that, *gone is false, the error
 * is noted in *g, and the result is 0. */
static int
remove_key(struct collecting *g, const char *key, bool *gone, struct err *e)
{
	struct objects *o = g->s->objects;

	if (store_check_age(g->s, e) != 0)
		return -1;
	*gone = o->ops->remove(o->ctx, key, e) == 0;
	changes_note(g->s, key, *gone);
	if (*gone)
		return 0;
	if (e->kind == ERR_CANCELLED)
		return -1;
	if (g->refused++ == 0)
		g->why = *e;
	return 0;
}

static int
add_use(void *arg, const struct index_pack *p, struct err *e)
{
	struct collecting *g = arg;

	if (grow_array(&g->v, &g->cap, g->n, sizeof *g->v, "the list of packs", e) != 0)
		return -1;
	g->v[g->n++] = (struct pack_use){ .p = *p };
	return 0;
}

static int
compare_number(const void *key, const void *x)
{
	uint32_t a = *(const uint32_t *)key, b = ((const struct pack_use *)x)->p.number;

	return (a > b) - (a < b);
}

static struct pack_use *
use_of(struct collecting *g, uint32_t pack)
{
	return g->n == 0 ? NULL
	                 : bsearch(&pack, g->v, g->n, sizeof *g->v, compare_number);
}

/* Each fragment counts once, however often images need it. */
static int
mark_fragment(void *arg, const struct index_place *p, struct err *e)
{
	struct collecting *g = arg;
	uint8_t *bits = &g->used[p->number / 8];
	uint8_t bit = (uint8_t)(1u << p->number % 8);
	struct pack_use *u = use_of(g, p->pack);

	if (u == NULL)
		return err_set(e, ERR_FORMAT, "a fragment is in no pack");
	if ((*bits & bit) != 0)
		return 0;
	*bits |= bit;
	u->live++;
	u->live_bytes += record_whole_bytes(FRAGMENT_HEAD_BYTES + (uint64_t)p->bytes);
	return 0;
}

/* An image that cannot be read may need anything: then nothing is removed.  One that was
 * removed since needs nothing. */
static int
mark_image(void *arg, const struct index_image *i, struct err *e)
{
	struct collecting *g = arg;
	struct err listing;

	if (stored_each_fragment(g->s, i, mark_fragment, g, e) == 0)
		return 0;
	if (e->os == ENOENT && objects_have(g->s->objects, i->key, &listing) == 0)
		return 0;
	return store_err_missing(e);
}

static int
mark_used(struct collecting *g, struct err *e)
{
	uint64_t last;

	if (index_last_fragment(g->s->index, &last, e) != 0)
		return -1;
	g->used = calloc(last / 8 + 1, 1);
	if (g->used == NULL)
		return err_nomem(e, "a mark for each fragment");
	return index_each_image(g->s->index, mark_image, g, e);
}

/* Is the object older than the grace, by the clock of the objects alone?  With the lock
 * of a folder, every object counts as old. */
static bool
is_old(const struct collecting *g, const struct listed *x)
{
	return g->s->locked ||
	       (x != NULL && g->s->now > x->modified &&
		   g->s->now - x->modified > g->s->grace_seconds);
}

static const struct listed *
table_of(const struct collecting *g, const char *id)
{
	char key[KEY_BYTES];

	key_of_table(id, key);
	return listing_find(&g->s->tables, key + strlen(KEYS_TABLES));
}

static bool
is_small(const struct collecting *g, const struct pack_use *u)
{
	return !u->p.condemned && u->p.bytes < g->s->pack_bytes / SMALL_PART &&
	       is_old(g, table_of(g, u->p.id));
}

static void
judge(struct collecting *g, struct pack_use *u, bool small_go)
{
	uint64_t own = record_whole_bytes(4) + u->live_bytes;
	uint64_t dead = u->p.bytes > own ? u->p.bytes - own : 0;

	if (u->p.condemned) {
		u->copy = u->live > 0; /* a put that had begun needs it */
		u->go = g->s->locked ||
		        (!u->copy &&
			    is_old(g, listing_find(&g->s->condemned, u->p.id)));
		return;
	}
	/* A young table may belong to a put that is under way. */
	if (!is_old(g, table_of(g, u->p.id)))
		return;
	u->go = (dead > 0 && dead * 100 >= u->p.bytes * g->dead_percent) ||
	        (small_go && is_small(g, u));
	u->copy = u->go && u->live > 0;
}

static void
judge_all(struct collecting *g)
{
	size_t small = 0, many = g->dead_percent == 0 ? SMALL_ALL : SMALL_MANY;

	for (size_t i = 0; i < g->n; i++)
		small += is_small(g, &g->v[i]);
	for (size_t i = 0; i < g->n; i++)
		judge(g, &g->v[i], small >= many);
	for (size_t i = 0; i < g->n; i++)
		g->copy_bytes += g->v[i].copy ? g->v[i].live_bytes : 0;
}

/* Packs of which the least has to be copied come first. */
static int
compare_use(const void *a, const void *b)
{
	uint64_t x = ((const struct pack_use *)a)->live_bytes,
		 y = ((const struct pack_use *)b)->live_bytes;

	return (x > y) - (x < y);
}

/* Whether the index has the fragment at this place, and it is needed: 1, 0, -1. */
static int
is_live(struct collecting *g, const struct pack_use *u, const struct pack_fragment *f,
    struct err *e)
{
	struct index_fragment i;
	int rc = index_find_fragment(g->s->index, f->head.sha256, &i, e);

	if (rc != 1)
		return rc;
	return i.pack == u->p.number && i.f.at == f->at &&
	       (g->used[i.number / 8] >> i.number % 8 & 1) != 0;
}

static int
copy_fragment(struct collecting *g, struct writer *w, const struct pack_use *u,
    const struct buf *pack, const struct pack_fragment *f, struct err *e)
{
	uint8_t digest[SHA256_BYTES];
	int rc = is_live(g, u, f, e);

	if (rc <= 0)
		return rc;
	const uint8_t *data = pack->base + f->at + FRAGMENT_DATA_AT;
	sha256(data, f->bytes, digest);
	if (memcmp(digest, f->head.sha256, sizeof digest) != 0)
		return err_set(e, ERR_FORMAT,
		    "%s: pack %.12s...: the SHA-256 of a fragment is wrong (emustore "
		    "repair)",
		    store_title(g->s), u->p.id);
	return writer_add(w, f, data, e) == 0 ? 1 : -1;
}

/* Copy what is in use of a pack. */
static int
copy_live(
    struct collecting *g, struct writer *w, const struct pack_use *u, struct err *e)
{
	struct objects *o = g->s->objects;
	struct buf pack = { 0 }, table = { 0 };
	char key[KEY_BYTES];
	struct pack_fragment f;
	uint64_t copied = 0;
	struct toc t;

	key_of_table(u->p.id, key);
	int rc = o->ops->load(o->ctx, key, TOC_BYTES_MAX, &table, e);
	key_of_pack(u->p.id, key);
	if (rc == 0)
		rc = toc_open(&t, u->p.id, table.base, table.len, e);
	if (rc == 0)
		rc = o->ops->load(o->ctx, key, (size_t)u->p.bytes, &pack, e);
	if (rc != 0)
		store_err_missing(e);
	if (rc == 0 && pack.len != u->p.bytes)
		rc = err_set(e, ERR_FORMAT, "%s: %s: ends too early (emustore repair)",
		    store_title(g->s), key);
	while (rc >= 0 && toc_next(&t, &f)) {
		rc = copy_fragment(g, w, u, &pack, &f, e);
		copied += rc == 1;
	}
	if (rc >= 0 && copied != u->live)
		rc = err_set(e, ERR_FORMAT, "%s: its table is not what the index says",
		    key);
	buf_free(&pack);
	buf_free(&table);
	return rc < 0 ? -1 : 0;
}

static int
condemn(struct collecting *g, const struct pack_use *u, struct err *e)
{
	struct objects *o = g->s->objects;
	char key[KEY_BYTES];

	/* Another gc takes away what says that this one writes when that is as old as the
	 * grace: programs that believe the mark would not see the marker. */
	if (store_check_age(g->s, e) != 0)
		return -1;
	key_of_condemned(u->p.id, key);
	g->stats->bytes_condemned += u->p.bytes;
	int rc = o->ops->put(o->ctx, key, "condemned\n", 10, e);
	changes_note(g->s, key, rc == 0);
	return rc;
}

/* The marker goes last: until then nobody uses what is left of the pack. */
static int
remove_pack(struct collecting *g, const struct pack_use *u, struct err *e)
{
	void (*const keys[])(const char *, char[KEY_BYTES]) = { key_of_table,
		key_of_pack, key_of_condemned };
	char key[KEY_BYTES];
	bool gone = true;

	for (int i = 0; gone && i < (u->p.condemned ? 3 : 2); i++) {
		keys[i](u->p.id, key);
		if (remove_key(g, key, &gone, e) != 0)
			return -1;
	}
	if (!gone)
		return 0;
	g->stats->packs++;
	g->stats->fragments += u->fragments - u->live;
	g->stats->bytes_freed += u->p.bytes - u->live_bytes; /* which are elsewhere */
	return 0;
}

/* Remove or condemn the packs from..to-1, when their fragments in use have been
 * copied. */
static int
let_go(struct collecting *g, size_t from, size_t to, struct err *e)
{
	int rc = 0;

	for (size_t i = from; i < to && rc == 0; i++) {
		const struct pack_use *u = &g->v[i];
		if (u->go && (g->s->locked || u->p.condemned))
			rc = remove_pack(g, u, e);
		else if (u->go)
			rc = condemn(g, u, e);
		else if (u->p.condemned)
			g->stats->bytes_condemned += u->p.bytes;
	}
	return rc;
}

static void
tell(struct collecting *g, uint64_t bytes)
{
	g->copied_bytes += bytes;
	if (g->watch->progress != NULL)
		g->watch->progress(g->watch->arg, g->copied_bytes, g->copy_bytes);
}

static int
copy_group(struct collecting *g, size_t from, size_t to, struct err *e)
{
	struct writer *w = NULL;
	bool any = false;

	for (size_t i = from; i < to; i++)
		any = any || g->v[i].copy;
	int rc = any ? writer_new(&w, g->s, e) : 0;
	for (size_t i = from; i < to && rc == 0; i++)
		if (g->v[i].copy && (rc = copy_live(g, w, &g->v[i], e)) == 0)
			tell(g, g->v[i].live_bytes);
	if (any && rc == 0)
		rc = writer_commit(w, e);
	writer_free(w);
	return rc;
}

/* Is the disk full, or a quota used up? */
static bool
lacks_room(const struct err *e)
{
	return e->os == ENOSPC || e->os == EDQUOT;
}

/* Replace the packs in groups: the fragments in use of a group fill one new pack, and the
 * group is removed or condemned before the next one is copied.  When the disk has no room
 * for the new pack, the reserve is given up. */
static int
act(struct collecting *g, struct err *e)
{
	int rc = 0;

	if (g->n > 0)
		qsort(g->v, g->n, sizeof *g->v, compare_use);
	for (size_t from = 0, to; from < g->n && rc == 0; from = to) {
		uint64_t bytes = 0;
		for (to = from; to < g->n; to++) {
			bytes += g->v[to].copy ? g->v[to].live_bytes : 0;
			if (to > from && bytes > g->s->pack_bytes)
				break;
			/* Packs that nobody needs are removed before anything is
			 * copied. */
			if (to > from && g->v[to].copy && !g->v[to - 1].copy &&
			    g->v[to - 1].live == 0)
				break;
		}
		rc = copy_group(g, from, to, e);
		if (rc != 0 && lacks_room(e) && g->s->folder &&
		    folder_use_reserve(g->s->objects))
			rc = copy_group(g, from, to, e);
		if (rc == 0)
			rc = let_go(g, from, to, e);
	}
	return rc;
}

/* Is this object, which is old, one that nobody needs any more? */
static bool
is_orphan(const struct collecting *g, const char *folder, const char *key)
{
	char id[PACK_ID_CHARS + 1];

	/* A writer that ends removes its own, so this is that of one that has died. */
	if (strcmp(folder, KEYS_CHANGES) == 0)
		return strncmp(key, CHANGES_OPEN, strlen(CHANGES_OPEN)) == 0;
	/* No put that is still under way is as old as this. */
	if (strcmp(folder, KEYS_CLAIMS) == 0 || strcmp(folder, KEYS_NEW) == 0)
		return true;
	if (strcmp(folder, KEYS_PACKS) == 0)
		return key_is_pack(key, id) && table_of(g, id) == NULL;
	snprintf(id, sizeof id, "%.64s", key);
	return pack_id_ok(id) && table_of(g, id) == NULL;
}

/* Remove what puts that were cut short, or gc, have left. */
static int
remove_old(struct collecting *g, const char *folder, struct err *e)
{
	struct objects *o = g->s->objects;
	struct listing l = { 0 };
	char key[OBJECT_KEY_MAX + 32];
	bool gone;
	int rc = listing_get(&l, o, folder, NULL, e);

	for (size_t i = 0; i < l.n && rc == 0; i++) {
		if (!is_old(g, &l.v[i]) || !is_orphan(g, folder, l.v[i].key))
			continue;
		snprintf(key, sizeof key, "%s%s", folder, l.v[i].key);
		rc = remove_key(g, key, &gone, e);
		g->stats->bytes_freed += rc == 0 && gone ? l.v[i].bytes : 0;
	}
	listing_free(&l);
	return rc;
}

static int
err_pack(const struct collecting *g, const struct pack_use *u, struct err *e)
{
	return err_set(e, ERR_FORMAT,
	    "nothing is removed: %s: pack %.12s... is missing or too short, and images need it "
	    "(emustore repair)",
	    store_title(g->s), u->p.id);
}

/* Is each pack that images need there?  Else a fragment may be needed of a pack that
 * would go. A pack that another gc has removed meanwhile has no table any more. */
static int
check_packs(struct collecting *g, struct err *e)
{
	struct listing l = { 0 };
	char key[KEY_BYTES];
	int rc = listing_get(&l, g->s->objects, KEYS_PACKS, NULL, e);

	for (size_t i = 0; i < g->n && rc == 0; i++) {
		const struct pack_use *u = &g->v[i];
		key_of_pack(u->p.id, key);
		const struct listed *x = listing_find(&l, key + strlen(KEYS_PACKS));
		if (u->live == 0 || (x != NULL && x->bytes == u->p.bytes))
			continue;
		key_of_table(u->p.id, key);
		rc = objects_have(g->s->objects, key, e);
		if (rc == 1)
			rc = err_pack(g, u, e);
	}
	listing_free(&l);
	return rc;
}

static int
note_count(void *arg, uint32_t pack, uint64_t fragments, struct err *e)
{
	struct pack_use *u = use_of(arg, pack);

	(void)e;
	if (u != NULL)
		u->fragments = fragments;
	return 0;
}

static void
reserve_again(struct collecting *g)
{
	struct err why;

	if (folder_reserve(g->s->objects, g->s->pack_bytes + ROOM_FOR_TABLE, &why) != 0)
		g->stats->lacks_reserve = why;
}

static int
collect(struct collecting *g, struct err *e)
{
	static const char *const folders[] = { KEYS_CLAIMS, KEYS_CHANGES, KEYS_NEW,
		KEYS_CONDEMNED, KEYS_PACKS };
	struct store *s = g->s;
	int rc = 0;

	if (s->unreadable > 0)
		return err_set(e, ERR_FORMAT,
		    "nothing is removed as long as something cannot be read: %s",
		    s->first_unreadable);
	if (s->now == 0)
		return err_set(
		    e, ERR_FORMAT, "%s: the server does not tell its time", store_title(s));
	if (index_each_pack(s->index, add_use, g, e) != 0 || mark_used(g, e) != 0 ||
	    index_count_fragments(s->index, note_count, g, e) != 0 ||
	    check_packs(g, e) != 0)
		return -1;
	judge_all(g);
	/* The list of tables is that of before, and lacks those of newer puts; their
	 * packs are not old. */
	for (size_t i = 0; i < sizeof folders / sizeof *folders && rc == 0; i++)
		if (s->folder || strcmp(folders[i], KEYS_NEW) != 0)
			rc = remove_old(g, folders[i], e);
	if (rc == 0)
		rc = act(g, e);
	if (rc == 0 && s->folder)
		reserve_again(g);
	return rc;
}

int
gc_run(struct store *s, unsigned dead_percent, const struct gc_watch *watch,
    struct gc_stats *stats, struct err *e)
{
	struct collecting g = {
		.s = s, .watch = watch, .stats = stats, .dead_percent = dead_percent
	};
	int rc = collect(&g, e);

	if (rc == 0 && g.refused > 0) {
		*e = g.why;
		rc = err_ctx(e, "%" PRIu64 " objects could not be removed, the first",
		    g.refused);
	}
	free(g.used);
	free(g.v);
	return rc;
}
