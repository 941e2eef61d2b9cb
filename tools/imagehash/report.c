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

/* -X: the ranges that the records cover, with neighbouring records as one range.  No
 * hash is printed, because no hash covers several blocks. */
static int
show_spans(struct json *j, const struct sig *s, struct err *e)
{
	struct rangeset set;

	rangeset_init(&set);
	int rc = sig_sectors(s, &set, e);
	rangeset_seal(&set);
	json_rangeset(j, "ranges", &set);
	for (size_t i = 0; rc == 0 && j == NULL && i < rangeset_count(&set); i++)
		say_text(stdout, "%" PRIu64 "-%" PRIu64 "\n", rangeset_get(&set, i).off,
		    range_end(rangeset_get(&set, i)) - 1);
	rangeset_free(&set);
	return rc;
}

static int
show_records(struct json *j, const struct sig *s)
{
	size_t bytes = sig_hash_bytes(s->hash);
	char hash[2 * sizeof s->records->hash + 1];

	json_array(j, "record_list");
	for (size_t i = 0; i < s->n; i++) {
		const struct sig_record *r = &s->records[i];
		if (j == NULL)
			say_text(stdout, "%u-%u chunk %u%s %s\n", r->start,
			    r->start + r->count - 1, r->chunk, r->continues ? "+" : "",
			    number_hex(r->hash, bytes, hash));
		json_object(j, NULL);
		json_uint(j, "first_sector", r->start);
		json_uint(j, "sectors", r->count);
		json_uint(j, "chunk", r->chunk);
		json_bool(j, "continues_in_next_chunk", r->continues);
		json_hex(j, "hash", r->hash, bytes);
		json_end(j);
	}
	json_end(j);
	return 0;
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

	json_object(j, NULL);
	json_uint(j, "version", s->version);
	json_string(j, "hash_algorithm", sig_hash_name(s->hash));
	json_uint(j, "block_sectors", s->block_sectors);
	json_uint(j, "records", s->n);
	json_uint(j, "sectors", total_sectors(s));
	if (j == NULL)
		say_text(stdout, "version %u, %s, blocks of %u sectors, %zu records, %" PRIu64
		    " sectors\n",
		    s->version, sig_hash_name(s->hash), s->block_sectors, s->n,
		    total_sectors(s));
	int rc = o->merge ? show_spans(j, s, e) : show_records(j, s);
	json_end(j);
	if (rc == 0)
		return json_show(j, e);
	json_free(j);
	return -1;
}

int
difference_add(struct difference *d, struct range r, bool merge, struct err *e)
{
	struct range *last = d->nranges > 0 ? &d->ranges[d->nranges - 1] : NULL;

	d->different_blocks++;
	d->different += r.len;
	if (merge && last != NULL && range_end(*last) == r.off) {
		last->len += r.len;
		return 0;
	}
	if (grow_array(&d->ranges, &d->cap, d->nranges, sizeof *d->ranges, "the differences",
		e) != 0)
		return -1;
	d->ranges[d->nranges++] = r;
	return 0;
}

void
difference_free(struct difference *d)
{
	free(d->ranges);
	*d = (struct difference){ 0 };
}

static void
print_difference(const struct options *o, const struct difference *d, const char *differs)
{
	for (size_t i = 0; i < d->nranges; i++)
		say_text(stdout, "sectors %" PRIu64 "-%" PRIu64 " differ\n", d->ranges[i].off,
		    range_end(d->ranges[i]) - 1);
	if (d->different_blocks > 0)
		say_text(stdout, "%s\n", differs);
	else
		say_text(stdout, "%s: all %" PRIu64 " sectors that %s stores are equal\n",
		    o->disk, d->sectors, o->image);
}

int
report_difference(const struct options *o, const struct sig *s,
    const struct difference *d, struct err *e)
{
	struct json *j = o->json ? json_new() : NULL;
	struct err differs;

	err_set(&differs, ERR_NONE, "%s: %zu of %zu blocks differ from %s", o->disk,
	    d->different_blocks, d->blocks, o->image);
	if (j == NULL && !o->quiet)
		print_difference(o, d, differs.text);
	json_object(j, NULL);
	json_bool(j, "same", d->different_blocks == 0);
	json_string(j, "hash_algorithm", sig_hash_name(s->hash));
	json_uint(j, "blocks", d->blocks);
	json_uint(j, "sectors", d->sectors);
	json_uint(j, "different_blocks", d->different_blocks);
	json_uint(j, "different_sectors", d->different);
	json_ranges(j, "ranges", d->ranges, d->nranges);
	if (d->different_blocks > 0)
		failure_put(j, differs.text, "differs", EXIT_DIFFERS);
	json_end(j);
	return json_show(j, e);
}
