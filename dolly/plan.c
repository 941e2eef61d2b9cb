/* plan.c: the command `dolly plan`: reads the description of a network, predicts
 * rates and times, and prints or draws them.  main.c calls it, in the program's first
 * thread. */
#include <math.h>
#include <stdlib.h>

#include "common/base/json.h"
#include "common/base/number.h"
#include "common/base/say.h"
#include "dolly/dolly.h"
#include "dolly/plan/draw.h"

enum { ARITY_MAX = 5 };

int
plan_compression(const char *text, double *factor, struct err *e)
{
	char *end;

	*factor = 1;
	if (text == NULL)
		return 0;
	*factor = strtod(text, &end);
	if (end == text || *end != '\0' || !(*factor >= 1 && *factor <= 1000))
		return err_set(e, ERR_USAGE,
		    "--compression: \"%.40s\" is not a number of 1 to 1000", text);
	return 0;
}

static void
show_row(const struct predict_row *r, bool best)
{
	char rate[32] = "unlimited", time[32] = "-";

	if (!isinf(r->rate))
		snprintf(rate, sizeof rate, "%.1f MB/s", r->rate / 1e6);
	if (!isinf(r->seconds))
		snprintf(time, sizeof time, "%.0f s", r->seconds);
	say_text(stdout, "%-10s %14s %10s  %s%s\n", r->name, rate, time, r->reason,
	    best ? "  (best over TCP)" : "");
}

static int
show_json(const struct network *n, const struct prediction *p, struct err *e)
{
	struct json *j = json_new();

	json_object(j, NULL);
	json_string(j, "server", n->points[n->server].name);
	json_array(j, "predictions");
	for (size_t i = 0; i < p->n; i++) {
		const struct predict_row *r = &p->rows[i];
		json_object(j, NULL);
		json_string(j, "topology", r->name);
		json_uint(j, "clients", r->clients);
		json_uint(j, "depth", r->depth);
		if (!isinf(r->rate))
			json_double(j, "bytes_per_s", r->rate);
		if (!isinf(r->seconds))
			json_double(j, "seconds", r->seconds);
		json_string(j, "limited_by", r->reason);
		json_bool(j, "best", i == p->best);
		json_end(j);
	}
	json_end(j);
	json_end(j);
	return json_show(j, e);
}

int
plan_print(const struct options *o, const struct network *n, const struct prediction *p,
    struct err *e)
{
	if (o->json)
		return show_json(n, p, e);
	say_text(stdout, "%zu clients of %s\n", p->rows[0].clients,
	    n->points[n->server].name);
	say_text(stdout, "%-10s %14s %10s  %s\n", "topology", "raw data", "time",
	    "limited by");
	for (size_t i = 0; i < p->n; i++)
		show_row(&p->rows[i], i == p->best);
	return 0;
}

static int
plan(const struct options *o, const struct network *n, const struct route *r,
    size_t clients, struct err *e)
{
	struct predict_config c = { .raw_bytes = (double)o->image_bytes,
		.clients = clients,
		.arity_max = ARITY_MAX };
	struct prediction p;

	if (plan_compression(o->compression, &c.compression, e) != 0 ||
	    predict_all(&p, n, r, &c, e) != 0)
		return -1;
	if (o->svg != NULL && draw_plan(o->svg, o->install.force, n, r, &c, &p, e) != 0)
		return -1;
	return plan_print(o, n, &p, e);
}

/* A description that has no host but the server, as calibrate prints it: --nodes N adds N hosts
 * like the server. */
static int
add_nodes(struct network *net, struct route *r, uint64_t nodes, struct err *e)
{
	uint32_t point;
	char name[NETWORK_NAME_BYTES];

	if (r->nhosts > 1 || nodes == 0)
		return 0;
	for (uint64_t i = 1; i <= nodes; i++) {
		snprintf(name, sizeof name, "node %llu", (unsigned long long)i);
		if (network_add_like_server(net, name, &point, e) != 0)
			return -1;
	}
	route_free(r);
	return route_make(r, net, e);
}

int
command_plan(const struct options *o, char **operands, int n, struct err *e)
{
	struct network net = { 0 };
	struct route r = { 0 };
	uint64_t nodes = 0;
	int rc = 0;

	(void)n;
	if (o->nodes != NULL && number_uint(o->nodes, 1, NETWORK_POINTS_MAX, &nodes, e) != 0)
		rc = err_ctx(e, "--nodes");
	if (rc == 0)
		rc = network_read(&net, operands[0], e);
	if (rc == 0)
		rc = route_make(&r, &net, e);
	if (rc == 0)
		rc = add_nodes(&net, &r, nodes, e);
	if (rc == 0)
		rc = plan(o, &net, &r, nodes, e);
	route_free(&r);
	network_free(&net);
	return rc;
}
