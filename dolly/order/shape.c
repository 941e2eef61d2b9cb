/* shape.c: maps the tree of a roster onto a network (shape.h).  topology.c calls it when the
 * server has ended, in the program's first thread. */
#include "dolly/order/shape.h"

#include <stdlib.h>

/* The members of a tree, by their ids; id 0 is the server. */
struct shape {
	const struct roster *roster;
	uint32_t *first,
	    *next; /* by id: its first child; the next child of its parent; 0: none */
	uint32_t *order; /* ids, parents before their children; order[0] is 0 */
	uint32_t *place; /* by id: its index in `order` */
	size_t n;        /* elements of `order` */
};

static bool
is_part(const struct member *m)
{
	return m->placed && m->state == MEMBER_LEFT;
}

/* The id of the member's nearest parent that is a part of the tree. */
static uint32_t
parent_of(const struct roster *r, const struct member *m)
{
	const struct member *p = roster_find(r, m->from);

	for (size_t i = 0; p != NULL && !is_part(p) && i < r->n; i++)
		p = roster_find(r, p->from);
	return p != NULL && is_part(p) ? p->id : 0;
}

/* Lists the ids level after level, beginning with the server's. */
static void
list(struct shape *s)
{
	for (size_t i = s->roster->n; i-- > 0;) {
		const struct member *m = s->roster->members[i];
		uint32_t parent = parent_of(s->roster, m);
		if (!is_part(m))
			continue;
		s->next[m->id] = s->first[parent];
		s->first[parent] = m->id;
	}
	s->order[s->n++] = 0;
	for (size_t i = 0; i < s->n; i++)
		for (uint32_t c = s->first[s->order[i]]; c != 0; c = s->next[c]) {
			s->place[c] = (uint32_t)s->n;
			s->order[s->n++] = c;
		}
}

/* The point of each member in the network, where necessary a new one. */
static int
find_points(const struct shape *s, uint32_t *points, struct network *n,
    const struct route *way, const struct racks *racks, bool *added, struct err *e)
{
	points[0] = n->server;
	for (size_t i = 1; i < s->n; i++) {
		const struct member *m = roster_find(s->roster, s->order[i]);
		points[i] = racks_point(racks, way, m->address);
		if (points[i] != NETWORK_NONE)
			continue;
		*added = true;
		if (network_add_like_server(n, m->name, &points[i], e) != 0)
			return -1;
	}
	return 0;
}

static int
make(struct tree *t, const struct shape *s, struct network *n, struct route *way,
    const struct racks *racks, struct err *e)
{
	uint32_t *points = calloc(2 * s->n, sizeof *points), *parents = points + s->n;
	bool added = false;
	int rc = points != NULL ? 0 : err_nomem(e, "the tree of a run");

	if (rc == 0)
		rc = find_points(s, points, n, way, racks, &added, e);
	if (rc == 0 && added) {
		route_free(way);
		rc = route_make(way, n, e);
	}
	for (size_t i = 1; rc == 0 && i < s->n; i++)
		parents[i] =
		    s->place[parent_of(s->roster, roster_find(s->roster, s->order[i]))];
	if (rc == 0)
		rc = tree_copy(t, TREE_GIVEN, points, parents, s->n, e);
	free(points);
	return rc;
}

int
shape_of_run(struct tree *t, struct network *n, struct route *way,
    const struct racks *racks, const struct roster *r, struct err *e)
{
	size_t ids = r->n + 1;
	uint32_t *room = calloc(4 * ids, sizeof *room);
	struct shape s = { r, room, room + ids, room + 2 * ids, room + 3 * ids, 0 };

	*t = (struct tree){ 0 };
	if (room == NULL)
		return err_nomem(e, "the tree of a run");
	list(&s);
	int rc = make(t, &s, n, way, racks, e);
	free(room);
	return rc;
}
