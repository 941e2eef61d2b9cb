/* store.c: makes, opens and closes a store.  Called by the programs and the other files of
 * the store, in the one thread that has the store.  Readers in other threads have packs of
 * their own, by store_packs(). */
#include "emustore/store/store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/openfiles.h"
#include "emustore/objects/folder.h"
#include "emustore/s3/s3.h"
#include "emustore/store/given.h"
#include "emustore/store/store_impl.h"
#include "emustore/store/writer.h"

enum { HALF_SECOND_US = 500000 };

static const struct store closed = { .cache_lock = -1 };

int
store_check_since(const struct store *s, uint64_t began_us, struct err *e)
{
	if (s->locked || (clock_boot_us() - began_us) / HALF_SECOND_US < s->grace_seconds)
		return 0;
	return err_set(e, ERR_REFUSED,
	    "%s: this takes longer than half the store's grace period of %" PRIu64
	    " seconds, so data that it relies on may be gone by now; it has stopped here, and "
	    "what was finished before stays",
	    s->objects->title, s->grace_seconds);
}

int
store_check_age(const struct store *s, struct err *e)
{
	return store_check_since(s, s->looked_at_us, e);
}

const char *
store_title(const struct store *s)
{
	return s->objects->title;
}

static int
open_objects(struct store *s, const char *url, struct err *e)
{
	*s = closed;
	if (s3_is_url(url))
		return s3_open(&s->objects, url, e);
	s->folder = true;
	openfiles_allow(UINT64_MAX); /* each pack that is read from a folder is an open file */
	return folder_open(&s->objects, url, e);
}

/* Open what belongs to a store.  A folder is locked only after its format was read: it is
 * known to be a store then. */
static int
open_parts(
    struct store *s, const struct store_place *p, unsigned access, struct err *e)
{
	bool lock = s->folder && (access & STORE_WRITE) != 0;

	if (store_read_format(s, (access & STORE_MEND) != 0, e) != 0)
		return -1;
	if (lock && folder_lock(s->objects, (access & STORE_WAIT) != 0, e) != 0)
		return -1;
	s->locked = lock;
	if (cache_open(s, p, access, e) != 0)
		return -1;
	return refresh_first(s, (access & STORE_WRITE) != 0, e);
}

int
store_open_at(
    struct store *s, const struct store_place *p, unsigned access, struct err *e)
{
	if (open_objects(s, p->url, e) == 0 && open_parts(s, p, access, e) == 0)
		return 0;
	store_close(s);
	return -1;
}

int
store_open(struct store *s, const char *url, unsigned access, struct err *e)
{
	return store_open_at(s, &(struct store_place){ .url = url }, access, e);
}

void
store_close(struct store *s)
{
	writer_free(s->putting);
	refresh_last(s);
	index_close(s->index);
	blocks_release(s->blocks);
	if (s->cache_lock >= 0)
		close(s->cache_lock);
	free(s->cache);
	listing_free(&s->tables);
	listing_free(&s->condemned);
	listing_free(&s->images);
	if (s->locked)
		folder_unlock(s->objects); /* last of all: nobody else may write before */
	objects_release(s->objects);
	*s = closed;
}

bool
store_holds(const char *url, const char *path)
{
	return !s3_is_url(url) && folder_holds(url, path);
}

struct packs *
store_packs(struct store *s)
{
	return packs_new(s->objects, s->blocks);
}

int
store_begin(struct store *s, struct err *e)
{
	return writer_new(&s->putting, s, e);
}

int
store_commit(struct store *s, struct err *e)
{
	int rc = writer_commit(s->putting, e);

	writer_free(s->putting);
	s->putting = NULL;
	return rc;
}

int
store_err_missing(struct err *e)
{
	struct err why = *e;

	if (why.os != ENOENT)
		return -1;
	return err_set(e, ERR_FORMAT, "%.400s: the store is damaged (emustore repair)", why.text);
}

struct image_wanted {
	const struct store_name *name;
	struct index_image *out;
};

static int
find_image(struct store *s, void *arg, struct err *e)
{
	struct image_wanted *w = arg;

	return index_find_image(s->index, w->name, w->out, e);
}

int
store_find_image(
    struct store *s, const struct store_name *n, struct index_image *i, struct err *e)
{
	return store_try(s, find_image, &(struct image_wanted){ n, i }, e);
}

/* An image that an older program has put has no note of its number.  Where the disk is
 * full, it is removed without one: there would be no way to get room. */
static int
note_given(struct store *s, const struct store_name *n, struct err *e)
{
	return given_add(s, n, e) == 0 || e->os == ENOSPC || e->os == EDQUOT ? 0 : -1;
}

int
store_remove_image(struct store *s, const struct store_name *n, struct err *e)
{
	char key[KEY_BYTES];

	key_of_image(n, key);
	int there = objects_have(s->objects, key, e);
	if (there < 0)
		return -1;
	if (there == 0) {
		changes_note(s, key, true); /* the index may have it still */
		return err_set(e, ERR_ABSENT, "%s:%" PRIu32 ": is not in the store", n->name,
		    n->version);
	}
	int rc = note_given(s, n, e);
	if (rc == 0) {
		rc = s->objects->ops->remove(s->objects->ctx, key, e);
		changes_note(s, key, rc == 0);
	}
	return rc;
}
