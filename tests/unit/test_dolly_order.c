/* The order of nodes and the tree that they form: each uplink of a rack is crossed once in
 * each direction, in whichever order the nodes have joined. */
#include <stdlib.h>
#include <string.h>

#include "dolly/engine/dials.h"
#include "dolly/order/racks.h"
#include "dolly/order/shape.h"
#include "dolly/plan/predict.h"
#include "tests/random.h"
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
	draw_seed = seed;
	for (uint32_t i = NODES - 1; i > 0; i--) {
		uint32_t j = (uint32_t)draw(i + 1), w = which[i];
		which[i] = which[j];
		which[j] = w;
	}
	for (uint32_t i = 0; i < NODES; i++) {
		uint32_t rack = which[i] < 3 ? 0 : 1 + (which[i] - 3) * (RACKS - 1) / (NODES - 3);
		const struct roster_guest g = { .spot = {
						    which[i], rack, ROSTER_NOT_LISTED } };
		T_CHECK(roster_add(r, &g, &e) != NULL);
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
		(void)roster_place(&r, c, NULL);
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

/* A roster of members at 10.0.0.ID, whose fate is left open. */
static void
join_n(struct roster *r, uint32_t n)
{
	struct err e;

	for (uint32_t i = 0; i < n; i++) {
		const struct roster_guest g = { { 10, 0, 0, (uint8_t)(r->n + 1) }, 0,
			{ i, ROSTER_NO_RACK, ROSTER_NOT_LISTED } };
		struct member *m = roster_add(r, &g, &e);
		snprintf(m->name, sizeof m->name, "n%u", m->id);
	}
	T_CHECK(roster_place_all(r, &e) == 0);
}

static void
leaves(struct roster *r, uint32_t id, enum member_state state)
{
	struct member *m = roster_find(r, id), *c;

	roster_take_out(r, m);
	m->state = state;
	while ((c = roster_orphan(m)) != NULL)
		(void)roster_place(r, c, NULL);
}

/* Five nodes of a chain, of which the description names the first two; the third dies after the
 * fourth has become whole behind it. */
static void
test_the_tree_of_a_run(void)
{
	static const char text[] =
	    "switch x\nhost s,10.0.0.[1-2]\nlink s,10.0.0.[1-2] x rate=10MB\nserver s\n";
	struct network n = { 0 };
	struct route way = { 0 };
	struct racks places = { 0 };
	struct roster r = { .arity = 1, .rack = ROSTER_NO_RACK };
	struct tree t;
	struct predict_row row;
	const struct predict_config c = { .raw_bytes = 1e8, .compression = 1 };
	struct err e;

	T_CHECK(network_parse(&n, text, sizeof text - 1, "text", &e) == 0);
	T_CHECK(route_make(&way, &n, &e) == 0);
	T_CHECK(racks_of_network(&places, &n, &way, &e) == 0);
	join_n(&r, 5);
	leaves(&r, 5, MEMBER_OUT);
	leaves(&r, 4, MEMBER_LEFT);
	leaves(&r, 3, MEMBER_OUT);
	leaves(&r, 2, MEMBER_LEFT);
	leaves(&r, 1, MEMBER_LEFT);
	T_CHECK(shape_of_run(&t, &n, &way, &places, &r, &e) == 0);
	T_CHECK(t.n == 4 && t.depth == 3 && tree_width(&t) == 1);
	T_CHECK(t.nodes[0] == n.server);
	T_CHECK(strcmp(n.points[t.nodes[1]].name, "10.0.0.1") == 0);
	T_CHECK(strcmp(n.points[t.nodes[2]].name, "10.0.0.2") == 0);
	T_CHECK(strcmp(n.points[t.nodes[3]].name, "n4") == 0);
	T_CHECK(predict_tree(&row, &n, &way, &c, &t, &e) == 0);
	T_CHECK(strcmp(row.name, "chain") == 0 && row.clients == 3);
	T_CHECK(row.rate > 9.99e6 && row.rate < 10.01e6);
	tree_free(&t);
	roster_free(&r);
	racks_free(&places);
	route_free(&way);
	network_free(&n);
}

/* A tree of two children a node, and a run in which nobody became whole. */
static void
test_other_shapes(void)
{
	static const char text[] = "switch x\nhost s\nlink s x\nserver s\n";
	struct network n = { 0 };
	struct route way = { 0 };
	const struct racks nobody = { 0 };
	struct roster r = { .arity = 2, .rack = ROSTER_NO_RACK };
	struct tree t;
	struct err e;

	T_CHECK(network_parse(&n, text, sizeof text - 1, "text", &e) == 0);
	T_CHECK(route_make(&way, &n, &e) == 0);
	join_n(&r, 14);
	T_CHECK(shape_of_run(&t, &n, &way, &nobody, &r, &e) == 0);
	T_CHECK(t.n == 1 && t.depth == 0);
	tree_free(&t);
	for (uint32_t id = 14; id > 0; id--)
		leaves(&r, id, MEMBER_LEFT);
	T_CHECK(shape_of_run(&t, &n, &way, &nobody, &r, &e) == 0);
	T_CHECK(t.n == 15 && t.depth == 3 && tree_width(&t) == 2);
	tree_free(&t);
	roster_free(&r);
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

/* A stranger joins and leaves more often than the roster has entries, and so do ten machines, each
 * at a port of its own: a node that comes then is taken, and the first node is not forgotten. */
static void
test_who_comes_and_goes_costs_nothing(void)
{
	struct roster r = { .arity = 1, .rack = ROSTER_NO_RACK };
	struct roster_guest g = { { 10, 0, 0, 1 }, 9998,
		{ 0, ROSTER_NO_RACK, ROSTER_NOT_LISTED } };
	struct err e;

	struct member *first = roster_add(&r, &g, &e);
	first->state = MEMBER_LEFT;
	for (uint32_t i = 0; i < ROSTER_MAX + 1000; i++) {
		g.address[3] = (uint8_t)(2 + i % 10);
		g.port = (uint16_t)(1 + i % 50000);
		struct member *m = roster_add(&r, &g, &e);
		if (m == NULL)
			break;
		m->state = MEMBER_OUT;
	}
	T_CHECK(r.joined == 1 + ROSTER_MAX + 1000);
	T_CHECK(r.n < 1000);
	T_CHECK(roster_find(&r, 1) == first && first->state == MEMBER_LEFT);
	roster_free(&r);
}

/* Whoever has an entry that was another one's is not spoken against, and its word is its own. */
static void
test_words_end_with_who_said_them(void)
{
	struct roster r = { .arity = 1, .rack = ROSTER_NO_RACK };
	struct roster_guest g = { { 10, 0, 0, 1 }, 9998,
		{ 0, ROSTER_NO_RACK, ROSTER_NOT_LISTED } };
	struct err e;

	struct member *m = roster_add(&r, &g, &e);
	g.address[3] = 2;
	for (int i = 0; i < 2; i++) {
		struct member *x = roster_add(&r, &g, &e);
		judge_word(&r, &m->judge, x->id);
		x->state = MEMBER_OUT;
	}
	judge_word(&r, &m->judge, 3);
	T_CHECK(judge_suspects(&r, m));
	const struct member *again = roster_add(&r, &g, &e);
	T_CHECK(again->id == 2 && again->state == MEMBER_WAITS);
	T_CHECK(!judge_suspects(&r, m));
	roster_find(&r, 3)->judge.suspect = true;
	judge_word(&r, &m->judge, 0);
	T_CHECK(!judge_suspects(&r, m)); /* the word of a suspect does not count */
	judge_word(&r, &m->judge, 2);
	T_CHECK(judge_suspects(&r, m));
	roster_free(&r);
}

/* An address is dialled at once, after 1, 2, 4 to 30 seconds, and at once when it has answered; a
 * seventeenth one when the first one is a minute old. */
static void
test_dials(void)
{
	static const unsigned waits_s[] = { 0, 1, 2, 4, 8, 16, 30, 30 };
	const uint64_t s_us = 1000000;
	struct dials d = { 0 };
	uint8_t a[4] = { 10, 0, 0, 1 };
	uint64_t now_us = 5 * s_us;

	for (size_t i = 0; i < sizeof waits_s / sizeof waits_s[0]; i++) {
		uint64_t when_us = dials_when(&d, a, 1, now_us);
		T_CHECK((when_us - now_us + s_us / 2) / s_us == waits_s[i]);
		now_us = when_us;
		dials_made(&d, a, 1, now_us);
	}
	dials_good(&d, a, 1);
	T_CHECK(dials_when(&d, a, 1, now_us + 1) == now_us + 1);
	for (a[3] = 2; a[3] <= DIALS_ADDRESSES; a[3]++) {
		T_CHECK(dials_when(&d, a, 1, now_us) == now_us);
		dials_made(&d, a, 1, now_us);
	}
	T_CHECK(dials_when(&d, a, 1, now_us + s_us) >= now_us + 59 * s_us);
	T_CHECK(dials_when(&d, a, 1, now_us + 61 * s_us) == now_us + 61 * s_us);
}

/* Adds so many guests, each of a port and a place of its own. */
static void
add_guests(struct roster *r, struct member **m, uint16_t n)
{
	struct err e;

	for (uint16_t i = 0; i < n; i++) {
		const struct roster_guest g = { .port = i,
			.spot = { i, ROSTER_NO_RACK, ROSTER_NOT_LISTED } };
		m[i] = roster_add(r, &g, &e);
		if (!T_CHECK(m[i] != NULL))
			abort();
	}
}

/* A healthy node between two bad ones: it is cleared when both are suspects, or one of them, while
 * somebody says of the other one that it is the cause.  Who has said so itself is not cleared. */
static void
test_who_was_suspected_by_suspects_is_cleared(void)
{
	struct roster r = { .arity = 1, .rack = ROSTER_NO_RACK };
	struct member *m[4];

	add_guests(&r, m, 4);
	judge_word(&r, &m[1]->judge, m[0]->id);
	T_CHECK(!judge_suspects(&r, m[1]));
	judge_word(&r, &m[1]->judge, m[2]->id);
	T_CHECK(judge_suspects(&r, m[1]) && !judge_is_cleared(&r, m[1]));
	m[1]->judge.suspect = m[0]->judge.suspect = true;
	T_CHECK(!judge_is_cleared(&r, m[1]));
	judge_word(&r, &m[2]->judge, m[1]->id);
	judge_word(&r, &m[2]->judge, m[0]->id);
	T_CHECK(!judge_is_cleared(&r, m[1])); /* only one more says so, which is a suspect */
	m[3]->judge.suspect = true;
	judge_word(&r, &m[2]->judge, m[3]->id);
	T_CHECK(judge_is_cleared(&r, m[1]));
	m[2]->judge.nwords = 0;
	judge_word(&r, &m[2]->judge, m[1]->id);
	judge_word(&r, &m[2]->judge, 0);
	T_CHECK(judge_is_cleared(&r, m[1])); /* or the server */
	m[2]->judge = (struct judge){ .suspect = true };
	T_CHECK(judge_is_cleared(&r, m[1]));
	judge_word(&r, &m[1]->judge, 0);
	T_CHECK(!judge_is_cleared(&r, m[1])); /* nobody says so of the server */
	m[1]->judge.nwords--;
	m[1]->judge.certain = true;
	T_CHECK(!judge_is_cleared(&r, m[1]));
	roster_free(&r);
}

/* However many suspects have said something against a node, the words of two others count. */
static void
test_words_of_suspects_make_room(void)
{
	struct roster r = { .arity = 1, .rack = ROSTER_NO_RACK };
	struct member *m[JUDGE_WORDS + 3];

	add_guests(&r, m, JUDGE_WORDS + 3);
	for (uint16_t i = 0; i < JUDGE_WORDS + 3; i++) {
		m[i]->judge.suspect = i % 9 != 0; /* not the first one, and the last but one */
		if (i > 0)
			judge_word(&r, &m[0]->judge, m[i]->id);
	}
	T_CHECK(m[0]->judge.nwords == JUDGE_WORDS && !judge_suspects(&r, m[0]));
	judge_word(&r, &m[0]->judge, 0);
	T_CHECK(judge_suspects(&r, m[0]));
	for (uint16_t i = 1; i < JUDGE_WORDS + 3; i++)
		m[i]->judge.suspect = false;
	judge_word(&r, &m[0]->judge, m[2]->id);
	T_CHECK(m[0]->judge.nwords == JUDGE_WORDS);
	roster_free(&r);
}

/* Both ends of the link to the parent of this node say that enough has passed. */
static void
pass_enough(struct member *m, uint32_t damaged)
{
	const struct judge_rule rule = { 2000000, 1000000, 1000 };

	judge_new_link(&m->judge);
	for (int up = 0; up < 2; up++)
		judge_hear(m,
		    &(struct msg_link){
			.up = up == 1, .bytes = 5000, .damaged = up == 1 ? damaged : 0 },
		    1000000);
	T_CHECK(judge_link(m, &rule) == (damaged > 0 ? JUDGE_DAMAGES : JUDGE_FINE));
	T_CHECK(judge_link(m, &rule) == JUDGE_FINE); /* the damage is judged */
}

/* The leaf gets this parent, and takes too little from it, as is found out at this time. */
static bool
takes_too_little_at(struct roster *r, struct member *leaf, struct member *parent, uint64_t now_us)
{
	if (leaf->state == MEMBER_TAKES)
		roster_take_out(r, leaf);
	roster_place_at(r, leaf, parent);
	return judge_leaf(leaf, &(struct judge_rule){ now_us, 1000000, 1000 });
}

/* The same, long after anything else was found out. */
static bool
takes_too_little_from(struct roster *r, struct member *leaf, struct member *parent)
{
	static uint64_t now_us;

	return takes_too_little_at(r, leaf, parent, now_us += 10000000);
}

/* A leaf is too slow when two parents say so, of which each has served another child well since it
 * last said so: what one says that never did counts for nothing, and so do damaged chunks. */
static void
test_only_parents_that_serve_others_are_believed(void)
{
	struct roster r = { .arity = 1, .rack = ROSTER_NO_RACK };
	struct member *m[4];
	struct err e;

	add_guests(&r, m, 4);
	m[3]->judge.suspect = true;
	T_CHECK(roster_place_all(&r, &e) == 0);
	pass_enough(m[2], 0); /* the second one serves the third one; */
	pass_enough(m[1], 1); /* what the first one sends is damaged */
	T_CHECK(!takes_too_little_from(&r, m[3], m[2]));
	T_CHECK(!takes_too_little_from(&r, m[3], m[1]));
	T_CHECK(!takes_too_little_from(&r, m[3], m[2]));
	T_CHECK(!takes_too_little_from(&r, m[3], m[0]));
	T_CHECK(!takes_too_little_from(&r, m[3], m[1]));
	pass_enough(m[2], 0);
	T_CHECK(!takes_too_little_from(&r, m[3], m[1])); /* it is the same one again */
	pass_enough(m[1], 0);
	/* There it is sent, too, when all others have time. */
	roster_take_out(&r, m[3]);
	m[0]->whole = m[1]->whole = m[2]->whole = true;
	T_CHECK(roster_place_leaf(&r, m[3]) && m[3]->parent == m[0]);
	T_CHECK(takes_too_little_from(&r, m[3], m[0]));
	pass_enough(m[1], 0);
	judge_acquit(&m[3]->judge);
	T_CHECK(!takes_too_little_from(&r, m[3], m[0]));
	roster_free(&r);
}

/* Of several leaves that are too slow a parent that serves others says so at about the same time,
 * and not of one that comes later. */
static void
test_a_word_is_about_all_leaves_of_a_time(void)
{
	struct roster r = { .arity = 3, .rack = ROSTER_NO_RACK };
	struct member *m[7];
	struct err e;

	add_guests(&r, m, 7);
	for (int i = 4; i < 7; i++)
		m[i]->judge.suspect = true;
	T_CHECK(roster_place_all(&r, &e) == 0);
	pass_enough(m[3], 0); /* the first one serves the fourth one */
	for (int i = 4; i < 7; i++)
		m[i]->judge.believed = m[1]->id + 1; /* the second one has said so before */
	T_CHECK(takes_too_little_at(&r, m[4], m[0], 2000000));
	T_CHECK(takes_too_little_at(&r, m[5], m[0], 2999999));
	T_CHECK(!takes_too_little_at(&r, m[6], m[0], 3000000));
	roster_free(&r);
}

/* In a chain, who is cleared gets its place before the first node that is doubted by one who is no
 * suspect, and lacks chunks: there is none in a tree. */
static void
test_the_first_that_is_doubted(void)
{
	struct roster r = { .arity = 1, .rack = ROSTER_NO_RACK };
	struct member *m[4];
	struct err e;

	add_guests(&r, m, 4);
	T_CHECK(roster_place_all(&r, &e) == 0);
	T_CHECK(roster_first_doubted(&r) == NULL);
	for (int i = 0; i < 3; i++)
		judge_word(&r, &m[i]->judge, m[3]->id);
	T_CHECK(roster_first_doubted(&r) == m[0]);
	m[0]->whole = true;
	T_CHECK(roster_first_doubted(&r) == m[1]);
	m[3]->judge.suspect = true;
	T_CHECK(roster_first_doubted(&r) == NULL);
	judge_word(&r, &m[2]->judge, 0);
	T_CHECK(roster_first_doubted(&r) == m[2]);
	r.arity = 2;
	T_CHECK(roster_first_doubted(&r) == NULL);
	roster_free(&r);
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
	test_the_tree_of_a_run();
	test_other_shapes();
	test_who_comes_and_goes_costs_nothing();
	test_words_end_with_who_said_them();
	test_who_was_suspected_by_suspects_is_cleared();
	test_words_of_suspects_make_room();
	test_only_parents_that_serve_others_are_believed();
	test_a_word_is_about_all_leaves_of_a_time();
	test_the_first_that_is_doubted();
	test_dials();
	return t_done();
}
