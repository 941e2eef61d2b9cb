/* swap_renew.c: the table of nodes is changed while sessions run, because the administrator's file
 * was read again: nodes come, and those that the file has no more go, at the end of their session
 * if they belong to one.  The controller's loop calls this, in the program's first thread. */
#include <stdlib.h>
#include <string.h>

#include "controller/engine/swap_impl.h"

/* The session because of which the node must stay as it is: it runs, or what has happened to
 * the node is not saved yet and would be lost.  NULL: there is none. */
static const struct swap_session *
session_of_busy(const struct swap *w, const struct swap_node *n)
{
	const struct swap_session *s = n->session != 0 ? swap_find_session(w, n->session) : NULL;

	return s != NULL && (s->state == SWAP_IS_RUNNING || n->unsaved) ? s : NULL;
}

/* Can the node become what the new table has? */
static int
check_node(const struct swap *w, const struct swap_node *n, const struct swap *table,
    struct err *e)
{
	const struct swap_session *s = session_of_busy(w, n);
	const struct swap_node *next = swap_find_node(table, n->name);
	const struct swap_node *same = next == NULL ? swap_same_machine(table, n) : NULL;

	if (s == NULL)
		return 0;
	if (next != NULL && (memcmp(next->mac, n->mac, 6) != 0 || strcmp(next->smbios, n->smbios) != 0))
		return err_set(e, ERR_REFUSED, "%s belongs to session %u, which runs, and cannot be another machine",
		    n->name, s->id);
	return same == NULL ? 0
	                    : err_set(e, ERR_REFUSED, "%s is the machine of %s, which belongs to session %u, which runs",
	                          same->name, n->name, s->id);
}

/* The numbers in running sessions become those of the new table.  place: by the old number. */
static void
renumber(struct swap *w, const uint32_t *place)
{
	for (size_t i = 0; i < w->nsessions; i++) {
		struct swap_session *s = w->sessions[i];
		for (unsigned k = 0; s->nodes != NULL && k < s->total; k++)
			s->nodes[k] = place[s->nodes[k]];
	}
}

/* Makes the new table.  Node i is the old node from[i] or, where from[i] is beyond the old
 * nodes, a node of the other table. */
static int
rebuild(struct swap *w, const uint32_t *from, size_t n, const struct swap *table, struct err *e)
{
	struct swap_node *nodes = calloc(n + 1, sizeof *nodes);
	uint32_t *place = calloc(w->nnodes + 1, sizeof *place);

	if (nodes == NULL || place == NULL || swap_index_room(w, n, e) != 0) {
		free(nodes);
		free(place);
		return err_nomem(e, "the nodes");
	}
	for (size_t i = 0; i < n; i++) {
		bool old = from[i] < w->nnodes;
		nodes[i] = old ? w->nodes[from[i]] : table->nodes[from[i] - w->nnodes];
		if (old)
			place[from[i]] = (uint32_t)i;
	}
	renumber(w, place);
	free(place);
	free(w->nodes);
	w->nodes = nodes;
	w->nnodes = n;
	w->nodes_cap = n + 1;
	swap_index_fill(w);
	return 0;
}

/* Fills from[], as rebuild() wants it: the nodes of the table in their order, and then those that
 * stay for now. */
static size_t
choose(const struct swap *w, const struct swap *table, uint32_t *from)
{
	size_t n = 0;

	for (size_t i = 0; i < table->nnodes; i++) {
		const struct swap_node *old = swap_find_node(w, table->nodes[i].name);
		from[n++] = (uint32_t)(old != NULL ? (size_t)(old - w->nodes) : w->nnodes + i);
	}
	for (size_t i = 0; i < w->nnodes; i++)
		if (session_of_busy(w, &w->nodes[i]) != NULL &&
		    swap_find_node(table, w->nodes[i].name) == NULL)
			from[n++] = (uint32_t)i;
	return n;
}

/* The nodes are those of the table now, and the ones behind them leave. */
static void
take_over(struct swap *w, const struct swap *table)
{
	for (size_t i = 0; i < w->nnodes; i++) {
		struct swap_node *n = &w->nodes[i];
		n->leaves = i >= table->nnodes;
		if (!n->leaves)
			swap_take_machine(n, &table->nodes[i]);
		swap_show_node(w, n);
	}
	swap_index_fill(w); /* by what they are known by now */
}

int
swap_renew(struct swap *w, const struct swap *table, struct err *e)
{
	for (size_t i = 0; i < w->nnodes; i++)
		if (check_node(w, &w->nodes[i], table, e) != 0)
			return -1;
	uint32_t *from = calloc(w->nnodes + table->nnodes + 1, sizeof *from);
	if (from == NULL)
		return err_nomem(e, "the nodes");
	size_t n = choose(w, table, from);
	int rc = n <= SWAP_NODES_MAX ? rebuild(w, from, n, table, e)
	                             : err_set(e, ERR_USAGE, "more than %d nodes", SWAP_NODES_MAX);
	free(from);
	if (rc == 0)
		take_over(w, table);
	return rc;
}

bool
swap_leave(struct swap *w)
{
	uint32_t *from = NULL;
	struct err ignored;
	size_t n = 0, leave = 0;

	for (size_t i = 0; i < w->nnodes; i++)
		leave += w->nodes[i].leaves && session_of_busy(w, &w->nodes[i]) == NULL;
	if (leave > 0)
		from = calloc(w->nnodes, sizeof *from);
	for (size_t i = 0; from != NULL && i < w->nnodes; i++)
		if (!w->nodes[i].leaves || session_of_busy(w, &w->nodes[i]) != NULL)
			from[n++] = (uint32_t)i;
	bool gone = from != NULL && rebuild(w, from, n, w, &ignored) == 0;
	free(from);
	return gone; /* without memory, they leave later */
}
