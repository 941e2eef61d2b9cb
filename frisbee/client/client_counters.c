/* client_counters.c: the counters of a client.  The files of the engine call these functions
 * when something happens that is counted, in the engine's only thread. */
#include "frisbee/client/client_counters.h"

#include "frisbee/client/client.h"

void
client_counters_begin(struct client_counters *k, const struct client_config *cfg)
{
	*k = (struct client_counters){
		.wire = { .readahead = (int32_t)cfg->readahead,
		    .max_in_progress = (int32_t)cfg->in_progress,
		    .packet_timeout_us = (int32_t)cfg->tick_us,
		    .start_delay_s = (int32_t)(cfg->start_delay_us / 1000000),
		    .start_delay_ms = (int32_t)(cfg->start_delay_us / 1000),
		    .idle_ticks = (int32_t)cfg->idle_ticks,
		    .idle_delay_us = (int32_t)(cfg->idle_ticks * cfg->tick_us),
		    .redo_delay_us = (int32_t)cfg->redo_us,
		    .randomised = !cfg->sequential }
	};
}

void
client_counters_buffers(struct client_counters *k, uint32_t buffers)
{
	k->wire.chunk_buffers = (int32_t)buffers;
}

void
client_counters_forget_image(struct client_counters *k)
{
	k->left_out = k->not_asked = 0;
}

void
client_counters_join(struct client_counters *k)
{
	k->wire.join_attempts++;
}

void
client_counters_request(
    struct client_counters *k, bool again, bool whole, uint32_t blocks)
{
	k->wire.requests++;
	k->wire.prequests += blocks > 0;
	k->wire.blocks_by_prequest += blocks;
	k->wire.rerequests += again;
	k->wire.full_rerequests += again && whole;
}

void
client_counters_message(struct client_counters *k)
{
	k->wire.requests++;
}

void
client_counters_report(struct client_counters *k, uint32_t blocks)
{
	k->wire.requests++;
	k->wire.prequests++;
	k->wire.blocks_by_prequest += blocks;
}

void
client_counters_idle(struct client_counters *k)
{
	k->wire.idle_timeouts++;
}

void
client_counters_duplicates(
    struct client_counters *k, uint32_t in_progress, uint32_t finished)
{
	k->wire.dup_in_progress += in_progress;
	k->wire.dup_finished += finished;
}

void
client_counters_no_buffer(struct client_counters *k)
{
	k->wire.dropped_no_buffer++;
}

void
client_counters_drop(struct client_counters *k)
{
	k->wire.partial_drops++;
}

void
client_counters_parity(struct client_counters *k, bool used)
{
	k->parity_used += used;
	k->parity_unused += !used;
}

void
client_counters_left_out(struct client_counters *k, uint32_t blocks)
{
	k->left_out += blocks;
}

void
client_counters_not_asked(struct client_counters *k, uint32_t blocks)
{
	k->not_asked += blocks;
}

void
client_counters_asked_after_all(struct client_counters *k, uint32_t blocks)
{
	k->not_asked -= blocks;
}

void
client_counters_end(
    struct client_counters *k, uint64_t run_us, const struct wire_stats *shell_part)
{
	uint64_t run_ms = run_us / 1000;

	k->wire.run_s = (int32_t)(run_ms / 1000);
	k->wire.run_ms = (int32_t)(run_ms % 1000);
	k->wire.bytes_written = shell_part->bytes_written;
	k->wire.bytes_covered = shell_part->bytes_covered;
	k->wire.no_chunk_ready = shell_part->no_chunk_ready;
	k->wire.decompressor_blocked = shell_part->decompressor_blocked;
	k->wire.writer_idle = shell_part->writer_idle;
	k->wire.write_buffer_mb = shell_part->write_buffer_mb;
}
