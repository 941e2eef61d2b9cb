/* care.c: what keeps a store whole and small. */
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

/* The record stays until gc; this one says that it counts no longer. */
static int
remove_one(struct store *s, const struct index_image *i, struct err *e)
{
	uint32_t pack;
	uint64_t at;

	if (s->remote != NULL)
		return remote_remove_image(s->remote, i, e);
	if (store_append(
		s, RECORD_REMOVED, i->number, NULL, 0, NULL, 0, &pack, &at, e) != 0)
		return -1;
	return index_delete_image(s->index, i->number, e);
}

static int
remove_named(struct store *s, const struct options *o, const struct store_name *name,
    struct err *e)
{
	struct index_image *i = malloc(sizeof *i);
	uint64_t versions;

	if (i == NULL)
		return err_nomem(e, "an image");
	int rc = index_count_versions(s->index, name->name, &versions, e);
	if (rc == 0 && name->version == 0 && versions > 1 && !o->all)
		rc = err_set(e, ERR_USAGE,
		    "%s has %" PRIu64 " versions: name one, or --all", name->name,
		    versions);
	for (unsigned done = 0; rc == 0 && (done == 0 || o->all); done++) {
		int found = index_find_image(s->index, name, i, e);
		if (found == 0 && done > 0)
			break;
		if (found == 0 && s->remote != NULL && name->version != 0)
			rc = remote_remove_unreadable(s->remote, name, e);
		else if (found == 0)
			rc = err_set(
			    e, ERR_ABSENT, "%s: is not in the store", name->name);
		else
			rc = found == 1 ? remove_one(s, i, e) : -1;
	}
	free(i);
	return rc;
}

int
command_rm(const struct options *o, char **operands, int n, struct err *e)
{
	struct store_name name;
	struct store s;

	(void)n;
	if (store_name_get(&name, operands[0], e) != 0 ||
	    open_store(&s, o, true, e) != 0)
		return -1;
	int rc = store_begin(&s, e);
	if (rc == 0)
		rc = remove_named(&s, o, &name, e);
	if (rc == 0)
		rc = store_commit(&s, e);
	store_close(&s);
	return rc == 0 && o->json ? failure_none_show(e) : rc;
}

/* What goes from a bucket goes for all machines: not because of what one of them has in
 * its cache, but of what the bucket says now.  And repair --index makes a new index of
 * any store. */
static enum store_access
access_for_care(const struct options *o)
{
	if (s3_is_url(o->store) || o->index)
		return o->wait ? STORE_REINDEX_WAIT : STORE_REINDEX;
	return o->wait ? STORE_WRITE_WAIT : STORE_WRITE;
}

int
command_gc(const struct options *o, char **operands, int n, struct err *e)
{
	struct store s;
	struct gc_stats t = { 0 };
	char a[32];

	(void)operands, (void)n;
	if (open_store_for(&s, o, access_for_care(o), e) != 0)
		return -1;
	int rc = gc_run(&s, o->all ? 0 : GC_DEAD_PERCENT, &t, e);
	store_close(&s);
	if (rc != 0)
		return rc;
	if (o->json) {
		struct json *j = json_new();
		if (j == NULL)
			return err_nomem(e, "the summary");
		json_object(j, NULL);
		json_uint(j, "fragments_removed", t.fragments);
		json_uint(j, "packs_replaced", t.packs);
		json_uint(j, "bytes_freed", t.bytes_freed);
		json_uint(j, "bytes_condemned", t.bytes_condemned);
		json_end(j);
		return json_show(j, e);
	}
	if (!o->quiet)
		say(stderr,
		    "emustore: %" PRIu64 " fragments removed, %" PRIu64
		    " packs replaced, %s "
		    "freed\n",
		    t.fragments, t.packs, human_bytes(t.bytes_freed, a, sizeof a));
	if (!o->quiet && t.bytes_condemned > 0)
		say(stderr,
		    "emustore: %s in packs that go when the grace is over (gc again)\n",
		    human_bytes(t.bytes_condemned, a, sizeof a));
	return 0;
}

/* What a check finds, on its way to people or programs. */
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
		say(stderr, "emustore: %s\n", sentence);
}

static void
on_note(void *arg, const char *sentence)
{
	if (!((struct findings *)arg)->quiet)
		say(stderr, "emustore: %s\n", sentence);
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
	json_uint(j, "bytes", c->bytes);
	json_uint(j, "chunks_equivalent", c->equivalents);
	json_bool(j, "data", c->data);
}

/* Of a verification: are there problems?  -1 with *e then. */
static int
judge(const struct options *o, const struct check *c, struct err *e)
{
	if (c->problems == 0)
		return 0;
	/* What is left in the packs of a folder when all images are whole again. */
	bool unused = c->bad_images == 0 && !s3_is_url(o->store);
	return err_set(e, ERR_FORMAT,
	    "%s: %" PRIu64 " problems, %" PRIu64 " of %" PRIu64 " images damaged (%s)",
	    o->store, c->problems, c->bad_images, c->images,
	    unused ? "no image needs what is damaged: emustore gc --all takes it away"
		   : "emustore repair");
}

/* The findings in the order of the document, what came of them behind. */
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
    int (*run)(struct check *, struct store *, struct err *), struct check *c,
    struct err *found, struct err *e)
{
	struct findings f = { .quiet = o->quiet, .j = o->json ? json_new() : NULL };
	struct index_totals t;

	if (o->json && f.j == NULL)
		return err_nomem(e, "the findings");
	*c = (struct check){ .data = data,
		.problem = on_problem,
		.note = on_note,
		.progress = on_progress,
		.arg = &f };
	if (f.j != NULL) {
		json_object(f.j, NULL);
		json_array(f.j, "problems");
	}
	uint64_t total = index_totals(s->index, &t, e) == 0 ? t.pack_bytes : 0;
	progress_begin(&f.bar, "emustore", total, -1, o->quiet);
	int rc = run(c, s, e);
	progress_end(&f.bar, 0);
	check_free(c);
	if (rc != 0) {
		json_free(f.j);
		return rc;
	}
	bool bad = found != NULL && judge(o, c, found) != 0;
	return f.j != NULL ? show_findings(f.j, c, bad ? found : NULL, e) : 0;
}

static void
report(const struct options *o, const struct check *c)
{
	char a[32];

	if (!o->quiet && !o->json)
		say(stderr,
		    "emustore: %" PRIu64 " images, %" PRIu64
		    " fragments, %s of packs%s: %" PRIu64 " problems, %" PRIu64
		    " images damaged\n",
		    c->images, c->fragments, human_bytes(c->bytes, a, sizeof a),
		    c->data ? ", all data read" : "", c->problems, c->bad_images);
}

int
command_verify(const struct options *o, char **operands, int n, struct err *e)
{
	struct store s;
	struct check c;
	struct err found;

	(void)operands, (void)n;
	if (open_store(&s, o, false, e) != 0)
		return -1;
	int rc = index_begin(s.index, false, e);
	if (rc == 0)
		rc = examine(o, &s, o->data, check_store, &c, &found, e);
	store_close(&s);
	if (rc != 0)
		return rc;
	if (c.problems > 0) {
		*e = found;
		return -1;
	}
	report(o, &c);
	return 0;
}

int
command_repair(const struct options *o, char **operands, int n, struct err *e)
{
	struct store s;
	struct check c;

	(void)operands, (void)n;
	if (open_store_for(&s, o, access_for_care(o), e) != 0)
		return -1;
	int rc = examine(
	    o, &s, true, o->index ? repair_index : repair_store, &c, NULL, e);
	store_close(&s);
	if (rc == 0)
		report(o, &c);
	return rc;
}
