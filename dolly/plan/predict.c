/* predict.c: evaluates each way of sending with the model, and finds the best one (predict.h).
 * plan.c, draw.c and topology.c call it, in the program's first thread. */
#include "dolly/plan/predict.h"

#include <math.h>
#include <stdio.h>

static void
name_row(struct predict_row *row)
{
	static const char *const names[] = { [TREE_MULTICAST] = "multicast",
		[TREE_CHAIN] = "chain",
		[TREE_STAR] = "star",
		[TREE_GIVEN] = "given" };

	if (row->kind == TREE_NARY)
		snprintf(row->name, sizeof row->name, "tree=%u", row->arity);
	else
		snprintf(row->name, sizeof row->name, "%s", names[row->kind]);
}

static void
name_reason(
    struct predict_row *row, const struct network *n, const struct model_limit *l)
{
	static const char *const resources[] = { [MODEL_NODE] = "switching capacity",
		[MODEL_DISK] = "disk",
		[MODEL_IOBUS] = "I/O bus",
		[MODEL_MEMORY] = "memory",
		[MODEL_PROCESSOR] = "processor" };
	const char *point = n->points[l->point].name;

	switch (l->resource) {
	case MODEL_NOTHING:
		snprintf(row->reason, sizeof row->reason, "nothing that is described");
		break;
	case MODEL_LINK:
		snprintf(row->reason, sizeof row->reason, "link %s to %s", point,
		    n->points[l->to].name);
		break;
	case MODEL_SWITCH:
		snprintf(row->reason, sizeof row->reason, "switch %s", point);
		break;
	default:
		snprintf(row->reason, sizeof row->reason, "%s: %s", point,
		    resources[l->resource]);
	}
}

/* Fills in everything except kind and arity. */
static int
solve(struct predict_row *row, const struct network *n, const struct route *r,
    const struct predict_config *c, const struct tree *t, struct err *e)
{
	struct model_limit l;

	if (model_solve(&l, n, r, t, c->compression, e) != 0)
		return -1;
	row->clients = t->n - 1;
	row->depth = t->depth;
	row->rate = l.rate;
	row->resource = l.resource;
	row->seconds =
	    c->raw_bytes > 0 ? model_seconds(n, t, &l, c->raw_bytes) : INFINITY;
	name_row(row);
	name_reason(row, n, &l);
	return 0;
}

int
predict_one(struct predict_row *row, const struct network *n, const struct route *r,
    const struct predict_config *c, enum tree_kind kind, unsigned arity, struct err *e)
{
	struct tree t = { 0 };

	*row = (struct predict_row){ .kind = kind, .arity = arity };
	int rc = tree_make(
	    &t, n, r, kind, arity, c->clients > 0 ? c->clients : r->nhosts, e);
	if (rc == 0)
		rc = solve(row, n, r, c, &t, e);
	tree_free(&t);
	return rc;
}

int
predict_tree(struct predict_row *row, const struct network *n, const struct route *r,
    const struct predict_config *c, const struct tree *t, struct err *e)
{
	uint32_t width = tree_width(t);

	*row = (struct predict_row){ .kind = width <= 1      ? TREE_CHAIN
		                             : t->depth <= 1 ? TREE_STAR
		                                             : TREE_NARY,
		.arity = width };
	return solve(row, n, r, c, t, e);
}

/* Ways are compared by their times, where these are known, and else by their rates. */
static bool
better(const struct predict_row *a, const struct predict_row *b)
{
	return isinf(a->seconds) || isinf(b->seconds) ? a->rate > b->rate
	                                              : a->seconds < b->seconds;
}

static int
add(struct prediction *p, const struct network *n, const struct route *r,
    const struct predict_config *c, enum tree_kind kind, unsigned arity, struct err *e)
{
	struct predict_row *row = &p->rows[p->n];

	if (predict_one(row, n, r, c, kind, arity, e) != 0)
		return -1;
	if (kind != TREE_MULTICAST &&
	    (p->rows[p->best].kind == TREE_MULTICAST || better(row, &p->rows[p->best])))
		p->best = p->n;
	p->n++;
	return 0;
}

int
predict_all(struct prediction *p, const struct network *n, const struct route *r,
    const struct predict_config *c, struct err *e)
{
	*p = (struct prediction){ 0 };
	if (r->nhosts < 2)
		return err_set(e, ERR_FORMAT, "no host can be reached from %s",
		    n->points[n->server].name);
	int rc = add(p, n, r, c, TREE_MULTICAST, 0, e);
	if (rc == 0)
		rc = add(p, n, r, c, TREE_CHAIN, 1, e);
	for (unsigned a = 2; rc == 0 && a <= c->arity_max && p->n < PREDICT_ROWS_MAX - 2; a++)
		rc = add(p, n, r, c, TREE_NARY, a, e);
	if (rc == 0)
		rc = add(p, n, r, c, TREE_STAR, 0, e);
	if (rc == 0 && n->has_streams)
		rc = add(p, n, r, c, TREE_GIVEN, 0, e);
	return rc;
}
