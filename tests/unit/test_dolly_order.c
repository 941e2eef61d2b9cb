/* The order of nodes and the tree that they form: each uplink of a rack is crossed once in
 * each direction, in whichever order the nodes have joined. */
#include <stdlib.h>
#include <string.h>

#include "dolly/order/racks.h"
#include "tests/t.h"
#include "tests/tmp.h"

enum { RACKS = 7, NODES = 100 };

static uint32_t
rack_of(const struct roster *r, const struct member *m)
{
	return m != NULL ? m->spot.rack : r->rack;
}

/* Streams that leave and enter each rack. */
static void
count_crossings(const struct roster *r, unsigned in[RACKS], unsigned out[RACKS])
{
	memset(in, 0, RACKS * sizeof *in);
	memset(out, 0, RACKS * sizeof *out);
	for (size_t i = 0; i < r->n; i++) {
		const struct member *m = r->members[i];
		uint32_t from = rack_of(r, m->parent);
		if (from == m->spot.rack)
			continue;
		in[m->spot.rack]++;
		if (from < RACKS)
			out[from]++;
	}
}

static bool
reaches_server(const struct roster *r, const struct member *m)
{
	for (size_t hops = 0; hops <= r->n; hops++, m = m->parent)
		if (m == NULL)
			return true;
	return false;
}

static void
check_tree(const struct roster *r)
{
	unsigned in[RACKS], out[RACKS], crossed_twice = 0, too_many = 0, lost = 0;

	count_crossings(r, in, out);
	for (size_t i = 0; i < RACKS; i++)
		crossed_twice += in[i] != (i != r->rack) || out[i] > 1;
	for (size_t i = 0; i < r->n; i++) {
		too_many += r->members[i]->children > r->arity;
		lost += !reaches_server(r, r->members[i]);
	}
	T_CHECK(crossed_twice == 0);
	T_CHECK(too_many == 0 && lost == 0 && r->children <= r->arity);
}

/* Nodes of racks of different sizes join in an order that the seed says. */
static void
join_all(struct roster *r, unsigned seed)
{
	struct err e;
	uint32_t which[NODES];

	for (uint32_t i = 0; i < NODES; i++)
		which[i] = i;
	srand(seed);
	for (uint32_t i = NODES - 1; i > 0; i--) {
		uint32_t j = (uint32_t)rand() % (i + 1), w = which[i];
		which[i] = which[j];
		which[j] = w;
	}
	for (uint32_t i = 0; i < NODES; i++) {
		struct member *m = roster_add(r, &e);
		uint32_t rack = which[i] < 3 ? 0 : 1 + (which[i] - 3) * (RACKS - 1) / (NODES - 3);
		m->spot = (struct roster_spot){ which[i], rack, ROSTER_NOT_LISTED };
	}
}

static void
test_uplinks_are_crossed_once(void)
{
	static const unsigned arities[] = { 1, 2, 3, 8 };
	static const uint32_t servers[] = { 0, ROSTER_NO_RACK };
	struct err e;

	for (size_t i = 0; i < 8; i++) {
		struct roster r = { .arity = arities[i / 2], .rack = servers[i % 2] };
		join_all(&r, (unsigned)i);
		T_CHECK(roster_place_all(&r, &e) == 0);
		check_tree(&r);
		roster_free(&r);
	}
}

static void
test_a_star_is_one(void)
{
	struct roster r = { .arity = ROSTER_MAX, .rack = ROSTER_NO_RACK };
	struct err e;

	join_all(&r, 3);
	T_CHECK(roster_place_all(&r, &e) == 0);
	T_CHECK(r.children == NODES);
	roster_free(&r);
}

/* A node with a parent and two children, all of its own rack. */
static struct member *
inner(const struct roster *r)
{
	for (size_t i = 0; i < r->n; i++) {
		struct member *m = r->members[i], *c = m->child;
		if (m->children == 2 && rack_of(r, m->parent) == m->spot.rack &&
		    c->spot.rack == m->spot.rack &&
		    c->next->spot.rack == m->spot.rack)
			return m;
	}
	return NULL;
}

/* Who loses its parent stays in its rack, if there is room. */
static void
test_orphans_stay_in_their_rack(void)
{
	struct roster r = { .arity = 2, .rack = ROSTER_NO_RACK };
	struct member *dead, *c;
	struct err e;

	join_all(&r, 4);
	T_CHECK(roster_place_all(&r, &e) == 0);
	T_CHECK((dead = inner(&r)) != NULL);
	uint32_t rack = dead->spot.rack, entered = 0;
	roster_take_out(&r, dead);
	while ((c = roster_orphan(dead)) != NULL)
		roster_place(&r, c, false);
	for (size_t i = 0; i < r.n; i++) {
		const struct member *m = r.members[i];
		entered += m != dead && m->spot.rack == rack &&
		           rack_of(&r, m->parent) != rack;
	}
	T_CHECK(entered == 1);
	roster_free(&r);
}

/* --- where nodes are --- */

static struct roster_spot
find(const struct racks *r, const char *text)
{
	struct roster_spot s = { 0 };
	unsigned a[4];
	uint8_t address[4];

	if (sscanf(text, "%u.%u.%u.%u", &a[0], &a[1], &a[2], &a[3]) != 4)
		abort();
	for (int i = 0; i < 4; i++)
		address[i] = (uint8_t)a[i];
	racks_find(r, address, &s);
	return s;
}

static int
read_text(struct racks *r, const char *text, struct err *e)
{
	char path[4096];
	FILE *f = NULL;

	if (tmp_folder(path, sizeof path - 8, "racks"))
		f = fopen(strcat(path, "/racks"), "w");
	if (f == NULL || fputs(text, f) < 0 || fclose(f) != 0)
		abort();
	int rc = racks_read(r, path, e);
	remove(path);
	*strrchr(path, '/') = '\0';
	remove(path);
	return rc;
}

static void
test_a_file_of_racks(void)
{
	struct racks r = { 0 };
	struct err e;

	T_CHECK(read_text(&r,
		    "# two racks, one of which is this machine's\n"
		    "rack far 10.1.0.[1-2]\n"
		    "rack near 127.0.0.1,10.2.0.[9,3] 10.2.0.1\n",
		    &e) == 0);
	T_CHECK(r.rack == 1);
	T_CHECK(find(&r, "10.2.0.9").rack == 1 && find(&r, "10.1.0.2").rack == 0);
	T_CHECK(find(&r, "10.2.0.9").order < find(&r, "10.2.0.3").order);
	T_CHECK(find(&r, "10.2.0.1").order < find(&r, "10.1.0.1").order);
	T_CHECK(find(&r, "10.9.9.9").rack == ROSTER_NO_RACK);
	T_CHECK(find(&r, "10.9.9.9").order > find(&r, "10.1.0.2").order);
	racks_free(&r);
}

static void
test_bad_files_of_racks(void)
{
	static const char *const bad[] = { "", "rack r\n", "shelf r 10.0.0.1\n",
		"rack r 10.0.0.[1-\n", "rack r no-such-name.invalid\n" };
	struct err e;

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct racks r = { 0 };
		T_CHECK(read_text(&r, bad[i], &e) != 0 && e.text[0] != '\0');
		racks_free(&r);
	}
}

static void
test_a_network(void)
{
	static const char text[] =
	    "switch top,s1,s2\nlink s1,s2 top\nhost 10.0.0.[1-3],10.0.0.[11-12]\n"
	    "link 10.0.0.1,10.0.0.12,10.0.0.11 s1\nlink 10.0.0.2,10.0.0.3 s2\n"
	    "server 10.0.0.12\n";
	struct network n = { 0 };
	struct route way = { 0 };
	struct racks r = { 0 };
	struct err e;

	T_CHECK(network_parse(&n, text, sizeof text - 1, "text", &e) == 0);
	T_CHECK(route_make(&way, &n, &e) == 0);
	T_CHECK(racks_of_network(&r, &n, &way, &e) == 0);
	T_CHECK(find(&r, "10.0.0.1").rack == r.rack);
	T_CHECK(find(&r, "10.0.0.11").rack == r.rack);
	T_CHECK(find(&r, "10.0.0.2").rack == find(&r, "10.0.0.3").rack);
	T_CHECK(find(&r, "10.0.0.2").rack != r.rack);
	T_CHECK(find(&r, "10.0.0.11").order < find(&r, "10.0.0.2").order);
	T_CHECK(find(&r, "10.0.0.1").order < find(&r, "10.0.0.3").order);
	racks_free(&r);
	route_free(&way);
	network_free(&n);
}

/* Subnets stay together, and the own one is the first, whatever their prefixes are. */
static void
test_addresses(void)
{
	static uint8_t own[2][4] = { { 10, 0, 1, 5 }, { 127, 0, 0, 1 } };
	const struct racks r = { .own = own, .nown = 2 };
	static const char *const order[] = { "10.0.1.4", "10.0.1.200", "10.0.0.7",
		"10.0.2.3", "10.7.0.1", "127.0.0.3", "192.168.0.1" };

	for (size_t i = 1; i < sizeof order / sizeof order[0]; i++)
		T_CHECK(find(&r, order[i - 1]).order < find(&r, order[i]).order);
	T_CHECK(find(&r, "10.0.1.4").rack == find(&r, "10.0.1.200").rack);
	T_CHECK(find(&r, "10.0.1.4").rack != find(&r, "10.0.0.7").rack);
}

int
main(void)
{
	test_uplinks_are_crossed_once();
	test_a_star_is_one();
	test_orphans_stay_in_their_rack();
	test_a_file_of_racks();
	test_bad_files_of_racks();
	test_a_network();
	test_addresses();
	return t_done();
}
