/* main.c: streamswitch makes the device under a root filesystem that streams, and makes it lead
 * to the disk itself in the end.  Until then it keeps the disk from others, and guards the server
 * that fills it.  main() and all that it calls run in the only thread. */
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/say.h"
#include "common/cli/cli_rows.h"
#include "common/cli/failure.h"
#include "stream/switch/keep.h"
#include "stream/switch/guard.h"
#include "stream/switch/switch.h"
#include "stream/switch/whole.h"

struct options {
	const char *nbd, *rules, *marks;
	uint64_t sector_bytes;
	bool whole, quiet, json;
};

#define AT(field) offsetof(struct options, field)

enum { OPT_JSON = 300, OPT_WHOLE, OPT_NBD, OPT_RULES, OPT_MARKS, OPT_SECTOR };

static const struct cli_opt opts[] = {
	FLAG(OPT_WHOLE, "whole", "make: no devices for the partitions", whole),
	{ OPT_NBD, "nbd", "/dev/nbdN", "move: disconnect this device afterwards; guard: attach it",
	    CLI_STR, AT(nbd), 0, 0, NULL },
	UINT(OPT_SECTOR, "sector", "BYTES", "guard: of a sector of that device (512)", sector_bytes,
	    512, 4096),
	{ OPT_MARKS, "marks", "FILE", "guard: what outlives the server, in memory", CLI_STR,
	    AT(marks), 0, 0, NULL },
	{ OPT_RULES, "rules", "DIR", "folder of the rules for udev (" KEEP_RULES ")", CLI_STR,
	    AT(rules), 0, 0, NULL },
	FLAG('q', "quiet", "say nothing when all is well", quiet),
	FLAG(OPT_JSON, "json", "print JSON", json),
	{ 0 },
};

static const struct cli_program program = {
	.name = "streamswitch",
	.synopsis = "[options] command name [device | server ...]",
	.about =
	    "Put a device under a root filesystem that leads to another device, and make it lead\n"
	    "to the disk itself while the filesystem is in use.\n\n"
	    "  make NAME DEVICE      make /dev/mapper/NAME, which leads to DEVICE, "
	    "and its partitions\n"
	    "  move NAME DISK        make /dev/mapper/NAME lead to DISK, which has the "
	    "same data\n"
	    "  where NAME            print the device that /dev/mapper/NAME leads to\n"
	    "  remove NAME           remove /dev/mapper/NAME and its partitions\n"
	    "  keep NAME DISK        reserve DISK for the program that uses /dev/mapper/NAME\n"
	    "  release NAME DISK     undo keep\n"
	    "  wait SOCKET           wait until the disk that nbdkit-ndz-plugin fills is "
	    "complete\n"
	    "  guard SOCKET SERVER   run nbdkit, which listens at SOCKET, and start it again when it "
	    "dies",
	.examples = "  streamswitch keep local /dev/sda\n"
		    "  streamswitch make stream /dev/nbd0\n"
		    "  mount /dev/mapper/stream1 /mnt\n"
		    "  streamswitch move stream /dev/sda --nbd=/dev/nbd0\n"
		    "  streamswitch --marks=/run/marks guard /run/nbd -- nbdkit -f -U /run/nbd ...\n",
	.tables = { { opts, 0, NULL } },
};

static struct json *
begin_json(const char *name)
{
	struct json *j = json_new();

	json_object(j, NULL);
	json_string(j, "name", name);
	return j;
}

static int
end_json(struct json *j, struct err *e)
{
	json_end(j);
	return json_show(j, e);
}

/* udev has to know what to do before it hears of the devices. */
static int
make(const struct options *o, char **operands, struct err *e)
{
	const char *name = operands[0], *device = operands[1];
	char below[BLOCK_NAME_CAP];
	struct json *j;
	unsigned parts;

	if (switch_below(name, below, e) == 0)
		return err_set(e, ERR_REFUSED, "/dev/mapper/%s: is there already, and leads to %s",
		    name, below);
	if (e->kind != ERR_ABSENT || keep_write_rules(o->rules, e) != 0 || keep_hide(device, o->rules, e) != 0)
		return -1;
	if (switch_make(name, device, !o->whole, &parts, e) != 0) {
		keep_show(device, o->rules);
		return -1;
	}
	if (o->json) {
		j = begin_json(name);
		json_uint(j, "partitions", parts);
		return end_json(j, e);
	}
	if (!o->quiet)
		say_text(stderr,
		    "streamswitch: /dev/mapper/%s leads to %s, and has %u partitions\n",
		    name, device, parts);
	return 0;
}

static int
show_moved(const struct options *o, const char *name, const char *device,
    const struct switch_moved *r, struct err *e)
{
	struct json *j;

	if (o->json) {
		j = begin_json(name);
		json_string(j, "device", device);
		json_uint(j, "pause_us", r->pause_us);
		json_bool(j, "disconnected", r->disconnected);
		return end_json(j, e);
	}
	if (!o->quiet)
		say_text(stderr,
		    "streamswitch: /dev/mapper/%s leads to %s now; requests waited for "
		    "%.1f ms; one linear target stays until the next boot\n",
		    name, device, (double)r->pause_us / 1000);
	return 0;
}

static int
move(const struct options *o, char **operands, struct err *e)
{
	struct switch_move m = { .name = operands[0], .device = operands[1], .nbd = o->nbd };
	struct switch_moved r;

	int rc = switch_move(&m, &r, e);
	if (rc == 0)
		return show_moved(o, m.name, m.device, &r, e);
	if (r.moved)
		err_ctx(e, "/dev/mapper/%s leads to %s, but", m.name, m.device);
	return -1;
}

static int
where(const struct options *o, char **operands, struct err *e)
{
	char below[BLOCK_NAME_CAP];
	struct json *j;

	if (switch_below(operands[0], below, e) != 0)
		return -1;
	if (!o->json) {
		say_text(stdout, "%s\n", below);
		return 0;
	}
	j = begin_json(operands[0]);
	json_string(j, "device", below);
	return end_json(j, e);
}

static int
take_away(const struct options *o, char **operands, struct err *e)
{
	return keep_remove(operands[0], o->rules, e);
}

static int
keep(const struct options *o, char **operands, struct err *e)
{
	if (keep_take(operands[1], operands[0], o->rules, e) != 0)
		return -1;
	if (!o->quiet && !o->json)
		say_text(stderr, "streamswitch: %s is kept as /dev/mapper/%s\n", operands[1],
		    operands[0]);
	return 0;
}

static int
release(const struct options *o, char **operands, struct err *e)
{
	return keep_drop(operands[1], operands[0], o->rules, e);
}

static int
wait_until_whole(const struct options *o, char **operands, struct err *e)
{
	(void)o;
	return whole_wait(operands[0], e);
}

static int
guard(const struct options *o, char **operands, struct err *e)
{
	struct guard_config c = { .socket = operands[0],
		.words = (const char *const *)operands + 1,
		.marks = o->marks,
		.nbd = o->nbd,
		.sector_bytes = o->sector_bytes != 0 ? o->sector_bytes : 512 };

	while (c.words[c.nwords] != NULL)
		c.nwords++;
	return guard_run(&c, e);
}

static const struct command {
	const char *name;
	int operands; /* of guard: at least */
	int (*run)(const struct options *, char **operands, struct err *);
	bool reports; /* --json: run() prints a report */
} commands[] = {
	{ "make", 2, make, true },
	{ "move", 2, move, true },
	{ "where", 1, where, true },
	{ "remove", 1, take_away, false },
	{ "keep", 2, keep, false },
	{ "release", 2, release, false },
	{ "wait", 1, wait_until_whole, false },
	{ "guard", 2, guard, false },
};

static int
check_options(const struct options *o, const struct command *c, struct err *e)
{
	if (o->nbd != NULL && c->run != move && c->run != guard)
		return err_set(e, ERR_USAGE, "%s does not take --nbd", c->name);
	if (o->whole && c->run != make)
		return err_set(e, ERR_USAGE, "%s does not take --whole", c->name);
	if ((o->marks != NULL || o->sector_bytes != 0) && c->run != guard)
		return err_set(e, ERR_USAGE, "--marks and --sector are for guard");
	return 0;
}

static int
act(void *options, char **operands, int n, struct err *e)
{
	struct options *o = options;
	const struct command *c = commands, *end = c + sizeof commands / sizeof *commands;

	if (n < 1)
		return err_misuse(e, "a command is needed");
	while (c < end && strcmp(c->name, operands[0]) != 0)
		c++;
	if (c == end)
		return err_misuse(e, "there is no command \"%.40s\"", operands[0]);
	if (c->run == guard && n - 1 < c->operands)
		return err_misuse(e, "guard takes a socket and a server with its arguments");
	if (c->run != guard && n - 1 != c->operands)
		return err_misuse(e, "%s takes %d operand%s", c->name, c->operands,
		    c->operands == 1 ? "" : "s");
	if (check_options(o, c, e) != 0)
		return -1;
	int rc = c->run(o, operands + 1, e);
	return rc == 0 && o->json && !c->reports ? failure_none_show(e) : rc;
}

int
main(int argc, char **argv)
{
	struct options o = { .rules = KEEP_RULES };

	return cli_main(&program, argc, argv, &o, act);
}
