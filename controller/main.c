/* main.c: controllerd, the controller of a network of nodes that are loaded.  This file has the
 * options and the log; controller/run has the rest.  It runs in the program's first thread. */
#include <signal.h>

#include "common/base/log.h"
#include "common/cli/cli.h"
#include "controller/run/control.h"

struct opts {
	struct control_config control;
};

#define AT(field) offsetof(struct opts, field)

static const struct cli_opt own_opts[] = {
	{ 'l', "listen", "ADDR:PORT",
	    "listen there with the page and the API (127.0.0.1:8484); port 0: any", CLI_STR,
	    AT(control.listen), 0, 0, NULL },
	{ 300, "token-file", "FILE",
	    "tokens, one a line, of those who may start and stop sessions (one is made "
	    "in the state folder)", CLI_STR,
	    AT(control.token_file), 0, 0, NULL },
	{ 'n', "nodes", "FILE", "the nodes (FOLDER/nodes)", CLI_STR, AT(control.nodes), 0, 0, NULL },
	{ 's', "state", "FOLDER", "keep the state there (FOLDER/controller)", CLI_STR,
	    AT(control.state), 0, 0, NULL },
	{ 'P', "power", "PROGRAM",
	    "run `PROGRAM NODE cycle MAC` to switch a node off and on (wake-on-LAN)", CLI_STR,
	    AT(control.power), 0, 0, NULL },
	{ 'i', "address", "ADDR", "this host's address on the network of the nodes", CLI_STR,
	    AT(control.address), 0, 0, NULL },
	{ 'm', "group", "GROUP", "multicast group of the first session (239.192.77.1)", CLI_STR,
	    AT(control.group), 0, 0, NULL },
	{ 'p', "port", "PORT", "port of the first session (7701)", CLI_UINT, AT(control.port), 1, 65000,
	    NULL },
	{ 'W', "bandwidth", "BITS", "each session sends at this rate at most (60M, 1G bits a second)",
	    CLI_STR, AT(control.rate), 0, 0, NULL },
	{ 301, "group-key", "FILE",
	    "all sessions use this key, which the ramdisk must have, too", CLI_STR,
	    AT(control.group_key), 0, 0, NULL },
	{ 302, "reports", "PORT", "take the reports of nodes on this port (5101); 0: any", CLI_UINT,
	    AT(control.report_port), 0, UINT16_MAX, NULL },
	{ 303, "patience", "S", "try a node again that shows no progress for S seconds (600)", CLI_UINT,
	    AT(control.patience_s), 1, 86400, NULL },
	{ 307, "patience-boot", "S",
	    "try a node again that boots for S seconds without a sign of progress (600)",
	    CLI_UINT, AT(control.patience_boot_s), 1, 86400, NULL },
	{ 304, "up", "PORT", "a node is done when its system accepts a connection on this TCP port",
	    CLI_UINT, AT(control.up_port), 1, UINT16_MAX, NULL },
	{ 305, "master", "SOCKET", "let the mfrisbeed send that listens there (--local); by default one is started",
	    CLI_STR, AT(control.master), 0, 0, NULL },
	{ 308, "store", "DIR|URL", "send images of this store, too, as store:NAME and store:NAME:VERSION",
	    CLI_STR, AT(control.store), 0, 0, NULL },
	{ 'd', "debug", NULL, "log more", CLI_FLAG, AT(control.debug), 0, 0, NULL },
	{ 'q', "quiet", NULL, "log only what went wrong", CLI_FLAG, AT(control.quiet), 0, 0, NULL },
	{ 306, "syslog", NULL, "log to syslog instead of stderr", CLI_FLAG, AT(control.syslog), 0, 0, NULL },
	{ 0 },
};

static const struct cli_program prog = {
	.name = "controllerd",
	.synopsis = "[options] FOLDER",
	.about = "Swap nodes in: tell them what to load, wake them, send the image once for all of "
		 "them, and\nfollow each one until it is done.  FOLDER is the one that netboot/setup "
		 "has made.",
	.examples = "  controllerd /srv/netboot\n"
		    "  controllerd --power=/etc/netboot-power --up=22 -W 900M /srv/netboot\n"
		    "  controllerd --listen=10.9.0.1:8484 --token-file=/etc/tokens /srv/netboot   "
		    "others may see it, too\n\n"
		    "The file FOLDER/nodes has a line for each node:\n\n"
		    "  node node01 52:54:00:00:00:01\n",
	.tables = { { own_opts, 0, NULL } },
	.ignores_hangup = true,
};

static struct control *running;

static void
on_hangup(int signal)
{
	(void)signal;
	control_renew(running);
}

static int
serve(const struct control_config *config, struct err *e)
{
	struct sigaction hangup = { .sa_handler = on_hangup };

	if (control_open(&running, config, e) != 0)
		return -1;
	sigaction(SIGHUP, &hangup, NULL);
	log_info("listens port=%u reports=%u", control_web_port(running), control_report_port(running));
	int rc = control_run(running, e);
	hangup.sa_handler = SIG_IGN;
	sigaction(SIGHUP, &hangup, NULL);
	control_close(running);
	return rc;
}

static int
act(void *opts, char **operands, int n, struct err *e)
{
	struct opts *o = opts;

	if (n != 1)
		return err_misuse(e, "one folder is needed, the one that netboot/setup has made");
	o->control.netboot = operands[0];
	log_open("controllerd", !o->control.syslog,
	    o->control.quiet   ? LOG_LEVEL_WARN
	    : o->control.debug ? LOG_LEVEL_DEBUG
		       : LOG_LEVEL_INFO);
	return serve(&o->control, e);
}

int
main(int argc, char **argv)
{
	struct opts o = { .control = { .listen = "127.0.0.1",
			      .report_port = CONTROL_REPORT_PORT,
			      .patience_s = 600,
			      .patience_boot_s = 600 } };

	return cli_main(&prog, argc, argv, &o, act);
}
