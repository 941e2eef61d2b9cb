/* counted.c: looks whether the packs that a new image counts on are there.  Called by
 * writer.c, in the thread that uses the writer. */
#include "emustore/store/counted.h"

#include <errno.h>
#include <string.h>

/* List the packs once for each index: its tables were listed before, and packs are made
 * before their tables. */
static int
list_packs(struct counted *c, struct store *s, struct err *e)
{
	if (c->listed && c->turn == s->index_turn)
		return 0;
	c->last = 0;
	c->turn = s->index_turn;
	c->listed = listing_get(&c->packs, s->objects, KEYS_PACKS, NULL, e) == 0;
	return c->listed ? 0 : -1;
}

static int
note_bad(struct counted *c, const struct index_pack *p, struct err *e)
{
	for (size_t at = 0; at < c->bad.len; at += sizeof p->id)
		if (memcmp(c->bad.base + at, p->id, sizeof p->id) == 0)
			return 0;
	buf_bytes(&c->bad, p->id, sizeof p->id);
	return buf_ok(&c->bad) ? 0 : err_nomem(e, "the list of packs");
}

static bool
is_there(const struct counted *c, const struct index_pack *p)
{
	char key[KEY_BYTES];

	key_of_pack(p->id, key);
	const struct listed *x = listing_find(&c->packs, key + strlen(KEYS_PACKS));
	return x != NULL && x->bytes == p->bytes;
}

int
counted_on(struct counted *c, struct store *s, const struct index_pack *p, struct err *e)
{
	if (list_packs(c, s, e) != 0)
		return -1;
	if (c->last == p->number)
		return 1;
	if (is_there(c, p))
		return c->last = p->number, 1;
	if (s->cache != NULL)
		return COUNTED_DOUBT;
	return note_bad(c, p, e);
}

static int
note_if_bad(void *arg, const struct index_pack *p, struct err *e)
{
	struct counted *c = arg;

	return p->condemned || is_there(c, p) ? 0 : note_bad(c, p, e);
}

/* One pack is damaged: note all that are.  A fragment that a condemned pack has is looked
 * for in any other pack that has it, and that must not be one that is gone, too.  The packs
 * are listed anew, because the index may have learned of packs that were made since. */
static int
note_all_bad(struct counted *c, struct store *s, struct err *e)
{
	c->listed = false;
	return list_packs(c, s, e) == 0 ? index_each_pack(s->index, note_if_bad, c, e)
	                                : -1;
}

int
counted_condemn(struct counted *c, struct store *s, struct err *e)
{
	struct objects *o = s->objects;
	char key[KEY_BYTES];

	if (c->done < c->bad.len && note_all_bad(c, s, e) != 0)
		return -1;
	for (; c->done < c->bad.len; c->done += PACK_ID_CHARS + 1) {
		key_of_condemned((const char *)c->bad.base + c->done, key);
		int rc = o->ops->put(o->ctx, key, "condemned\n", 10, e);
		changes_note(s, key, rc == 0);
		if (rc != 0 && e->os != EEXIST)
			return -1;
	}
	return 0;
}

uint64_t
counted_damaged(const struct counted *c)
{
	return c->bad.len / (PACK_ID_CHARS + 1);
}

void
counted_free(struct counted *c)
{
	listing_free(&c->packs);
	buf_free(&c->bad);
}
