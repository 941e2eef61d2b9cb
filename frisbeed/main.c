/* main.c: frisbeed serves images, each to any number of clients in a multicast
 * group.  main() runs in the first thread; each session has threads of its own. */
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>

#include "common/base/log.h"
#include "common/base/openfiles.h"
#include "common/base/process.h"
#include "common/base/rights.h"
#include "common/cli/cli.h"
#include "common/cli/cli_guard.h"
#include "common/cli/net_opts.h"
#include "emustore/store/written.h"
#include "frisbeed/daemon.h"

static int
exit_status(const void *opts, const struct err *e)
{
	(void)opts;
	return daemon_exit_status(e);
}

static const struct cli_program prog = {
	.exit_status = exit_status,
	.name = "frisbeed",
	.ignores_hangup = true,
	.port = "-p or image@address:port",
	.gives_up_rights = true,
	.synopsis = "[options] -m address -p port image[@address[:port]]...",
	.about =
	    "Serve images, or any files, each to all frisbee clients of a group at "
	    "once.",
	.examples = "  frisbeed -m 239.192.1.5 -p 5005 -W 900M ubuntu.ndz\n"
		    "  frisbeed -m 239.192.1.5 -p 5005 --store /srv/store ubuntu:3\n"
		    "  frisbeed -m 239.192.1.5 -p 5005 --store /srv/store --orders /srv/orders "
		    "ubuntu\n"
		    "  frisbeed -m 239.192.1.5 -p 0 -A where.txt -T -1 ubuntu.ndz   "
		    "ends with the last client\n"
		    "  frisbeed -m 239.192.1.5+ -p 5005 -W 900M a.ndz b.ndz         "
		    "a group each, 900 Mbit/s for both\n"
		    "  frisbeed -p 5005 a.ndz@239.192.1.5 b.ndz@239.192.9.1:6000\n"
		    "  frisbeed --group-key lab.group -m 239.192.1.5 -p 5005 a.ndz "
		    " only clients with the key\n"
		    "  frisbeed --unicast -m 10.1.0.1 -p 5005 ubuntu.ndz            "
		    "a stream for each client\n",
	.tables = { { net_opts, offsetof(struct opts, session.net), "Network" },
	    { own_opts, 0, "Serving" } },
};

/* Gives up the rights that serving does not need.  From now on the program can write only the
 * files of -A, --stats and --share, the folder that keeps the image of a parent, and what a store
 * needs.  `image` is the first operand. */
static int
give_up(const struct opts *o, const char *image, struct err *e)
{
	char addresses[PATH_MAX], stats[PATH_MAX], kept[PATH_MAX],
	    cache[STORE_CACHE_FOLDER_BYTES];
	struct rights rights = { .n = 0 };
	const char *without;

	if (o->user != NULL && rights_become(o->user, e) != 0)
		return -1;
	if (o->addr_file != NULL &&
	    rights_may_replace(&rights, o->addr_file, addresses, sizeof addresses, e) != 0)
		return -1;
	if (o->stats_file != NULL &&
	    rights_may_replace(&rights, o->stats_file, stats, sizeof stats, e) != 0)
		return -1;
	if (o->parent != NULL &&
	    rights_may_replace(&rights, image, kept, sizeof kept, e) != 0)
		return -1;
	rights_may_write(&rights, o->share_file);
	if (o->session.store != NULL)
		store_written(o->session.store, &rights, cache);
	if (rights_give_up(&rights, &without, e) != 0)
		return -1;
	cli_guard_start();
	if (without != NULL)
		log_debug("%s", without);
	return 0;
}

static int
act(void *opts, char **operands, int n, struct err *e)
{
	struct opts *o = opts;

	if (n < 1)
		return err_misuse(e, "an image is needed");
	log_open("frisbeed", !o->syslog,
	    o->quiet   ? LOG_LEVEL_WARN
	    : o->debug ? LOG_LEVEL_DEBUG
		       : LOG_LEVEL_INFO);
	if (o->ends_with != 0 && !process_ends_with((pid_t)o->ends_with))
		return err_set(e, ERR_USAGE, "--ends-with: process %" PRIu64 " is not the parent",
		    o->ends_with);
	openfiles_allow(UINT64_MAX);
	int rc = net_options_read_key(&o->session.net, e);
	if (rc == 0)
		rc = give_up(o, operands[0], e);
	if (rc == 0)
		rc = daemon_run(o, operands, (unsigned)n, e);
	net_options_wipe_key(&o->session.net);
	return rc != 0 ? -1 : 0;
}

int
main(int argc, char **argv)
{
	struct opts o = frisbeed_defaults;

	return cli_main(&prog, argc, argv, &o, act);
}
