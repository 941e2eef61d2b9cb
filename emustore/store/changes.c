/* changes.c: says in a store that somebody writes, and marks its states.  Called by store.c
 * and refresh.c, and by all who change objects of a store, in the thread that has the store.
 *
 * In a folder the mark is in the file of the lock, which one writer has.  In a bucket
 * several writers may be at work.  Each object below changes/ has a name that was never
 * used before, and a writer that ends removes those done-ID that it saw when it began, after
 * it has put its own: so there is always one that nobody had before, and no set of them
 * comes twice, also where a server carries out a request late.
 */
#include "emustore/store/changes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/number.h"
#include "common/base/sha256.h"
#include "emustore/objects/folder.h"
#include "emustore/store/store_impl.h"

/* The mark of a folder: what its writers have said, and when the folders of images and
 * tables were changed, which also tells of files that were copied there by hand. */
static void
read_folder(struct store *s, char mark[MARK_BYTES])
{
	char text[FOLDER_MARK_BYTES];
	uint64_t images, tables;

	folder_read_mark(s->objects, text);
	images = folder_changed_ns(s->objects, "images");
	tables = folder_changed_ns(s->objects, "tables");
	mark[0] = '\0';
	if (text[0] == 'd' && strlen(text) == sizeof text - 1)
		snprintf(mark, MARK_BYTES, "%.33s %" PRIx64 " %" PRIx64, text, images,
		    tables);
}

static int
say_in_folder(struct store *s, char what, const char *id, bool sync, struct err *e)
{
	char text[FOLDER_MARK_BYTES];

	snprintf(text, sizeof text, "%c%.32s\n", what, id);
	return folder_write_mark(s->objects, text, sync, e);
}

/* The mark of a bucket: the SHA-256 of the names below changes/. */
static void
mark_of(const struct listing *l, char mark[MARK_BYTES])
{
	uint8_t digest[SHA256_BYTES];
	struct buf names = { 0 };
	bool all_done = l->n > 0;

	mark[0] = '\0';
	for (size_t i = 0; i < l->n; i++) {
		all_done = all_done && strncmp(l->v[i].key, CHANGES_DONE, strlen(CHANGES_DONE)) == 0;
		buf_bytes(&names, l->v[i].key, strlen(l->v[i].key) + 1);
	}
	if (all_done && buf_ok(&names)) {
		sha256(names.base, names.len, digest);
		number_hex(digest, sizeof digest, mark);
	}
	buf_free(&names);
}

static int
read_bucket(struct store *s, struct listing *l, char mark[MARK_BYTES], struct err *e)
{
	if (listing_get(l, s->objects, KEYS_CHANGES, NULL, e) != 0)
		return -1;
	mark_of(l, mark);
	return 0;
}

int
changes_read(struct store *s, char mark[MARK_BYTES], struct err *e)
{
	struct listing l = { 0 };
	int rc = 0;

	if (s->folder)
		read_folder(s, mark);
	else
		rc = read_bucket(s, &l, mark, e);
	listing_free(&l);
	return rc;
}

static void
key_of(const char *what, const char *id, char key[KEY_BYTES])
{
	snprintf(key, KEY_BYTES, KEYS_CHANGES "%s%s", what, id);
}

int
changes_begin(struct store *s, char mark[MARK_BYTES], struct err *e)
{
	struct changes *c = &s->changes;
	struct objects *o = s->objects;
	char key[KEY_BYTES];
	int rc;

	key_random(c->id);
	if (s->folder) {
		read_folder(s, mark);
		rc = say_in_folder(s, 'w', c->id, true, e);
	} else {
		rc = read_bucket(s, &c->before, mark, e);
		key_of(CHANGES_OPEN, c->id, key);
		if (rc == 0)
			rc = o->ops->put(o->ctx, key, "open\n", 5, e);
	}
	if (rc != 0)
		c->id[0] = '\0';
	return rc;
}

void
changes_note(struct store *s, const char *key, bool ok)
{
	struct changes *c = &s->changes;

	buf_bytes(&c->keys, key, strlen(key) + 1);
	c->unsure = c->unsure || (!ok && !s->folder) || !buf_ok(&c->keys);
}

/* Put the new mark, then remove the old ones, and at last the object that says that this
 * writer writes. */
static int
end_in_bucket(struct store *s, const char *id, struct err *e)
{
	struct changes *c = &s->changes;
	struct objects *o = s->objects;
	struct listing after = { 0 };
	char key[KEY_BYTES + OBJECT_KEY_MAX];

	key_of(CHANGES_DONE, id, key);
	if (o->ops->put(o->ctx, key, "done\n", 5, e) != 0)
		return -1;
	for (size_t i = 0; i < c->before.n; i++) {
		if (strncmp(c->before.v[i].key, CHANGES_DONE, strlen(CHANGES_DONE)) != 0)
			continue;
		snprintf(key, sizeof key, KEYS_CHANGES "%s", c->before.v[i].key);
		o->ops->remove(o->ctx, key, e); /* the next writer tries again */
	}
	key_of(CHANGES_OPEN, c->id, key);
	if (o->ops->remove(o->ctx, key, e) != 0)
		return -1;
	int rc = read_bucket(s, &after, c->mark, e);
	snprintf(key, sizeof key, CHANGES_DONE "%s", id);
	/* Others have ended meanwhile, or are at work. */
	if (rc != 0 || after.n != 1 || strcmp(after.v[0].key, key) != 0)
		c->mark[0] = '\0';
	listing_free(&after);
	return rc;
}

void
changes_end(struct store *s)
{
	struct changes *c = &s->changes;
	char id[KEY_RANDOM_CHARS + 1];
	struct err ignored;

	if (c->id[0] == '\0' || c->unsure)
		return;
	key_random(id);
	if (!s->folder)
		end_in_bucket(s, id, &ignored);
	else if (say_in_folder(s, 'd', id, false, &ignored) == 0)
		read_folder(s, c->mark);
}

void
changes_free(struct store *s)
{
	listing_free(&s->changes.before);
	buf_free(&s->changes.keys);
	s->changes = (struct changes){ 0 };
}
