/* What is said for which facts: the right check, the right status, one sentence. */
#include <string.h>

#include "frisbee/doctor/doctor.h"
#include "tests/t.h"

static struct doctor_loss
lost(unsigned sent, unsigned heard, unsigned answered, unsigned got)
{
	return (struct doctor_loss){
		.sent = sent, .heard = heard, .answered = answered, .got = got
	};
}

static struct doctor_facts
healthy(void)
{
	return (struct doctor_facts){ .iface = "eth0",
		.addr = { 10, 0, 0, 9 },
		.mask = { 255, 255, 255, 0 },
		.own = { .asked = true },
		.its = { .asked = true, .n = 1, .mac = { { 2, 0, 0, 0, 0, 1 } } },
		.group = { 239, 1, 2, 3 },
		.port = 5007,
		.second = 5008,
		.mtu = 1500,
		.watched = true,
		.reports_out = 2,
		.at = { { true, 100, 100 }, { true, 100, 100 } },
		.query = true,
		.querier = { 10, 0, 0, 254 },
		.server_known = true,
		.replied = true,
		.answers_probes = true,
		.server = { 10, 0, 0, 1 },
		.chunks = 3,
		.servers = { { .addr = { 10, 0, 0, 1 }, .has_identity = true, .chunks = 3 } },
		.nservers = 1,
		.group_heard = 1,
		.first_heard = true,
		.group_group = 100,
		.group_direct = 4,
		.direct_group = 4,
		.direct_direct = 4,
		.large_sent = 12,
		.largest = 1084,
		.loss = lost(100, 100, 100, 100),
		.burst_short = { 100, 100, 100, 100, 50000, 50000, false },
		.burst = { 100, 100, 100, 100, 50000, 50000, false },
		.session = { 5000, 5000, 1000000 } };
}

/* Nothing through the group; directly it answers. */
static struct doctor_facts
deaf(void)
{
	struct doctor_facts f = healthy();

	f.replied = false;
	f.group_heard = f.group_group = f.direct_group = 0;
	f.at[0] = f.at[1] = (struct doctor_port){ true, 0, 0 };
	f.loss = f.burst_short = f.burst = (struct doctor_loss){ 0 };
	f.session = (struct doctor_session){ 0 };
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
	T_CHECK(r.n == 18);
	T_CHECK(r.well);
	for (unsigned i = 0; i < r.n; i++)
		T_CHECK(r.check[i].status == DOCTOR_OK);
	T_CHECK(strcmp(r.summary, "all is well: multicast arrives from 10.0.0.1") == 0);
	/* Nobody loads: whether blocks would come is not known, and not said to be well. */
	f.first_heard = false;
	doctor_judge(&f, &r);
	unsigned unknown = 0;
	for (unsigned i = 0; i < r.n; i++)
		if (r.check[i].status == DOCTOR_UNKNOWN)
			unknown += strcmp(r.check[i].name, "first port") == 0;
	T_CHECK(r.well && unknown == 1);
	T_CHECK(strcmp(r.summary, "all is well that could be tested: multicast arrives from "
				  "10.0.0.1; not tested: first port") == 0);
	f.first_heard = true;
	/* Not root: it knows less, and nothing is wrong. */
	f.watched = f.query = false;
	f.reports_out = f.at[0].seen = f.at[1].seen = 0;
	f.own.asked = f.its.asked = false;
	f.its.n = 0;
	T_CHECK(sums_up(&f, true, "all is well"));
	T_CHECK(sums_up(&f, true, "; not tested: address, membership, querier"));
	T_CHECK(says(&f, "membership", DOCTOR_UNKNOWN, "root"));
	T_CHECK(says(&f, "address", DOCTOR_UNKNOWN, "root"));
}

static void
test_deaf(void)
{
	struct doctor_facts f = deaf();

	T_CHECK(says(&f, "multicast", DOCTOR_BAD, "does not forward the group"));
	T_CHECK(sums_up(&f, false, "unicast works, multicast does not"));
	f.hops = 1;
	T_CHECK(
	    says(&f, "multicast", DOCTOR_BAD, "1 router on the way does not route"));
	f.hops = 4;
	T_CHECK(says(&f, "multicast", DOCTOR_BAD, "4 routers on the way do not route"));
	f.hops = 5;
	T_CHECK(says(&f, "multicast", DOCTOR_BAD, "TTL of 5 do not get so far"));
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
	f.at[1].seen = 9;
	T_CHECK(says(&f, "multicast", DOCTOR_BAD, "a firewall of this machine"));
	f.rpf_drops = 1;
	T_CHECK(says(&f, "multicast", DOCTOR_BAD, "rp_filter"));
	strcpy(f.other_iface, "eth1");
	T_CHECK(says(&f, "interface", DOCTOR_BAD, "use -i eth1"));
	T_CHECK(sums_up(&f, false, "use -i eth1"));
}

/* Nothing can be sent: only that is said. */
static void
test_link(void)
{
	static const struct {
		enum doctor_link link;
		const char *words;
	} cases[] = {
		{ DOCTOR_LINK_DOWN, "eth0 is down" },
		{ DOCTOR_LINK_NO_CARRIER, "eth0 has no carrier: is the cable in" },
		{ DOCTOR_LINK_NO_ADDRESS, "eth0 has no IPv4 address" },
		{ DOCTOR_LINK_NO_ROUTE,
		    "no route to 239.1.2.3: name the interface (-i eth0)" },
		{ DOCTOR_LINK_NONE, "no network interface except the loopback" },
	};
	struct doctor_report r;

	for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct doctor_facts f = { .link = cases[i].link,
			.iface = "eth0",
			.group = { 239, 1, 2, 3 } };
		T_CHECK(says(&f, "interface", DOCTOR_BAD, cases[i].words));
		T_CHECK(sums_up(&f, false, cases[i].words));
		doctor_judge(&f, &r);
		T_CHECK(r.n == 1);
	}
}

static void
test_addresses(void)
{
	struct doctor_facts f = healthy();

	f.own.n = 1;
	memcpy(f.own.mac[0], "\2\0\0\0\0\7", ARP_MAC_BYTES);
	T_CHECK(sums_up(&f, false,
	    "another machine, with the MAC address 02:00:00:00:00:07, has the address "
	    "10.0.0.9, too"));
	f = healthy();
	f.its.n = 2;
	memcpy(f.its.mac[1], "\2\0\0\0\0\7", ARP_MAC_BYTES);
	T_CHECK(sums_up(&f, false,
	    "two machines, with the MAC addresses 02:00:00:00:00:01 and "
	    "02:00:00:00:00:07, have the server's address, 10.0.0.1"));
	/* The server is elsewhere: reached; behind a router; not reached, but heard. */
	f = healthy();
	f.addr[2] = 8;
	T_CHECK(sums_up(&f, true, "all is well"));
	T_CHECK(says(&f, "subnet", DOCTOR_OK, "not in the network 10.0.8.9/24"));
	f.direct_direct = f.group_direct = f.direct_group = 0;
	f.hops = 1;
	T_CHECK(says(&f, "subnet", DOCTOR_OK, "packets pass between them"));
	f.hops = 0;
	T_CHECK(sums_up(&f, false,
	    "packets of 10.0.0.1 arrive, although it is not in the network "
	    "10.0.8.9/24"));
	T_CHECK(says(&f, "unicast", DOCTOR_UNKNOWN, "packets do not pass between"));
	f.group_heard = f.group_group = 0;
	T_CHECK(says(&f, "subnet", DOCTOR_UNKNOWN, "there must be routers on the way"));
	f.server_known = false;
	T_CHECK(
	    says(&f, "subnet", DOCTOR_UNKNOWN, "the server's address is not known"));
}

/* Nothing at all came from the server. */
static struct doctor_facts
silent(void)
{
	struct doctor_facts f = deaf();

	f.group_direct = f.direct_direct = f.large_sent = f.largest = f.nservers = 0;
	f.answers_probes = f.server_known = false;
	f.its = (struct doctor_arp){ 0 };
	f.hops = -1;
	return f;
}

static void
test_nobody(void)
{
	struct doctor_facts f = silent();

	T_CHECK(says(&f, "server", DOCTOR_BAD, "nothing answers"));
	T_CHECK(says(&f, "server", DOCTOR_BAD, "-S ADDR"));
	T_CHECK(says(&f, "multicast", DOCTOR_UNKNOWN,
	    "no server that sends to the group is known"));
	/* What others say to the group arrives at our sockets: no firewall. */
	f.at[0] = (struct doctor_port){ true, 7, 7 };
	T_CHECK(sums_up(&f, false, "nothing answers"));
	f.refused_out = true;
	T_CHECK(sums_up(&f, false, "does not let packets to the group out"));
	/* A session's blocks come, and it does not hear us. */
	f = deaf();
	f.group_direct = f.direct_direct = 0;
	f.group_heard = 50;
	T_CHECK(says(&f, "server", DOCTOR_BAD, "does not reach the server"));
}

/* The server's machine, when its address is known. */
static void
test_host(void)
{
	struct doctor_facts f = silent();

	f.server_known = f.named = true;
	T_CHECK(sums_up(&f, false, "10.0.0.1 does not answer a ping, either"));
	f.its.asked = true;
	T_CHECK(sums_up(&f, false, "10.0.0.1 does not answer (no answer to ARP)"));
	f.unreachable = true;
	T_CHECK(sums_up(&f, false, "10.0.0.1 does not answer (host unreachable)"));
	f.unreachable = false;
	f.its.n = 1;
	T_CHECK(sums_up(&f, false, "10.0.0.1 is up, but nothing at its UDP port 5008"));
	f.its = (struct doctor_arp){ 0 };
	f.pinged = true;
	T_CHECK(sums_up(&f, false, "10.0.0.1 is up, but nothing at its UDP port 5008"));
	f.refused = true;
	T_CHECK(sums_up(&f, false, "10.0.0.1 is up, but no frisbeed answers there"));
	f.other_port = 5010;
	memcpy(f.other_group, "\357\1\2\4", 4);
	T_CHECK(sums_up(&f, false, "10.0.0.1 serves the group 239.1.2.4 at port 5010"));
	f.by_unicast = true;
	T_CHECK(sums_up(&f, false, "serves by unicast: use -m 10.0.0.1"));
	T_CHECK(says(&f, "unicast", DOCTOR_OK, "each client"));
	f.by_unicast = false;
	f.by_broadcast = true;
	memcpy(f.broadcast, "\12\0\0\377", 4);
	T_CHECK(sums_up(&f, false, "serves by broadcast: use -b -m 10.0.0.255"));
	/* Another one than -S says. */
	f = silent();
	f.server_known = f.named = true;
	f.nservers = 1;
	memcpy(f.servers[0].addr, "\12\0\0\5", 4);
	T_CHECK(sums_up(&f, false, "10.0.0.5 serves this group and port, not 10.0.0.1"));
}

/* Which of the two directions of the group fails, and where. */
static void
test_directions(void)
{
	struct doctor_facts f = healthy();

	f.replied = false;
	f.group_group = f.group_direct = 0;
	T_CHECK(says(&f, "to server", DOCTOR_BAD, "forward the group to the server's port"));
	T_CHECK(sums_up(&f, false, "does not reach 10.0.0.1, where frisbeed runs"));
	T_CHECK(says(&f, "second port", DOCTOR_OK, "arrive"));
	f = deaf();
	f.mute = true;
	T_CHECK(sums_up(
	    &f, false, "frisbeed runs at 10.0.0.1, but the firewall or the network"));
	T_CHECK(says(&f, "to server", DOCTOR_OK, "reaches the server"));
	/* STATE comes at the second port, our probes do not go there. */
	f = healthy();
	f.group_group = f.group_direct = f.direct_group = f.direct_direct = 0;
	f.second_heard = true;
	T_CHECK(says(&f, "second port", DOCTOR_BAD, "does not reach the server"));
}

static void
test_servers(void)
{
	struct doctor_facts f = healthy();

	f.servers[1] = f.servers[0];
	f.servers[1].addr[3] = 5;
	f.nservers = 2;
	T_CHECK(says(&f, "servers", DOCTOR_OK, "10.0.0.1 and 10.0.0.5 serve the same image"));
	T_CHECK(sums_up(&f, true, "all is well"));
	f.servers[1].identity[15] = 1;
	T_CHECK(sums_up(&f, false, "10.0.0.1 and 10.0.0.5 serve different images"));
	f.servers[1].has_identity = false; /* an old one */
	T_CHECK(says(&f, "servers", DOCTOR_OK, "same"));
	f.servers[1].chunks = 4;
	T_CHECK(says(&f, "servers", DOCTOR_BAD, "different"));
	f.servers[1].chunks = 3;
	f.servers[2] = f.servers[1];
	f.servers[2].addr[3] = 6;
	f.servers[2].any_file = true;
	f.nservers = 3;
	T_CHECK(sums_up(&f, false, "10.0.0.1 and 10.0.0.6 serve different images"));
}

/* Packets that did not come at once say nothing of bursts, unless many of them are lost all the
 * same: then what loses them does so at a lower rate, too. */
static void
test_no_burst(void)
{
	struct doctor_facts f = healthy();

	f.burst.sent_us = f.burst.got_us = 200000;
	T_CHECK(says(&f, "burst", DOCTOR_OK, "0 % are lost when they come in a burst (4.3"));
	f.burst.sent_us = f.burst.got_us = 870000;
	T_CHECK(says(&f, "burst", DOCTOR_UNKNOWN,
	    "this machine was too busy to ask for a burst (its packets had 1.0 Mbit/s)"));
	T_CHECK(sums_up(&f, true, "all is well"));
	f.burst.sent_us = 50000;
	T_CHECK(says(&f, "burst", DOCTOR_UNKNOWN,
	    "the server could not send a burst (1.0 Mbit/s came)"));
	f.burst.got = 80;
	T_CHECK(says(&f, "burst", DOCTOR_BAD, "20 % of 100 packets as large as blocks"));
	f.burst.sent_us = 870000;
	T_CHECK(says(&f, "burst", DOCTOR_BAD, "20 % of 100 packets as large as blocks"));
}

/* Many at once, and the blocks of a session. */
static void
test_bursts(void)
{
	struct doctor_facts f = healthy();

	f.burst.got = 20;
	T_CHECK(says(&f, "burst", DOCTOR_BAD, "80 % of 100 packets as large as blocks"));
	T_CHECK(sums_up(&f, false, "a slow link, or one that other traffic fills"));
	T_CHECK(
	    says(&f, "burst", DOCTOR_BAD, "380 packets (3.3 Mbit/s) pass in a second"));
	f.burst_short.got = 60;
	T_CHECK(says(&f, "burst", DOCTOR_BAD, "a slow link"));
	f.burst_short.got = 30;
	T_CHECK(sums_up(
	    &f, false, "a switch may limit the number of packets (storm control)"));
	f.burst_short.got = 65; /* in a burst that was sent more slowly */
	f.burst_short.got_us = 130000;
	T_CHECK(sums_up(&f, false, "(storm control)"));
	f.burst_short.got = 31; /* in a burst that was sent in a few turns */
	f.burst_short.got_us = 10000;
	T_CHECK(sums_up(&f, false, "(storm control)"));
	f.iface_drops = 3;
	T_CHECK(says(&f, "burst", DOCTOR_BAD, "the interface itself drops"));
	f.burst.dropped_here = true;
	T_CHECK(says(&f, "burst", DOCTOR_UNKNOWN, "too busy"));
	/* No more than of any packets. */
	f = healthy();
	f.burst.got = f.loss.got = 60;
	T_CHECK(says(&f, "burst", DOCTOR_OK, "40 %"));
	f.burst.answered = f.burst.got = 5;
	T_CHECK(says(&f, "burst", DOCTOR_UNKNOWN, "only 5 of 100"));
	f.burst.sent = 0;
	T_CHECK(says(&f, "burst", DOCTOR_UNKNOWN, "not measured"));
	f = healthy();
	f.session.heard = 2000;
	T_CHECK(sums_up(&f, false, "60 % of the blocks that a session sends just now"));
	T_CHECK(says(&f, "session", DOCTOR_BAD, "(43.0 Mbit/s) get lost"));
	T_CHECK(says(&f, "session", DOCTOR_BAD, "about 17.2 Mbit/s pass"));
	f.loss.got = 60;
	T_CHECK(says(&f, "session", DOCTOR_OK, "60 %"));
	/* What this machine had no room for is not the network's fault; what else is
	 * missing is. */
	f = healthy();
	f.session.heard = 2000;
	f.buffer_drops = 2400;
	T_CHECK(says(&f, "session", DOCTOR_BAD, "60 %"));
	f.buffer_drops = 2600;
	T_CHECK(sums_up(&f, true, "all is well"));
	T_CHECK(says(&f, "session", DOCTOR_UNKNOWN, "too busy to receive"));
	f.buffer_drops = 1000000;
	T_CHECK(says(&f, "session", DOCTOR_UNKNOWN, "(43.0 Mbit/s)"));
	f.session.heard = 5000;
	T_CHECK(says(&f, "session", DOCTOR_OK, "0 %"));
	/* More bytes than 32 bits count. */
	f = healthy();
	f.session.sent = f.session.heard = 8000000;
	f.session.us = 10000000;
	T_CHECK(says(&f, "session", DOCTOR_OK, "(6886.4 Mbit/s), 0 %"));
	f.session.sent = 80000000;
	T_CHECK(says(&f, "session", DOCTOR_BAD, "90 % of the blocks"));
	T_CHECK(says(&f, "session", DOCTOR_BAD, "about 6886.4 Mbit/s pass"));
}

static void
test_quality(void)
{
	static const uint8_t said[4] = { 192, 168, 0, 2 };
	struct doctor_facts f = healthy();

	f.largest = 1000;
	f.burst.got = 1;
	T_CHECK(says(&f, "mtu", DOCTOR_OK, "packets of 1076 bytes pass"));
	f.burst.got = 0;
	f.session.heard = 1;
	T_CHECK(says(&f, "mtu", DOCTOR_OK, "packets of 1076 bytes pass"));
	f.session.heard = 0;
	T_CHECK(says(&f, "mtu", DOCTOR_BAD, "only packets of up to 1000"));
	f.mtu = 900;
	T_CHECK(says(&f, "mtu", DOCTOR_BAD, "the MTU of eth0 is 900"));
	f = healthy();
	f.loss = lost(100, 98, 98, 97);
	T_CHECK(says(&f, "loss", DOCTOR_OK, "2 % of 100 packets to"));
	f.loss = lost(100, 90, 90, 81);
	T_CHECK(says(&f, "loss", DOCTOR_BAD,
	    "10 % of 100 packets to the server are "
	    "lost, 10 % of 90 from it"));
	f.loss = lost(100, 100, 100, 52);
	T_CHECK(says(&f, "loss", DOCTOR_BAD, "about 1.9 times as many packets, and as long"));
	f.loss = lost(100, 100, 100, 0);
	T_CHECK(says(&f, "loss", DOCTOR_BAD, "no load can complete"));
	f.loss = lost(100, 60, 60, 60);
	T_CHECK(says(&f, "loss", DOCTOR_BAD, "often comes late"));
	/* A server that lies. */
	f.loss = lost(100, 4000000000u, 5, 100);
	T_CHECK(says(&f, "loss", DOCTOR_OK, "0 % of 100"));
	f = healthy();
	f.odd_port = 40000;
	T_CHECK(says(&f, "source", DOCTOR_BAD, "port 40000 instead of 5007"));
	f = healthy();
	f.odd_source = true;
	memcpy(f.seen, f.server, 4); /* also where the sender counts as the server */
	memcpy(f.said, said, 4);
	T_CHECK(says(&f, "source", DOCTOR_BAD,
	    "come from 10.0.0.1 but say that they are from 192.168.0.2"));
	f = healthy();
	f.group_group = f.direct_group = 0;
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
	test_link();
	test_addresses();
	test_file();
	test_deaf();
	test_nobody();
	test_host();
	test_directions();
	test_servers();
	test_bursts();
	test_no_burst();
	test_quality();
	return t_done();
}
