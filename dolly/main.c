/* main.c: dolly, which sends images from node to node where multicast does not reach.  Options,
 * and the table of commands. */
#include <string.h>

#include "common/cli/cli.h"
#include "dolly/dolly.h"

#define AT(field) offsetof(struct options, field)

static const struct cli_opt opts[] = {
	{ 'i', "image-size", "BYTES", "plan: raw data of the image, for times", CLI_SIZE,
	    AT(image_bytes), 1, 1ull << 60, NULL },
	{ 'n', "nodes", "N", "plan: clients; by default all hosts but the server",
	    CLI_UINT, AT(clients), 1, NETWORK_POINTS_MAX, NULL },
	{ 'c', "compression", "FACTOR",
	    "plan: bytes of raw data for each byte sent (1: it is sent raw)", CLI_STR,
	    AT(compression), 0, 0, NULL },
	{ 300, "svg", "FILE", "plan: draw the network with its streams, and rates",
	    CLI_STR, AT(svg), 0, 0, NULL },
	{ 'f', "force", NULL, "plan: let --svg replace any file", CLI_FLAG, AT(force), 0,
	    0, NULL },
	{ 301, "json", NULL, "print JSON", CLI_FLAG, AT(json), 0, 0, NULL },
	{ 0 },
};

static const struct cli_program prog = {
	.name = "dolly",
	.synopsis = "[options] command [operands]",
	.about = "Send images along chains and trees of machines.\n\n"
		 "  plan NETWORK          predict which way of sending is the fastest",
	.examples = "  dolly plan --image-size 20G docs/examples/patagonia.net\n"
		    "  dolly plan --compression 2.1 --svg plan.svg lab.net\n",
	.tables = { { opts, 0, NULL } },
};

static const struct command {
	const char *name;
	int min, max; /* operands */
	int (*run)(const struct options *, char **, int, struct err *);
} commands[] = {
	{ "plan", 1, 1, command_plan },
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
	return err_misuse(e, "\"%.40s\" is no command", operands[0]);
}

int
main(int argc, char **argv)
{
	struct options o = { 0 };

	return cli_main(&prog, argc, argv, &o, run);
}
