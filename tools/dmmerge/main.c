/* main.c: dmmerge merges a stream of dmextract into a target, which is a device or file.  It
 * also prints the target's state or digests, and finishes a merge that was interrupted.
 * main() and all that it calls run in the first thread. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/number.h"
#include "common/base/say.h"
#include "common/cli/failure.h"
#include "common/cli/progress.h"
#include "common/disk/inuse.h"
#include "tools/dmmerge/options.h"

/* The condition of the target in one word, for --status and the JSON. */
static const char *
condition(const struct merge_report *r)
{
	const struct target_state *s = &r->state;

	/* A target that was incomplete is finished by what its journal holds, too. */
	if ((s->flags & TARGET_PENDING) != 0)
		return "interrupted";
	if ((s->flags & TARGET_INCOMPLETE) != 0)
		return "incomplete";
	if (!stream_id_set(&s->id))
		return "unknown";
	if (r->changed)
		return "changed";
	return (s->flags & TARGET_FUZZY) != 0 ? "fuzzy" : "consistent";
}

/* Why --status is no success: no copy is there, or none any more.  Returns the exit status. */
static int
verdict(const struct options *o, const struct merge_report *r, struct err *why)
{
	const char *is = condition(r);

	if (strcmp(is, "unknown") == 0)
		err_set(why, ERR_ABSENT, "%s: is no copy: nothing was merged into it",
		    o->how.target);
	else if (strcmp(is, "changed") == 0)
		err_set(why, ERR_IO,
		    "%s: does not hold what was merged into it: it was written or removed since, or "
		    "is another device; a full copy makes it a copy again",
		    o->how.target);
	else
		return 0;
	return why->kind == ERR_ABSENT ? err_exit_status(why) : EXIT_DIFFERS;
}

static void
put_state(struct json *j, const struct merge_report *r)
{
	const struct target_state *s = &r->state;
	char id[STREAM_ID_TEXT];

	json_string(j, "condition", condition(r));
	if (stream_id_set(&s->id))
		json_string(j, "id", stream_id_text(&s->id, id));
	if (stream_id_set(&s->lineage))
		json_string(j, "lineage", stream_id_text(&s->lineage, id));
	json_uint(j, "target_bytes", s->target_bytes);
	json_uint(j, "made_at", s->made_at);
	json_uint(j, "merged_at", s->merged_at);
}

static int
show_json(const struct options *o, const struct merge_report *r, double seconds,
    struct err *e)
{
	struct json *j = json_new();
	struct err why;
	int rc = 0;

	json_object(j, NULL);
	put_state(j, r);
	if (o->status && !o->quiet && (rc = verdict(o, r, &why)) != 0)
		failure_put(j, why.text, why.kind == ERR_ABSENT ? "absent" : "differs", rc);
	if (!o->status) {
		json_bool(j, "recovered", r->rolled_forward);
		json_bool(j, "already_merged", r->same);
		json_uint(j, "data_bytes", r->end.totals.data_bytes);
		json_uint(j, "zero_bytes", r->end.totals.zero_bytes);
		json_double(j, "seconds", seconds);
	}
	json_end(j);
	return json_show(j, e) == 0 ? rc : -1;
}

/* --status: print the state of the target, one name and its value on each line, which dsync
 * reads (dsync/pair/far.c); or as JSON.  A program that gives --quiet reads the condition, and the
 * exit status says only whether it could be found out. */
static int
show_state(const struct options *o, const struct merge_report *r, struct err *e)
{
	const struct target_state *s = &r->state;
	char id[STREAM_ID_TEXT];
	struct err why;

	if (o->json)
		return show_json(o, r, 0, e);
	say_text(stdout, "condition %s\n", condition(r));
	say_text(stdout, "id %s\n", stream_id_set(&s->id) ? stream_id_text(&s->id, id) : "-");
	say_text(stdout, "lineage %s\n",
	    stream_id_set(&s->lineage) ? stream_id_text(&s->lineage, id) : "-");
	say_text(stdout, "bytes %" PRIu64 "\n", s->target_bytes);
	say_text(stdout, "made-at %" PRIu64 "\n", s->made_at);
	say_text(stdout, "merged-at %" PRIu64 "\n", s->merged_at);
	int rc = o->quiet ? 0 : verdict(o, r, &why);
	if (rc != 0)
		say_text(stderr, "dmmerge: %s\n", why.text);
	return rc;
}

static void
tell(const struct options *o, const struct merge_report *r, double seconds)
{
	char bytes[32], id[STREAM_ID_TEXT];
	uint64_t n = r->end.totals.data_bytes + r->end.totals.zero_bytes;

	if (r->rolled_forward)
		say_text(stderr, "dmmerge: %s: finished a merge that was interrupted\n",
		    o->how.target);
	if (o->recover)
		return;
	if (r->same)
		say_text(stderr, "dmmerge: %s: has state %s already\n", o->how.target,
		    stream_id_text(&r->state.id, id));
	else
		say_text(stderr, "dmmerge: %s: %s, %.1f s; state %s%s\n", o->how.target,
		    human_bytes(n, bytes, sizeof bytes), seconds,
		    stream_id_text(&r->state.id, id),
		    r->end.fuzzy
			? ", which is fuzzy: its blocks may be of different points in time"
			: "");
}

static int
merge_input(const struct options *o, struct merge_report *r, struct err *e)
{
	struct disk *from;
	struct err ignored; /* standard input was only read, so no data can be lost */

	if (disk_open(&from, "-", DISK_READ, e) != 0)
		return -1;
	int rc = merge_into_target(&o->how, from, r, e);
	disk_close(from, &ignored);
	return rc;
}

/* First the stream is received, which has no known length, and then it is written. */
static void
on_progress(void *arg, uint64_t done, uint64_t total)
{
	struct progress *bar = arg;

	if (total != bar->total)
		progress_begin(bar, "dmmerge", total, -1, !bar->shown);
	progress_at(bar, done);
}

static int
merge(struct options *o, struct merge_report *r, struct err *e)
{
	struct progress bar;

	progress_begin(&bar, "dmmerge", 0, -1, o->quiet || o->json);
	o->how.progress = on_progress;
	o->how.progress_arg = &bar;
	int rc = o->recover ? merge_recover(&o->how, r, e) : merge_input(o, r, e);
	progress_end(&bar, 0);
	return rc;
}

static int
print_digest(void *arg, const uint8_t digest[SHA256_BYTES], struct err *e)
{
	char text[2 * SHA256_BYTES + 1];

	(void)arg;
	say_text(stdout, "%s\n", number_hex(digest, SHA256_BYTES, text));
	/* The reader of the digests may be gone, and the target may be large. */
	return ferror(stdout) ? err_set(e, ERR_IO, "standard output: cannot be written") : 0;
}

static int
act(void *options, char **operands, int n, struct err *e)
{
	struct options *o = options;
	struct merge_report r = { .same = false };
	uint64_t began = clock_us();
	char text[INUSE_UNSEEN_BYTES];

	if (dmmerge_settle(o, operands, n, e) != 0)
		return -1;
	if (o->digests != 0)
		return merge_digests(&o->how, o->digests, print_digest, NULL, e);
	if (o->status)
		return merge_look(&o->how, &r, e) == 0 ? show_state(o, &r, e) : -1;
	int rc = merge(o, &r, e);
	double seconds = (double)(clock_us() - began) / 1e6;
	if (r.unseen)
		say_text(stderr, "dmmerge: warning: %s\n", inuse_unseen_text(o->how.target, text));
	if (rc == 0 && o->json)
		return show_json(o, &r, seconds, e);
	if (rc == 0 && !o->quiet)
		tell(o, &r, seconds);
	return rc;
}

int
main(int argc, char **argv)
{
	static struct options o = { .how.folder = "/var/lib/dsync" };

	return cli_main(&dmmerge_program, argc, argv, &o, act);
}
