/* main.c: dolly sends images from node to node where multicast does not reach.  This
 * file has the options and the table of commands.  main() runs in the first thread. */
#include <string.h>

#include "common/cli/cli.h"
#include "common/cli/cli_rows.h"
#include "common/cli/image_opts.h"
#include "common/disk/output.h"
#include "dolly/dolly.h"
#include "dolly/engine/roster.h"
#include "imageunzip/cli/install_opts.h"

enum {
	OPT_SVG = 300,
	OPT_JSON,
	OPT_NODES,
	OPT_START,
	OPT_CHAIN,
	OPT_STAR,
	OPT_AUTO,
	OPT_NETWORK,
	OPT_RACK_FILE,
	OPT_KEY,
	OPT_RAW,
	OPT_ZSTD,
	OPT_DEADLINE,
	OPT_SLOW,
	OPT_LINGER,
	OPT_PATIENCE,
	OPT_RELAY,
	OPT_RELAY_FILE,
	OPT_SECONDS,
	OPT_WITH,
	OPT_LISTEN,
	OPT_PLAN,
	OPT_WAIT,
	OPT_TREE,
	OPT_IMAGE_SIZE,
	OPT_COMPRESSION,
};

#define AT(field) offsetof(struct options, field)

static const struct cli_opt opts[] = {
	UINT('p', "port", "P", "serve, join, calibrate: TCP port (9998)", port, 1, 65535),
	{ OPT_NODES, "nodes", "LIST|FILE|N",
	    "serve: serve only these nodes, in this order; plan: the number of clients; "
	    "calibrate: describe these machines as well, like this one",
	    CLI_STR, AT(nodes), 0, 0, NULL },
	UINT(OPT_WAIT, "wait", "N", "serve: begin when N nodes have joined", wait, 1,
	    ROSTER_MAX),
	UINT(OPT_START, "start-after", "S",
	    "serve: after S seconds, begin without the nodes that have not joined",
	    start_s, 1, 1000000),
	FLAG(OPT_CHAIN, "chain", "serve: each node sends to one other (the default)",
	    chain),
	UINT(OPT_TREE, "tree", "N", "serve: each node sends to N others", tree, 1,
	    ROSTER_MAX),
	FLAG(OPT_STAR, "star", "serve: the server sends to all", star),
	FLAG(OPT_AUTO, "auto",
	    "serve: choose the order of nodes by --network, --rack-file or addresses",
	    automatic),
	{ OPT_NETWORK, "network", "FILE",
	    "serve: order the nodes by this description (see plan), switch by switch",
	    CLI_STR, AT(network), 0, 0, NULL },
	{ OPT_PLAN, "plan", "FILE",
	    "serve: predict the time of the run by this description (plan, calibrate)",
	    CLI_STR, AT(plan), 0, 0, NULL },
	{ OPT_RACK_FILE, "rack-file", "FILE",
	    "serve: order the nodes by lines \"rack NAME HOSTS\", rack by rack",
	    CLI_STR, AT(rack_file), 0, 0, NULL },
	{ OPT_KEY, "key", "FILE",
	    "serve, join: encrypt with this key, which server and nodes need", CLI_STR,
	    AT(key), 0, 0, NULL },
	FLAG(OPT_RAW, "raw",
	    "serve: send the bytes of any file or disk, with a digest for each MiB "
	    "(--force: of a disk that is not complete, too)",
	    raw),
	FLAG(OPT_ZSTD, "zstd", "serve: compress the bytes of --raw with zstd", zstd),
	UINT(OPT_DEADLINE, "deadline", "S",
	    "serve: remove a node that says nothing for S seconds (10)", deadline_s, 1, 3600),
	{ OPT_SLOW, "slow", "BYTES",
	    "serve: fewer bytes a second count as nothing: such a node sends to nobody "
	    "any more, and is removed if it holds up others even then",
	    CLI_SIZE, AT(slow), 1, 1ull << 40, NULL },
	UINT(OPT_LINGER, "linger", "S",
	    "serve: at the end, wait S seconds for nodes that join (5)", linger_s,
	    0, 1000000),
	UINT(OPT_PATIENCE, "patience", "S",
	    "join: wait S seconds for a server that went away; calibrate --listen: wait "
	    "S seconds for the next machine (60)",
	    patience_s, 0, 1000000),
	{ OPT_RELAY, "relay", "GROUP:PORT",
	    "join: serve the image there by multicast, to clients of frisbee, while it "
	    "comes",
	    CLI_STR, AT(relay), 0, 0, NULL },
	{ OPT_RELAY_FILE, "relay-file", "FILE",
	    "join: keep the image for --relay in this file (a new one in TMPDIR)",
	    CLI_STR, AT(relay_file), 0, 0, NULL },
	UINT(OPT_SECONDS, "seconds", "S",
	    "calibrate: measure for S seconds in all (12)", seconds, 1, 3600),
	{ OPT_WITH, "with", "HOST[:PORT]",
	    "calibrate: also measure the link to this machine, which runs calibrate "
	    "--listen",
	    CLI_STR, AT(with), 0, 0, NULL },
	FLAG(OPT_LISTEN, "listen", "calibrate: let others measure the link to this machine",
	    listen),
	FLAG('q', "quiet", "print neither progress nor messages about nodes", quiet),
	{ OPT_IMAGE_SIZE, "image-size", "BYTES",
	    "plan: the size of the uncompressed image, to predict times", CLI_SIZE,
	    AT(image_bytes), 1, 1ull << 60, NULL },
	{ OPT_COMPRESSION, "compression", "FACTOR",
	    "plan, serve: the size of the uncompressed data divided by that of what is "
	    "sent (1)",
	    CLI_STR, AT(compression), 0, 0, NULL },
	{ OPT_SVG, "svg", "FILE",
	    "plan: draw the network, its streams and the rates (--force: over any "
	    "file)",
	    CLI_STR, AT(svg), 0, 0, NULL },
	FLAG(OPT_JSON, "json", "print JSON", json),
	{ 0 },
};

static FILE *
report_to(const void *options, char **operands, int n)
{
	(void)options;
	return n > 2 && strcmp(operands[0], "join") == 0 ? output_report(operands[2])
	                                                 : stdout;
}

/* What is left of a node's target is known to whoever installs (sink.h). */
static const char *
left(const void *options, char **operands, int n)
{
	(void)options;
	return n > 0 && strcmp(operands[0], "serve") == 0
	           ? "nodes that were not complete have ended, too"
	           : NULL;
}

static const struct cli_program prog = {
	.left = left,
	.name = "dolly",
	.port = "-p",
	.synopsis = "[options] command [operands]",
	.about =
	    "Send images along chains and trees of machines.\n"
	    "\n"
	    "  serve IMAGE                        send an image to nodes that join\n"
	    "  join HOST[:PORT] DISK|FILE|-       install what a server sends\n"
	    "  plan NETWORK                       predict which way of sending is the "
	    "fastest\n"
	    "  calibrate [FOLDER]                 measure this machine, for plan",
	.examples = "  dolly serve --nodes node[01-32] disk.ndz\n"
		    "  dolly serve --wait 8 --tree 2 disk.ndz\n"
		    "  dolly serve --wait 64 --auto --network lab.net disk.ndz\n"
		    "  dolly serve --wait 8 --plan lab.net disk.ndz\n"
		    "  dolly serve --wait 8 --raw --zstd /dev/vg/root\n"
		    "  dolly join server /dev/sda\n"
		    "  dolly join --relay 239.192.1.5:5005 server /dev/sda\n"
		    "  dolly plan --image-size 20G docs/examples/patagonia.net\n"
		    "  dolly plan --compression 2.1 --svg plan.svg lab.net\n"
		    "  dolly calibrate --with node01 --nodes node[01-32] /mnt > lab.net\n",
	.report_to = report_to,
	.guarded = true,
	.tables = { { opts, 0, NULL }, { install_opts, AT(install), "Joining" },
	    { opener_opts, AT(install.opener), "Signature and encryption" } },
};

static const struct command {
	const char *name;
	int min, max; /* operands */
	int (*run)(const struct options *, char **, int, struct err *);
} commands[] = {
	{ "plan", 1, 1, command_plan },
	{ "serve", 1, 1, command_serve },
	{ "join", 2, 2, command_join },
	{ "calibrate", 0, 1, command_calibrate },
};

static int
run(void *options, char **operands, int n, struct err *e)
{
	if (n == 0)
		return err_misuse(e, "a command is missing");
	for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
		const struct command *c = &commands[i];
		if (strcmp(operands[0], c->name) != 0)
			continue;
		if (n - 1 < c->min || n - 1 > c->max)
			return err_misuse(e, "%s: %s operands", c->name,
			    n - 1 < c->min ? "too few" : "too many");
		return c->run(options, operands + 1, n - 1, e);
	}
	return err_misuse(e, "\"%.40s\" is not a command", operands[0]);
}

int
main(int argc, char **argv)
{
	struct options o = { .port = 9998,
		.deadline_s = 10,
		.linger_s = 5,
		.patience_s = 60,
		.seconds = 12,
		.install = { .state_s = INSTALL_STATE_S } };

	return cli_main(&prog, argc, argv, &o, run);
}
