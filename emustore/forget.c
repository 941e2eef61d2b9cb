/* forget.c: the command forget, which removes the versions of each name that no rule keeps.
 * main.c calls it in the first thread. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/cancel.h"
#include "common/base/say.h"
#include "emustore/emustore.h"

struct version {
	struct store_name name;
	uint64_t put_at;
};

struct forgetting {
	const struct options *o;
	char **names; /* of which the images are looked at; none: all */
	int n;
	struct json *j;    /* or NULL */
	struct buf images; /* struct version, by name, then version */
	uint64_t gone; /* versions that no rule keeps */
};

static bool
is_meant(const struct forgetting *f, const char *name)
{
	bool meant = f->n == 0;

	for (int i = 0; i < f->n && !meant; i++)
		meant = strcmp(f->names[i], name) == 0;
	return meant;
}

static int
note_image(void *arg, const struct index_image *i, struct err *e)
{
	struct forgetting *f = arg;
	const struct version v = { i->about.name, i->about.put_at };

	if (is_meant(f, v.name.name))
		buf_bytes(&f->images, &v, sizeof v);
	return buf_ok(&f->images) ? 0 : err_nomem(e, "the list of images");
}

/* A dry run says "keep" and "remove", since it does neither. */
static void
tell(const struct forgetting *f, const struct version *v, bool kept)
{
	const char *done = kept ? "kept" : "removed", *plan = kept ? "keep" : "remove";
	char when[32];

	emustore_time_text(v->put_at, when);
	if (f->j != NULL) {
		json_object(f->j, NULL);
		json_string(f->j, "name", v->name.name);
		json_uint(f->j, "version", v->name.version);
		json_uint(f->j, "put_at", v->put_at);
		json_bool(f->j, "kept", kept);
		json_bool(f->j, "removed", !kept && !f->o->dry_run);
		json_end(f->j);
	} else if (!f->o->quiet)
		say_text(stdout, "%-7s %s:%u  %s\n", f->o->dry_run ? plan : done, v->name.name,
		    v->name.version, when);
}

static void
tell_sum(const struct forgetting *f)
{
	if (f->o->quiet || f->j != NULL)
		return;
	if (f->o->dry_run)
		say_text(stderr,
		    "emustore: a dry run: nothing was removed; versions that forget would "
		    "remove: %" PRIu64 ", and gc then frees their room\n",
		    f->gone);
	else
		say_text(stderr, "emustore: versions removed: %" PRIu64 "; gc frees their room\n",
		    f->gone);
}

/* The n versions of one name, by their numbers: which was put with an earlier time than
 * the one before it? */
static void
tell_clock(const struct forgetting *f, const struct version *v, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (v[i].put_at < v[i - 1].put_at && !f->o->quiet) {
			say_text(stderr,
			    "emustore: %s: a clock went back, or numbers were not given in order: "
			    "version %u was put before version %u, by their times; forget goes by "
			    "the times\n",
			    v->name.name, v[i].name.version, v[i - 1].name.version);
			return;
		}
}

/* The newest first. */
static int
compare_times(const void *a, const void *b)
{
	const struct version *x = a, *y = b;

	if (x->put_at != y->put_at)
		return x->put_at < y->put_at ? 1 : -1;
	return x->name.version < y->name.version ? 1 : -1;
}

/* A version that another program has removed meanwhile, or whose file somebody has removed
 * by hand, is as good as removed. */
static int
remove_version(struct store *s, const struct version *v, struct err *e)
{
	int rc = store_remove_image(s, &v->name, e);

	return rc != 0 && e->kind == ERR_ABSENT ? 0 : rc;
}

/* The n versions of one name, by their numbers. */
static int
forget_name(
    struct forgetting *f, struct store *s, struct version *v, size_t n, struct err *e)
{
	tell_clock(f, v, n);
	qsort(v, n, sizeof *v, compare_times);
	uint64_t *put_at = calloc(n, sizeof *put_at);
	bool *keep = calloc(n, sizeof *keep);
	int rc = put_at == NULL || keep == NULL ? err_nomem(e, "the list of versions") : 0;

	for (size_t i = 0; i < n && rc == 0; i++)
		put_at[i] = v[i].put_at;
	if (rc == 0)
		keep_choose(&f->o->keep, put_at, n, keep);
	for (size_t i = n; i-- > 0 && rc == 0;) {
		const struct version *x = &v[i];
		rc = cancel_check(e);
		if (rc == 0 && !keep[i] && !f->o->dry_run)
			rc = remove_version(s, x, e);
		if (rc == 0)
			tell(f, x, keep[i]);
		f->gone += rc == 0 && !keep[i];
	}
	free(put_at);
	free(keep);
	return rc;
}

static int
note_images(struct store *s, void *arg, struct err *e)
{
	((struct forgetting *)arg)->images.len = 0;
	return index_each_image(s->index, note_image, arg, e);
}

static int
forget_all(struct forgetting *f, struct store *s, struct err *e)
{
	int rc = store_try(s, note_images, f, e);
	struct version *v = (struct version *)(void *)f->images.base;
	size_t all = f->images.len / sizeof *v;

	for (size_t i = 0, n; i < all && rc == 0; i += n) {
		for (n = 1; i + n < all && strcmp(v[i].name.name, v[i + n].name.name) == 0;)
			n++;
		rc = forget_name(f, s, &v[i], n, e);
	}
	return rc;
}

struct count_wanted {
	const char *name;
	uint64_t versions;
};

static int
count_versions(struct store *s, void *arg, struct err *e)
{
	struct count_wanted *w = arg;

	return index_count_versions(s->index, w->name, &w->versions, e);
}

/* Check all names before anything is removed: a name that no image has is a mistake. */
static int
check_names(char **names, int n, struct store *s, struct err *e)
{
	struct count_wanted w;
	struct store_name name;

	for (int i = 0; i < n; i++) {
		w.name = name.name;
		if (store_name_get(&name, names[i], e) != 0 ||
		    store_try(s, count_versions, &w, e) != 0)
			return -1;
		if (name.version != 0 || strcmp(name.name, names[i]) != 0)
			return err_set(e, ERR_USAGE,
			    "%s: forget takes names without a version", names[i]);
		if (w.versions == 0)
			return err_set(e, ERR_ABSENT, "%s: is not in the store", names[i]);
	}
	return 0;
}

int
command_forget(const struct options *o, char **operands, int n, struct err *e)
{
	struct forgetting f = { .o = o, .names = operands, .n = n };
	bool readable = true;
	struct err lacks = { 0 };
	struct store s;

	if (!keep_any(&o->keep))
		return err_misuse(e, "forget needs a rule, such as --keep-last: "
		                     "versions that no rule keeps are removed");
	f.j = o->json ? json_new() : NULL;
	json_array(f.j, NULL);
	int rc = emustore_open(&s, o, !o->dry_run, e);
	if (rc == 0) {
		rc = check_names(operands, n, &s, e);
		if (rc == 0)
			rc = forget_all(&f, &s, e);
		readable = emustore_all_readable(&s, "stay", &lacks);
		if (rc == 0 && readable)
			tell_sum(&f);
		store_close(&s);
	}
	buf_free(&f.images);
	json_end(f.j);
	if (rc == 0)
		rc = json_show(f.j, e);
	else
		json_free(f.j);
	return rc == 0 ? end_of_report(readable, &lacks, e) : rc;
}
