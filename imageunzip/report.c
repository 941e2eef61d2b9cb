/* report.c: prints the summary of imageunzip, and its dots while it runs. main.c calls
 * this in the first thread. */
#include "imageunzip/report.h"


#include "common/base/json.h"
#include "common/base/number.h"
#include "common/base/say.h"

enum { DOT_BYTES = 1000000000 };

void
report_dots(struct run *r)
{
	uint64_t covered = r->install != NULL ? install_bytes_covered(r->install) : 0;

	for (; r->o->dots && r->chunk_dots < r->fed; r->chunk_dots++)
		say_text(stderr, ".");
	for (; r->o->gb_dots && covered - r->dotted >= DOT_BYTES;
	     r->dotted += DOT_BYTES)
		say_text(stderr, ".");
}

int
imageunzip_summary(
    const struct run *r, const struct install_stats *s, double seconds, struct err *e)
{
	char written[32], covered[32], rate[32];

	if (r->o->json) {
		struct json *j = json_new();
		json_object(j, NULL);
		json_uint(j, "chunks", s->chunks);
		json_uint(j, "bytes_written", s->bytes_written);
		json_uint(j, "bytes_same", s->bytes_same);
		json_uint(j, "bytes_filled", s->bytes_filled);
		json_uint(j, "bytes_covered", s->bytes_covered);
		json_uint(j, "stale_signatures_wiped", s->stale_wiped);
		json_uint(j, "tail_bytes_left_out", s->tail_left_out);
		json_uint(j, "tail_bytes_moved", s->tail_moved);
		lost_json(&s->lost, j);
		if (r->o->crc_only)
			json_uint(j, "crc32", r->crc);
		json_double(j, "seconds", seconds);
		json_end(j);
		return json_show_on(j, r->report, e);
	}
	if (r->o->quiet)
		return 0;
	human_bytes(s->bytes_written, written, sizeof written);
	human_bytes(s->bytes_covered, covered, sizeof covered);
	human_bytes(
	    (uint64_t)((double)s->bytes_written / (seconds > 0 ? seconds : 1)), rate,
	    sizeof rate);
	say_text(stderr,
	    r->o->crc_only
		? "imageunzip: nothing was written: the checksum is of %s of data on "
		  "%s of disk, in %.1f s (%s/s)\n"
		: "imageunzip: %s of data onto %s of disk in %.1f s (%s/s)\n",
	    written, covered, seconds, rate);
	return 0;
}
