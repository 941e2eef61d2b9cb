/* serve_report.c: prints the result of each node as a table or as JSON.  serve.c
 * calls it in the program's first thread, when the server has ended. */
#include <math.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/say.h"
#include "common/cli/failure.h"
#include "common/wire/addr.h"
#include "dolly/dolly.h"
#include "dolly/engine/roster.h"
#include "dolly/order/node_list.h"

/* Has a node that was cut out joined again, and become whole? */
static bool
came_back(const struct roster *r, const struct member *m)
{
	struct roster_guest g = { .port = m->port, .spot = m->spot };

	memcpy(g.address, m->address, sizeof g.address);
	for (size_t i = 0; i < r->n; i++) {
		const struct member *o = r->members[i];
		if (o->state == MEMBER_LEFT && o->number > m->number && roster_is_same(o, &g))
			return true;
	}
	return false;
}

static const char *
fate(const struct roster *r, const struct member *m)
{
	if (m->state == MEMBER_LEFT)
		return "whole";
	return came_back(r, m) ? "came back" : "not whole";
}

static void
show_table(const struct roster *r, const struct node_list *node_list, uint32_t chunks)
{
	char address[ADDR_TEXT_MAX];

	say_text(stdout, "%-20s %-15s %-10s %9s\n", "node", "address", "", "chunks");
	for (size_t i = 0; i < r->n; i++) {
		const struct member *m = r->members[i];
		say_text(stdout, "%-20.60s %-15s %-10s %9u of %u%s%s\n", m->name,
		    addr_text(m->address, address), fate(r, m), m->have, chunks,
		    m->why[0] != '\0' ? ": " : "", m->why);
	}
	for (size_t i = 0; i < node_list->names.n; i++)
		if (!node_list->taken[i])
			say_text(stdout, "%-20.60s %-15s %-10s\n", node_list->names.names[i],
			    addr_text(node_list->addresses[i], address), "never came");
}

static void
put_nodes(struct json *j, const struct roster *r, const struct node_list *node_list)
{
	char address[ADDR_TEXT_MAX];

	json_array(j, "nodes");
	for (size_t i = 0; i < r->n; i++) {
		const struct member *m = r->members[i];
		json_object(j, NULL);
		json_string(j, "name", m->name);
		json_string(j, "address", addr_text(m->address, address));
		json_uint(j, "port", m->port);
		json_string(j, "state", fate(r, m));
		json_uint(j, "chunks", m->have);
		if (m->why[0] != '\0')
			json_string(j, "reason", m->why);
		json_end(j);
	}
	for (size_t i = 0; i < node_list->names.n; i++) {
		if (node_list->taken[i])
			continue;
		json_object(j, NULL);
		json_string(j, "name", node_list->names.names[i]);
		json_string(j, "address", addr_text(node_list->addresses[i], address));
		json_string(j, "state", "never came");
		json_end(j);
	}
	json_end(j);
}

static void
count(const struct roster *r, const struct node_list *node_list, unsigned *whole,
    unsigned *missing)
{
	*whole = *missing = 0;
	for (size_t i = 0; i < r->n; i++) {
		const struct member *m = r->members[i];
		*whole += m->state == MEMBER_LEFT;
		*missing += m->state != MEMBER_LEFT && !came_back(r, m);
	}
	for (size_t i = 0; i < node_list->names.n; i++)
		*missing += !node_list->taken[i];
}

static double
rate_of(const struct serve_run *run, double seconds)
{
	return seconds > 0 && !isinf(seconds) ? (double)run->bytes / seconds : 0;
}

static bool
has_prediction(const struct serve_run *run)
{
	return run->predicted && !isinf(run->row.seconds);
}

/* Prints the predicted time and rate, and below them the actual ones. */
static void
show_run(const struct serve_run *run)
{
	const struct predict_row *p = &run->row;

	if (has_prediction(run))
		say_text(stdout,
		    "%-10s %10.1f s %10.1f MB/s  %s, %zu nodes, depth %u, limited by %s\n",
		    "predicted", p->seconds, rate_of(run, p->seconds) / 1e6, p->name,
		    p->clients, p->depth, p->reason);
	if (run->seconds <= 0)
		return;
	say_text(stdout, "%-10s %10.1f s %10.1f MB/s", "actual", run->seconds,
	    rate_of(run, run->seconds) / 1e6);
	if (has_prediction(run))
		say_text(stdout, "  %.2f of the predicted time", run->seconds / p->seconds);
	say_text(stdout, "\n");
}

static void
put_pace(struct json *j, const struct serve_run *run, double seconds)
{
	json_double(j, "seconds", seconds);
	json_double(j, "bytes_per_s", rate_of(run, seconds));
}

static void
put_prediction(struct json *j, const struct serve_run *run)
{
	const struct predict_row *p = &run->row;

	json_object(j, "predicted");
	put_pace(j, run, p->seconds);
	json_string(j, "topology", p->name);
	json_uint(j, "clients", p->clients);
	json_uint(j, "depth", p->depth);
	json_end(j);
	json_string(j, "limited_by", p->reason);
	if (run->seconds > 0)
		json_double(j, "actual_over_predicted", run->seconds / p->seconds);
}

void
report_encrypted(struct json *j, bool key, const struct wires_encrypted *encrypted)
{
	if (!key)
		return;
	json_uint(j, "connections_encrypted", encrypted->all);
	json_uint(j, "connections_encrypted_by_kernel", encrypted->in_kernel);
}

static void
put_run(struct json *j, const struct serve_run *run, bool key)
{
	json_uint(j, "chunks", run->chunks);
	json_uint(j, "bytes_sent", run->bytes_sent);
	report_encrypted(j, key, &run->encrypted);
	if (run->seconds > 0) {
		json_object(j, "actual");
		put_pace(j, run, run->seconds);
		json_end(j);
	}
	if (has_prediction(run))
		put_prediction(j, run);
}

static int
show_json(const struct options *o, const struct roster *r, const struct node_list *node_list,
    const struct serve_run *run, const struct err *failure, struct err *e)
{
	struct json *j = json_new();

	json_object(j, NULL);
	put_run(j, run, o->key != NULL);
	put_nodes(j, r, node_list);
	if (failure != NULL)
		failure_put_err(j, failure, err_exit_status(failure));
	json_end(j);
	return json_show(j, e);
}

int
serve_report(const struct options *o, const struct roster *r, const struct node_list *node_list,
    const struct serve_run *run, struct err *e)
{
	unsigned whole, missing;
	struct err failure;

	count(r, node_list, &whole, &missing);
	(void)err_set(&failure, ERR_IO,
	    "%u of %u nodes have not installed the whole image", missing,
	    whole + missing);
	if (!o->json) {
		show_table(r, node_list, run->chunks);
		show_run(run);
	} else if (show_json(o, r, node_list, run, missing > 0 ? &failure : NULL, e) != 0)
		return -1;
	if (missing == 0)
		return 0;
	*e = failure;
	if (o->json)
		failure_told(e);
	return -1;
}
