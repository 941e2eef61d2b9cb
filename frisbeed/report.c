#include "frisbeed/report.h"

#include <inttypes.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/cli/failure.h"
#include "common/wire/addr.h"

enum { ROWS_MAX = SESSION_CLIENT_ROWS };

static const char *
state_name(enum session_state s)
{
	static const char *const names[] = { "failed", "open", "serving", "ended" };

	return names[s];
}

static uint32_t
chunks_of(const struct session *s)
{
	return (uint32_t)((s->unicast.stream.server.image_bytes +
			      WIRE_CHUNK_BLOCKS * WIRE_BLOCK_BYTES - 1) /
			  (WIRE_CHUNK_BLOCKS * WIRE_BLOCK_BYTES));
}

static void
put_counts(struct json *j, const struct tally *t, double seconds)
{
	const struct server_stats *s = &t->server;

	json_uint(j, "joins", s->joins);
	json_uint(j, "leaves", s->leaves);
	json_uint(j, "clients_now", s->clients);
	json_uint(j, "clients_at_once", s->clients_max);
	json_uint(j, "requests", s->requests);
	json_uint(j, "prequests", s->prequests);
	json_uint(j, "control_messages", tally_control(s));
	json_uint(j, "blocks_asked", s->blocks_asked);
	json_uint(j, "blocks_merged", s->blocks_merged);
	json_uint(j, "blocks_sent", s->blocks_sent);
	json_uint(j, "blocks_resent", s->blocks_resent);
	json_uint(j, "bytes_sent", s->bytes_sent);
	json_uint(j, "lost_blocks", s->lost_blocks);
	json_uint(j, "bad_packets", s->bad_packets);
	json_uint(j, "wants", s->wants);
	json_uint(j, "reports", s->reports);
	json_uint(j, "gos", s->gos);
	json_uint(j, "parity_sent", s->parity_sent);
	json_uint(j, "packs_sent", s->packs_sent);
	json_uint(j, "blocks_left_out", s->blocks_left_out);
	json_uint(j, "loads", s->loads);
	json_uint(j, "slowed", s->slowed);
	json_uint(j, "stalls", t->stalls);
	json_uint(j, "rate_bits_per_s", t->rate);
	json_double(j, "mean_rate_bits_per_s",
	    seconds > 0 ? (double)tally_packets(t) * WIRE_BLOCK_COST_BITS / seconds
			: 0);
	json_uint(j, "limit_bits_per_s", t->limit);
}

static void
put_client(struct json *j, const struct client_row *r, uint64_t now_us, uint64_t sent)
{
	enum client_doing doing = client_row_doing(r, sent);
	char text[ADDR_TEXT_MAX];

	json_object(j, NULL);
	json_string(j, "address", addr_text(r->ip, text));
	if (r->port != 0)
		json_uint(j, "port", r->port);
	json_string(j, "state", client_doing_name(doing));
	json_bool(j, "extension", r->extension);
	json_bool(j, "left", r->left);
	json_uint(j, "messages", r->messages);
	json_uint(j, "joins", r->joins);
	json_uint(j, "blocks_lost", r->blocks_lost);
	json_double(j, "loss", client_row_loss(r, sent));
	if (doing == CLIENT_DOING_ASIDE)
		json_double(j, "gets", r->gets);
	json_double(j, "silent_s", (double)(now_us - r->heard_us) / 1e6);
	if (r->of != 0) {
		json_double(j, "progress", (double)r->blocks / (double)r->of);
		json_double(j, "bits_per_s",
		    client_row_rate(r) * WIRE_BLOCK_BYTES * 8);
		json_double(j, "seconds_left", client_row_seconds_left(r));
	}
	if (r->told) {
		json_uint(j, "seconds", r->seconds);
		json_uint(j, "bytes_written", r->bytes_written);
		json_uint(j, "stalls", r->stalls);
		json_uint(j, "dropped_no_buffer", r->dropped);
		json_uint(j, "duplicates", r->duplicates);
	}
	json_end(j);
}

static void
put_clients(struct json *j, struct session *s, struct client_row *rows, uint64_t sent)
{
	uint32_t total = 0, n = 0, done = 0;
	/* Before the copy is made nobody is heard later than now. */
	if (s->clients != NULL) {
		n = clients_copy(s->clients, rows, ROWS_MAX, &total);
		clients_count(s->clients, &total, &done);
	}
	uint64_t now = clock_us();

	json_uint(j, "clients_known", total);
	json_uint(j, "clients_done", done);
	json_array(j, "clients");
	for (uint32_t i = 0; i < n; i++)
		put_client(j, &rows[i], now, sent);
	json_end(j);
}

/* Of chunks out of a store, over n sessions. */
static void
put_cache(struct json *j, const struct session *s, unsigned n)
{
	uint64_t hits = 0, misses = 0, bytes = 0;

	if (n == 0 || s->cfg->store == NULL)
		return;
	for (unsigned i = 0; i < n; i++) {
		hits += s[i].cache.hits;
		misses += s[i].cache.misses;
		bytes += s[i].cache.bytes;
	}
	json_uint(j, "cache_hits", hits);
	json_uint(j, "cache_misses", misses);
	json_uint(j, "cache_bytes", bytes);
}

static void
put_session(
    struct json *j, struct session *s, const struct tally *t, struct client_row *rows)
{
	json_object(j, NULL);
	json_string(j, "image", s->place->image);
	json_string(j, "address", s->where);
	json_string(j, "state", state_name(s->state));
	if (s->state == SESSION_FAILED)
		json_string(j, "error", s->err.text);
	json_double(j, "seconds", session_seconds(s));
	json_uint(j, "chunks", chunks_of(s));
	put_counts(j, t, session_seconds(s));
	put_cache(j, s, 1);
	put_clients(j, s, rows, tally_packets(t));
	json_end(j);
}

struct json *
report_json(struct session *s, unsigned n, const struct report_end *end)
{
	struct client_row *rows = calloc(ROWS_MAX, sizeof *rows);
	struct json *j = json_new();
	struct tally sum = { 0 };
	double seconds = 0;
	uint64_t chunks = 0;

	if (rows == NULL || j == NULL) {
		free(rows);
		json_free(j);
		return NULL;
	}
	for (unsigned i = 0; i < n; i++) {
		struct tally t = tally_get(&s[i].tally);
		tally_sum(&sum, &t);
		chunks += chunks_of(&s[i]);
		if (session_seconds(&s[i]) > seconds)
			seconds = session_seconds(&s[i]);
	}
	json_object(j, NULL);
	json_double(j, "seconds", seconds);
	json_uint(j, "chunks", chunks);
	put_counts(j, &sum, seconds);
	put_cache(j, s, n);
	json_array(j, "sessions");
	for (unsigned i = 0; i < n; i++) {
		struct tally t = tally_get(&s[i].tally);
		put_session(j, &s[i], &t, rows);
	}
	json_end(j);
	if (end != NULL && end->status != 0)
		failure_put_err(j, &end->failure, end->status);
	json_end(j);
	free(rows);
	return j;
}

void
report_done(struct session *s)
{
	const struct tally t = tally_get(&s->tally);
	const struct server_stats *st = &t.server;

	log_info("done seconds=%.1f blocks_sent=%" PRIu64 " blocks_resent=%" PRIu64
		 " parity_sent=%" PRIu64 " joins=%" PRIu64 " requests=%" PRIu64
		 " prequests=%" PRIu64 " stalls=%" PRIu64 " file=%s",
	    session_seconds(s), st->blocks_sent, st->blocks_resent, st->parity_sent,
	    st->joins, st->requests, st->prequests, t.stalls, s->place->image);
}

void
report_progress(struct session *s, unsigned n, struct report_lines *lines)
{
	for (unsigned i = 0; i < n; i++) {
		const struct tally t = tally_get(&s[i].tally);
		uint64_t sent = tally_packets(&t);
		if (s[i].state != SESSION_SERVING || sent == lines->sent[i])
			continue;
		lines->sent[i] = sent;
		log_info("sending mbit_per_s=%.1f clients=%u blocks_sent=%" PRIu64
			 " blocks_resent=%" PRIu64 " parity_sent=%" PRIu64
			 " stalls=%" PRIu64 " file=%s",
		    (double)t.rate / 1e6, t.server.clients, t.server.blocks_sent,
		    t.server.blocks_resent, t.server.parity_sent, t.stalls,
		    s[i].place->image);
	}
}
