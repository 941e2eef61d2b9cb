/* network.c: finds the points of a network by name, adds hosts, and releases it (network.h).  The
 * parser and the commands call it, in the program's first thread. */
#include "dolly/plan/network.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/grow.h"

uint32_t
network_find(const struct network *n, const char *name)
{
	ENTRY wanted = { .key = (char *)(uintptr_t)name }, *found;

	if (n->by_name.table == NULL ||
	    hsearch_r(wanted, FIND, &found, (struct hsearch_data *)&n->by_name) == 0)
		return NETWORK_NONE;
	return (uint32_t)(uintptr_t)found->data;
}

void
network_free(struct network *n)
{
	if (n->by_name.table != NULL)
		hdestroy_r(&n->by_name);
	for (size_t i = 0; i < n->npoints; i++)
		free(n->points[i].name);
	free(n->points);
	free(n->machines);
	free(n->links);
	*n = (struct network){ 0 };
}

static bool
is_server_link(const struct network *n, const struct network_link *l)
{
	return l->a == n->server || l->b == n->server;
}

bool
network_is_linked(const struct network *n)
{
	for (size_t i = 0; i < n->nlinks; i++)
		if (is_server_link(n, &n->links[i]))
			return true;
	return false;
}

static int
add_link_like(struct network *n, size_t i, uint32_t point, struct err *e)
{
	if (grow_array(&n->links, &n->link_cap, n->nlinks, sizeof *n->links, "links", e) != 0)
		return -1;
	n->links[n->nlinks] = n->links[i];
	if (n->links[i].a == n->server)
		n->links[n->nlinks].a = point;
	else
		n->links[n->nlinks].b = point;
	n->nlinks++;
	return 0;
}

int
network_add_like_server(struct network *n, const char *name, uint32_t *point, struct err *e)
{
	if (!network_is_linked(n))
		return err_set(e, ERR_FORMAT, "%s has no link, so no other host is like it",
		    n->points[n->server].name);
	if (n->npoints == NETWORK_POINTS_MAX)
		return err_set(e, ERR_USAGE, "more than %d hosts and switches",
		    NETWORK_POINTS_MAX);
	if (grow_array(&n->points, &n->point_cap, n->npoints, sizeof *n->points, "a network",
		e) != 0)
		return -1;
	struct network_point *p = &n->points[n->npoints];
	*p = n->points[n->server];
	p->parent = NETWORK_NONE;
	p->name = strdup(name);
	if (p->name == NULL)
		return err_nomem(e, "a network");
	*point = (uint32_t)n->npoints++;
	for (size_t i = 0, links = n->nlinks; i < links; i++)
		if (is_server_link(n, &n->links[i]) &&
		    add_link_like(n, i, *point, e) != 0)
			return -1;
	return 0;
}
