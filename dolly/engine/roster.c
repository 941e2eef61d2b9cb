/* roster.c: the tree of nodes (roster.h).  server.c calls it, in the engine's thread. */
#include "dolly/engine/roster.h"

#include "common/base/grow.h"

struct member *
roster_add(struct roster *r, struct err *e)
{
	if (r->n >= ROSTER_MAX) {
		(void)err_set(
		    e, ERR_REFUSED, "%u nodes have joined already", ROSTER_MAX);
		return NULL;
	}
	if (grow(&r->members, &r->cap, r->n, sizeof *r->members, "the nodes", e) != 0)
		return NULL;
	struct member *m = calloc(1, sizeof *m);
	if (m == NULL) {
		(void)err_nomem(e, "a node");
		return NULL;
	}
	r->members[r->n++] = m;
	m->id = (uint32_t)r->n;
	return m;
}

void
roster_free(struct roster *r)
{
	for (size_t i = 0; i < r->n; i++)
		free(r->members[i]);
	free(r->members);
	*r = (struct roster){ 0 };
}

struct member *
roster_find(const struct roster *r, uint32_t id)
{
	return id > 0 && id <= r->n ? r->members[id - 1] : NULL;
}

/* The first member of this rack (ROSTER_NO_RACK: of any rack) that can have one more child,
 * or NULL.  `level` has the n members of the tree, level after level. */
static struct member *
free_place(const struct roster *r, struct member *const *level, size_t n, uint32_t rack)
{
	for (size_t i = 0; i < n; i++)
		if (level[i]->children < r->arity &&
		    (rack == ROSTER_NO_RACK || level[i]->spot.rack == rack))
			return level[i];
	return NULL;
}

/* Fills level[r->n] with the members of the tree, level after level, and returns their
 * number. */
static size_t
by_levels(const struct roster *r, struct member **level)
{
	size_t n = 0;

	for (struct member *m = r->child; m != NULL; m = m->next)
		level[n++] = m;
	for (size_t i = 0; i < n; i++)
		for (struct member *m = level[i]->child; m != NULL; m = m->next)
			level[n++] = m;
	return n;
}

/* The last member of a chain, or NULL.  A recursion would be as deep as the chain is long. */
static struct member *
last_of_chain(const struct roster *r)
{
	struct member *m = r->child;

	while (m != NULL && m->child != NULL)
		m = m->child;
	return m;
}

/* The parent for a node of this rack.  NULL: the server, also when there is no memory for
 * the search. */
static struct member *
find_parent(const struct roster *r, uint32_t rack)
{
	bool room = r->children < r->arity;

	if (r->arity == ROSTER_MAX ||
	    (room && (rack == ROSTER_NO_RACK || rack == r->rack || r->child == NULL)))
		return NULL;
	if (r->arity == 1)
		return last_of_chain(r);
	struct member **level = calloc(r->n, sizeof(struct member *));
	if (level == NULL)
		return NULL;
	size_t n = by_levels(r, level);
	struct member *m = free_place(r, level, n, rack);
	if (m == NULL && !room)
		m = free_place(r, level, n, ROSTER_NO_RACK);
	free(level);
	return m;
}

static void
attach(struct roster *r, struct member *m, struct member *p)
{
	struct member **list = p != NULL ? &p->child : &r->child;

	m->parent = p;
	m->placed = true;
	m->from = p != NULL ? p->id : 0;
	while (*list != NULL)
		list = &(*list)->next;
	*list = m;
	m->next = NULL;
	if (p != NULL)
		p->children++;
	else
		r->children++;
	m->state = MEMBER_TAKES;
}

void
roster_place(struct roster *r, struct member *m, bool direct)
{
	attach(r, m, direct ? NULL : find_parent(r, m->spot.rack));
}

static int
by_order(const void *a, const void *b)
{
	const struct member *x = *(struct member *const *)a;
	const struct member *y = *(struct member *const *)b;

	if (x->spot.order != y->spot.order)
		return x->spot.order < y->spot.order ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* Places n members, which are in their order.  The parent of a member is the first member of
 * its rack with fewer children than the arity; the parent of the first member of a rack is
 * the last member of the rack before. */
static void
place_racks(struct roster *r, struct member *const *m, size_t n)
{
	size_t first = 0; /* the first member of the present rack that may have room */
	bool server = true; /* the server is in the present rack, and may have room */

	for (size_t i = 0; i < n; i++) {
		uint32_t before = i > 0 ? m[i - 1]->spot.rack : r->rack;
		if (m[i]->spot.rack != before) {
			attach(r, m[i], i > 0 ? m[i - 1] : NULL);
			first = i;
			server = false;
			continue;
		}
		server = server && r->children < r->arity;
		while (!server && m[first]->children >= r->arity)
			first++;
		attach(r, m[i], server ? NULL : m[first]);
	}
}

int
roster_place_all(struct roster *r, struct err *e)
{
	struct member **waiting = calloc(r->n + 1, sizeof(struct member *));
	size_t n = 0;

	if (waiting == NULL)
		return err_nomem(e, "the order of nodes");
	for (size_t i = 0; i < r->n; i++)
		if (r->members[i]->state == MEMBER_WAITS)
			waiting[n++] = r->members[i];
	qsort(waiting, n, sizeof(struct member *), by_order);
	if (r->arity == ROSTER_MAX)
		for (size_t i = 0; i < n; i++)
			attach(r, waiting[i], NULL);
	else
		place_racks(r, waiting, n);
	free(waiting);
	return 0;
}

void
roster_take_out(struct roster *r, struct member *m)
{
	struct member **list = m->parent != NULL ? &m->parent->child : &r->child;

	while (*list != m)
		list = &(*list)->next;
	*list = m->next;
	m->next = NULL;
	if (m->parent != NULL)
		m->parent->children--;
	else
		r->children--;
	m->parent = NULL;
}

struct member *
roster_orphan(struct member *m)
{
	struct member *c = m->child;

	if (c == NULL)
		return NULL;
	m->child = c->next;
	m->children--;
	c->next = NULL;
	c->parent = NULL;
	return c;
}
