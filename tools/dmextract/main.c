/* main.c: dmextract writes what has changed on a device as a stream, or lists it.  main() and
 * all that it calls run in the first thread; the threads that read are in dsync/extract. */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/number.h"
#include "common/base/say.h"
#include "common/cli/failure.h"
#include "common/cli/progress.h"
#include "common/disk/range_json.h"
#include "dsync/change/bases.h"
#include "dsync/change/find.h"
#include "tools/dmextract/options.h"

static void
tell_warning(const struct options *o, const struct extract_report *r)
{
	if (r->warning[0] != '\0')
		say_text(stderr, "dmextract: %s: %s\n", o->how.device, r->warning);
	if (r->end.fuzzy && !o->quiet)
		say_text(stderr,
		    "dmextract: the copy will be fuzzy, because its blocks may be of "
		    "different points in time: %s\n",
		    r->why_fuzzy);
}

static int
show_json(const struct extract_report *r, double seconds, struct err *e)
{
	char id[STREAM_ID_TEXT];
	struct json *j = json_new();

	json_object(j, NULL);
	json_string(j, "id", stream_id_text(&r->head.id, id));
	json_string(j, "since", r->head.kind);
	json_uint(j, "device_bytes", r->head.device_bytes);
	json_uint(j, "named_bytes", r->named_bytes);
	json_uint(j, "changed_bytes", r->changed_bytes);
	json_uint(j, "unused_bytes", r->unused_bytes);
	json_uint(j, "data_bytes", r->end.totals.data_bytes);
	json_uint(j, "zero_bytes", r->end.totals.zero_bytes);
	json_uint(j, "stream_bytes", r->written_bytes);
	json_bool(j, "full", (r->head.flags & STREAM_FULL) != 0);
	json_bool(j, "fuzzy", r->end.fuzzy);
	if (r->warning[0] != '\0')
		json_string(j, "warning", r->warning);
	if (r->frozen_us > 0)
		json_double(j, "frozen_seconds", (double)r->frozen_us / 1e6);
	json_double(j, "seconds", seconds);
	json_end(j);
	return json_show_on(j, stderr, e);
}

/* Write the stream to standard output, and the report to standard error. */
static int
send_stream(struct options *o, struct err *e)
{
	struct extract_report r;
	struct progress bar;
	char sent[32], size[32], id[STREAM_ID_TEXT];
	struct disk *to;
	uint64_t began = clock_us();

	if (disk_open(&to, "-", DISK_WRITE, e) != 0)
		return -1;
	progress_begin(&bar, "dmextract", 0, -1, o->quiet || o->json);
	o->how.progress = progress_of;
	o->how.progress_arg = &bar;
	int rc = extract_stream(&o->how, to, &r, e);
	progress_end(&bar, 0);
	if (rc != 0) {
		struct err ignored;
		disk_close(to, &ignored);
		return -1;
	}
	double seconds = (double)(clock_us() - began) / 1e6;
	rc = disk_close(to, e);
	if (rc != 0 || o->json)
		return rc == 0 ? show_json(&r, seconds, e) : rc;
	tell_warning(o, &r);
	if (!o->quiet)
		say_text(stderr, "dmextract: %s: %s of %s, %.1f s; state %s\n", o->how.device,
		    human_bytes(r.changed_bytes, sent, sizeof sent),
		    human_bytes(r.head.device_bytes, size, sizeof size), seconds,
		    stream_id_text(&r.head.id, id));
	return 0;
}

/* The sectors that a range of bytes lies in.  The last one may reach beyond the end of a
 * device whose size is not a multiple of 512 bytes. */
static struct range
in_sectors(struct range bytes)
{
	uint64_t first = bytes.off / SECTOR_BYTES;

	return (struct range){ first,
		(range_end(bytes) + SECTOR_BYTES - 1) / SECTOR_BYTES - first };
}

static int
list(const struct options *o, struct err *e)
{
	struct extract_report r;
	struct rangeset changed;

	rangeset_init(&changed);
	if (extract_list(&o->how, &changed, &r, e) != 0)
		return -1;
	tell_warning(o, &r);
	struct json *j = o->json ? json_new() : NULL;
	json_object(j, NULL);
	json_uint(j, "block_bytes", r.head.block_bytes);
	json_uint(j, "changed_bytes", r.changed_bytes);
	json_array(j, "ranges");
	for (size_t i = 0; i < rangeset_count(&changed); i++) {
		struct range s = in_sectors(rangeset_get(&changed, i));
		if (j == NULL)
			say_text(stdout, "%" PRIu64 " %" PRIu64 "\n", s.off, s.len);
		json_object(j, NULL);
		json_uint(j, "first_sector", s.off);
		json_uint(j, "sectors", s.len);
		json_end(j);
	}
	json_end(j);
	json_end(j);
	rangeset_free(&changed);
	return json_show(j, e);
}

static int
status(const struct options *o, struct err *e)
{
	char id[STREAM_ID_TEXT];
	struct bases b;

	if (extract_bases(&o->how, &b, e) != 0)
		return -1;
	struct json *j = o->json ? json_new() : NULL;
	json_object(j, NULL);
	json_string(j, "since", b.kind);
	json_uint(j, "device_bytes", b.device_bytes);
	json_array(j, "states");
	for (unsigned i = 0; i < b.n; i++) {
		bool confirmed = i == 0 && b.confirmed;
		stream_id_text(&b.all[i].id, id);
		if (j == NULL)
			say_text(stdout, "%s %s\n", confirmed ? "base" : "pending", id);
		json_object(j, NULL);
		json_string(j, "id", id);
		json_bool(j, "confirmed", confirmed);
		json_end(j);
	}
	json_end(j);
	json_end(j);
	bases_close(&b);
	return json_show(j, e);
}

static int
act(void *options, char **operands, int n, struct err *e)
{
	struct options *o = options;
	char found[FIND_SINCE_BYTES];

	if (dmextract_settle(o, operands, n, e) != 0)
		return -1;
	if (o->how.since == NULL) {
		if (find_tracker(o->how.device, found, e) != 0)
			return -1;
		o->how.since = found;
	}
	if (o->list)
		return list(o, e);
	if (o->status)
		return status(o, e);
	if (!o->done)
		return send_stream(o, e);
	int rc = extract_done(&o->how, stream_id_set(&o->done_id) ? &o->done_id : NULL, e);
	return rc == 0 && o->json ? failure_none_show(e) : rc;
}

int
main(int argc, char **argv)
{
	static struct options o = { .how.folder = "/var/lib/dsync" };

	return cli_main(&dmextract_program, argc, argv, &o, act);
}
