/* show.c: the commands that list or describe what is in a store. main.c calls them
 * in the first thread. */
#include <inttypes.h>
#include <stdlib.h>

#include "common/base/number.h"
#include "common/base/say.h"
#include "common/cli/failure.h"
#include "emustore/emustore.h"
#include "emustore/store/usage.h"

/* Recipes of as many bytes are read without being asked for: that takes about a second.
 * */
enum { USAGE_BYTES = 32 << 20 };

/* What a command that shows the store knows of its usage. */
struct shown {
	const struct options *o;
	struct usage usage;
	bool known, readable; /* the usage; all images could be read */
	struct err lacks;     /* what could not be read */
};

/* Measure the usage, if that takes no longer than the user may want.  Damage is noted,
 * and does not fail here: what can be read is shown. */
static int
measure(struct shown *w, struct store *s, struct err *e)
{
	uint64_t cost;

	if (!w->readable || usage_cost(s, &cost, e) != 0)
		return w->readable ? -1 : 0;
	if (!w->o->usage && cost > USAGE_BYTES)
		return 0;
	w->known = usage_measure(&w->usage, s, e) == 0;
	if (w->known || e->kind != ERR_FORMAT)
		return w->known ? 0 : -1;
	w->readable = false;
	w->lacks = *e;
	return 0;
}

/* Say why the usage was not shown. */
static void
tell_cost(const struct shown *w)
{
	if (w->known || w->o->quiet || w->o->json)
		return;
	if (!w->readable)
		say_text(stderr, "emustore: nobody knows what a version uses alone: %s\n",
		    w->lacks.text);
	else
		say_text(stderr,
		    "emustore: what a version uses alone, and what it shares, is shown with --usage: "
		    "the recipes of all images are read for that\n");
}

static void
json_usage(struct json *j, const struct shown *w, const struct store_name *n)
{
	const struct usage_of *u = w->known ? usage_find(&w->usage, n) : NULL;

	if (u == NULL)
		return;
	json_uint(j, "only_bytes", u->only_bytes);
	json_uint(j, "shared_bytes", u->shared_bytes);
}

struct listing_images {
	struct shown shown;
	struct json *j; /* or NULL, and `out` goes to `text` */
	FILE *out;
	char *text;
	size_t bytes;
};

static void
list_text(struct listing_images *l, const struct recipe_image *a)
{
	const struct usage_of *u = l->shown.known ? usage_find(&l->shown.usage, &a->name) : NULL;
	char size[32], data[32], only[32] = "", shared[32] = "", when[32];

	emustore_time_text(a->put_at, when);
	if (u != NULL) {
		human_bytes(u->only_bytes, only, sizeof only);
		human_bytes(u->shared_bytes, shared, sizeof shared);
	}
	say_text(l->out, "%-32s %9s %9s ", stored_title(a).text,
	    human_bytes((uint64_t)a->chunks * NDZ_CHUNK_BYTES, size, sizeof size),
	    human_bytes(a->data_bytes, data, sizeof data));
	if (l->shown.known)
		say_text(l->out, "%9s %9s ", only, shared);
	say_text(l->out, " %s\n", when);
}

static int
list_one(void *arg, const struct index_image *i, struct err *e)
{
	struct listing_images *l = arg;

	(void)e;
	if (l->j == NULL) {
		list_text(l, &i->about);
		return 0;
	}
	json_object(l->j, NULL);
	json_image(l->j, &i->about);
	json_usage(l->j, &l->shown, &i->about.name);
	json_end(l->j);
	return 0;
}

static void
free_rows(struct listing_images *l)
{
	if (l->out != NULL)
		fclose(l->out);
	free(l->text);
	json_free(l->j);
	l->j = NULL;
	l->out = NULL;
	l->text = NULL;
}

/* The rows are printed when all are known: whoever reads them slowly does not hold up
 * others who need the index. */
static int
list_rows(struct store *s, void *arg, struct err *e)
{
	struct listing_images *l = arg;

	free_rows(l);
	if (l->shown.o->json)
		l->j = json_new();
	else
		l->out = open_memstream(&l->text, &l->bytes);
	if (l->j == NULL && l->out == NULL)
		return err_nomem(e, "the list");
	if (l->j != NULL)
		json_array(l->j, NULL);
	else if (!l->shown.o->quiet && l->shown.known)
		say_text(l->out, "%-32s %9s %9s %9s %9s  put at\n", "name", "image",
		    "data", "only it",
		    "shared");
	else if (!l->shown.o->quiet)
		say_text(l->out, "%-32s %9s %9s  put at\n", "name", "image", "data");
	return index_each_image(s->index, list_one, l, e);
}

static int
print_rows(struct listing_images *l, struct err *e)
{
	struct json *j = l->j;

	if (j != NULL) {
		l->j = NULL;
		json_end(j);
		return json_show(j, e);
	}
	if (fflush(l->out) != 0)
		return err_nomem(e, "the list");
	fwrite(l->text, 1, l->bytes, stdout);
	return 0;
}

bool
emustore_all_readable(const struct store *s, const char *what, struct err *lacks)
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
	struct listing_images l = { .shown.o = o };
	struct store s;

	(void)operands, (void)n;
	if (emustore_open(&s, o, false, e) != 0)
		return -1;
	l.shown.readable = emustore_all_readable(&s, "are not listed", &l.shown.lacks);
	int rc = measure(&l.shown, &s, e);
	if (rc == 0)
		rc = store_try(&s, list_rows, &l, e);
	store_close(&s);
	if (rc == 0)
		rc = print_rows(&l, e);
	if (rc == 0 && l.shown.readable)
		tell_cost(&l.shown);
	free_rows(&l);
	usage_free(&l.shown.usage);
	return rc == 0 ? end_of_report(l.shown.readable, &l.shown.lacks, e) : rc;
}

static int
info_json(const struct shown *w, const struct stored *d, struct err *e)
{
	const struct recipe_image *a = stored_about(d);
	struct json *j = json_new();

	json_object(j, NULL);
	json_image(j, a);
	json_uint(j, "fragments", stored_fragments(d));
	json_uint(j, "recipe_bytes", stored_recipe_bytes(d));
	json_usage(j, w, &a->name);
	json_object(j, "labels");
	for (unsigned i = 0; i < a->nlabels; i++)
		json_string(j, a->labels[i].key, a->labels[i].value);
	json_end(j);
	json_end(j);
	return json_show(j, e);
}

static void
usage_text(const struct usage_of *u)
{
	char only[32], shared[32];

	if (u != NULL)
		say_text(stdout,
		    "  only this version needs %s, which rm and gc free; it shares %s\n",
		    human_bytes(u->only_bytes, only, sizeof only),
		    human_bytes(u->shared_bytes, shared, sizeof shared));
}

static void
info_text(const struct shown *w, const struct stored *d)
{
	const struct recipe_image *a = stored_about(d);
	char size[32], data[32], recipe[32], when[32], digest[2 * sizeof a->sha256 + 1];

	emustore_time_text(a->put_at, when);
	say_text(stdout, "%s: %u chunks, %s of image, %s of data\n", stored_title(a).text,
	    a->chunks,
	    human_bytes((uint64_t)a->chunks * NDZ_CHUNK_BYTES, size, sizeof size),
	    human_bytes(a->data_bytes, data, sizeof data));
	say_text(stdout,
	    "  put at %s; %" PRIu64 " fragments that are not zero; a recipe of %s\n",
	    when, stored_fragments(d),
	    human_bytes(stored_recipe_bytes(d), recipe, sizeof recipe));
	usage_text(w->known ? usage_find(&w->usage, &a->name) : NULL);
	say_text(stdout, "  sha256 %s\n", number_hex(a->sha256, sizeof a->sha256, digest));
	if (a->parent[0] != '\0')
		say_text(stdout, "  derived from %s\n", a->parent);
	for (unsigned i = 0; i < a->nlabels; i++)
		say_text(stdout, "  %s=%s\n", a->labels[i].key, a->labels[i].value);
}

/* What looks like damage may be an error of the index that this machine keeps. */
static int
open_image(struct stored **d, struct store *s, const struct store_name *name, struct err *e)
{
	int rc = stored_open(d, s, name, e);

	if (rc != 0 && e->kind == ERR_FORMAT && store_doubt(s, e) == 1)
		rc = stored_open(d, s, name, e);
	return rc;
}

static int
show_info(struct shown *w, struct store *s, const struct store_name *name, struct err *e)
{
	struct stored *d;

	if (open_image(&d, s, name, e) != 0)
		return -1;
	int rc = measure(w, s, e);
	if (rc == 0 && w->o->json)
		rc = info_json(w, d, e);
	else if (rc == 0)
		info_text(w, d);
	if (rc == 0)
		tell_cost(w);
	stored_free(d);
	return rc;
}

int
command_info(const struct options *o, char **operands, int n, struct err *e)
{
	struct shown w = { .o = o, .readable = true };
	struct store_name name;
	struct store s;

	(void)n;
	if (store_name_get(&name, operands[0], e) != 0 ||
	    emustore_open(&s, o, false, e) != 0)
		return -1;
	int rc = show_info(&w, &s, &name, e);
	store_close(&s);
	usage_free(&w.usage);
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
	emustore_time_text(l->loaded_at, when);
	say_text(stdout, "%-12s %s:%" PRIu32 ", loaded %" PRIu64 " time%s, the last time at %s\n",
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

static int
stats_json(const struct shown *w, const struct index_totals *t, struct index *x,
    struct err *e)
{
	struct json *j = json_new();

	json_object(j, NULL);
	json_uint(j, "images", t->images);
	json_uint(j, "image_bytes", t->image_chunks * NDZ_CHUNK_BYTES);
	json_uint(j, "data_bytes", t->data_bytes);
	json_uint(j, "fragments", t->fragments);
	json_uint(j, "fragment_bytes", t->fragment_bytes);
	json_uint(j, "different_data_fragments", t->raw_unique);
	json_uint(j, "packs", t->packs);
	json_uint(j, "pack_bytes", t->pack_bytes);
	if (w->known) {
		json_uint(j, "only_bytes", w->usage.only_bytes);
		json_uint(j, "shared_bytes", w->usage.shared_bytes);
		json_uint(j, "unneeded_bytes", w->usage.unneeded_bytes);
	}
	if (loads_json(j, x, e) != 0) {
		json_free(j);
		return -1;
	}
	if (!w->readable)
		failure_put_err(j, &w->lacks, err_exit_status(&w->lacks));
	json_end(j);
	return json_show(j, e);
}

static void
stats_text(const struct index_totals *t)
{
	uint64_t images = t->image_chunks * NDZ_CHUNK_BYTES;
	char a[32], b[32], c[32];

	say_text(stdout, "%" PRIu64 " images of %s, with %s of data, in %s of packs",
	    t->images, human_bytes(images, a, sizeof a),
	    human_bytes(t->data_bytes, b, sizeof b),
	    human_bytes(t->pack_bytes, c, sizeof c));
	if (images > 0)
		say_text(stdout, " (%.3f of the images)",
		    (double)t->pack_bytes / (double)images);
	say_text(stdout, "\n");
	say_text(stdout,
	    "%" PRIu64 " fragments of %s, %" PRIu64 " different by their data\n",
	    t->fragments, human_bytes(t->fragment_bytes, a, sizeof a), t->raw_unique);
}

static void
stats_usage(const struct usage *u)
{
	char a[32], b[32], c[32];

	say_text(stdout,
	    "one version alone needs %s of it, several versions share %s, and none needs %s, "
	    "which gc --all can free\n",
	    human_bytes(u->only_bytes, a, sizeof a), human_bytes(u->shared_bytes, b, sizeof b),
	    human_bytes(u->unneeded_bytes, c, sizeof c));
}

static int
get_totals(struct store *s, void *arg, struct err *e)
{
	return index_totals(s->index, arg, e);
}

static int
show_stats(struct shown *w, struct store *s, struct err *e)
{
	struct index_totals t;

	if (measure(w, s, e) != 0 || store_try(s, get_totals, &t, e) != 0)
		return -1;
	if (w->o->json)
		return stats_json(w, &t, s->index, e);
	stats_text(&t);
	if (w->known)
		stats_usage(&w->usage);
	if (w->readable)
		tell_cost(w);
	return loads_text(s->index, e);
}

int
command_stats(const struct options *o, char **operands, int n, struct err *e)
{
	struct shown w = { .o = o };
	struct store s;

	(void)operands, (void)n;
	if (emustore_open(&s, o, false, e) != 0)
		return -1;
	w.readable = emustore_all_readable(&s, "are not counted", &w.lacks);
	int rc = show_stats(&w, &s, e);
	store_close(&s);
	usage_free(&w.usage);
	return rc == 0 ? end_of_report(w.readable, &w.lacks, e) : rc;
}
