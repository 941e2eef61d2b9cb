#include "emustore/store/repair.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "emustore/store/remote_check.h"
#include "emustore/store/stored.h"

/* What is whole in the packs is not to be given up because the index is wrong. */
static int
mark_lost(struct check *c, struct store *s, struct err *e)
{
	struct index_fragment f = { 0 };
	int rc;

	while ((rc = index_fragment_from(s->index, f.number + 1, &f, e)) == 1) {
		bool elsewhere = marks_has(&c->elsewhere, f.number);
		if (marks_has(&c->good, f.number) || (f.pack == 0 && !elsewhere))
			continue;
		if (c->index_wrong || elsewhere)
			return err_set(e, ERR_FORMAT,
			    "%s: the index does not say what the packs do: emustore "
			    "repair --index first; nothing was changed",
			    s->dir);
		if (index_move_fragment(s->index, f.number, 0, 0, e) != 0)
			return -1;
	}
	return rc;
}

int
repair_store(struct check *c, struct store *s, struct err *e)
{
	if (s->remote != NULL)
		return remote_repair(c, s, e);
	if (store_begin(s, e) != 0 || check_store(c, s, e) != 0 ||
	    mark_lost(c, s, e) != 0)
		return -1;
	return store_commit(s, e);
}

struct reindex {
	struct check *c;
	struct store *s;
	uint32_t slot, number;
	uint64_t end;                 /* of the last good record of the pack */
	struct buf replaced, removed; /* u32 and u64 in the machine's order */
	uint64_t next_fragment, next_image, next_pack;
};

static void
raise(uint64_t *next, uint64_t number)
{
	if (number >= *next && number < INT64_MAX)
		*next = number + 1;
}

static int
raise_fragment(void *arg, uint64_t number, struct err *e)
{
	struct reindex *x = arg;

	(void)e;
	raise(&x->next_fragment, number);
	return 0;
}

/* No number that the recipe has is given to another fragment: one that is lost stays
 * lost, and an image that needs it stays damaged.  What cannot be read of a recipe
 * refers to nothing. */
static int
raise_of_recipe(struct reindex *x, const uint8_t *body, size_t body_bytes,
    struct err *e)
{
	struct rd r = rd_from(body, body_bytes);
	struct recipe_image *about = malloc(sizeof *about);
	int rc = about == NULL ? err_nomem(e, "an image")
	                       : recipe_get_image(about, &r, e);

	if (rc == 0)
		rc = recipe_each_fragment(r, raise_fragment, x, e);
	free(about);
	return rc == 0 || e->kind != ERR_NOMEM ? 0 : -1;
}

/* First pass, of all packs: what counts no longer, and which numbers were given. */
static int
note_numbers(void *arg, uint64_t at, const struct record_head *h, const uint8_t *body,
    size_t body_bytes, struct err *e)
{
	struct reindex *x = arg;
	struct rd r = rd_from(body, body_bytes);

	(void)at;
	if (h->type == RECORD_FRAGMENT)
		raise(&x->next_fragment, h->number);
	if (h->type == RECORD_IMAGE || h->type == RECORD_REMOVED)
		raise(&x->next_image, h->number);
	if (h->type == RECORD_REMOVED)
		buf_bytes(&x->removed, &h->number, sizeof h->number);
	for (uint64_t i = 0;
	     h->type == RECORD_REPLACES && rd_can_hold(&r, 1, 4) && i < h->number;
	     i++) {
		uint32_t pack = rd_le32(&r);
		buf_bytes(&x->replaced, &pack, sizeof pack);
		raise(&x->next_pack, pack);
	}
	if (h->type == RECORD_IMAGE && raise_of_recipe(x, body, body_bytes, e) != 0)
		return -1;
	return buf_ok(&x->replaced) && buf_ok(&x->removed) ? 0 : err_nomem(e, "a list");
}

static bool
has(const struct buf *list, const void *item, size_t n)
{
	for (size_t i = 0; i + n <= list->len; i += n)
		if (memcmp(list->base + i, item, n) == 0)
			return true;
	return false;
}

static int
add_fragment(struct reindex *x, uint64_t at, const struct record_head *h,
    const uint8_t *body, size_t body_bytes, struct err *e)
{
	struct index_fragment f = { .number = h->number, .pack = x->number, .at = at },
			      there;

	if (fragment_get_head(&f.head, body, body_bytes, e) != 0)
		return 0; /* of no use to anybody */
	f.bytes = (uint32_t)(body_bytes - FRAGMENT_HEAD_BYTES);
	int rc = index_find_fragment(x->s->index, f.head.sha256, &there, e);
	if (rc == 0)
		rc = index_get_fragment(x->s->index, h->number, &there, e);
	if (rc != 0) /* another copy, which serves as well */
		return rc < 0 ? -1 : 0;
	return index_add_fragment(x->s->index, &f, e);
}

static int
add_image(struct reindex *x, uint64_t at, const struct record_head *h,
    const uint8_t *body, size_t body_bytes, struct err *e)
{
	struct index_image *i = calloc(1, sizeof *i), *there = calloc(1, sizeof *there);
	struct rd r = rd_from(body, body_bytes);
	struct err why;
	int rc = i == NULL || there == NULL ? err_nomem(e, "an image") : 0;

	if (rc == 0 && !has(&x->removed, &h->number, sizeof h->number) &&
	    recipe_get_image(&i->about, &r, &why) == 0) {
		rc = index_find_image(x->s->index, &i->about.name, there, e);
		i->number = h->number;
		i->pack = x->number;
		i->at = at;
		i->bytes = body_bytes;
		if (rc == 0)
			rc = index_add_image(x->s->index, i, e);
	}
	free(i);
	free(there);
	return rc < 0 ? -1 : 0;
}

/* Second pass. */
static int
add_record(void *arg, uint64_t at, const struct record_head *h, const uint8_t *body,
    size_t body_bytes, struct err *e)
{
	struct reindex *x = arg;

	x->end = at + record_whole_bytes(body_bytes);
	if (h->type == RECORD_FRAGMENT)
		return add_fragment(x, at, h, body, body_bytes, e);
	return h->type == RECORD_IMAGE ? add_image(x, at, h, body, body_bytes, e) : 0;
}

static int
walk_packs(
    struct reindex *x, const uint32_t *list, size_t n, bool adding, struct err *e)
{
	struct pack_walk w = { .data = true,
		.end = UINT64_MAX,
		.arg = x,
		.record = adding ? add_record : note_numbers };

	for (size_t i = 0; i < n; i++) {
		if (adding && has(&x->replaced, &list[i], sizeof list[i]))
			continue;
		x->number = list[i];
		x->end = 0;
		if (packs_slot(x->s->packs, list[i], &x->slot, e) != 0 ||
		    packs_walk(x->s->packs, x->slot, &w, e) != 0)
			return -1;
		if (adding && x->end > 0 &&
		    index_put_pack(
			x->s->index, &(struct index_pack){ list[i], x->end }, e) != 0)
			return -1;
	}
	return 0;
}

static int
fill_index(struct reindex *x, struct err *e)
{
	uint32_t *list;
	size_t n;

	if (packs_list(x->s->packs_fd, x->s->dir, &list, &n, e) != 0 || n == 0) {
		free(list);
		return n == 0 ? 0 : -1;
	}
	int rc = walk_packs(x, list, n, false, e);
	if (rc == 0)
		rc = walk_packs(x, list, n, true, e);
	raise(&x->next_pack, list[n - 1]);
	free(list);
	if (rc == 0)
		rc = index_set_next(
		    x->s->index, INDEX_NEXT_FRAGMENT, x->next_fragment, e);
	if (rc == 0)
		rc = index_set_next(x->s->index, INDEX_NEXT_IMAGE, x->next_image, e);
	return rc == 0
	           ? index_set_next(x->s->index, INDEX_NEXT_PACK, x->next_pack, e)
	           : -1;
}

int
repair_index(struct check *c, struct store *s, struct err *e)
{
	struct reindex x = { .c = c,
		.s = s,
		.next_fragment = 1,
		.next_image = 1,
		.next_pack = 1 };

	if (s->remote != NULL) /* opening it for this has made its index again */
		return remote_check(c, s, e);
	int rc = index_begin(s->index, true, e);
	if (rc == 0)
		rc = fill_index(&x, e);
	if (rc == 0)
		rc = index_commit(s->index, e);
	if (rc == 0)
		rc = check_store(c, s, e);
	if (rc == 0)
		rc = store_use_index(s, e);
	buf_free(&x.replaced);
	buf_free(&x.removed);
	return rc;
}
