/* show.c: the commands that list or describe what is in a store. main.c calls them
 * in the first thread. */
#include <inttypes.h>
#include <stdlib.h>

#include "common/base/number.h"
#include "common/base/say.h"
#include "common/cli/failure.h"
#include "emustore/emustore.h"

static int
list_one(void *arg, const struct index_image *i, struct err *e)
{
	struct json *j = arg;
	char size[32], data[32], when[32];

	(void)e;
	if (j != NULL) {
		json_object(j, NULL);
		json_image(j, &i->about);
		json_end(j);
		return 0;
	}
	time_text(i->about.put_at, when);
	say(stdout, "%-32s %9s %9s  %s\n", stored_title(&i->about).text,
	    human_bytes(
		(uint64_t)i->about.chunks * NDZ_CHUNK_BYTES, size, sizeof size),
	    human_bytes(i->about.data_bytes, data, sizeof data), when);
	return 0;
}

bool
all_readable(const struct store *s, const char *what, struct err *lacks)
{
	if (s->unreadable_images == 0)
		return true;
	err_set(lacks, ERR_FORMAT,
	    "%s: images that cannot be read, and %s: %" PRIu64 "; the first object: %.300s",
	    store_title(s), what, s->unreadable_images, s->first_unreadable);
	return false;
}

int
end_of_report(bool readable, const struct err *lacks, struct err *e)
{
	if (readable)
		return 0;
	*e = *lacks;
	failure_told(e); /* the document has what could be read */
	return -1;
}

int
command_list(const struct options *o, char **operands, int n, struct err *e)
{
	struct store s;
	struct json *j = o->json ? json_new() : NULL;
	struct err lacks = { 0 };

	(void)operands, (void)n;
	if (o->json && j == NULL)
		return err_nomem(e, "the list");
	if (open_store(&s, o, false, e) != 0) {
		json_free(j);
		return -1;
	}
	if (j != NULL)
		json_array(j, NULL);
	else if (!o->quiet)
		say(stdout, "%-32s %9s %9s  put at\n", "name", "image", "data");
	int rc = index_each_image(s.index, list_one, j, e);
	bool readable = all_readable(&s, "are not listed", &lacks);
	store_close(&s);
	if (j != NULL) {
		json_end(j);
		if (rc == 0)
			rc = json_show(j, e);
		else
			json_free(j);
	}
	return rc == 0 ? end_of_report(readable, &lacks, e) : rc;
}

static int
info_json(const struct stored *d, uint64_t fragments, struct err *e)
{
	const struct recipe_image *a = stored_about(d);
	struct json *j = json_new();

	if (j == NULL)
		return err_nomem(e, "the image");
	json_object(j, NULL);
	json_image(j, a);
	json_uint(j, "fragments", fragments);
	json_uint(j, "recipe_bytes", stored_recipe_bytes(d));
	json_object(j, "labels");
	for (unsigned i = 0; i < a->nlabels; i++)
		json_string(j, a->labels[i].key, a->labels[i].value);
	json_end(j);
	json_end(j);
	return json_show(j, e);
}

static void
info_text(const struct stored *d, uint64_t fragments)
{
	const struct recipe_image *a = stored_about(d);
	char size[32], data[32], recipe[32], when[32];

	time_text(a->put_at, when);
	say(stdout, "%s: %u chunks, %s of image, %s of data\n", stored_title(a).text,
	    a->chunks,
	    human_bytes((uint64_t)a->chunks * NDZ_CHUNK_BYTES, size, sizeof size),
	    human_bytes(a->data_bytes, data, sizeof data));
	say(stdout,
	    "  put at %s; %" PRIu64 " fragments that are not zero; a recipe of %s\n",
	    when, fragments,
	    human_bytes(stored_recipe_bytes(d), recipe, sizeof recipe));
	say(stdout, "  sha256 ");
	for (size_t i = 0; i < sizeof a->sha256; i++)
		say(stdout, "%02x", a->sha256[i]);
	say(stdout, "\n");
	if (a->parent[0] != '\0')
		say(stdout, "  derived from %s\n", a->parent);
	for (unsigned i = 0; i < a->nlabels; i++)
		say(stdout, "  %s=%s\n", a->labels[i].key, a->labels[i].value);
}

int
command_info(const struct options *o, char **operands, int n, struct err *e)
{
	struct store_name name;
	struct store s;
	struct stored *d;

	(void)n;
	if (store_name_get(&name, operands[0], e) != 0 ||
	    open_store(&s, o, false, e) != 0)
		return -1;
	int rc = stored_open(&d, &s, &name, e);
	if (rc == 0) {
		if (o->json)
			rc = info_json(d, stored_fragments(d), e);
		else
			info_text(d, stored_fragments(d));
		stored_free(d);
	}
	store_close(&s);
	return rc;
}

enum { LOADED_SHOWN = 5 };

static int
load_json(void *arg, const struct index_load *l, struct err *e)
{
	struct json *j = arg;

	(void)e;
	json_object(j, NULL);
	json_string(j, "name", l->name.name);
	json_uint(j, "version", l->name.version);
	json_uint(j, "loads", l->loads);
	json_uint(j, "loaded_at", l->loaded_at);
	json_end(j);
	return 0;
}

static int
loads_json(struct json *j, struct index *x, struct err *e)
{
	static const char *const names[] = { "loaded_most", "loaded_last" };
	int rc = 0;

	for (int last = 0; last < 2 && rc == 0; last++) {
		json_array(j, names[last]);
		rc = index_each_load(x, last != 0, LOADED_SHOWN, load_json, j, e);
		json_end(j);
	}
	return rc;
}

static int
load_text(void *arg, const struct index_load *l, struct err *e)
{
	const char **title = arg;
	char when[32];

	(void)e;
	time_text(l->loaded_at, when);
	say(stdout, "%-12s %s:%" PRIu32 ", loaded %" PRIu64 " time%s, the last time at %s\n",
	    *title, l->name.name, l->name.version, l->loads, l->loads == 1 ? "" : "s",
	    when);
	*title = "";
	return 0;
}

static int
loads_text(struct index *x, struct err *e)
{
	const char *most = "loaded most", *last = "loaded last";
	int rc = index_each_load(x, false, LOADED_SHOWN, load_text, &most, e);

	return rc == 0 ? index_each_load(x, true, LOADED_SHOWN, load_text, &last, e) : rc;
}

/* lacks: what could not be counted; NULL: all was. */
static int
stats_json(const struct index_totals *t, struct index *x, const struct err *lacks,
    struct err *e)
{
	struct json *j = json_new();

	if (j == NULL)
		return err_nomem(e, "the statistics");
	json_object(j, NULL);
	json_uint(j, "images", t->images);
	json_uint(j, "image_bytes", t->image_chunks * NDZ_CHUNK_BYTES);
	json_uint(j, "data_bytes", t->data_bytes);
	json_uint(j, "fragments", t->fragments);
	json_uint(j, "fragment_bytes", t->fragment_bytes);
	json_uint(j, "different_data_fragments", t->raw_unique);
	json_uint(j, "packs", t->packs);
	json_uint(j, "pack_bytes", t->pack_bytes);
	if (loads_json(j, x, e) != 0) {
		json_free(j);
		return -1;
	}
	if (lacks != NULL)
		failure_put_err(j, lacks, err_exit_status(lacks));
	json_end(j);
	return json_show(j, e);
}

static void
stats_text(const struct index_totals *t)
{
	uint64_t images = t->image_chunks * NDZ_CHUNK_BYTES;
	char a[32], b[32], c[32];

	say(stdout, "%" PRIu64 " images of %s, with %s of data, in %s of packs",
	    t->images, human_bytes(images, a, sizeof a),
	    human_bytes(t->data_bytes, b, sizeof b),
	    human_bytes(t->pack_bytes, c, sizeof c));
	if (images > 0)
		say(stdout, " (%.3f of the images)",
		    (double)t->pack_bytes / (double)images);
	say(stdout, "\n");
	say(stdout,
	    "%" PRIu64 " fragments of %s, %" PRIu64 " different by their data\n",
	    t->fragments, human_bytes(t->fragment_bytes, a, sizeof a), t->raw_unique);
}

int
command_stats(const struct options *o, char **operands, int n, struct err *e)
{
	struct store s;
	struct index_totals t;
	struct err lacks = { 0 };

	(void)operands, (void)n;
	if (open_store(&s, o, false, e) != 0)
		return -1;
	int rc = index_totals(s.index, &t, e);
	bool readable = all_readable(&s, "are not counted", &lacks);
	if (rc == 0 && o->json)
		rc = stats_json(&t, s.index, readable ? NULL : &lacks, e);
	else if (rc == 0) {
		stats_text(&t);
		rc = loads_text(s.index, e);
	}
	store_close(&s);
	return rc == 0 ? end_of_report(readable, &lacks, e) : rc;
}
