/* roster.c: the tree of nodes.  Called by server.c. */
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

/* Level after level: the places of one are looked at before those of the next.  `depth`
 * levels are gone down; *any: there was somebody. */
static struct member *
free_place(const struct roster *r, struct member *first, unsigned depth, bool *any)
{
	for (struct member *m = first; m != NULL; m = m->next) {
		struct member *found = NULL;
		if (depth == 0) {
			*any = true;
			if (m->children < r->arity)
				found = m;
		} else {
			found = free_place(r, m->child, depth - 1, any);
		}
		if (found != NULL)
			return found;
	}
	return NULL;
}

/* The end of the chain; recursion would be as deep as the chain is long. */
static struct member *
last_of_chain(const struct roster *r)
{
	struct member *m = r->child;

	while (m != NULL && m->child != NULL)
		m = m->child;
	return m;
}

static struct member *
find_parent(const struct roster *r)
{
	bool any = true;

	if (r->children < r->arity)
		return NULL;
	if (r->arity == 1)
		return last_of_chain(r);
	for (unsigned depth = 0; any; depth++) {
		any = false;
		struct member *m = free_place(r, r->child, depth, &any);
		if (m != NULL)
			return m;
	}
	return NULL;
}

void
roster_place(struct roster *r, struct member *m, bool direct)
{
	struct member *p = direct ? NULL : find_parent(r);
	struct member **list = p != NULL ? &p->child : &r->child;

	m->parent = p;
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
