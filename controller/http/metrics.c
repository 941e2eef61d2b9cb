/* metrics.c: the text that Prometheus reads.  answer.c calls this, in the program's first
 * thread. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "controller/http/shapes.h"
#include "controller/http/web_impl.h"

static void
put_head(FILE *f, const char *name, const char *type, const char *help)
{
	fprintf(f, "# HELP frisbee_%s %s\n# TYPE frisbee_%s %s\n", name, help, name, type);
}

static void
put_sessions(FILE *f, const struct swap *w)
{
	unsigned running = 0;

	for (size_t i = 0; i < w->nsessions; i++)
		running += w->sessions[i]->state == SWAP_IS_RUNNING;
	put_head(f, "sessions", "gauge", "Sessions that run.");
	fprintf(f, "frisbee_sessions{state=\"running\"} %u\n", running);
	put_head(f, "sessions_total", "counter", "Sessions that have ended since the controller started.");
	for (int s = SWAP_IS_DONE; s < SWAP_STATES; s++)
		fprintf(f, "frisbee_sessions_total{outcome=\"%s\"} %" PRIu64 "\n",
		    swap_state_name((enum swap_state)s), w->ended[s]);
}

static void
put_nodes(FILE *f, const struct swap *w)
{
	unsigned count[SWAP_PHASES] = { 0 };

	for (size_t i = 0; i < w->nnodes; i++)
		count[w->nodes[i].phase]++;
	put_head(f, "nodes", "gauge", "Nodes in each phase.");
	for (int p = 0; p < SWAP_PHASES; p++)
		fprintf(f, "frisbee_nodes{phase=\"%s\"} %u\n", swap_phase_name((enum swap_phase)p), count[p]);
}

/* A name of an image may have '"' or '\' in it only if it cannot be loaded (swap_start()). */
static void
put_each(FILE *f, const struct swap *w, const char *name, const char *type, const char *help,
    double (*value)(const struct swap *, const struct swap_session *))
{
	put_head(f, name, type, help);
	for (size_t i = 0; i < w->nsessions; i++)
		if (w->sessions[i]->state == SWAP_IS_RUNNING)
			fprintf(f, "frisbee_%s{session=\"%u\",image=\"%s\"} %.17g\n", name, w->sessions[i]->id,
			    w->sessions[i]->image, value(w, w->sessions[i]));
}

static double
rate(const struct swap *w, const struct swap_session *s)
{
	(void)w;
	return (double)s->server.rate_bits_per_s;
}

static double
sent(const struct swap *w, const struct swap_session *s)
{
	(void)w;
	return (double)s->server.blocks_sent;
}

static double
resent(const struct swap *w, const struct swap_session *s)
{
	(void)w;
	return (double)s->server.blocks_resent;
}

/* The name of an image that somebody else has asked for may have any character. */
static void
put_label(FILE *f, const char *text)
{
	for (; *text != '\0'; text++)
		fprintf(f, "%s%c", *text == '"' || *text == '\\' ? "\\" : "", *text == '\n' ? ' ' : *text);
}

static void
put_sent(FILE *f, struct web *x, const char *name, const char *type, const char *help, const char *key)
{
	const struct jtree *all = x->c.sent(x->c.arg);
	char address[SHAPES_ADDRESS_BYTES];

	put_head(f, name, type, help);
	for (size_t i = 0; i < jtree_count(all); i++) {
		const struct jtree *s = jtree_at(all, i);
		const char *image = jtree_text(jtree_get(s, "name"));
		shapes_address(s, address);
		fprintf(f, "frisbee_%s{image=\"", name);
		put_label(f, image != NULL ? image : "");
		fprintf(f, "\",address=\"%s\"} %.17g\n", address, jtree_number(jtree_get(s, key), 0));
	}
}

static void
put_one(FILE *f, const char *name, const char *type, const char *help, uint64_t value)
{
	put_head(f, name, type, help);
	fprintf(f, "frisbee_%s %" PRIu64 "\n", name, value);
}

static void
put_all(FILE *f, struct web *x)
{
	const struct swap *w = x->c.w;
	uint64_t taken = 0, refused = 0;

	x->c.reports(x->c.arg, &taken, &refused);
	put_sessions(f, w);
	put_nodes(f, w);
	put_each(f, w, "session_progress", "gauge", "The mean progress of a session's nodes.", swap_progress);
	put_each(f, w, "session_rate_bits_per_second", "gauge", "The rate at which a session sends.", rate);
	put_each(f, w, "session_blocks_sent_total", "counter", "Blocks that a session has sent.", sent);
	put_each(f, w, "session_blocks_resent_total", "counter", "Blocks that a session has sent again.", resent);
	put_sent(f, x, "sent_clients", "gauge", "Clients of an image that mfrisbeed sends, for whomever.", "clients_known");
	put_sent(f, x, "sent_rate_bits_per_second", "gauge", "The rate at which it is sent.", "rate_bits_per_s");
	put_sent(f, x, "sent_blocks_total", "counter", "Blocks of it that were sent.", "blocks_sent");
	put_one(f, "reports_total", "counter", "Reports that were taken.", taken);
	put_one(f, "reports_refused_total", "counter", "Reports that were refused.", refused);
	put_one(f, "node_retries_total", "counter", "Nodes that were tried again.", w->retries);
	put_one(f, "event_streams", "gauge", "Readers of the events.", events_count(x->events));
}

char *
metrics_text(struct web *x, size_t *bytes)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, bytes);

	if (f == NULL)
		return NULL;
	put_all(f, x);
	if (fclose(f) == 0)
		return text;
	free(text);
	return NULL;
}
