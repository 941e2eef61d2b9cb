/* What the facts mean, in words, and what to do.  One function a check. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/net/wire.h"
#include "frisbee/doctor.h"

enum {
	LOSS_BAD = 3, /* of 100: more than chance on a clean network */
	BLOCK_IP_BYTES = WIRE_BLOCK_PACKET_BYTES + 28,
};

/* A packet with a block. */
static uint32_t
block_bytes(const struct doctor_facts *f)
{
	return BLOCK_IP_BYTES + (f->authenticated ? AUTH_HEADER_BYTES : 0);
}

static void __attribute__((format(printf, 4, 5))) say(struct doctor_report *r,
    const char *name, enum doctor_status status, const char *fmt, ...)
{
	struct doctor_check *c = &r->check[r->n++];
	va_list ap;

	c->name = name;
	c->status = status;
	va_start(ap, fmt);
	vsnprintf(c->text, sizeof c->text, fmt, ap);
	va_end(ap);
}

static bool
arrives(const struct doctor_facts *f)
{
	return f->group_heard > 0 || f->group_group > 0;
}

static bool
answers(const struct doctor_facts *f)
{
	return f->replied || f->group_group + f->group_direct + f->direct_direct > 0;
}

static void
judge_interface(const struct doctor_facts *f, struct doctor_report *r)
{
	char a[NETIF_TEXT_MAX], g[NETIF_TEXT_MAX];

	netif_text(f->addr, a);
	netif_text(f->group, g);
	if (f->other_iface[0] != 0)
		say(r, "interface", DOCTOR_BAD,
		    "the server answers on %s, not on %s: use -i %s, or send the group "
		    "there (ip route replace %s/32 dev %s)",
		    f->other_iface, f->iface, f->other_iface, g, f->other_iface);
	else
		say(r, "interface", DOCTOR_OK, "%s, address %s, MTU %u", f->iface, a,
		    f->mtu);
}

static void
judge_sending(const struct doctor_facts *f, struct doctor_report *r)
{
	if (f->refused_out)
		say(r, "sending", DOCTOR_BAD,
		    "a firewall of this machine does not let packets to the group out "
		    "(nft list ruleset; iptables -S OUTPUT): allow UDP ports %u and %u",
		    f->port, f->second);
	else
		say(r, "sending", DOCTOR_OK, "packets to the group leave this machine");
}

static void
judge_membership(const struct doctor_facts *f, struct doctor_report *r)
{
	if (!f->watched)
		say(r, "membership", DOCTOR_UNKNOWN,
		    "only root can see whether IGMP reports leave this machine");
	else if (f->reports_out > 0)
		say(r, "membership", DOCTOR_OK,
		    "this machine reports by IGMP that it is a member of the group");
	else if (f->member_before)
		say(r, "membership", DOCTOR_UNKNOWN,
		    "another program here is a member already, so there was nothing "
		    "to report");
	else
		say(r, "membership", DOCTOR_BAD,
		    "no IGMP report leaves this machine, so no switch learns that it "
		    "is a member: a firewall of this machine drops IGMP (nft list "
		    "ruleset; iptables -S OUTPUT): allow IP protocol 2");
}

static void
judge_server(const struct doctor_facts *f, struct doctor_report *r)
{
	char a[NETIF_TEXT_MAX];

	netif_text(f->server, a);
	if (f->any_file)
		say(r, "server", DOCTOR_OK, "%s serves a file, not an image: use -N", a);
	else if (f->replied)
		say(r, "server", DOCTOR_OK, "%s serves an image of %u chunks", a,
		    f->chunks);
	else if (answers(f))
		say(r, "server", DOCTOR_OK, "%s answers probes", a);
	else if (f->refused)
		say(r, "server", DOCTOR_BAD,
		    "%s can be reached, but no frisbeed listens there at port %u: is "
		    "it running, with this -p?",
		    a, f->second);
	else if (f->other_iface[0] != 0)
		say(r, "server", DOCTOR_OK, "there is one, elsewhere");
	else if (arrives(f))
		say(r, "server", DOCTOR_BAD,
		    "packets of a server arrive, but it does not answer: what we send "
		    "to the group does not reach it; look at the switches' memberships "
		    "of its port, and at its firewall");
	else
		say(r, "server", DOCTOR_BAD,
		    "nothing answers: no frisbeed serves this group and port, or "
		    "nothing of ours reaches it%s",
		    f->server_known ? "" : "; -S ADDR would try it directly");
}

static void
judge_authentication(const struct doctor_facts *f, struct doctor_report *r)
{
	if (f->authenticated && answers(f))
		say(r, "authentication", DOCTOR_OK,
		    "every packet is authenticated by the --group-key");
	else if (f->other_keys != NULL && !answers(f))
		say(r, "authentication", DOCTOR_BAD, "packets were ignored%s",
		    f->other_keys);
}

static void
judge_source(const struct doctor_facts *f, struct doctor_report *r)
{
	char a[NETIF_TEXT_MAX], b[NETIF_TEXT_MAX];

	netif_text(f->seen, a);
	netif_text(f->server, b);
	if (f->odd_port != 0)
		say(r, "source", DOCTOR_BAD,
		    "the server's packets come from port %u instead of %u, and are "
		    "not taken: something between (address translation?) changes them",
		    f->odd_port, f->port);
	else if (f->odd_source)
		say(r, "source", DOCTOR_BAD,
		    "the server's packets come from %s but say that they are from %s, "
		    "and are not taken: start frisbeed with -i of the right interface, "
		    "and without address translation between",
		    a, b);
	else if (arrives(f))
		say(r, "source", DOCTOR_OK,
		    "the server sends from the port and address that it should");
}

/* The first reason that the facts know. */
static void
judge_absence(const struct doctor_facts *f, struct doctor_report *r)
{
	if (f->rpf_drops > 0)
		say(r, "multicast", DOCTOR_BAD,
		    "rp_filter drops what arrives at %s, for the way back to the "
		    "sender leads elsewhere: mend the routes, or "
		    "sysctl net.ipv4.conf.%s.rp_filter=2 (and .all)",
		    f->iface, f->iface);
	else if (f->group_in > 0)
		say(r, "multicast", DOCTOR_BAD,
		    "packets of the group arrive at %s, but a firewall of this machine "
		    "drops them (nft list ruleset; iptables -S INPUT): allow UDP ports "
		    "%u and %u",
		    f->iface, f->port, f->second);
	else if (!answers(f))
		say(r, "multicast", DOCTOR_UNKNOWN, "nothing was sent to us");
	else if (f->hops >= DOCTOR_TTL)
		say(r, "multicast", DOCTOR_BAD,
		    "unicast works, multicast does not: %d routers are between, and "
		    "the packets' TTL of %d ends before; place a server nearer",
		    f->hops, DOCTOR_TTL);
	else if (f->hops > 0)
		say(r, "multicast", DOCTOR_BAD,
		    "unicast works, multicast does not: %d router%s between do%s not "
		    "route this group (PIM or an IGMP proxy is needed), or a switch "
		    "does not forward it",
		    f->hops, f->hops == 1 ? "" : "s", f->hops == 1 ? "es" : "");
	else if (f->watched && f->reports_out == 0 && !f->member_before)
		say(r, "multicast", DOCTOR_BAD,
		    "unicast works, multicast does not: the switch does not know that "
		    "this machine is a member, for no IGMP report leaves it");
	else
		say(r, "multicast", DOCTOR_BAD,
		    "unicast works, multicast does not: the switch does not forward "
		    "the group to this port; let it snoop IGMP with a querier in this "
		    "network, or not at all%s",
		    f->watched ? ""
			       : " (a firewall here may also be the cause: run as "
				 "root to know)");
}

static void
judge_multicast(const struct doctor_facts *f, struct doctor_report *r)
{
	char g[NETIF_TEXT_MAX];

	if (arrives(f))
		say(r, "multicast", DOCTOR_OK, "packets to %s arrive",
		    netif_text(f->group, g));
	else if (f->other_iface[0] == 0 && f->odd_port == 0 && !f->odd_source)
		judge_absence(f, r);
}

static void
judge_direct(const struct doctor_facts *f, struct doctor_report *r)
{
	if (f->direct_direct > 0)
		say(r, "unicast", DOCTOR_OK, "the server answers directly");
	else if (f->group_direct > 0)
		say(r, "unicast", DOCTOR_UNKNOWN,
		    "it answers directly, but was not asked so");
	else if (!f->answers_probes)
		say(r, "unicast", DOCTOR_UNKNOWN, "no server that answers probes");
	else
		say(r, "unicast", DOCTOR_UNKNOWN,
		    "no direct answer: a firewall drops UDP port %u (nothing needs it "
		    "but this check)",
		    f->second);
}

static void
judge_second_port(const struct doctor_facts *f, struct doctor_report *r)
{
	if (f->group_group > 0)
		say(r, "second port", DOCTOR_OK, "packets to port %u arrive",
		    f->second);
	else if (f->answers_probes && arrives(f))
		say(r, "second port", DOCTOR_BAD,
		    "nothing comes through the group at UDP port %u, which the "
		    "extension uses: a firewall drops it; loads work, more slowly",
		    f->second);
}

static void
judge_querier(const struct doctor_facts *f, struct doctor_report *r)
{
	static const uint8_t none[4];
	char a[NETIF_TEXT_MAX];

	/* Switches without an address of their own ask from 0.0.0.0. */
	if (f->query)
		say(r, "querier", DOCTOR_OK, "%s asks who is a member",
		    memcmp(f->querier, none, 4) == 0 ? "a switch"
						     : netif_text(f->querier, a));
	else if (!f->watched)
		say(r, "querier", DOCTOR_UNKNOWN, "only root can see IGMP queries");
	else if (f->member_before)
		say(r, "querier", DOCTOR_UNKNOWN,
		    "no query was seen; another program here stays a member, so none "
		    "was due");
	else
		say(r, "querier", arrives(f) ? DOCTOR_UNKNOWN : DOCTOR_BAD,
		    "no querier on the segment: nobody asked when we left the group; "
		    "a switch that snoops forgets its members after minutes: switch a "
		    "querier on in a switch or router, or snooping off");
}

static void
judge_mtu(const struct doctor_facts *f, struct doctor_report *r)
{
	if (f->mtu < block_bytes(f))
		say(r, "mtu", DOCTOR_BAD,
		    "the MTU of %s is %u, packets with blocks have %u bytes: raise it "
		    "(ip link set %s mtu 1500)",
		    f->iface, f->mtu, block_bytes(f), f->iface);
	else if (f->large_sent == 0)
		say(r, "mtu", DOCTOR_UNKNOWN, "no server that answers probes");
	else if (f->largest >= block_bytes(f))
		say(r, "mtu", DOCTOR_OK, "packets of %u bytes pass", f->largest);
	else
		say(r, "mtu", DOCTOR_BAD,
		    "packets with blocks have %u bytes, and such do not pass, only "
		    "those of up to %u: raise the MTU on the way between the server "
		    "and here",
		    block_bytes(f), f->largest);
}

static void
judge_routers(const struct doctor_facts *f, struct doctor_report *r)
{
	if (f->hops < 0)
		say(r, "ttl", DOCTOR_UNKNOWN, "how far the server is, is not known");
	else
		say(r, "ttl", f->hops < DOCTOR_TTL ? DOCTOR_OK : DOCTOR_BAD,
		    "%d router%s between, %d at most", f->hops, f->hops == 1 ? "" : "s",
		    DOCTOR_TTL - 1);
}

static unsigned
percent(unsigned lost, unsigned of)
{
	return of == 0 || lost > of ? 0 : (200 * lost + of) / (2 * of);
}

static void
judge_loss(const struct doctor_facts *f, struct doctor_report *r)
{
	const struct doctor_loss *l = &f->loss;
	unsigned out = percent(l->sent - l->heard, l->sent);
	unsigned in = percent(l->answered - l->got, l->answered);

	if (l->sent == 0)
		say(r, "loss", DOCTOR_UNKNOWN,
		    "not measured: no answers to probes through the group");
	else
		say(r, "loss",
		    out >= LOSS_BAD || in >= LOSS_BAD ? DOCTOR_BAD : DOCTOR_OK,
		    "%u %% of %u packets to the server are lost, %u %% of %u from "
		    "it%s",
		    out, l->sent, in, l->answered,
		    out >= LOSS_BAD || in >= LOSS_BAD
			? ": loads work, with more packets; look at cables, duplex, "
			  "Wi-Fi, full queues"
			: "");
}

/* One that explains the most. */
static const struct doctor_check *
worst(const struct doctor_report *r)
{
	static const char *const order[] = { "authentication", "interface", "sending", "source",
		"membership", "multicast", "server" };

	for (unsigned o = 0; o < sizeof order / sizeof order[0]; o++)
		for (unsigned i = 0; i < r->n; i++)
			if (r->check[i].status == DOCTOR_BAD &&
			    strcmp(r->check[i].name, order[o]) == 0)
				return &r->check[i];
	for (unsigned i = 0; i < r->n; i++)
		if (r->check[i].status == DOCTOR_BAD)
			return &r->check[i];
	return NULL;
}

void
doctor_judge(const struct doctor_facts *f, struct doctor_report *r)
{
	static void (*const checks[])(
	    const struct doctor_facts *, struct doctor_report *) = { judge_interface,
		judge_sending, judge_membership, judge_server, judge_authentication,
		judge_source,
		judge_multicast, judge_direct, judge_second_port, judge_querier,
		judge_mtu, judge_routers, judge_loss };
	const char *serves = f->any_file ? ", which serves a file, not an image: use -N"
	                                 : "";
	char a[NETIF_TEXT_MAX];

	*r = (struct doctor_report){ 0 };
	for (unsigned i = 0; i < sizeof checks / sizeof checks[0]; i++)
		checks[i](f, r);
	const struct doctor_check *bad = worst(r);
	r->well = bad == NULL && arrives(f);
	if (bad == NULL && arrives(f))
		snprintf(r->summary, sizeof r->summary,
		    "all is well: multicast arrives from %s%s", netif_text(f->server, a),
		    serves);
	else
		snprintf(r->summary, sizeof r->summary, "%s",
		    bad != NULL ? bad->text : "no reason was found");
}
