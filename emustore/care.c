/* care.c: the commands that maintain a store: rm, gc, verify and repair.
 * main.c calls them in the first thread. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/number.h"
#include "common/base/say.h"
#include "common/cli/failure.h"
#include "emustore/emustore.h"
#include "emustore/s3/s3.h"
#include "emustore/store/check.h"
#include "emustore/store/gc.h"
#include "emustore/store/repair.h"

/* The versions that a name has. */
struct versions {
	const struct store_name *name;
	struct buf list; /* uint32_t */
};

/* A version may be one that cannot be read, and is not in the index. */
static int
list_versions(struct store *s, struct versions *v, struct err *e)
{
	char key[KEY_BYTES + OBJECT_KEY_MAX];
	struct listing l = { 0 };
	struct store_name found;

	snprintf(key, sizeof key, KEYS_IMAGES "%s/", v->name->name);
	int rc = listing_get(&l, s->objects, key, NULL, e);
	for (size_t i = 0; i < l.n && rc == 0; i++) {
		snprintf(key, sizeof key, "%s/%s", v->name->name, l.v[i].key);
		if (key_is_image(key, &found) && strcmp(found.name, v->name->name) == 0)
			buf_bytes(&v->list, &found.version, sizeof found.version);
	}
	listing_free(&l);
	return rc == 0 && !buf_ok(&v->list) ? err_nomem(e, "the list of versions") : rc;
}

static int
remove_versions(struct store *s, const struct options *o, const struct store_name *name,
    const struct versions *v, struct err *e)
{
	size_t n = v->list.len / sizeof(uint32_t);
	struct store_name one = *name;

	if (n == 0)
		return err_set(e, ERR_ABSENT, "%s: is not in the store", name->name);
	if (n > 1 && !o->all)
		return err_set(e, ERR_REFUSED,
		    "%s has %zu versions: name one, or use --all", name->name, n);
	for (size_t i = 0; i < n; i++) {
		memcpy(&one.version, v->list.base + i * sizeof one.version,
		    sizeof one.version);
		if (store_remove_image(s, &one, e) != 0)
			return -1;
	}
	return 0;
}

static int
remove_named(struct store *s, const struct options *o, const struct store_name *name,
    struct err *e)
{
	struct versions v = { .name = name };

	if (name->version != 0)
		return store_remove_image(s, name, e);
	int rc = list_versions(s, &v, e);
	if (rc == 0)
		rc = remove_versions(s, o, name, &v, e);
	buf_free(&v.list);
	return rc;
}

int
command_rm(const struct options *o, char **operands, int n, struct err *e)
{
	struct store_name name;
	struct store s;

	(void)n;
	if (store_name_get(&name, operands[0], e) != 0 ||
	    emustore_open(&s, o, true, e) != 0)
		return -1;
	int rc = remove_named(&s, o, &name, e);
	store_close(&s);
	return rc == 0 && o->json ? failure_none_show(e) : rc;
}

/* What is removed is removed for all machines.  For this reason the index is made anew from the
 * objects, and the cache of this machine is not used. */
static unsigned
access_for_care(const struct options *o)
{
	return STORE_WRITE | STORE_ANEW | (o->wait ? STORE_WAIT : 0u);
}

static int
collect(struct store *s, const struct options *o, struct gc_stats *t, struct err *e)
{
	struct progress bar;
	const struct gc_watch watch = { .progress = progress_of, .arg = &bar };

	progress_begin(&bar, "emustore", 0, -1, o->quiet || o->json);
	int rc = gc_run(s, o->all ? 0 : GC_DEAD_PERCENT, &watch, t, e);
	progress_end(&bar, 0);
	return rc;
}

int
command_gc(const struct options *o, char **operands, int n, struct err *e)
{
	struct store s;
	struct gc_stats t = { 0 };
	char a[32];

	(void)operands, (void)n;
	if (emustore_open_for(&s, o, access_for_care(o), e) != 0)
		return -1;
	int rc = collect(&s, o, &t, e);
	store_close(&s);
	if (rc != 0)
		return rc;
	tell_reserve(o, &t.lacks_reserve);
	if (o->json) {
		struct json *j = json_new();
		json_object(j, NULL);
		json_uint(j, "fragments_removed", t.fragments);
		json_uint(j, "packs_replaced", t.packs);
		json_uint(j, "bytes_freed", t.bytes_freed);
		json_uint(j, "bytes_condemned", t.bytes_condemned);
		json_end(j);
		return json_show(j, e);
	}
	if (!o->quiet)
		say_text(stderr,
		    "emustore: %" PRIu64 " fragments removed, %" PRIu64
		    " packs replaced, %s "
		    "freed\n",
		    t.fragments, t.packs, human_bytes(t.bytes_freed, a, sizeof a));
	if (!o->quiet && !o->all && t.packs == 0)
		say_text(stderr,
		    "emustore: packs of which less than a fifth is not needed stay: --all "
		    "replaces these, too\n");
	if (!o->quiet && t.bytes_condemned > 0)
		say_text(stderr,
		    "emustore: %s in packs that the next gc after the grace period "
		    "removes\n",
		    human_bytes(t.bytes_condemned, a, sizeof a));
	return 0;
}

/* Where the findings of a check go: to text or to JSON. */
struct findings {
	struct json *j;
	struct json *images;
	struct progress bar;
	bool quiet;
};

static void
on_problem(void *arg, const char *sentence)
{
	struct findings *f = arg;

	if (f->j != NULL)
		json_string(f->j, NULL, sentence);
	else if (!f->quiet)
		say_text(stderr, "emustore: %s\n", sentence);
}

static void
on_note(void *arg, const char *sentence)
{
	if (!((struct findings *)arg)->quiet)
		say_text(stderr, "emustore: %s\n", sentence);
}

static void
on_progress(void *arg, uint64_t bytes)
{
	progress_at(&((struct findings *)arg)->bar, bytes);
}

static void
report_json(struct json *j, const struct check *c)
{
	json_uint(j, "problems_found", c->problems);
	json_uint(j, "images", c->images);
	json_uint(j, "images_damaged", c->bad_images);
	json_uint(j, "fragments", c->fragments);
	json_uint(j, "pack_bytes", c->bytes);
	json_uint(j, "chunks_equivalent", c->equivalents);
	json_bool(j, "data_read", c->data);
}

/* Whether the store is without problems; -1 with *e: it has some. */
static int
judge(const struct options *o, const struct check *c, struct err *e)
{
	if (c->problems == 0)
		return 0;
	return err_set(e, ERR_FORMAT,
	    "%s: %" PRIu64 " problems, %" PRIu64 " of %" PRIu64
	    " images damaged (%semustore repair%s)",
	    o->store, c->problems, c->bad_images, c->images,
	    c->bad_images == 0 ? "no image needs what is damaged: " : "",
	    c->bad_images == 0 ? " removes it" : "");
}

/* After a repair. */
static int
judge_repaired(const struct options *o, const struct check *c, struct err *e)
{
	if (c->problems == 0)
		return 0;
	if (c->bad_images == 0)
		return err_set(e, ERR_FORMAT,
		    "%s: %" PRIu64 " problems are left, and no image needs what is damaged",
		    o->store, c->problems);
	return err_set(e, ERR_FORMAT,
	    "%s: %" PRIu64 " of %" PRIu64
	    " images are still damaged: put an image with the same data to repair "
	    "them, or remove them",
	    o->store, c->bad_images, c->images);
}

/* Add the result to the document, behind the findings, and print the document. */
static int
show_findings(struct json *j, const struct check *c, struct err *failure, struct err *e)
{
	json_end(j);
	report_json(j, c);
	if (failure != NULL) {
		failure_put_err(j, failure, err_exit_status(failure));
		failure_told(failure);
	}
	json_end(j);
	return json_show(j, e);
}

/* Run a check, or a repair with a check in it, and print what it found; *found says
 * what is wrong with the store. */
static int
examine(const struct options *o, struct store *s, bool data,
    int (*run)(struct check *, struct store *, struct err *),
    int (*verdict)(const struct options *, const struct check *, struct err *),
    struct check *c, struct err *found, struct err *e)
{
	struct findings f = { .quiet = o->quiet, .j = o->json ? json_new() : NULL };
	struct index_totals t;

	*c = (struct check){ .data = data,
		.jobs = o->jobs,
		.problem = on_problem,
		.note = on_note,
		.progress = on_progress,
		.arg = &f };
	json_object(f.j, NULL);
	json_array(f.j, "problems");
	uint64_t total = index_totals(s->index, &t, e) == 0 ? t.pack_bytes : 0;
	progress_begin(&f.bar, "emustore", total, -1, o->quiet);
	int rc = run(c, s, e);
	progress_end(&f.bar, 0);
	check_free(c);
	if (rc != 0) {
		json_free(f.j);
		return rc;
	}
	bool bad = verdict(o, c, found) != 0;
	return f.j != NULL ? show_findings(f.j, c, bad ? found : NULL, e) : 0;
}

static void
report(const struct options *o, const struct check *c)
{
	char a[32];

	if (!o->quiet && !o->json)
		say_text(stderr,
		    "emustore: %" PRIu64 " images, %" PRIu64
		    " fragments, %s of packs%s: %" PRIu64 " problems, %" PRIu64
		    " images damaged\n",
		    c->images, c->fragments, human_bytes(c->bytes, a, sizeof a),
		    c->data ? ", all data read" : "", c->problems, c->bad_images);
}

/* Check or repair an open store, and report the result. */
static int
examine_and_report(const struct options *o, struct store *s, bool repair, struct err *e)
{
	struct check c;
	struct err found;
	int rc = repair ? examine(o, s, true, repair_store, judge_repaired, &c, &found, e)
	                : examine(o, s, o->data, check_store, judge, &c, &found, e);

	if (rc == 0 && c.problems > 0) {
		*e = found;
		return -1;
	}
	if (rc == 0)
		report(o, &c);
	return rc;
}

int
command_verify(const struct options *o, char **operands, int n, struct err *e)
{
	struct store s;

	(void)operands, (void)n;
	if (emustore_open_for(&s, o, STORE_ANEW, e) != 0)
		return -1;
	int rc = examine_and_report(o, &s, false, e);
	store_close(&s);
	return rc;
}

/* With --index, rebuild the index that this machine keeps, and check that images find in
 * it all that they need.  Without it, repair the store. */
int
command_repair(const struct options *o, char **operands, int n, struct err *e)
{
	unsigned access = STORE_MEND | (o->index ? STORE_WRITE | STORE_REMAKE |
						       (o->wait ? STORE_WAIT : 0u)
	                                         : access_for_care(o));
	struct store s;

	(void)operands, (void)n;
	if (emustore_open_for(&s, o, access, e) != 0)
		return -1;
	int rc = examine_and_report(o, &s, !o->index, e);
	store_close(&s);
	return rc;
}
