/* The model of dolly/plan against the figures that its paper prints. */
#include <math.h>
#include <string.h>

#include "dolly/plan/predict.h"
#include "tests/t.h"

#define MB 1e6

static struct network
example(const char *path)
{
	struct network n;
	struct err e;

	T_CHECK(network_read(&n, path, &e) == 0);
	return n;
}

/* What the model says of this network, which is freed. */
static struct predict_row
row_of(struct network n, const struct predict_config *c, enum tree_kind kind, unsigned arity)
{
	struct predict_row row;
	struct route r;
	struct err e;

	T_CHECK(route_make(&r, &n, &e) == 0);
	T_CHECK(predict_one(&row, &n, &r, c, kind, arity, &e) == 0);
	route_free(&r);
	network_free(&n);
	return row;
}

static double
rate(const char *path, enum tree_kind kind, unsigned arity, size_t clients,
    double compression)
{
	struct predict_config c = { .clients = clients, .compression = compression };

	return row_of(example(path), &c, kind, arity).rate / MB;
}

static bool
near(double ours, double printed)
{
	return fabs(ours - printed) <= 0.1 + 1e-9;
}

#define SLOW "docs/examples/patagonia-fast.net"
#define FAST "docs/examples/patagonia.net"

/* Table I; its compressed star does not follow from the text. */
static void
test_table_1(void)
{
	T_CHECK(near(rate(SLOW, TREE_CHAIN, 1, 5, 1), 12.5));
	T_CHECK(near(rate(SLOW, TREE_CHAIN, 1, 5, 2), 3.9));
	T_CHECK(near(rate(SLOW, TREE_NARY, 2, 5, 1), 6.3));
	T_CHECK(near(rate(SLOW, TREE_NARY, 3, 5, 1), 4.2));
	T_CHECK(near(rate(SLOW, TREE_STAR, 0, 5, 1), 2.5));
	T_CHECK(near(rate(FAST, TREE_CHAIN, 1, 5, 1), 12.6));
	T_CHECK(near(rate(FAST, TREE_CHAIN, 1, 5, 2), 3.9));
	T_CHECK(near(rate(FAST, TREE_NARY, 2, 5, 1), 9.3));
	T_CHECK(near(rate(FAST, TREE_NARY, 3, 5, 1), 7.4));
	T_CHECK(near(rate(FAST, TREE_STAR, 0, 5, 1), 5.3));
}

static void
test_worked_examples(void)
{
	T_CHECK(near(rate("docs/examples/two-switches.net", TREE_GIVEN, 0, 0, 1), 7.5));
	T_CHECK(near(rate("docs/examples/patagonia2.net", TREE_CHAIN, 1, 15, 1), 25.4));
}

/* The inequalities of section 2.7, one by one. */
static void
test_a_node_that_decompresses(void)
{
	struct model_node place = { 1, 1, 2, true, false };
	struct network_machine bus = { .iobus = 132 }, memory = { .memory = 180 },
			       disk = { .disk = 24 };

	T_CHECK(fabs(model_of_node(&bus, &place).rate - 132 / 2.0) < 1e-9);
	T_CHECK(fabs(model_of_node(&memory, &place).rate - 180 / 7.0) < 1e-9);
	T_CHECK(fabs(model_of_node(&disk, &place).rate - 24) < 1e-9);
	T_CHECK(model_of_node(&memory, &place).resource == MODEL_MEMORY);
}

/* Processors share the work, but one thread has all connections; a node that receives computes
 * digests. */
static void
test_processors(void)
{
	struct network_machine m = { .tcp = 100, .copy = 300, .digest = 200, .cores = 1 };
	struct model_node place = { 1, 1, 1, false, false };

	/* 2 / 100 for streams, 3 / 300 for copies, 1 / 200 for digests */
	T_CHECK(fabs(model_of_node(&m, &place).rate - 1 / 0.035) < 1e-9);
	m.cores = 0;
	T_CHECK(fabs(model_of_node(&m, &place).rate - 1 / 0.035) < 1e-9);
	m.cores = 4;
	T_CHECK(fabs(model_of_node(&m, &place).rate - 50) < 1e-9);
	T_CHECK(model_of_node(&m, &place).resource == MODEL_PROCESSOR);
}

static struct network
parsed(const char *text)
{
	struct network n;
	struct err e;

	T_CHECK(network_parse(&n, text, strlen(text), "text", &e) == 0);
	return n;
}

static struct predict_row
row_of_text(const char *text, enum tree_kind kind, unsigned arity)
{
	const struct predict_config c = { .raw_bytes = 1e9, .compression = 1 };

	return row_of(parsed(text), &c, kind, arity);
}

/* The closed formulas of the basic model for 40 nodes: of its capacity a node needs one stream in,
 * k out, and one to its disk, and the server of a star all that go out and one of its disk.  Of a
 * link, k streams share one direction. */
static void
test_chains_and_trees_in_closed_form(void)
{
	const char nodes[] = "machine m switching=42MB\nswitch x\nhost s,n[1-40] machine=m\n"
			     "link s,n[1-40] x\nserver s\n";
	const char links[] = "switch x\nhost s,n[1-40]\nlink s,n[1-40] x rate=42MB\nserver s\n";

	T_CHECK(fabs(row_of_text(nodes, TREE_CHAIN, 1).rate - 42 * MB / 3) < 1);
	T_CHECK(fabs(row_of_text(links, TREE_CHAIN, 1).rate - 42 * MB) < 1);
	for (unsigned k = 2; k <= 5; k++) {
		T_CHECK(fabs(row_of_text(nodes, TREE_NARY, k).rate - 42 * MB / (k + 2)) < 1);
		T_CHECK(fabs(row_of_text(links, TREE_NARY, k).rate - 42 * MB / k) < 1);
	}
	T_CHECK(fabs(row_of_text(nodes, TREE_STAR, 0).rate - 42 * MB / 41) < 1);
	T_CHECK(fabs(row_of_text(links, TREE_STAR, 0).rate - 42 * MB / 40) < 1);
	T_CHECK(row_of_text(nodes, TREE_CHAIN, 1).depth == 40);
	T_CHECK(row_of_text(nodes, TREE_NARY, 3).depth == 4); /* 3 + 9 + 27 are one too few */
	T_CHECK(row_of_text(nodes, TREE_STAR, 0).depth == 1);
}

static const char two_racks[] =
    "switch top,rack[1-2]\nhost s,a[1-8],b[1-8]\nlink rack[1-2] top rate=10MB\n"
    "link s,a[1-8] rack1 rate=100MB\nlink b[1-8] rack2 rate=100MB\nserver s\n";

/* The link between the racks is crossed once by chain and multicast, and by every stream of a
 * star. */
static void
test_a_link_between_racks_is_crossed_once(void)
{
	struct predict_row chain = row_of_text(two_racks, TREE_CHAIN, 1);
	struct predict_row multicast = row_of_text(two_racks, TREE_MULTICAST, 0);
	struct predict_row star = row_of_text(two_racks, TREE_STAR, 0);

	T_CHECK(fabs(chain.rate - 10 * MB) < 1);
	T_CHECK(strcmp(chain.reason, "link rack1 to top") == 0);
	T_CHECK(fabs(multicast.rate - 10 * MB) < 1);
	T_CHECK(fabs(star.rate - 10 * MB / 8) < 1);
	T_CHECK(chain.depth == 16);
	T_CHECK(fabs(chain.seconds - (1e9 + 16 * 1048576) / 1e7) < 0.001);
}

static void
test_half_duplex_is_shared_by_both_directions(void)
{
	const char text[] = "switch x\nhost s,a,b\n"
			    "link s,a,b x rate=8MB duplex=half\nserver s\n";

	T_CHECK(fabs(row_of_text(text, TREE_CHAIN, 1).rate - 4 * MB) < 1);
}

static bool
refused(const char *text, const char *sentence)
{
	struct network n;
	struct err e = { 0 };
	int rc = network_parse(&n, text, strlen(text), "text", &e);

	network_free(&n);
	if (rc == 0 || strstr(e.text, sentence) == NULL)
		fprintf(stderr, "\"%s\"\n", e.text);
	return rc != 0 && strstr(e.text, sentence) != NULL;
}

static void
test_what_is_wrong_is_said(void)
{
	T_CHECK(refused("", "no \"server\""));
	T_CHECK(refused("host a\nserver b\n", "line 2: b is not described above"));
	T_CHECK(refused("host a,a\n", "a is described twice"));
	T_CHECK(refused("host a machine=m\n", "machine m is not described"));
	T_CHECK(refused("host n[3-1]\n", "ends before it begins"));
	T_CHECK(refused("host n[1\n", "not closed"));
	T_CHECK(refused("switch s\nhost a\nlink a s rate=7\n", "is not a rate"));
	T_CHECK(refused("switch s\nserver s\n", "s is a switch"));
	T_CHECK(refused("host a\nlink a a\n", "linked with itself"));
	T_CHECK(refused("hosts a\n", "is not a statement"));
	T_CHECK(refused("host a,b\nserver a\nstream b a\n", "the server receives"));
	T_CHECK(refused("machine m cores=0\n", "cores: "));
	T_CHECK(refused("machine m cores=2MB\n", "cores: "));
	T_CHECK(refused("machine m digest=2\n", "is not a rate"));
}

/* Streams in a circle that the server's does not reach. */
static void
test_streams_in_a_circle(void)
{
	struct network n = parsed("switch x\nhost s,a,b\nlink s,a,b x\nserver s\n"
				  "stream a b\nstream b a\n");
	struct predict_config c = { .compression = 1 };
	struct predict_row row;
	struct route r;
	struct err e;

	T_CHECK(route_make(&r, &n, &e) == 0);
	T_CHECK(predict_one(&row, &n, &r, &c, TREE_GIVEN, 0, &e) != 0);
	T_CHECK(strstr(e.text, "does not reach") != NULL);
	route_free(&r);
	network_free(&n);
}

/* Hosts that are added are of the server's kind, and have its links. */
static void
test_hosts_like_the_server(void)
{
	struct network n = parsed("machine m disk=50MB\nswitch x\nhost s machine=m\n"
				  "link s x rate=80MB\nserver s\n");
	struct network alone = parsed("host s\nserver s\n");
	struct predict_config c = { .raw_bytes = 1e9, .compression = 1 };
	struct predict_row row;
	struct route r;
	struct err e;
	uint32_t point;

	for (uint32_t i = 0; i < 3; i++)
		T_CHECK(network_add_like_server(&n, "more", &point, &e) == 0 &&
			point == 2 + i);
	T_CHECK(route_make(&r, &n, &e) == 0 && r.nhosts == 4);
	T_CHECK(predict_one(&row, &n, &r, &c, TREE_STAR, 0, &e) == 0);
	T_CHECK(fabs(row.rate - 80 * MB / 3) < 1 && row.clients == 3);
	T_CHECK(predict_one(&row, &n, &r, &c, TREE_CHAIN, 1, &e) == 0);
	T_CHECK(fabs(row.rate - 50 * MB) < 1 && row.resource == MODEL_DISK);
	T_CHECK(!network_is_linked(&alone));
	T_CHECK(network_add_like_server(&alone, "more", &point, &e) != 0);
	route_free(&r);
	network_free(&n);
	network_free(&alone);
}

int
main(void)
{
	test_processors();
	test_hosts_like_the_server();
	test_table_1();
	test_chains_and_trees_in_closed_form();
	test_worked_examples();
	test_a_node_that_decompresses();
	test_a_link_between_racks_is_crossed_once();
	test_half_duplex_is_shared_by_both_directions();
	test_what_is_wrong_is_said();
	test_streams_in_a_circle();
	return t_done();
}
