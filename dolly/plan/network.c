/* network.c: finds the points of a network by name, and releases it (network.h).  The parser and
 * the commands call it, in the program's first thread. */
#include "dolly/plan/network.h"

#include <stdlib.h>

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
