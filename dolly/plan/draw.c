/* draw.c: the picture of a prediction: links in grey, streams in colour, and below them a chart
 * of the rate over the number of nodes.  plan.c calls it for `dolly plan --svg`, in the
 * program's only thread.  Names need no escaping: hostlist.h admits no character into them that
 * means something to SVG. */
#include "dolly/plan/draw.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/disk/output.h"

enum {
	HOSTS_MAX = 64,
	WIDTH = 960,
	/* Lengths are units of the picture. */
	SLOT_MIN = 56,   /* width for a host, at least */
	LEVEL = 100,     /* height of a level of the network */
	MARGIN = 40,
	CHART_HEIGHT = 260,
	CHART_STEPS = 24, /* steps of a curve */
};

static const char *const colours[] = { "#4c72b0", "#dd8452", "#55a868", "#c44e52",
	"#8172b3", "#937860", "#da8bc3", "#8c8c8c" };

struct place {
	double x, y;
	bool shown;
};

struct drawing {
	FILE *out;
	const struct network *n;
	const struct route *r;
	const struct predict_config *c;
	struct place *places; /* of each point */
	double width, net_height;
};

/* Places the hosts that are drawn: the server at the top, the others side by side at the
 * bottom. */
static void
place_points(struct drawing *d)
{
	size_t hosts = d->r->nhosts < HOSTS_MAX ? d->r->nhosts : HOSTS_MAX;
	uint32_t deepest = 0;
	double slot = fmax(SLOT_MIN, (WIDTH - 2.0 * MARGIN) / (double)hosts);

	d->width = fmax(WIDTH, slot * (double)hosts + 2 * MARGIN);
	for (size_t i = 1; i < hosts; i++) {
		uint32_t depth = d->r->steps[d->r->hosts[i]].depth;
		deepest = depth > deepest ? depth : deepest;
	}
	d->net_height = MARGIN * 2 + LEVEL * (deepest > 0 ? deepest : 1);
	for (size_t i = 0; i < hosts; i++)
		d->places[d->r->hosts[i]] = (struct place){
			MARGIN + slot * ((double)i + 0.5), d->net_height - MARGIN, true
		};
	d->places[d->r->hosts[0]].y = MARGIN;
}

/* Places each switch above the mean position of the hosts behind it, at the height of its
 * level. */
static void
place_switches(struct drawing *d)
{
	double *sum = calloc(d->n->npoints, sizeof *sum);
	size_t *count = calloc(d->n->npoints, sizeof *count);

	for (size_t i = 0; sum != NULL && count != NULL && i < d->n->npoints; i++)
		for (uint32_t at = (uint32_t)i; d->places[i].shown && d->n->points[i].host &&
		     d->r->steps[at].depth > 0;) {
			at = d->r->steps[at].up;
			sum[at] += d->places[i].x;
			count[at]++;
		}
	for (size_t i = 0; sum != NULL && count != NULL && i < d->n->npoints; i++)
		if (!d->n->points[i].host && count[i] > 0)
			d->places[i] = (struct place){ sum[i] / (double)count[i],
				MARGIN + LEVEL * d->r->steps[i].depth, true };
	free(sum);
	free(count);
}

static void
draw_links(const struct drawing *d)
{
	for (size_t i = 0; i < d->n->npoints; i++) {
		uint32_t up = d->r->steps[i].up;
		const struct place *a = &d->places[i];
		if (!a->shown || up == NETWORK_NONE || !d->places[up].shown)
			continue;
		fprintf(d->out,
		    "<line x1='%.0f' y1='%.0f' x2='%.0f' y2='%.0f' stroke='#bbb' "
		    "stroke-width='3'/>\n",
		    a->x, a->y, d->places[up].x, d->places[up].y);
	}
}

static void
draw_points(const struct drawing *d)
{
	for (size_t i = 0; i < d->n->npoints; i++) {
		const struct place *p = &d->places[i];
		const struct network_point *x = &d->n->points[i];
		if (!p->shown)
			continue;
		fprintf(d->out,
		    x->host ? "<circle cx='%.0f' cy='%.0f' r='9' fill='%s' stroke='#333'/>\n"
			    : "<rect x='%.0f' y='%.0f' width='36' height='16' fill='%s' "
			      "stroke='#333'/>\n",
		    x->host ? p->x : p->x - 18, x->host ? p->y : p->y - 8,
		    (uint32_t)i == d->n->server ? "#ffd27f" : x->host ? "#fff" : "#ddd");
		fprintf(d->out,
		    "<text x='%.0f' y='%.0f' font-size='10' text-anchor='middle'>%s</text>\n",
		    p->x, p->y + (x->host ? 24 : -12), x->name);
	}
}

/* The streams of one way as arcs from sender to receiver. */
static int
draw_streams(const struct drawing *d, const struct predict_row *row, struct err *e)
{
	struct tree t = { 0 };
	size_t clients = d->c->clients > 0 ? d->c->clients : d->r->nhosts;
	int rc = tree_make(&t, d->n, d->r, row->kind, row->arity, clients, e);

	for (size_t i = 1; rc == 0 && i < t.n; i++) {
		const struct place *a = &d->places[t.nodes[t.parents[i]]];
		const struct place *b = &d->places[t.nodes[i]];
		if (!a->shown || !b->shown)
			continue;
		double bend = -20 - fabs(b->x - a->x) * 0.12;
		fprintf(d->out,
		    "<path d='M%.0f %.0f Q%.0f %.0f %.0f %.0f' fill='none' stroke='%s' "
		    "stroke-width='2' marker-end='url(#arrow)'/>\n",
		    a->x, a->y, (a->x + b->x) / 2, (a->y + b->y) / 2 + bend, b->x, b->y,
		    colours[0]);
	}
	tree_free(&t);
	return rc;
}

/* The scale of the chart. */
struct chart {
	double top, clients_max, rate_max;
};

static double
chart_x(const struct drawing *d, const struct chart *c, double clients)
{
	return 2 * MARGIN + (d->width - 6.0 * MARGIN) * clients / c->clients_max;
}

static double
chart_y(const struct chart *c, double rate)
{
	return c->top + CHART_HEIGHT - (CHART_HEIGHT - 20) * rate / c->rate_max;
}

static void
draw_axes(const struct drawing *d, const struct chart *c)
{
	double left = chart_x(d, c, 0), right = chart_x(d, c, c->clients_max);

	fprintf(d->out, "<path d='M%.0f %.0f V%.0f H%.0f' fill='none' stroke='#333'/>\n",
	    left, c->top, c->top + CHART_HEIGHT, right);
	fprintf(d->out,
	    "<text x='%.0f' y='%.0f' font-size='11'>raw data, MB/s</text>\n", left - 30,
	    c->top - 8);
	fprintf(d->out,
	    "<text x='%.0f' y='%.0f' font-size='11' text-anchor='end'>nodes: %.0f</text>\n",
	    right, c->top + CHART_HEIGHT + 16, c->clients_max);
	for (int i = 1; i <= 4; i++)
		fprintf(d->out,
		    "<text x='%.0f' y='%.0f' font-size='10' text-anchor='end'>%.4g</text>\n",
		    left - 4, chart_y(c, c->rate_max * i / 4) + 3, c->rate_max * i / 4e6);
}

static int
draw_curve(const struct drawing *d, const struct chart *c, const struct predict_row *row,
    size_t number, struct err *e)
{
	const char *colour = colours[number % (sizeof colours / sizeof colours[0])];
	size_t most = (size_t)c->clients_max;
	size_t step = most > CHART_STEPS ? most / CHART_STEPS : 1;
	struct predict_row at = { 0 };

	fprintf(d->out, "<polyline fill='none' stroke-width='2' stroke='%s' points='",
	    colour);
	for (size_t n = 1; n <= most; n += step) {
		struct predict_config config = *d->c;
		config.clients = n;
		if (predict_one(&at, d->n, d->r, &config, row->kind, row->arity, e) != 0)
			return -1;
		fprintf(d->out, "%.1f,%.1f ", chart_x(d, c, (double)n),
		    chart_y(c, fmin(at.rate, c->rate_max)));
	}
	fprintf(d->out, "'/>\n<text x='%.0f' y='%.0f' font-size='11' fill='%s'>%s</text>\n",
	    d->width - 3.5 * MARGIN, c->top + 12 + 15 * (double)number, colour, row->name);
	return 0;
}

static int
draw_chart(const struct drawing *d, const struct prediction *p, struct err *e)
{
	struct chart c = { .top = d->net_height + MARGIN,
		.clients_max = (double)p->rows[0].clients };

	for (size_t i = 0; i < p->n; i++)
		if (!isinf(p->rows[i].rate))
			c.rate_max = fmax(c.rate_max, p->rows[i].rate * 1.1);
	/* The scale also includes the rates of one node: trees and stars are faster with few. */
	for (size_t i = 0; i < p->n; i++) {
		struct predict_config one = *d->c;
		struct predict_row row;
		one.clients = 1;
		if (predict_one(&row, d->n, d->r, &one, p->rows[i].kind, p->rows[i].arity,
			e) != 0)
			return -1;
		if (!isinf(row.rate))
			c.rate_max = fmax(c.rate_max, row.rate * 1.1);
	}
	if (c.rate_max == 0)
		return 0; /* nothing limits anything */
	draw_axes(d, &c);
	for (size_t i = 0; i < p->n; i++)
		if (p->rows[i].kind != TREE_GIVEN &&
		    draw_curve(d, &c, &p->rows[i], i, e) != 0)
			return -1;
	return 0;
}

static int
draw_all(struct drawing *d, const struct prediction *p, struct err *e)
{
	const struct predict_row *best = &p->rows[p->best];

	place_points(d);
	place_switches(d);
	fprintf(d->out,
	    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %.0f %.0f' "
	    "font-family='sans-serif'>\n<defs><marker id='arrow' viewBox='0 0 8 8' refX='14' "
	    "refY='4' markerWidth='6' markerHeight='6' orient='auto'>"
	    "<path d='M0 0 L8 4 L0 8 z' fill='%s'/></marker></defs>\n"
	    "<rect width='100%%' height='100%%' fill='#fff'/>\n",
	    d->width, d->net_height + CHART_HEIGHT + 3 * MARGIN, colours[0]);
	fprintf(d->out, "<text x='%d' y='20' font-size='13'>Streams of the fastest way over TCP "
		    "(%s); its limit: %s%s</text>\n",
	    MARGIN, best->name, best->reason,
	    d->r->nhosts > HOSTS_MAX ? " (only the first hosts are drawn)" : "");
	draw_links(d);
	if (draw_streams(d, best, e) != 0)
		return -1;
	draw_points(d);
	if (draw_chart(d, p, e) != 0)
		return -1;
	fprintf(d->out, "</svg>\n");
	return 0;
}

static bool
begins_as_svg(const uint8_t *head)
{
	return memcmp(head, "<svg", 4) == 0;
}

static int
save(const char *path, bool force, const void *text, size_t bytes, struct err *e)
{
	static const struct output_kind kind = { "an SVG picture", 4, begins_as_svg };
	struct output o;

	if (output_open(&o, path, &kind, force, e) != 0)
		return -1;
	if (output_write(&o, text, bytes, e) != 0) {
		output_abort(&o);
		return -1;
	}
	return output_commit(&o, true, e);
}

int
draw_plan(const char *path, bool force, const struct network *n, const struct route *r,
    const struct predict_config *c, const struct prediction *p, struct err *e)
{
	char *text = NULL;
	size_t bytes = 0;
	struct drawing d = { .n = n, .r = r, .c = c };

	d.places = calloc(n->npoints, sizeof *d.places);
	d.out = open_memstream(&text, &bytes);
	int rc = d.places != NULL && d.out != NULL ? draw_all(&d, p, e)
	                                           : err_nomem(e, path);
	if (d.out != NULL && fclose(d.out) != 0 && rc == 0)
		rc = err_nomem(e, path);
	if (rc == 0)
		rc = save(path, force, text, bytes, e);
	free(text);
	free(d.places);
	return rc;
}
