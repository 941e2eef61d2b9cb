/* diagnose.c: "frisbee --doctor" as a whole: checks the options, examines, judges, prints,
 * and writes the report.
 * main.c calls it, in the program's first thread, which is the only one. */
#include "frisbee/diagnose.h"

#include <unistd.h>

#include "common/base/say.h"
#include "common/cli/failure.h"
#include "common/wire/addr.h"
#include "frisbee/doctor/doctor_file.h"

enum { EXIT_NOT_WELL = 1 };

static const char *const words[] = { "ok", "not ok", "unknown" };

static void
print_text(const struct doctor_report *r)
{
	for (unsigned i = 0; i < r->n; i++)
		say_text(stdout, "%-8s %-12s %s\n", words[r->check[i].status],
		    r->check[i].name, r->check[i].text);
	say_text(stdout, "%s\n", r->summary);
}

static int
print_json(const struct doctor_facts *f, const struct doctor_report *r, struct err *e)
{
	struct json *j = json_new();
	char a[ADDR_TEXT_MAX];

	json_object(j, NULL);
	json_bool(j, "well", r->well);
	json_string(j, "summary", r->summary);
	json_string(j, "interface", f->iface);
	if (f->server_known)
		json_string(j, "server", addr_text(f->server, a));
	if (f->hops >= 0)
		json_int(j, "routers", f->hops);
	json_uint(j, "probes_sent", f->loss.sent);
	json_uint(j, "probes_heard", f->loss.heard);
	json_uint(j, "echoes_sent", f->loss.answered);
	json_uint(j, "echoes_heard", f->loss.got);
	json_uint(j, "burst_sent", f->burst.sent);
	json_uint(j, "burst_echoes_sent", f->burst.answered);
	json_uint(j, "burst_echoes_heard", f->burst.got);
	json_uint(j, "session_blocks_sent", f->session.sent);
	json_uint(j, "session_blocks_heard", f->session.heard);
	json_array(j, "checks");
	for (unsigned i = 0; i < r->n; i++) {
		json_object(j, NULL);
		json_string(j, "check", r->check[i].name);
		json_string(j, "status", words[r->check[i].status]);
		json_string(j, "text", r->check[i].text);
		json_end(j);
	}
	json_end(j);
	if (!r->well)
		failure_put(j, r->summary, "network", EXIT_NOT_WELL);
	json_end(j);
	return json_show(j, e);
}

/* The examination has failed, so its report is taken away, if there was to be one. */
static void
give_up(const struct doctor_config *c, int fd)
{
	if (fd < 0)
		return;
	close(fd);
	unlink(c->report);
}

int
diagnose_network(const struct doctor_config *c, struct err *e)
{
	struct doctor_facts f;
	struct doctor_report r;

	if (!netif_is_group(c->net->addr))
		return err_set(e, ERR_USAGE,
		    "--doctor checks multicast: -m must be a multicast group (a load from "
		    "the address of a host needs --unicast)");
	if (c->net->port_lo == 0 || c->net->port_lo != c->net->port_hi ||
	    c->net->port_lo == UINT16_MAX)
		return err_set(e, ERR_USAGE, "--doctor needs one port (-p)");
	int fd = -1;
	if (c->report != NULL && (fd = doctor_file_make(c->report, e)) < 0)
		return -1;
	if (doctor_probe(c, &f, e) != 0) {
		give_up(c, fd);
		return -1;
	}
	doctor_judge(&f, &r);
	if (fd >= 0 && doctor_file_write(fd, c->report, &f, &r, c->names, e) != 0)
		return -1;
	if (c->json && print_json(&f, &r, e) != 0)
		return -1;
	if (!c->json)
		print_text(&r);
	return r.well ? 0 : EXIT_NOT_WELL;
}
