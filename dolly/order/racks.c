/* racks.c: the order of nodes by their places in the network (racks.h).  topology.c calls it before
 * anything begins, and for each node that joins, in the program's first thread. */
#include "dolly/order/racks.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/grow.h"
#include "common/base/hostlist.h"
#include "common/base/statements.h"
#include "dolly/order/node_list.h"

enum { SUBNET_BITS = 24, OWN_MAX = 1024 };
#define ORDER_UNKNOWN (UINT64_MAX / 2)

static uint32_t
number_of(const uint8_t a[4])
{
	return (uint32_t)a[0] << 24 | (uint32_t)a[1] << 16 | (uint32_t)a[2] << 8 | a[3];
}

/* --- this machine --- */

static void
add_own(struct racks *r, const struct ifaddrs *i, bool loopback)
{
	if (r->nown == OWN_MAX || i->ifa_addr == NULL ||
	    i->ifa_addr->sa_family != AF_INET ||
	    ((i->ifa_flags & IFF_LOOPBACK) != 0) != loopback)
		return;
	memcpy(r->own[r->nown++],
	    &((const struct sockaddr_in *)(const void *)i->ifa_addr)->sin_addr, 4);
}

static int
find_own(struct racks *r, struct err *e)
{
	struct ifaddrs *list;

	r->own = calloc(OWN_MAX, sizeof *r->own);
	if (r->own == NULL)
		return err_nomem(e, "addresses");
	if (getifaddrs(&list) != 0)
		return err_os(e, "the list of network interfaces");
	for (int loopback = 0; loopback < 2; loopback++)
		for (const struct ifaddrs *i = list; i != NULL; i = i->ifa_next)
			add_own(r, i, loopback != 0);
	freeifaddrs(list);
	return 0;
}

static bool
is_own(const struct racks *r, const uint8_t address[4])
{
	for (size_t i = 0; i < r->nown; i++)
		if (memcmp(r->own[i], address, 4) == 0)
			return true;
	return false;
}

/* --- lists of nodes --- */

static int
by_address(const void *a, const void *b)
{
	return memcmp(((const struct racks_node *)a)->address,
	    ((const struct racks_node *)b)->address, 4);
}

static int
add(struct racks *r, const char *name, uint64_t order, uint32_t rack, struct err *e)
{
	struct racks_node n = { .spot = { order, rack, ROSTER_NOT_LISTED } };

	if (node_list_resolve(name, n.address, e) != 0 ||
	    grow_array(&r->nodes, &r->cap, r->n, sizeof n, "the racks", e) != 0)
		return -1;
	r->nodes[r->n++] = n;
	return 0;
}

static void
sort(struct racks *r)
{
	if (r->n > 0)
		qsort(r->nodes, r->n, sizeof *r->nodes, by_address);
}

int
racks_of_network(
    struct racks *r, const struct network *n, const struct route *way, struct err *e)
{
	r->rack = ROSTER_NO_RACK;
	for (size_t i = 0; i < n->npoints; i++)
		if (!n->points[i].host && way->steps[i].up == n->server)
			r->rack = (uint32_t)i; /* of several switches, the last one */
	for (size_t i = 0; i < way->nhosts; i++) {
		uint32_t host = way->hosts[i];
		if (host != n->server &&
		    add(r, n->points[host].name, i, way->steps[host].up, e) != 0)
			return -1;
	}
	sort(r);
	return 0;
}

struct reading {
	struct racks *racks;
	uint32_t rack;
};

static int
take_hosts(struct reading *x, const char *list, struct err *e)
{
	struct hostlist l = { 0 };
	struct racks *r = x->racks;
	int rc = hostlist_add(&l, list, e);

	for (size_t i = 0; rc == 0 && i < l.n; i++) {
		rc = add(r, l.names[i], r->n, x->rack, e);
		if (rc == 0 && is_own(r, r->nodes[r->n - 1].address))
			r->rack = x->rack;
	}
	hostlist_free(&l);
	return rc;
}

static int
take_rack(void *arg, const struct statement *l, struct err *e)
{
	struct reading *x = arg;

	for (size_t i = 2; i < l->n; i++)
		if (take_hosts(x, l->words[i], e) != 0)
			return -1;
	x->rack++;
	return 0;
}

static const struct statement_kind kinds[] = {
	{ "rack", 3, STATEMENT_WORDS_MAX, take_rack },
	{ 0 },
};

int
racks_read(struct racks *r, const char *path, struct err *e)
{
	struct reading x = { .racks = r };

	r->rack = ROSTER_NO_RACK;
	if (find_own(r, e) != 0 || statements_read(kinds, &x, path, e) != 0)
		return -1;
	if (r->n == 0)
		return err_set(e, ERR_FORMAT, "%.200s: names no rack", path);
	/* This machine's own rack comes first. */
	for (size_t i = 0; i < r->n; i++)
		if (r->nodes[i].spot.rack != r->rack)
			r->nodes[i].spot.order += r->n;
	sort(r);
	return 0;
}

/* --- addresses alone --- */

int
racks_of_addresses(struct racks *r, struct err *e)
{
	if (find_own(r, e) != 0)
		return -1;
	r->rack = r->nown > 0 ? number_of(r->own[0]) >> (32 - SUBNET_BITS)
	                      : ROSTER_NO_RACK;
	return 0;
}

/* The distance of two addresses is their exclusive or: the longer their common prefix, the
 * smaller it is.  Nodes are ordered by the nearest address of this machine and by their
 * distance from it, so that nodes with a common prefix stay together. */
static void
by_distance(const struct racks *r, uint32_t a, struct roster_spot *s)
{
	uint64_t nearest = UINT32_MAX, at = 0;

	for (size_t i = 0; i < r->nown; i++) {
		uint64_t d = a ^ number_of(r->own[i]);
		at = d < nearest ? i : at;
		nearest = d < nearest ? d : nearest;
	}
	s->order = at << 32 | nearest;
	s->rack = a >> (32 - SUBNET_BITS);
}

static const struct racks_node *
find(const struct racks *r, const uint8_t address[4])
{
	struct racks_node wanted = { 0 };

	memcpy(wanted.address, address, 4);
	return r->n == 0 ? NULL
	                 : bsearch(&wanted, r->nodes, r->n, sizeof wanted, by_address);
}

bool
racks_has(const struct racks *r, const uint8_t address[4])
{
	return find(r, address) != NULL;
}

uint32_t
racks_point(const struct racks *r, const struct route *way, const uint8_t address[4])
{
	const struct racks_node *found = find(r, address);

	return found != NULL ? way->hosts[found->spot.order] : NETWORK_NONE;
}

void
racks_find(const struct racks *r, const uint8_t address[4], struct roster_spot *s)
{
	const struct racks_node *found = find(r, address);

	if (r->n == 0) {
		by_distance(r, number_of(address), s);
		return;
	}
	s->order = found != NULL ? found->spot.order : ORDER_UNKNOWN;
	s->rack = found != NULL ? found->spot.rack : ROSTER_NO_RACK;
}

void
racks_free(struct racks *r)
{
	free(r->nodes);
	free(r->own);
	*r = (struct racks){ 0 };
}
