/* doctor_judge.c: makes all checks in their order, and finds the first cause that
 * explains them.  frisbee/diagnose.c calls it, in the program's only thread. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/wire/addr.h"

#include "frisbee/doctor/doctor_judge.h"

void __attribute__((format(printf, 4, 5)))
judge_say(struct doctor_report *r, const char *name, enum doctor_status status,
    const char *fmt, ...)
{
	struct doctor_check *c = &r->check[r->n++];
	va_list ap;

	c->name = name;
	c->status = status;
	va_start(ap, fmt);
	vsnprintf(c->text, sizeof c->text, fmt, ap);
	va_end(ap);
}

bool
judge_arrives(const struct doctor_facts *f)
{
	return f->group_heard + f->group_group + f->direct_group > 0;
}

bool
judge_reaches(const struct doctor_facts *f)
{
	return f->replied || f->group_group + f->group_direct > 0;
}

bool
judge_answers(const struct doctor_facts *f)
{
	return judge_reaches(f) || f->direct_group + f->direct_direct > 0;
}

uint32_t
judge_block_bytes(const struct doctor_facts *f)
{
	return DOCTOR_BLOCK_IP_BYTES + (f->authenticated ? AUTH_HEADER_BYTES : 0);
}

bool
judge_same_subnet(const struct doctor_facts *f)
{
	for (unsigned i = 0; i < 4 && f->server_known; i++)
		if ((f->server[i] & f->mask[i]) != (f->addr[i] & f->mask[i]))
			return false;
	return true;
}

/* The bad check that explains the most: what one check in `order` finds may cause what later ones
 * find.  NULL: no check is bad. */
static const struct doctor_check *
worst(const struct doctor_report *r)
{
	static const char *const order[] = { "authentication", "interface", "address",
		"sending", "source", "servers", "membership", "multicast", "to server", "server" };

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

static void
run_checks(const struct doctor_facts *f, struct doctor_report *r)
{
	static void (*const checks[])(
	    const struct doctor_facts *, struct doctor_report *) = { judge_interface,
		judge_address, judge_subnet, judge_sending, judge_membership,
		judge_server, judge_authentication, judge_servers, judge_source,
		judge_multicast, judge_to_server, judge_direct, judge_first_port,
		judge_second_port, judge_querier, judge_mtu, judge_routers, judge_loss,
		judge_session, judge_burst };
	/* Where nothing can be sent, all checks after the first would be guesses. */
	unsigned n = f->link == DOCTOR_LINK_OK ? sizeof checks / sizeof checks[0] : 1;

	for (unsigned i = 0; i < n; i++)
		checks[i](f, r);
}

/* The summary where no check is bad: it names those that could not be made, since a load may fail
 * at what they would have found. */
static void
say_well(const struct doctor_facts *f, struct doctor_report *r)
{
	const char *serves = f->any_file ? ", which serves a file, not an image: use -N"
	                                 : "";
	char a[ADDR_TEXT_MAX], untested[300] = "";

	for (unsigned i = 0; i < r->n; i++)
		if (r->check[i].status == DOCTOR_UNKNOWN)
			snprintf(untested + strlen(untested), sizeof untested - strlen(untested),
			    "%s%s", untested[0] == '\0' ? "; not tested: " : ", ",
			    r->check[i].name);
	snprintf(r->summary, sizeof r->summary, "all is well%s: multicast arrives from %s%s%s",
	    untested[0] != '\0' ? " that could be tested" : "", addr_text(f->server, a), serves,
	    untested);
}

void
doctor_judge(const struct doctor_facts *f, struct doctor_report *r)
{
	*r = (struct doctor_report){ 0 };
	run_checks(f, r);
	const struct doctor_check *bad = worst(r);
	r->well = bad == NULL && judge_arrives(f);
	if (r->well)
		say_well(f, r);
	else
		snprintf(r->summary, sizeof r->summary, "%s",
		    bad != NULL ? bad->text : "no reason was found");
}
