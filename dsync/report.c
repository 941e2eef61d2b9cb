/* report.c: what dsync prints.  main.c calls this, in the first thread. */
#include "dsync/report.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "common/base/json.h"
#include "common/base/log.h"
#include "common/base/number.h"
#include "common/base/say.h"
#include "common/cli/failure.h"
#include "common/disk/output.h"
#include "common/disk/range_json.h"

/* Begin a report.  In the log of `run` it is one line, which says what happened and when. */
static struct json *
begin_report(const struct options *o, const char *event)
{
	struct json *j = json_new();

	if (o->command == DSYNC_RUN)
		json_one_line(j);
	json_object(j, NULL);
	if (o->command == DSYNC_RUN) {
		json_string(j, "event", event);
		json_uint(j, "time", (uint64_t)time(NULL));
	}
	return j;
}

static int
sync_json(const struct options *o, const struct pair_report *r, struct err *e)
{
	const struct extract_report *s = &r->sent;
	char id[STREAM_ID_TEXT];
	struct json *j = begin_report(o, "sync");

	json_string(j, "device", o->pair.from.device);
	json_string(j, "id", stream_id_text(&s->head.id, id));
	json_uint(j, "made_at", s->head.made_at);
	json_uint(j, "device_bytes", s->head.device_bytes);
	json_uint(j, "named_bytes", s->named_bytes);
	json_uint(j, "changed_bytes", s->changed_bytes);
	json_uint(j, "digests_bytes", s->digests_bytes);
	json_uint(j, "unused_bytes", s->unused_bytes);
	json_uint(j, "differed_bytes", s->differed_bytes);
	json_uint(j, "stream_bytes", s->written_bytes);
	json_bool(j, "full", (s->head.flags & STREAM_FULL) != 0);
	json_bool(j, "fuzzy", s->end.fuzzy);
	if (s->warning[0] != '\0')
		json_string(j, "warning", s->warning);
	if (s->frozen_us > 0)
		json_double(j, "frozen_seconds", (double)s->frozen_us / 1e6);
	json_double(j, "seconds", r->seconds);
	json_end(j);
	return json_show(j, e);
}

static void
say_sent(const char *device, const struct extract_report *s, double seconds)
{
	char changed[32], size[32], unused[32], stream[32], free_space[100] = "";

	if (s->unused_bytes > 0)
		snprintf(free_space, sizeof free_space, " (%s of it are free space, sent as zeros)",
		    human_bytes(s->unused_bytes, unused, sizeof unused));
	say_text(stderr, "dsync: %s: %s of %s%s sent in %.1f s, a stream of %s; the copy is %s\n",
	    device, human_bytes(s->changed_bytes, changed, sizeof changed),
	    human_bytes(s->head.device_bytes, size, sizeof size), free_space, seconds,
	    human_bytes(s->written_bytes, stream, sizeof stream),
	    s->end.fuzzy ? "fuzzy, because its blocks may be of different points in time"
			 : "consistent");
}

int
report_sync(const struct options *o, const struct pair_report *r, struct err *e)
{
	const struct extract_report *s = &r->sent;
	char differed[32], digests[32];

	if (o->json)
		return sync_json(o, r, e);
	if (s->warning[0] != '\0')
		say_text(stderr, "dsync: %s: %s\n", o->pair.from.device, s->warning);
	/* Once, and not again at each sync. */
	if (!o->quiet && s->digests_bytes > 0 && (s->head.flags & STREAM_FULL) != 0)
		say_text(stderr,
		    "dsync: %s: the digests of its pages take %s beside its states, so that of "
		    "blocks that change only what differs is sent (not with --no-fine)\n",
		    o->pair.from.device,
		    human_bytes(s->digests_bytes, digests, sizeof digests));
	if (!o->quiet && s->differed_bytes > 0)
		say_text(stderr, "dsync: %s: %s are sent in which the copy had differed\n",
		    o->pair.from.device,
		    human_bytes(s->differed_bytes, differed, sizeof differed));
	if (!o->quiet)
		say_sent(o->pair.from.device, s, r->seconds);
	return 0;
}

static struct range
in_sectors(struct range bytes)
{
	return (struct range){ bytes.off / SECTOR_BYTES,
		(bytes.len + SECTOR_BYTES - 1) / SECTOR_BYTES };
}

static int
difference_json(const struct options *o, const struct pair_difference *d, struct err *e)
{
	struct json *j = begin_report(o, "verify");
	struct err differs;

	json_bool(j, "same", rangeset_count(&d->differs) == 0);
	json_uint(j, "device_bytes", d->device_bytes);
	json_uint(j, "compared_bytes", d->compared_bytes);
	json_array(j, "ranges");
	for (size_t i = 0; i < rangeset_count(&d->differs); i++) {
		struct range s = in_sectors(rangeset_get(&d->differs, i));
		json_object(j, NULL);
		json_uint(j, "first_sector", s.off);
		json_uint(j, "sectors", s.len);
		json_end(j);
	}
	json_end(j);
	if (rangeset_count(&d->differs) > 0) {
		err_set(&differs, ERR_IO, "%s: the copy differs from it", o->pair.from.device);
		failure_put(j, differs.text, "differs", EXIT_DIFFERS);
	}
	json_end(j);
	return json_show(j, e);
}

int
report_verified(const struct options *o, const struct pair_difference *d, struct err *e)
{
	char compared[32], size[32];
	bool all = d->compared_bytes == d->device_bytes;

	if (o->json)
		return difference_json(o, d, e);
	for (size_t i = 0; i < rangeset_count(&d->differs); i++) {
		struct range s = in_sectors(rangeset_get(&d->differs, i));
		say_text(stdout, "%" PRIu64 " %" PRIu64 "\n", s.off, s.len);
	}
	if (!o->quiet)
		say_text(stderr, "dsync: %s of %s were compared%s: %s\n",
		    human_bytes(d->compared_bytes, compared, sizeof compared),
		    human_bytes(d->device_bytes, size, sizeof size),
		    o->pair.from.since == NULL
			? ", and without a source of change, what was written since the last "
			  "sync counts, too, and free space that init made zeros"
		    : all ? ""
			  : ", and the rest has changed since the last sync",
		    rangeset_count(&d->differs) == 0
			? "no difference"
		    : o->pair.from.since != NULL
			? "the copy differs in these sectors, which the next sync sends"
			: "the copy differs in these sectors");
	return 0;
}

/* Why a status is no success: there is no copy, or none any more.  Returns the exit status. */
static int
verdict(const struct options *o, const struct far_status *s, struct err *why)
{
	const char *copy = o->pair.to.target;

	if (strcmp(s->condition, "unknown") == 0) {
		err_set(why, ERR_ABSENT, "%s: is no copy: nothing was merged into it", copy);
		return err_exit_status(why);
	}
	if (strcmp(s->condition, "changed") != 0)
		return 0;
	err_set(why, ERR_IO,
	    "%s: does not hold what was merged into it: it was written or removed since, or is "
	    "another device; \"dsync init\" makes it a copy again",
	    copy);
	return EXIT_DIFFERS;
}

static void
status_lines(const struct far_status *s, uint64_t age)
{
	char id[STREAM_ID_TEXT];

	say_text(stdout, "condition %s\n", s->condition);
	if (!stream_id_set(&s->id))
		return;
	say_text(stdout, "id %s\n", stream_id_text(&s->id, id));
	say_text(stdout, "age %" PRIu64 " s\n", age);
}

int
report_status(const struct options *o, const struct far_status *s, struct err *e)
{
	char id[STREAM_ID_TEXT];
	uint64_t now = (uint64_t)time(NULL), age = now > s->made_at ? now - s->made_at : 0;
	struct json *j = o->json ? json_new() : NULL;
	struct err why;
	int rc = verdict(o, s, &why);

	if (j == NULL) {
		status_lines(s, age);
		if (rc != 0)
			say_text(stderr, "dsync: %s\n", why.text);
		return rc;
	}
	json_object(j, NULL);
	json_string(j, "condition", s->condition);
	if (stream_id_set(&s->id)) {
		json_string(j, "id", stream_id_text(&s->id, id));
		json_uint(j, "age_seconds", age);
	}
	json_uint(j, "target_bytes", s->bytes);
	if (rc != 0)
		failure_put(j, why.text, rc == EXIT_DIFFERS ? "differs" : "absent", rc);
	json_end(j);
	return json_show(j, e) == 0 ? rc : -1;
}

static int
tracked_json(const struct track_report *r, struct err *e)
{
	struct json *j = json_new();
	struct err untracked;

	json_object(j, NULL);
	json_string(j, "name", r->name);
	json_bool(j, "tracked", r->tracked);
	json_bool(j, "there", r->there);
	json_bool(j, "beneath", r->beneath);
	json_bool(j, "anew", r->anew);
	if (r->why[0] != '\0')
		json_string(j, "why", r->why);
	if (!r->tracked) {
		err_set(&untracked, ERR_IO, "/dev/mapper/%s is not tracked: %s", r->name, r->why);
		failure_put(j, untracked.text, "untracked", EXIT_UNTRACKED);
	}
	json_end(j);
	return json_show(j, e);
}

/* Say what an administrator has to do so that the tracker is active before each mount. */
static void
say_mount(const struct options *o, const struct track_report *r)
{
	say_text(stdout, "Mount %s%s with the option x-systemd.requires=dsync-track@%s.service.\n",
	    r->beneath ? "" : "/dev/mapper/", r->beneath ? o->track.device : r->name, r->name);
}

void
report_cost(const struct options *o, const struct track_cost *c)
{
	char memory[32], metadata[32];

	if (o->json || o->quiet)
		return;
	say_text(stderr,
	    "dsync: %s has %" PRIu64 " blocks of %" PRIu64 " KiB; noting what is written takes %s of "
	    "memory and up to %s of %s, and some 7 requests there for each block that is first written after a "
	    "sync, fewer if many are written at once\n",
	    o->track.device, c->blocks, c->block_bytes >> 10,
	    human_bytes(c->memory_bytes, memory, sizeof memory),
	    human_bytes(c->metadata_bytes, metadata, sizeof metadata), o->track.metadata);
}

int
report_tracked(const struct options *o, const struct track_report *r, struct err *e)
{
	if (o->json)
		return tracked_json(r, e);
	if (!r->there)
		say_text(stdout,
		    "%s is not tracked yet: %s.\nIt is tracked from its next mount on.\n",
		    o->track.device, r->why);
	else if (!r->tracked)
		say_text(stderr, "dsync: /dev/mapper/%s is not tracked: %s\n", r->name, r->why);
	else if (r->anew && !o->quiet)
		say_text(stderr,
		    "dsync: /dev/mapper/%s is tracked; everything counts as changed, since %s\n",
		    r->name, r->why);
	else if (!o->quiet)
		say_text(stderr, "dsync: /dev/mapper/%s is tracked\n", r->name);
	if (o->command == DSYNC_TRACK)
		say_mount(o, r);
	return 0;
}

void
report_failed(const struct options *o, const char *what, const struct err *why)
{
	struct err e;
	struct json *j = o->json ? begin_report(o, "failed") : NULL;

	if (j == NULL) {
		log_err("%s: %s", what, why->text);
		return;
	}
	json_string(j, "what", what);
	failure_put_err(j, why, err_exit_status(why));
	json_end(j);
	if (json_show(j, &e) != 0 || fflush(stdout) != 0)
		log_err("%s: %s", what, why->text);
}

static bool
begins_as_ours(const uint8_t *head)
{
	return memcmp(head, "# HELP dsync", 12) == 0;
}

int
report_metrics(const char *path, const struct pair_report *r, struct err *e)
{
	static const struct output_kind kind = { "a file of metrics", 12, begins_as_ours };
	char text[1600];
	struct output out;

	int n = snprintf(text, sizeof text,
	    "# HELP dsync_state_time_seconds When the state of the copy was "
	    "extracted.\n"
	    "# TYPE dsync_state_time_seconds gauge\n"
	    "dsync_state_time_seconds %" PRIu64 "\n"
	    "# HELP dsync_changed_bytes How many bytes had changed at the last sync.\n"
	    "# TYPE dsync_changed_bytes gauge\n"
	    "dsync_changed_bytes %" PRIu64 "\n"
	    "# HELP dsync_stream_bytes Size of the last stream.\n"
	    "# TYPE dsync_stream_bytes gauge\n"
	    "dsync_stream_bytes %" PRIu64 "\n"
	    "# HELP dsync_seconds How long the last sync took.\n"
	    "# TYPE dsync_seconds gauge\n"
	    "dsync_seconds %.3f\n"
	    "# HELP dsync_fuzzy Whether the blocks of the copy may be of different "
	    "points in time.\n"
	    "# TYPE dsync_fuzzy gauge\n"
	    "dsync_fuzzy %d\n",
	    r->sent.head.made_at, r->sent.changed_bytes, r->sent.written_bytes, r->seconds, r->sent.end.fuzzy);
	if (output_open(&out, path, &kind, false, e) != 0)
		return -1;
	if (output_write(&out, text, (size_t)n, e) == 0)
		return output_commit(&out, true, e);
	output_abort(&out);
	return -1;
}
