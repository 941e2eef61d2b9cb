/* doctor_judge_server.c: the checks of the server: which hosts serve, from which
 * address, and what is known about the server's machine if none answers.
 * doctor_judge.c calls this, in the program's only thread. */
#include <stdio.h>
#include <string.h>

#include "common/wire/addr.h"
#include "frisbee/doctor/doctor_judge.h"

static bool
elsewhere(const struct doctor_facts *f, struct doctor_report *r)
{
	char a[ADDR_TEXT_MAX], b[ADDR_TEXT_MAX];

	addr_text(f->server, a);
	if (f->by_unicast)
		judge_say(
		    r, "server", DOCTOR_BAD, "%s serves by unicast: use -m %s", a, a);
	else if (f->by_broadcast)
		judge_say(r, "server", DOCTOR_BAD,
		    "%s serves by broadcast: use -b -m %s", a,
		    addr_text(f->broadcast, b));
	else if (f->other_iface[0] != 0)
		judge_say(r, "server", DOCTOR_OK,
		    "a server answers, but on another interface");
	else
		return false;
	return true;
}

/* No server answers, but its address is known: says what is at that address. */
static void
judge_host(const struct doctor_facts *f, struct doctor_report *r)
{
	char a[ADDR_TEXT_MAX], g[ADDR_TEXT_MAX];
	bool gone = f->unreachable || (f->its.asked && f->its.n == 0);

	addr_text(f->server, a);
	addr_text(f->other_group, g);
	if (f->other_port != 0)
		judge_say(r, "server", DOCTOR_BAD,
		    "nothing answers, but %s serves the group %s at port %u: is that "
		    "the session you want? (-m %s -p %u)",
		    a, g, f->other_port, g, f->other_port);
	else if (f->refused)
		judge_say(r, "server", DOCTOR_BAD,
		    "%s is up, but no frisbeed answers there: its UDP port %u is "
		    "closed; either no frisbeed serves this group and port, or it uses "
		    "another interface (frisbeed -i), or its packets do not arrive and "
		    "it does not use that port (an old frisbeed, or one that serves a "
		    "file)",
		    a, f->second);
	else if (f->pinged || f->its.n > 0)
		judge_say(r, "server", DOCTOR_BAD,
		    "%s is up, but nothing at its UDP port %u answers: frisbeed hangs, "
		    "or a firewall of that machine or on the way blocks UDP ports %u "
		    "and %u",
		    a, f->second, f->port, f->second);
	else if (gone)
		judge_say(r, "server", DOCTOR_BAD,
		    "%s does not answer (%s): is the machine on, and is this its "
		    "address?",
		    a, f->unreachable ? "host unreachable" : "no answer to ARP");
	else
		judge_say(r, "server", DOCTOR_BAD,
		    "nothing answers: no frisbeed serves this group and port, or no "
		    "packet of this machine reaches it; %s does not answer a ping, "
		    "either",
		    a);
}

void
judge_server(const struct doctor_facts *f, struct doctor_report *r)
{
	char a[ADDR_TEXT_MAX], b[ADDR_TEXT_MAX];

	addr_text(f->server, a);
	if (f->any_file)
		judge_say(r, "server", DOCTOR_OK,
		    "%s serves a file, not an image: use -N", a);
	else if (f->replied)
		judge_say(r, "server", DOCTOR_OK, "%s serves an image of %u chunks", a,
		    f->chunks);
	else if (judge_answers(f))
		judge_say(r, "server", DOCTOR_OK, "frisbeed runs at %s", a);
	else if (elsewhere(f, r))
		return;
	else if (judge_arrives(f))
		judge_say(r, "server", DOCTOR_BAD,
		    "packets of a server arrive, but it does not answer: what this "
		    "machine sends to the group does not reach the server; check its "
		    "firewall, and whether the switch knows its port as a member of "
		    "the group");
	else if (f->named && f->nservers > 0)
		judge_say(r, "server", DOCTOR_BAD,
		    "%s serves this group and port, not %s",
		    addr_text(f->servers[0].addr, b), a);
	else if (f->named)
		judge_host(f, r);
	else
		judge_say(r, "server", DOCTOR_BAD,
		    "nothing answers: no frisbeed serves this group and port, or no "
		    "packet of this machine reaches it; with -S ADDR the server is "
		    "also asked directly");
}

static bool
differ(const struct doctor_server *a, const struct doctor_server *b)
{
	return a->any_file != b->any_file || a->chunks != b->chunks ||
	       (a->has_identity && b->has_identity &&
		   memcmp(a->identity, b->identity, sizeof a->identity) != 0);
}

void
judge_servers(const struct doctor_facts *f, struct doctor_report *r)
{
	char a[ADDR_TEXT_MAX], b[ADDR_TEXT_MAX];
	unsigned other = 1;

	if (f->nservers < 2)
		return;
	for (unsigned i = 2; i < f->nservers; i++)
		if (!differ(&f->servers[0], &f->servers[other]))
			other = i;
	bool bad = differ(&f->servers[0], &f->servers[other]);
	addr_text(f->servers[0].addr, a);
	addr_text(f->servers[other].addr, b);
	if (bad)
		judge_say(r, "servers", DOCTOR_BAD,
		    "%s and %s serve different images on this group and port: which of "
		    "them a load uses is left to chance (-S selects one); stop one of "
		    "them",
		    a, b);
	else
		judge_say(r, "servers", DOCTOR_OK,
		    "%s and %s serve the same image on this group and port: stop one, "
		    "because each of them sends everything that is requested",
		    a, b);
}

void
judge_source(const struct doctor_facts *f, struct doctor_report *r)
{
	char a[ADDR_TEXT_MAX], b[ADDR_TEXT_MAX];

	addr_text(f->seen, a);
	addr_text(f->said, b);
	if (f->odd_port != 0)
		judge_say(r, "source", DOCTOR_BAD,
		    "the server's packets come from port %u instead of %u, and are "
		    "ignored: something on the way changes them (address translation?)",
		    f->odd_port, f->port);
	else if (f->odd_source)
		judge_say(r, "source", DOCTOR_BAD,
		    "the server's packets come from %s but say that they are from %s, "
		    "and are ignored: start frisbeed with -i and the right interface, "
		    "and remove address translation on the way",
		    a, b);
	else if (judge_arrives(f))
		judge_say(r, "source", DOCTOR_OK,
		    "the server sends from the port and address that it should");
}

void
judge_authentication(const struct doctor_facts *f, struct doctor_report *r)
{
	if (f->authenticated && judge_answers(f))
		judge_say(r, "authentication", DOCTOR_OK,
		    "every packet is authenticated by the --group-key");
	else if (f->other_keys != NULL && !judge_answers(f))
		judge_say(r, "authentication", DOCTOR_BAD, "packets were ignored%s",
		    f->other_keys);
}
