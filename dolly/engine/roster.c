/* roster.c: the tree of nodes (roster.h).  server.c calls it, in the engine's thread. */
#include "dolly/engine/roster.h"

#include <string.h>

#include "common/base/grow.h"

enum {
	SAME_KEPT = 1, /* entries of one node that was cut out again and again: a table says why */
	ADDRESS_KEPT = 64, /* ... of one address */
	WORTH_TIMES = 8,   /* so often may an address come and go before it has to get further */
};

bool
roster_is_same(const struct member *m, const struct roster_guest *g)
{
	if (m->spot.listed != ROSTER_NOT_LISTED && m->spot.listed == g->spot.listed)
		return true;
	return m->port == g->port && memcmp(m->address, g->address, sizeof m->address) == 0;
}

static struct roster_past
past_of(const struct roster *r, const struct roster_guest *g)
{
	struct roster_past p = { 0 };

	for (size_t i = 0; i < r->n; i++) {
		const struct member *m = r->members[i];
		bool out = m->state == MEMBER_OUT;
		bool near = memcmp(m->address, g->address, sizeof m->address) == 0;
		if (!(out && near) && !((out || m->state == MEMBER_LEFT) && roster_is_same(m, g)))
			continue;
		p.times = m->past.times + 1 > p.times ? m->past.times + 1 : p.times;
		p.most = m->past.most > p.most ? m->past.most : p.most;
		p.most = m->have > p.most ? m->have : p.most;
	}
	return p;
}

bool
roster_is_worth(const struct member *m)
{
	return !m->whole && (m->past.times <= WORTH_TIMES || m->have > m->past.most);
}

static bool
is_older(const struct member *m, const struct member *other)
{
	return other == NULL || m->number < other->number;
}

/* The entry of a node that was cut out, which the guest gets; or NULL. */
static struct member *
find_used(const struct roster *r, const struct roster_guest *g)
{
	struct member *own = NULL, *near = NULL, *any = NULL;
	unsigned owns = 0, nears = 0;

	for (size_t i = 0; i < r->n; i++) {
		struct member *m = r->members[i];
		if (m->state != MEMBER_OUT || m->peer != NULL)
			continue;
		any = is_older(m, any) ? m : any;
		if (memcmp(m->address, g->address, sizeof m->address) == 0) {
			near = is_older(m, near) ? m : near;
			nears++;
		}
		if (roster_is_same(m, g)) {
			own = is_older(m, own) ? m : own;
			owns++;
		}
	}
	if (owns > SAME_KEPT)
		return own;
	if (nears >= ADDRESS_KEPT)
		return near;
	return r->n >= ROSTER_MAX ? any : NULL;
}

/* Nothing is left of the node that had this entry. */
static void
forget(struct roster *r, struct member *m)
{
	for (size_t i = 0; i < r->n; i++) {
		struct member *x = r->members[i];
		judge_forget(&x->judge, m->id);
		x->from = x->from == m->id ? m->from : x->from;
	}
	*m = (struct member){ .id = m->id };
}

static struct member *
new_entry(struct roster *r, struct err *e)
{
	if (r->n >= ROSTER_MAX) {
		(void)err_set(
		    e, ERR_REFUSED, "%u nodes have joined already", ROSTER_MAX);
		return NULL;
	}
	if (grow_array(&r->members, &r->cap, r->n, sizeof *r->members, "the nodes", e) != 0)
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

struct member *
roster_add(struct roster *r, const struct roster_guest *g, struct err *e)
{
	const struct roster_past past = past_of(r, g);
	struct member *m = find_used(r, g);

	if (m != NULL)
		forget(r, m);
	else if ((m = new_entry(r, e)) == NULL)
		return NULL;
	m->number = r->joined++;
	m->past = past;
	m->spot = g->spot;
	m->port = g->port;
	memcpy(m->address, g->address, sizeof m->address);
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

static bool
has_room(const struct roster *r, const struct member *m)
{
	return m->children - m->leaves < r->arity;
}

/* The first member of this rack (ROSTER_NO_RACK: of any rack) that can have one more
 * child, or NULL.  `level` has the n members of the tree, level after level.  Without
 * `doubtful`: nobody has said anything against it. */
static struct member *
free_place(const struct roster *r, struct member *const *level, size_t n, uint32_t rack,
    const struct member *avoid, bool doubtful)
{
	for (size_t i = 0; i < n; i++)
		if (!level[i]->leaf && level[i] != avoid && has_room(r, level[i]) &&
		    (doubtful || level[i]->judge.nwords == 0) &&
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

/* The first child of a list that is no leaf, or NULL. */
static struct member *
first_parent(struct member *m)
{
	while (m != NULL && m->leaf)
		m = m->next;
	return m;
}

/* The last member of a chain, or NULL.  A recursion would be as deep as the chain is
 * long. */
static struct member *
last_of_chain(const struct roster *r)
{
	struct member *m = first_parent(r->child), *next;

	while (m != NULL && (next = first_parent(m->child)) != NULL)
		m = next;
	return m;
}

struct member *
roster_first_doubted(const struct roster *r)
{
	struct member *m = r->arity == 1 ? first_parent(r->child) : NULL;

	while (m != NULL && (m->whole || !judge_doubts(r, m)))
		m = first_parent(m->child);
	return m;
}

/* Searches the whole tree for a parent. */
static struct member *
search(const struct roster *r, uint32_t rack, const struct member *avoid, bool own_rack)
{
	struct member **level = calloc(r->n, sizeof(struct member *)), *m;

	if (level == NULL)
		return NULL;
	size_t n = by_levels(r, level);
	m = free_place(r, level, n, rack, avoid, false);
	if (m == NULL && !own_rack && rack != ROSTER_NO_RACK)
		m = free_place(r, level, n, ROSTER_NO_RACK, avoid, false);
	if (m == NULL)
		m = free_place(r, level, n, own_rack ? rack : ROSTER_NO_RACK, avoid, true);
	free(level);
	return m;
}

/* The parent for a node of this rack.  NULL: the server, also when there is no memory for
 * the search. */
static struct member *
find_parent(const struct roster *r, uint32_t rack, const struct member *avoid)
{
	bool room = r->children - r->leaves < r->arity;

	if (r->arity == ROSTER_MAX ||
	    (room && (rack == ROSTER_NO_RACK || rack == r->rack ||
			 first_parent(r->child) == NULL)))
		return NULL;
	if (r->arity == 1)
		return last_of_chain(r);
	return search(r, rack, avoid, room);
}

static void
attach(struct roster *r, struct member *m, struct member *p)
{
	struct member **list = p != NULL ? &p->child : &r->child;

	m->parent = p;
	m->placed = true;
	m->leaf = m->judge.suspect;
	m->from = p != NULL ? p->id : 0;
	while (*list != NULL)
		list = &(*list)->next;
	*list = m;
	m->next = NULL;
	*(p != NULL ? &p->children : &r->children) += 1;
	*(p != NULL ? &p->leaves : &r->leaves) += m->leaf;
	m->state = MEMBER_TAKES;
}

void
roster_place_at(struct roster *r, struct member *m, struct member *parent)
{
	attach(r, m, parent);
}

bool
roster_place(struct roster *r, struct member *m, const struct member *avoid)
{
	struct member *p = find_parent(r, m->spot.rack, avoid);

	/* A parent of NULL is the server: a place, if it has one. */
	if (avoid != NULL &&
	    (p == avoid || (p == NULL && r->children - r->leaves >= r->arity)))
		return false;
	attach(r, m, p);
	return true;
}

/* How many of these children are not whole, or have children that are not: of those that
 * are no leaves themselves, as note_takers() has noted it. */
static unsigned
takers(const struct member *child)
{
	unsigned n = 0;

	for (; child != NULL; child = child->next)
		n += child->takes;
	return n;
}

/* Notes of all members of the tree whether chunks have to be sent to them. */
static void
note_takers(struct member *const *level, size_t n)
{
	while (n-- > 0) {
		struct member *m = level[n];
		m->takes = !m->whole;
		for (const struct member *c = m->child; c != NULL; c = c->next)
			m->takes |= c->takes && !c->leaf;
	}
}

/* How well a parent suits a leaf: 0 not at all; who has spoken against it is the last
 * choice. */
static unsigned
suits(const struct roster *r, const struct member *p, const struct member *leaf)
{
	unsigned n = takers(p->child);

	if (p->leaf || n >= r->arity || leaf->judge.as_leaf == p->id + 1)
		return 0;
	for (unsigned i = 0; i < leaf->judge.nwords; i++)
		if (leaf->judge.words[i] == p->id)
			return 1;
	return p->judge.nwords > 0 ? 2 : !p->judge.serves ? 3 : n == 0 ? 5 : 4;
}

bool
roster_place_leaf(struct roster *r, struct member *leaf)
{
	struct member **level = calloc(r->n, sizeof(struct member *)), *best = NULL;
	unsigned most = 0;

	if (level == NULL)
		return false;
	size_t n = by_levels(r, level);
	note_takers(level, n);
	/* The last ones first: the first ones have much to send. */
	while (n-- > 0) {
		unsigned x = suits(r, level[n], leaf);
		best = x > most ? level[n] : best;
		most = x > most ? x : most;
	}
	free(level);
	if (best == NULL && takers(r->child) >= r->arity)
		return false;
	attach(r, leaf, best);
	return true;
}

struct member *
roster_leaf_too_many(const struct roster *r, const struct member *parent)
{
	struct member *m = parent != NULL ? parent->child : r->child;
	unsigned children = parent != NULL ? parent->children : r->children;

	if ((parent != NULL ? parent->leaves : r->leaves) == 0 || children <= r->arity)
		return NULL;
	while (m != NULL && !m->leaf)
		m = m->next;
	return m;
}

static int
by_order(const void *a, const void *b)
{
	const struct member *x = *(struct member *const *)a;
	const struct member *y = *(struct member *const *)b;

	if (x->spot.order != y->spot.order)
		return x->spot.order < y->spot.order ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* Places n members, which are in their order.  The parent of a member is the first member
 * of its rack with fewer children than the arity; the parent of the first member of a
 * rack is the last member of the rack before. */
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
		if (r->members[i]->state == MEMBER_WAITS && !r->members[i]->judge.suspect)
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
	*(m->parent != NULL ? &m->parent->children : &r->children) -= 1;
	*(m->parent != NULL ? &m->parent->leaves : &r->leaves) -= m->leaf;
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
	m->leaves -= c->leaf;
	c->next = NULL;
	c->parent = NULL;
	return c;
}
