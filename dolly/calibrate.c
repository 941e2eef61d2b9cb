/* calibrate.c: the command `dolly calibrate`: measures this machine, and prints it as a
 * description of a network; or waits for another machine that measures its link. main.c
 * calls it, in the program's first thread. */
#include <string.h>
#include <unistd.h>

#include "common/base/hostlist.h"
#include "common/base/json.h"
#include "common/base/say.h"
#include "dolly/calibrate/calibrate.h"
#include "dolly/calibrate/measure_tcp.h"
#include "dolly/dolly.h"
#include "dolly/order/node_list.h"

/* A link has one rate in a description, which both directions must bear. */
static double
link_rate(const struct calibration *c)
{
	return c->link_out < c->link_in ? c->link_out : c->link_in;
}

static void
show_machine(const struct network_machine *m, const char *name)
{
	say_text(stdout,
	    "machine %s cores=%.0f disk=%.6gMB memory=%.6gMB scsi=%.6gMB tcp=%.6gMB"
	    " copy=%.6gMB digest=%.6gMB decompress=%.6gMB\n",
	    name, m->cores, m->disk / 1e6, m->memory / 1e6, m->scsi / 1e6, m->tcp / 1e6,
	    m->copy / 1e6, m->digest / 1e6, m->decompress / 1e6);
}

/* Prints a description of a network: this machine and others of its kind, on one
 * switch. */
static void
show(const struct calibration *c, const char *host, const char *nodes)
{
	const char *comma = nodes != NULL ? "," : "";

	nodes = nodes != NULL ? nodes : "";
	say_text(stdout,
	    "# The disk was written %s.  Rates of the processor are those of one.\n",
	    c->direct ? "directly" : "through the page cache");
	show_machine(&c->machine, host);
	say_text(stdout, "switch network\n");
	say_text(stdout, "host %s%s%s machine=%s\n", host, comma, nodes, host);
	say_text(stdout, "link %s%s%s network", host, comma, nodes);
	if (link_rate(c) > 0)
		say_text(stdout, " rate=%.6gMB", link_rate(c) / 1e6);
	say_text(stdout, "\n");
	say_text(stdout, "server %s\n", host);
}

static int
show_json(const struct calibration *c, const char *host, struct err *e)
{
	const struct network_machine *m = &c->machine;
	struct json *j = json_new();

	json_object(j, NULL);
	json_string(j, "host", host);
	json_uint(j, "cores", (uint64_t)m->cores);
	json_double(j, "disk_bytes_per_s", m->disk);
	json_bool(j, "disk_direct", c->direct);
	json_double(j, "scsi_bytes_per_s", m->scsi);
	json_double(j, "memory_bytes_per_s", m->memory);
	json_double(j, "copy_bytes_per_s", m->copy);
	json_double(j, "tcp_bytes_per_s", m->tcp);
	json_double(j, "loopback_bytes_per_s", c->loopback);
	json_double(j, "digest_bytes_per_s", m->digest);
	json_double(j, "decompress_bytes_per_s", m->decompress);
	json_double(j, "decompressed_bytes_per_s", c->decompressed);
	json_double(j, "compression", c->compression);
	if (c->link_out > 0) {
		json_double(j, "link_out_bytes_per_s", c->link_out);
		json_double(j, "link_in_bytes_per_s", c->link_in);
	}
	json_end(j);
	return json_show(j, e);
}

/* The list of --nodes, which may not name this machine: it is the server already. */
static int
check_nodes(const char *list, const char *host, struct err *e)
{
	struct hostlist l = { 0 };
	int rc = hostlist_add(&l, list, e);

	for (size_t i = 0; rc == 0 && i < l.n; i++)
		if (strcmp(l.names[i], host) == 0)
			rc = err_set(e, ERR_USAGE,
			    "%s is this machine, which is in the description already",
			    host);
	hostlist_free(&l);
	return rc == 0 ? 0 : err_ctx(e, "--nodes");
}

static void
tell_port(void *arg, uint16_t port)
{
	(void)arg;
	say_text(stderr,
	    "dolly: waiting for calibrations at port %u; the network is trusted\n",
	    port);
}

static int
listen_for_others(const struct options *o, struct err *e)
{
	unsigned served;

	if (o->with != NULL || o->json)
		return err_misuse(
		    e, "--listen cannot be combined with --with and --json");
	if (link_serve((uint16_t)o->port, o->patience_s, &served,
		o->quiet ? NULL : tell_port, NULL, e) != 0)
		return -1;
	if (served > 0)
		return 0;
	return err_set(e, ERR_IO, "nobody has measured the link for %llu seconds",
	    (unsigned long long)o->patience_s);
}

static int
measure_and_show(const struct options *o, const char *folder, struct err *e)
{
	struct calibrate_config cfg = { .folder = folder,
		.seconds = (double)o->seconds };
	struct calibration c;
	char host[NETWORK_NAME_BYTES] = "";
	uint8_t peer[4];

	if (gethostname(host, sizeof host - 1) != 0 || host[0] == '\0')
		return err_set(e, ERR_IO, "this machine has no name");
	if (o->nodes != NULL && check_nodes(o->nodes, host, e) != 0)
		return -1;
	if (o->with != NULL) {
		if (node_list_resolve_port(
			o->with, (uint16_t)o->port, peer, &cfg.port, e) != 0)
			return err_ctx(e, "--with");
		cfg.peer = peer;
	}
	if (calibrate_machine(&c, &cfg, e) != 0)
		return -1;
	if (o->json)
		return show_json(&c, host, e);
	show(&c, host, o->nodes);
	return 0;
}

int
command_calibrate(const struct options *o, char **operands, int n, struct err *e)
{
	return o->listen ? listen_for_others(o, e)
	                 : measure_and_show(o, n > 0 ? operands[0] : ".", e);
}
