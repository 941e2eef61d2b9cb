/* report.c: signatures, and the differences between a disk and a signature, are printed as text
 * or as JSON.  main.c calls this in the first thread. */
#include "tools/imagehash/report.h"

#include <inttypes.h>
#include <stdlib.h>

#include "common/base/grow.h"
#include "common/base/number.h"
#include "common/base/say.h"
#include "common/cli/failure.h"
#include "common/disk/range_json.h"

static void
print_hash(const struct sig_record *r, size_t bytes)
{
	char text[2 * sizeof r->hash + 1];

	say(stdout, "%s\n", number_hex(r->hash, bytes, text));
}

/* -X: print the ranges that the records cover, with neighbouring records as one range.  No hash
 * is printed, because no hash covers several blocks. */
static int
report_spans(const struct sig *s, struct json *j, struct err *e)
{
	struct rangeset set;

	rangeset_init(&set);
	int rc = sig_sectors(s, &set, e);
	rangeset_seal(&set);
	if (rc == 0 && j != NULL)
		json_rangeset(j, "ranges", &set);
	for (size_t i = 0; rc == 0 && j == NULL && i < rangeset_count(&set); i++) {
		struct range r = rangeset_get(&set, i);
		say(stdout, "%" PRIu64 "-%" PRIu64 "\n", r.off, range_end(r) - 1);
	}
	rangeset_free(&set);
	return rc;
}

static void
report_records(const struct sig *s, struct json *j)
{
	size_t bytes = sig_hash_bytes(s->hash);

	if (j != NULL)
		json_array(j, "record_list");
	for (size_t i = 0; i < s->n; i++) {
		const struct sig_record *r = &s->records[i];
		if (j == NULL) {
			say(stdout, "%u-%u chunk %u%s ", r->start,
			    r->start + r->count - 1, r->chunk, r->continues ? "+" : "");
			print_hash(r, bytes);
			continue;
		}
		json_object(j, NULL);
		json_uint(j, "first_sector", r->start);
		json_uint(j, "sectors", r->count);
		json_uint(j, "chunk", r->chunk);
		json_bool(j, "continues_in_next_chunk", r->continues);
		json_hex(j, "hash", r->hash, bytes);
		json_end(j);
	}
	if (j != NULL)
		json_end(j);
}

static uint64_t
total_sectors(const struct sig *s)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		n += s->records[i].count;
	return n;
}

int
imagehash_signature(const struct options *o, const struct sig *s, struct err *e)
{
	struct json *j = o->json ? json_new() : NULL;
	int rc = 0;

	if (o->json && j == NULL)
		return err_nomem(e, "the report");
	if (j != NULL) {
		json_object(j, NULL);
		json_uint(j, "version", s->version);
		json_string(j, "hash_algorithm", sig_hash_name(s->hash));
		json_uint(j, "block_sectors", s->block_sectors);
		json_uint(j, "records", s->n);
		json_uint(j, "sectors", total_sectors(s));
	} else {
		say(stdout,
		    "version %u, %s, blocks of %u sectors, %zu records, %" PRIu64
		    " sectors\n",
		    s->version, sig_hash_name(s->hash), s->block_sectors, s->n,
		    total_sectors(s));
	}
	if (o->merge)
		rc = report_spans(s, j, e);
	else
		report_records(s, j);
	if (j != NULL) {
		json_end(j);
		if (rc == 0)
			rc = json_print(j, stdout, e);
		json_free(j);
	}
	return rc;
}

int
difference_add(struct difference *d, struct range r, struct err *e)
{
	if (grow(&d->ranges, &d->cap, d->nranges, sizeof *d->ranges, "the differences",
		e) != 0)
		return -1;
	d->ranges[d->nranges++] = r;
	d->different += r.len;
	return 0;
}

void
difference_free(struct difference *d)
{
	free(d->ranges);
	*d = (struct difference){ 0 };
}

/* -X: neighbouring blocks that differ become one range. */
static void
merge_ranges(struct difference *d)
{
	size_t n = 0;

	for (size_t i = 0; i < d->nranges; i++) {
		if (n > 0 && range_end(d->ranges[n - 1]) == d->ranges[i].off)
			d->ranges[n - 1].len += d->ranges[i].len;
		else
			d->ranges[n++] = d->ranges[i];
	}
	d->nranges = n;
}

/* Put the sentence that says how many blocks differ into *e. */
static void
tell_difference(
    const struct options *o, const struct difference *d, size_t blocks, struct err *e)
{
	err_set(e, ERR_NONE, "%s: %zu of %zu blocks differ from %s", o->disk, blocks,
	    d->blocks, o->image);
}

static int
json_difference(const struct options *o, const struct sig *s,
    const struct difference *d, size_t blocks, struct err *e)
{
	struct json *j = json_new();
	struct err differs;

	if (j == NULL)
		return err_nomem(e, "the report");
	json_object(j, NULL);
	json_bool(j, "same", blocks == 0);
	json_string(j, "hash_algorithm", sig_hash_name(s->hash));
	json_uint(j, "blocks", d->blocks);
	json_uint(j, "sectors", d->sectors);
	json_uint(j, "different_blocks", blocks);
	json_uint(j, "different_sectors", d->different);
	json_ranges(j, "ranges", d->ranges, d->nranges);
	if (blocks > 0) {
		tell_difference(o, d, blocks, &differs);
		failure_put(j, differs.text, "differs", EXIT_DIFFERS);
	}
	json_end(j);
	return json_show(j, e);
}

int
report_difference(
    const struct options *o, const struct sig *s, struct difference *d, struct err *e)
{
	size_t blocks = d->nranges;
	struct err differs;

	if (o->merge)
		merge_ranges(d);
	if (o->json)
		return json_difference(o, s, d, blocks, e);
	if (o->quiet)
		return 0;
	for (size_t i = 0; i < d->nranges; i++)
		say(stdout, "sectors %" PRIu64 "-%" PRIu64 " differ\n",
		    d->ranges[i].off, range_end(d->ranges[i]) - 1);
	if (blocks == 0) {
		say(stdout, "%s: all %" PRIu64 " sectors that %s stores are equal\n",
		    o->disk, d->sectors, o->image);
	} else {
		tell_difference(o, d, blocks, &differs);
		say(stdout, "%s\n", differs.text);
	}
	return 0;
}
