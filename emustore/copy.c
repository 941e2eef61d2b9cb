/* copy.c: the command copy, which copies images from store to store.  main.c calls it in the
 * first thread. */
#include "emustore/store/copy.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/base/number.h"
#include "common/base/say.h"
#include "emustore/emustore.h"

struct copies {
	const struct options *o;
	struct store from, to;
	struct json *j; /* or NULL */
	const struct store_name *name;
	struct buf versions; /* struct store_name: those of `name` */
};

static void
tell(const struct copies *c, const struct index_image *i, bool copied, const struct copy_stats *t)
{
	char kept[32];

	if (c->j != NULL) {
		json_object(c->j, NULL);
		json_image(c->j, &i->about);
		json_bool(c->j, "copied", copied);
		json_uint(c->j, "fragments", t->fragments);
		json_uint(c->j, "new_fragments", t->new_fragments);
		json_uint(c->j, "new_bytes", t->new_bytes);
		json_uint(c->j, "recipe_bytes", t->recipe_bytes);
		json_end(c->j);
	} else if (!c->o->quiet && copied)
		say_text(stderr, "emustore: %s: copied, %s of it new\n",
		    stored_title(&i->about).text,
		    human_bytes(t->new_bytes + t->recipe_bytes, kept, sizeof kept));
	else if (!c->o->quiet)
		say_text(stderr, "emustore: %s: the other store has it already\n",
		    stored_title(&i->about).text);
}

/* Copy one version; text is what the user has called it. */
static int
copy_one(
    struct copies *c, const struct store_name *name, const char *text, struct err *e)
{
	struct index_image *i = malloc(sizeof *i);
	struct copy_stats t;
	int rc = i == NULL ? err_nomem(e, "an image") : cancel_check(e);

	if (rc == 0)
		rc = store_find_image(&c->from, name, i, e);
	if (rc == 0)
		rc = err_set(e, ERR_ABSENT, "%s: is not in the store", text);
	if (rc == 1)
		rc = copy_image(&c->from, &c->to, i, &t, e);
	if (rc >= 0)
		tell(c, i, rc == 1, &t);
	free(i);
	return rc < 0 ? -1 : 0;
}

static int
note_version(void *arg, const struct index_image *i, struct err *e)
{
	struct copies *c = arg;

	if (strcmp(i->about.name.name, c->name->name) == 0)
		buf_bytes(&c->versions, &i->about.name, sizeof i->about.name);
	return buf_ok(&c->versions) ? 0 : err_nomem(e, "the list of versions");
}

static int
note_versions(struct store *from, void *arg, struct err *e)
{
	((struct copies *)arg)->versions.len = 0;
	return index_each_image(from->index, note_version, arg, e);
}

/* Note the versions first, since the index may change while one is copied. */
static int
copy_versions(struct copies *c, const char *text, struct err *e)
{
	struct store_name one = *c->name;

	int rc = store_try(&c->from, note_versions, c, e);
	if (rc == 0 && c->versions.len == 0)
		return copy_one(c, &one, text, e);
	for (size_t at = 0; rc == 0 && at < c->versions.len; at += sizeof one) {
		memcpy(&one, c->versions.base + at, sizeof one);
		rc = copy_one(c, &one, text, e);
	}
	return rc;
}

/* Copy the version that is named, or the latest; with --all every version. */
static int
copy_named(struct copies *c, const char *text, struct err *e)
{
	struct store_name name;

	if (store_name_get(&name, text, e) != 0)
		return -1;
	c->name = &name;
	return c->o->all && name.version == 0 ? copy_versions(c, text, e)
	                                      : copy_one(c, &name, text, e);
}

static int
copy_all(struct copies *c, char **names, int n, struct err *e)
{
	struct store_place to = { c->o->to, c->o->cache, c->o->cache_bytes };
	int rc = store_open_at(
	    &c->to, &to, STORE_WRITE | (c->o->wait ? STORE_WAIT : 0u), e);

	if (rc != 0)
		return -1;
	rc = store_begin(&c->to, e);
	for (int i = 0; i < n && rc == 0; i++)
		rc = copy_named(c, names[i], e);
	if (rc == 0)
		rc = store_commit(&c->to, e);
	store_close(&c->to);
	return rc;
}

int
command_copy(const struct options *o, char **operands, int n, struct err *e)
{
	struct copies c = { .o = o };

	if (o->to == NULL)
		return err_misuse(e, "copy needs --to, the store that the images go to");
	c.j = o->json ? json_new() : NULL;
	json_array(c.j, NULL);
	int rc = emustore_open(&c.from, o, false, e);
	if (rc == 0) {
		rc = copy_all(&c, operands, n, e);
		store_close(&c.from);
	}
	buf_free(&c.versions);
	json_end(c.j);
	if (rc == 0)
		return json_show(c.j, e);
	json_free(c.j);
	return rc;
}
