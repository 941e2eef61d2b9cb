/* doctor_judge_group.c: the checks of the paths between server and client: the group
 * in both directions, unicast, and IGMP queries. doctor_judge.c calls this, in the
 * program's only thread. */

#include "common/base/zero.h"
#include "common/wire/addr.h"
#include "frisbee/doctor/doctor_judge.h"

/* Do packets arrive at the interface that do not reach the socket of this port? */
static bool
is_kept_from_us(const struct doctor_port *p)
{
	return p->seen > 0 && p->took == 0;
}

/* Unicast works and multicast does not: says what between server and client may be the reason. */
static void
judge_way(const struct doctor_facts *f, struct doctor_report *r)
{
	char a[ADDR_TEXT_MAX];

	if (f->mute)
		judge_say(r, "multicast", DOCTOR_BAD,
		    "frisbeed runs at %s, but the firewall or the network of that "
		    "machine blocks its packets to the group (look there at nft list "
		    "ruleset, iptables -S OUTPUT and frisbeed's log)",
		    addr_text(f->server, a));
	else if (f->hops >= DOCTOR_TTL)
		judge_say(r, "multicast", DOCTOR_BAD,
		    "unicast works, multicast does not: %d routers are on the way, and "
		    "packets with a TTL of %d do not get so far; place a server nearer",
		    f->hops, DOCTOR_TTL);
	else if (f->hops > 0)
		judge_say(r, "multicast", DOCTOR_BAD,
		    "unicast works, multicast does not: %d router%s on the way do%s "
		    "not route this group (PIM or an IGMP proxy is needed), or a "
		    "switch does not forward it",
		    f->hops, f->hops == 1 ? "" : "s", f->hops == 1 ? "es" : "");
	else if (f->watched && f->reports_out == 0 && !f->member_before)
		judge_say(r, "multicast", DOCTOR_BAD,
		    "unicast works, multicast does not: the switch does not know that "
		    "this machine is a member, because no IGMP report leaves it");
	else
		judge_say(r, "multicast", DOCTOR_BAD,
		    "unicast works, multicast does not: the switch does not forward "
		    "the group to this port; if it snoops IGMP, this network needs a "
		    "querier, or snooping must be switched off%s",
		    f->watched ? ""
			       : " (a firewall of this machine may also be the cause: "
				 "run frisbee --doctor as root to find out)");
}

/* No packet came through the group: says the first reason that the facts give. */
static void
judge_absence(const struct doctor_facts *f, struct doctor_report *r)
{
	if (f->rpf_drops > 0)
		judge_say(r, "multicast", DOCTOR_BAD,
		    "rp_filter drops what arrives at %s, because the route to its "
		    "sender uses another interface: correct the routes, or set "
		    "net.ipv4.conf.%s.rp_filter=2 with sysctl (and the same for all)",
		    f->iface, f->iface);
	else if (is_kept_from_us(&f->at[0]) || is_kept_from_us(&f->at[1]))
		judge_say(r, "multicast", DOCTOR_BAD,
		    "packets of the group arrive at %s, but a firewall of this machine "
		    "drops them (nft list ruleset; iptables -S INPUT): allow UDP ports "
		    "%u and %u",
		    f->iface, f->port, f->second);
	else if (!judge_answers(f))
		judge_say(r, "multicast", DOCTOR_UNKNOWN,
		    "no server that sends to the group is known");
	else
		judge_way(f, r);
}

void
judge_multicast(const struct doctor_facts *f, struct doctor_report *r)
{
	char g[ADDR_TEXT_MAX];

	if (judge_arrives(f))
		judge_say(r, "multicast", DOCTOR_OK, "packets to %s arrive",
		    addr_text(f->group, g));
	else if (f->other_iface[0] == 0 && f->odd_port == 0 && !f->odd_source &&
		 !f->by_unicast && !f->by_broadcast)
		judge_absence(f, r);
}

/* A server that answers only what it was asked directly does not hear this machine through the
 * group. */
void
judge_to_server(const struct doctor_facts *f, struct doctor_report *r)
{
	char a[ADDR_TEXT_MAX];

	addr_text(f->server, a);
	if (judge_reaches(f))
		judge_say(r, "to server", DOCTOR_OK,
		    "what this machine sends to the group reaches the server");
	else if (judge_answers(f))
		judge_say(r, "to server", DOCTOR_BAD,
		    "what this machine sends to the group does not reach %s, where "
		    "frisbeed runs: the switch does not forward the group to the "
		    "server's port (its IGMP reports get lost), or does not accept "
		    "multicast from this machine's port",
		    a);
}

void
judge_direct(const struct doctor_facts *f, struct doctor_report *r)
{
	char s[ADDR_TEXT_MAX], a[ADDR_TEXT_MAX];

	if (f->direct_direct > 0)
		judge_say(r, "unicast", DOCTOR_OK, "the server answers directly");
	else if (f->by_unicast)
		judge_say(r, "unicast", DOCTOR_OK, "the server answers each client");
	else if (f->group_direct > 0)
		judge_say(r, "unicast", DOCTOR_UNKNOWN,
		    "the server answers by unicast what it was asked through the "
		    "group, but answered no question by unicast");
	else if (!f->answers_probes)
		judge_say(r, "unicast", DOCTOR_UNKNOWN, "no server answers probes");
	else if (!judge_same_subnet(f))
		judge_say(r, "unicast", DOCTOR_UNKNOWN,
		    "no direct answer: packets do not pass between %s and %s by "
		    "unicast (a load through the group does not need that)",
		    addr_text(f->addr, a), addr_text(f->server, s));
	else
		judge_say(r, "unicast", DOCTOR_UNKNOWN,
		    "no direct answer: a firewall blocks UDP port %u for unicast (only "
		    "this check needs it)",
		    f->second);
}

/* Probes go to the second port alone, since clients of the original programs listen at the
 * first one. */
void
judge_first_port(const struct doctor_facts *f, struct doctor_report *r)
{
	if (!judge_arrives(f))
		return;
	if (f->first_heard)
		judge_say(r, "first port", DOCTOR_OK, "packets to port %u arrive", f->port);
	else
		judge_say(r, "first port", DOCTOR_UNKNOWN,
		    "nothing came through the group at UDP port %u, to which nothing was sent "
		    "meanwhile: if a load receives nothing, this machine drops what comes to that port",
		    f->port);
}

void
judge_second_port(const struct doctor_facts *f, struct doctor_report *r)
{
	bool in = f->group_group + f->direct_group > 0 || f->second_heard;
	bool out = f->group_group + f->group_direct > 0;

	if (!f->answers_probes || !judge_arrives(f))
		return;
	if (!in)
		judge_say(r, "second port", DOCTOR_BAD,
		    "nothing comes through the group at UDP port %u, which the "
		    "extension uses: a firewall of this machine or of the server "
		    "blocks it; loads work, but more slowly",
		    f->second);
	else if (f->replied && !out)
		judge_say(r, "second port", DOCTOR_BAD,
		    "what this machine sends to the group at UDP port %u, which the "
		    "extension uses, does not reach the server: a firewall blocks it; "
		    "loads work, but more slowly",
		    f->second);
	else
		judge_say(r, "second port", DOCTOR_OK, "packets to port %u arrive",
		    f->second);
}

void
judge_querier(const struct doctor_facts *f, struct doctor_report *r)
{
	char a[ADDR_TEXT_MAX];

	/* Switches without an address of their own send queries from 0.0.0.0. */
	if (f->query)
		judge_say(r, "querier", DOCTOR_OK, "%s sends IGMP queries",
		    is_zero(f->querier, 4) ? "a switch" : addr_text(f->querier, a));
	else if (!f->watched)
		judge_say(r, "querier", DOCTOR_UNKNOWN, "only root can see IGMP queries");
	else if (f->member_before)
		judge_say(r, "querier", DOCTOR_UNKNOWN,
		    "no IGMP query was seen; none was due, because another program of "
		    "this machine stays a member of the group");
	else
		judge_say(r, "querier", judge_arrives(f) ? DOCTOR_UNKNOWN : DOCTOR_BAD,
		    "no querier on the segment: nobody sent an IGMP query when this "
		    "machine left the group, and a switch that snoops IGMP forgets "
		    "members that are not asked for some minutes; switch a querier on "
		    "in a switch or router, or switch snooping off");
}
