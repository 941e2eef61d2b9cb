/* What is said for which facts: the right check, the right status, one sentence. */
#include <string.h>

#include "frisbee/doctor.h"
#include "tests/t.h"

static struct doctor_facts
healthy(void)
{
	return (struct doctor_facts){ .iface = "eth0",
		.addr = { 10, 0, 0, 9 },
		.group = { 239, 1, 2, 3 },
		.port = 5007,
		.second = 5008,
		.mtu = 1500,
		.watched = true,
		.reports_out = 2,
		.group_in = 200,
		.query = true,
		.querier = { 10, 0, 0, 254 },
		.server_known = true,
		.replied = true,
		.answers_probes = true,
		.server = { 10, 0, 0, 1 },
		.chunks = 3,
		.group_heard = 1,
		.group_group = 100,
		.group_direct = 4,
		.direct_direct = 4,
		.large_sent = 12,
		.largest = 1084,
		.loss = { 100, 100, 100, 100 } };
}

/* Nothing through the group; directly it answers. */
static struct doctor_facts
deaf(void)
{
	struct doctor_facts f = healthy();

	f.replied = false;
	f.group_heard = f.group_group = f.group_in = 0;
	f.loss = (struct doctor_loss){ 0 };
	return f;
}

static bool
says(const struct doctor_facts *f, const char *name, enum doctor_status status,
    const char *words)
{
	struct doctor_report r;

	doctor_judge(f, &r);
	for (unsigned i = 0; i < r.n; i++)
		if (strcmp(r.check[i].name, name) == 0)
			return r.check[i].status == status &&
			       strstr(r.check[i].text, words) != NULL;
	return false;
}

static bool
sums_up(const struct doctor_facts *f, bool well, const char *words)
{
	struct doctor_report r;

	doctor_judge(f, &r);
	return r.well == well && strstr(r.summary, words) != NULL;
}

static void
test_well(void)
{
	struct doctor_facts f = healthy();
	struct doctor_report r;

	doctor_judge(&f, &r);
	T_CHECK(r.n == 12 && r.well);
	for (unsigned i = 0; i < r.n; i++)
		T_CHECK(r.check[i].status == DOCTOR_OK);
	T_CHECK(strcmp(r.summary, "all is well: multicast arrives from 10.0.0.1") == 0);
	/* Not root: it knows less, and nothing is wrong. */
	f.watched = f.query = false;
	f.reports_out = f.group_in = 0;
	T_CHECK(sums_up(&f, true, "all is well"));
	T_CHECK(says(&f, "membership", DOCTOR_UNKNOWN, "root"));
}

static void
test_deaf(void)
{
	struct doctor_facts f = deaf();

	T_CHECK(says(&f, "multicast", DOCTOR_BAD, "does not forward the group"));
	T_CHECK(sums_up(&f, false, "unicast works, multicast does not"));
	f.hops = 1;
	T_CHECK(says(&f, "multicast", DOCTOR_BAD, "1 router between does not route"));
	f.hops = 4;
	T_CHECK(says(&f, "multicast", DOCTOR_BAD, "4 routers between do not route"));
	f.hops = 5;
	T_CHECK(says(&f, "multicast", DOCTOR_BAD, "TTL of 5 ends"));
	T_CHECK(says(&f, "ttl", DOCTOR_BAD, "5 routers"));
	f = deaf();
	f.reports_out = 0;
	T_CHECK(says(&f, "membership", DOCTOR_BAD, "IP protocol 2"));
	T_CHECK(says(&f, "multicast", DOCTOR_BAD, "no IGMP report"));
	f.member_before = true;
	T_CHECK(says(&f, "membership", DOCTOR_UNKNOWN, "another program"));
	f = deaf();
	f.query = false;
	T_CHECK(says(&f, "querier", DOCTOR_BAD, "no querier"));
	f.group_in = 9;
	T_CHECK(says(&f, "multicast", DOCTOR_BAD, "a firewall of this machine"));
	f.rpf_drops = 1;
	T_CHECK(says(&f, "multicast", DOCTOR_BAD, "rp_filter"));
	strcpy(f.other_iface, "eth1");
	T_CHECK(says(&f, "interface", DOCTOR_BAD, "use -i eth1"));
	T_CHECK(sums_up(&f, false, "use -i eth1"));
}

static void
test_nobody(void)
{
	struct doctor_facts f = deaf();

	f.group_direct = f.direct_direct = f.large_sent = f.largest = 0;
	f.answers_probes = f.server_known = false;
	f.hops = -1;
	T_CHECK(says(&f, "server", DOCTOR_BAD, "nothing answers"));
	T_CHECK(says(&f, "server", DOCTOR_BAD, "-S ADDR"));
	T_CHECK(says(&f, "multicast", DOCTOR_UNKNOWN, "nothing was sent"));
	f.server_known = f.refused = true;
	T_CHECK(says(&f, "server", DOCTOR_BAD, "no frisbeed listens"));
	f.refused_out = true;
	T_CHECK(sums_up(&f, false, "does not let packets to the group out"));
	/* A session's blocks come, and it does not hear us. */
	f = deaf();
	f.group_direct = f.direct_direct = 0;
	f.group_heard = 50;
	T_CHECK(says(&f, "server", DOCTOR_BAD, "does not reach it"));
}

static void
test_quality(void)
{
	struct doctor_facts f = healthy();

	f.largest = 1000;
	T_CHECK(says(&f, "mtu", DOCTOR_BAD, "only those of up to 1000"));
	f.mtu = 900;
	T_CHECK(says(&f, "mtu", DOCTOR_BAD, "the MTU of eth0 is 900"));
	f = healthy();
	f.loss = (struct doctor_loss){ 100, 98, 98, 97 };
	T_CHECK(says(&f, "loss", DOCTOR_OK, "2 % of 100 packets to"));
	f.loss = (struct doctor_loss){ 100, 90, 90, 81 };
	T_CHECK(says(&f, "loss", DOCTOR_BAD,
	    "10 % of 100 packets to the server are "
	    "lost, 10 % of 90 from it"));
	/* A server that lies. */
	f.loss = (struct doctor_loss){ 100, 4000000000u, 5, 100 };
	T_CHECK(says(&f, "loss", DOCTOR_OK, "0 % of 100"));
	f = healthy();
	f.odd_port = 40000;
	T_CHECK(says(&f, "source", DOCTOR_BAD, "port 40000 instead of 5007"));
	f = healthy();
	f.group_group = 0;
	f.loss = (struct doctor_loss){ 0 };
	T_CHECK(says(&f, "second port", DOCTOR_BAD, "UDP port 5008"));
}

/* A file's session: told from an image's. */
static void
test_file(void)
{
	struct doctor_facts f = healthy();

	f.any_file = true;
	T_CHECK(says(&f, "server", DOCTOR_OK, "10.0.0.1 serves a file, not an image"));
	T_CHECK(sums_up(&f, true, "serves a file, not an image: use -N"));
}

int
main(void)
{
	test_well();
	test_file();
	test_deaf();
	test_nobody();
	test_quality();
	return t_done();
}
