/* report.c: the statistics of a load as text.  main.c calls this, in its own thread or, once a
 * second, in the load's. */
#include "frisbee/report.h"

#include <inttypes.h>

#include "common/base/json.h"
#include "common/base/number.h"
#include "common/base/say.h"
#include "common/wire/addr.h"

/* The rate at which chunks of the image came, in the form in which they are sent, in bits a
 * second. */
static double
rate(const struct load_stats *r)
{
	const double chunk_bits = 8.0 * WIRE_CHUNK_BLOCKS * WIRE_BLOCK_BYTES;

	return r->seconds > 0 ? r->chunks_received * chunk_bits / r->seconds : 0;
}

static void
put_state(struct json *j, const struct load_stats *r)
{
	static const char *const names[] = {
		[LOAD_WAITING] = "waiting",
		[LOAD_LOADING] = "loading",
		[LOAD_DISK_BOUND] = "disk",
		[LOAD_FLUSHING] = "flushing",
	};

	json_string(j, "state", r->done ? "done" : names[r->state]);
	if (r->chunks == 0)
		return;
	json_double(j, "progress", (double)r->chunks_complete / r->chunks);
	if (r->chunks_complete > 0 && !r->done)
		json_double(j, "seconds_left",
		    r->seconds * (r->chunks - r->chunks_complete) / r->chunks_complete);
}

static struct json *
to_json(const struct load_stats *r, const struct install_stats *i)
{
	const struct wire_stats *s = &r->stats;
	struct json *j = json_new();
	char other[ADDR_TEXT_MAX];

	json_object(j, NULL);
	json_double(j, "seconds", r->seconds);
	put_state(j, r);
	json_uint(j, "chunks", r->chunks);
	json_uint(j, "bytes_written", r->sum.bytes_written);
	json_uint(j, "bytes_same", i->bytes_same);
	json_uint(j, "bytes_covered", r->sum.bytes_covered);
	json_uint(j, "stale_signatures_wiped", i->stale_wiped);
	json_uint(j, "tail_bytes_left_out", i->tail_left_out);
	json_uint(j, "tail_bytes_moved", i->tail_moved);
	lost_json(&i->lost, j);
	json_uint(j, "requests", s->requests);
	json_uint(j, "partial_requests", s->prequests);
	json_uint(j, "repeated_requests", s->rerequests);
	json_uint(j, "blocks_rerequested", s->blocks_by_prequest);
	json_uint(j, "duplicate_blocks_of_complete_chunks", s->dup_finished);
	json_uint(j, "duplicate_blocks_of_partial_chunks", s->dup_in_progress);
	json_uint(j, "blocks_dropped_no_memory", s->dropped_no_buffer);
	json_uint(j, "idle_timeouts", s->idle_timeouts);
	json_uint(j, "join_attempts", s->join_attempts);
	json_uint(j, "blocks_not_requested", r->blocks_not_requested);
	json_uint(j, "group_rejoins", r->rejoins);
	json_bool(j, "extension", r->extension);
	if (r->has_other_server)
		json_string(j, "other_server", addr_text(r->other_server, other));
	json_uint(j, "parity_used", r->parity_used);
	json_uint(j, "parity_unused", r->parity_unused);
	json_uint(j, "blocks_left_out", r->blocks_left_out);
	json_uint(j, "blocks_damaged", r->blocks_damaged);
	json_uint(j, "chunks_complete", r->chunks_complete);
	json_uint(j, "chunks_received", r->chunks_received);
	json_double(j, "rate_bits_per_s", rate(r));
	json_uint(j, "packets_received", r->packets);
	/* Partial requests are among the requests. */
	json_uint(j, "control_messages", (uint64_t)s->requests + s->join_attempts);
	json_uint(j, "receive_stalls", r->stalls);
	json_double(j, "receive_stalled_s", (double)r->stalled_us / 1e6);
	json_end(j);
	return j;
}

/* Writes the end of the summary: the blocks that need not be requested, or else those that were
 * received or requested twice. */
static void
put_requests(const struct load_stats *r, uint64_t bytes_same, char *buf, size_t cap)
{
	const struct wire_stats *s = &r->stats;
	char same[32];

	if (r->blocks_not_requested > 0)
		snprintf(buf, cap,
		    "%s were on the disk already, %" PRIu64
		    " blocks were not requested",
		    human_bytes(bytes_same, same, sizeof same),
		    r->blocks_not_requested);
	else
		snprintf(buf, cap,
		    "%u blocks were received twice, %u were requested again",
		    s->dup_finished + s->dup_in_progress, s->blocks_by_prequest);
}

void
report_line(const struct load_stats *r, const struct install_stats *i)
{
	uint64_t bytes = r->sum.bytes_written;
	double per_s = (double)bytes / (r->seconds > 0 ? r->seconds : 1);
	char written[32], rate_text[32], requests[120];

	put_requests(r, i->bytes_same, requests, sizeof requests);
	say_text(stderr,
	    "frisbee: %s of data in %.1f s (%s/s), %u chunks, %u requests, %s\n",
	    human_bytes(bytes, written, sizeof written), r->seconds,
	    human_bytes((uint64_t)per_s, rate_text, sizeof rate_text), r->chunks,
	    r->stats.requests, requests);
}

int
report_print(const struct load_stats *r, const struct install_stats *i, FILE *f,
    struct err *e)
{
	return json_show_on(to_json(r, i), f, e);
}

int
report_save(const struct load_stats *r, const struct install_stats *i, const char *path,
    struct err *e)
{
	struct json *j = to_json(r, i);
	int rc = json_save(j, path, e);

	json_free(j);
	return rc;
}
