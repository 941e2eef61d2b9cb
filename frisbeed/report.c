/* report.c: writes the statistics of sessions as JSON and as lines of the log.  daemon.c calls
 * this, in the program's first thread. */
#include "frisbeed/report.h"

#include <inttypes.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/log.h"
#include "common/cli/failure.h"
#include "common/wire/addr.h"

enum {
	ROWS_MAX = SESSION_CLIENT_ROWS,
	/* The most clients that are logged by name, so that hosts that only ask and never
	 * load cannot fill the log; the statistics have all clients. */
	UNFINISHED_MAX = 100,
};

static const char *
state_name(enum session_state s)
{
	static const char *const names[] = { "failed", "open", "serving", "ended" };

	return names[s];
}

static void
put_counts(struct json *j, const struct tally *t, double seconds)
{
	const struct server_stats *s = &t->server;

	json_uint(j, "joins", s->joins);
	json_uint(j, "leaves", s->leaves);
	json_uint(j, "clients_now", s->clients);
	json_uint(j, "clients_max", s->clients_max);
	json_uint(j, "requests", s->requests);
	json_uint(j, "partial_requests", s->prequests);
	json_uint(j, "control_messages", tally_control(s));
	json_uint(j, "blocks_requested", s->blocks_requested);
	json_uint(j, "blocks_already_pending", s->blocks_already_pending);
	json_uint(j, "blocks_sent", s->blocks_sent);
	json_uint(j, "blocks_resent", s->blocks_resent);
	json_uint(j, "bytes_sent", s->bytes_sent);
	json_uint(j, "blocks_lost", s->blocks_lost);
	json_uint(j, "bad_packets", s->bad_packets);
	json_uint(j, "wants", s->wants);
	json_uint(j, "nacks", s->nacks);
	json_uint(j, "credits", s->credits);
	json_uint(j, "parity_sent", s->parity_sent);
	json_uint(j, "urgent_sent", s->urgent_sent);
	json_uint(j, "data_packets_sent", s->data_packets_sent);
	json_uint(j, "blocks_left_out", s->blocks_left_out);
	json_uint(j, "congestions", s->congestions);
	json_uint(j, "rate_reductions", s->rate_reductions);
	json_uint(j, "send_stalls", t->stalls);
	json_uint(j, "rate_bits_per_s", t->rate);
	json_double(j, "mean_rate_bits_per_s",
	    seconds > 0 ? (double)tally_all_packets(t) * WIRE_BLOCK_COST_BITS / seconds
			: 0);
	json_uint(j, "limit_bits_per_s", t->limit);
}

/* The last load of a client that has ended; another one may run by now. */
static void
put_ending(struct json *j, const struct client_row *r)
{
	const struct client_ending *l = &r->last;

	json_object(j, "last_load");
	json_uint(j, "number", r->ending);
	json_string(j, "outcome", client_doing_name(l->how));
	json_uint(j, "began_us", l->began_us);
	json_uint(j, "ended_us", l->ended_us);
	json_uint(j, "seconds", l->seconds);
	json_uint(j, "bytes_written", l->bytes_written);
	json_end(j);
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
	json_bool(j, "has_left", r->left);
	json_uint(j, "control_messages", r->messages);
	json_uint(j, "joins", r->joins);
	json_uint(j, "blocks_lost", r->blocks_lost);
	json_double(j, "share_lost", client_row_loss(r, sent));
	if (doing == CLIENT_DOING_ASIDE)
		json_double(j, "share_received", r->share_received);
	json_double(j, "silence_s", (double)(now_us - r->heard_us) / 1e6);
	if (r->of != 0) {
		json_double(j, "progress", (double)r->blocks / (double)r->of);
		json_double(
		    j, "rate_bits_per_s", client_row_rate(r) * WIRE_BLOCK_BYTES * 8);
		json_double(j, "seconds_left", client_row_seconds_left(r));
	}
	if (r->ending != 0)
		put_ending(j, r);
	json_uint(j, "began_us", r->began_us);
	json_uint(j, "heard_us", r->heard_us);
	if (r->told) {
		json_uint(j, "seconds", r->seconds);
		json_uint(j, "bytes_written", r->bytes_written);
		json_uint(j, "idle_timeouts", r->stalls);
		json_uint(j, "blocks_dropped_no_memory", r->dropped);
		json_uint(j, "duplicate_blocks", r->duplicates);
	}
	json_end(j);
}

static void
put_clients(struct json *j, struct serve *serve, const struct session_view *s,
    struct client_row *rows)
{
	const struct serve_stats *st = &s->stats;
	/* The time is taken after the copy, so that no client was heard later. */
	uint32_t n = serve_clients(serve, s->number, rows, ROWS_MAX);
	uint64_t now = clock_us();

	json_uint(j, "clients_known", st->clients_known);
	json_uint(j, "clients_done", st->clients_done);
	json_array(j, "clients");
	for (uint32_t i = 0; i < n; i++)
		put_client(j, &rows[i], now, tally_packets(&st->tally));
	json_end(j);
}

/* The counters of the cache, for an image of a store. */
static void
put_cache(struct json *j, const struct serve_stats *s)
{
	if (!s->from_store)
		return;
	json_uint(j, "cache_hits", s->cache_hits);
	json_uint(j, "cache_misses", s->cache_misses);
	json_uint(j, "cache_bytes", s->cache_bytes);
}

static void
put_session(struct json *j, struct serve *serve, const struct session_view *s,
    struct client_row *rows)
{
	const struct serve_stats *st = &s->stats;

	json_object(j, NULL);
	json_string(j, "image", s->image);
	json_string(j, "address", st->where);
	json_string(j, "state", state_name(st->state));
	if (st->state == SESSION_FAILED)
		json_string(j, "error", st->err.text);
	json_double(j, "seconds", st->seconds);
	json_uint(j, "chunks", st->chunks);
	json_string(j, "chunk_map", st->chunk_map);
	put_counts(j, &st->tally, st->seconds);
	put_cache(j, st);
	put_clients(j, serve, s, rows);
	json_end(j);
}

/* The sums over all sessions, which serve from files or from one store. */
static void
put_sums(struct json *j, const struct session_views *all)
{
	struct serve_stats sum = { 0 };
	uint64_t chunks = 0;

	for (unsigned i = 0; i < all->n; i++) {
		const struct serve_stats *st = &all->session[i].stats;
		tally_sum(&sum.tally, &st->tally);
		chunks += st->chunks;
		if (st->seconds > sum.seconds)
			sum.seconds = st->seconds;
		sum.from_store |= st->from_store;
		sum.cache_hits += st->cache_hits;
		sum.cache_misses += st->cache_misses;
		sum.cache_bytes += st->cache_bytes;
	}
	json_double(j, "seconds", sum.seconds);
	json_uint(j, "chunks", chunks);
	put_counts(j, &sum.tally, sum.seconds);
	put_cache(j, &sum);
}

/* The whole document.  NULL: no memory. */
static struct json *
make_json(const struct session_views *all, const struct report_end *end)
{
	struct client_row *rows = calloc(ROWS_MAX, sizeof *rows);
	struct json *j = json_new();

	if (rows == NULL) {
		json_free(j);
		return NULL;
	}
	json_object(j, NULL);
	put_sums(j, all);
	if (all->bytes != 0) {
		json_uint(j, "image_bytes", all->bytes);
		json_int(j, "image_time", all->mtime);
	}
	json_array(j, "sessions");
	for (unsigned i = 0; i < all->n; i++)
		put_session(j, all->serve, &all->session[i], rows);
	json_end(j);
	if (end != NULL && end->status != 0)
		failure_put_err(j, &end->failure, end->status);
	json_end(j);
	free(rows);
	return j;
}

int
report_save_stats(const struct session_views *all, const struct report_end *end,
    const char *path, struct err *e)
{
	if (path == NULL)
		return 0;
	struct json *j = make_json(all, end);
	if (j == NULL)
		return err_nomem(e, "the statistics");
	int rc = json_save(j, path, e);
	json_free(j);
	return rc;
}

int
report_print_stats(
    const struct session_views *all, const struct report_end *end, struct err *e)
{
	struct json *j = make_json(all, end);

	if (j == NULL)
		return err_nomem(e, "the statistics");
	return json_show(j, e);
}

static void
report_one_unfinished(const struct client_row *r, enum client_doing doing, const char *image)
{
	char text[ADDR_TEXT_MAX];
	uint64_t now = clock_us();

	log_info("client unfinished addr=%s port=%u state=\"%s\" silence_s=%.0f file=%s",
	    addr_text(r->ip, text), r->port, client_doing_name(doing),
	    now > r->heard_us ? (double)(now - r->heard_us) / 1e6 : 0, image);
}

/* Logs the clients that have not completed, so that a reader of the log need not look
 * into the statistics. */
static void
report_unfinished(struct serve *serve, const struct session_view *s)
{
	struct client_row *rows = calloc(ROWS_MAX, sizeof *rows);
	uint64_t sent = tally_packets(&s->stats.tally);
	uint32_t n = rows != NULL ? serve_clients(serve, s->number, rows, ROWS_MAX) : 0;
	uint32_t unfinished = 0;

	for (uint32_t i = 0; i < n; i++) {
		enum client_doing doing = client_row_doing(&rows[i], sent);
		if (doing != CLIENT_DOING_DONE && unfinished++ < UNFINISHED_MAX)
			report_one_unfinished(&rows[i], doing, s->image);
	}
	if (unfinished > UNFINISHED_MAX)
		log_info("clients unfinished=%u file=%s", unfinished, s->image);
	free(rows);
}

void
report_done(const struct session_views *all, const struct session_view *s)
{
	const struct tally *t = &s->stats.tally;
	const struct server_stats *st = &t->server;

	log_info("done seconds=%.1f clients=%u clients_done=%u blocks_sent=%" PRIu64
		 " blocks_resent=%" PRIu64 " parity_sent=%" PRIu64 " joins=%" PRIu64
		 " requests=%" PRIu64 " partial_requests=%" PRIu64
		 " send_stalls=%" PRIu64 " file=%s",
	    s->stats.seconds, s->stats.clients_known, s->stats.clients_done,
	    st->blocks_sent, st->blocks_resent, st->parity_sent, st->joins,
	    st->requests, st->prequests, t->stalls, s->image);
	report_unfinished(all->serve, s);
}

void
report_progress(const struct session_views *all)
{
	for (unsigned i = 0; i < all->n; i++) {
		struct session_view *s = &all->session[i];
		const struct tally *t = &s->stats.tally;
		uint64_t sent = tally_all_packets(t);
		if (s->stats.state != SESSION_SERVING || sent == s->said)
			continue;
		s->said = sent;
		log_info("sending mbit_per_s=%.1f clients=%u blocks_sent=%" PRIu64
			 " blocks_resent=%" PRIu64 " parity_sent=%" PRIu64
			 " send_stalls=%" PRIu64 " file=%s",
		    (double)t->rate / 1e6, t->server.clients, t->server.blocks_sent,
		    t->server.blocks_resent, t->server.parity_sent, t->stalls,
		    s->image);
	}
}
