/* options.c: the command line of dsync.  main.c calls dsync_settle(), and cli_main() reads the
 * table, in the first thread. */
#include "dsync/options.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/number.h"
#include "common/cli/cli_rows.h"

#define AT(field) offsetof(struct options, field)

enum {
	OPT_SINCE = 300, OPT_EVERY, OPT_VERIFY_EVERY, OPT_ZSTD, OPT_CONSISTENT, OPT_SNAPSHOT,
	OPT_STATE, OPT_STATE_DIR, OPT_BWLIMIT, OPT_RSH, OPT_DMMERGE, OPT_FAR, OPT_METRICS,
	OPT_FORCE, OPT_JSON,
};

/* Parse a time, such as 90, 90s, 5m, 2h or 30d, into seconds. */
static int
take_time(void *at, const char *arg, struct err *e)
{
	static const char units[] = "smhd";
	static const uint64_t seconds[] = { 1, 60, 3600, 86400 };
	size_t n = strlen(arg);
	const char *unit = n > 1 ? strchr(units, arg[n - 1]) : NULL;
	char number[24];

	if (n == 0 || n >= sizeof number)
		return err_set(e, ERR_USAGE,
		    "\"%.40s\" is not a time such as 90s, 5m, 2h or 1d", arg);
	memcpy(number, arg, n + 1);
	if (unit != NULL)
		number[n - 1] = '\0';
	if (number_uint(number, 1, 1 << 30, at, e) != 0)
		return -1;
	*(uint64_t *)at *= unit != NULL ? seconds[unit - units] : 1;
	return 0;
}

static const struct cli_opt opts[] = {
	{ OPT_SINCE, "since", "KIND:ARGS", "the source of change: see man dmextract",
	    CLI_STR, AT(pair.from.since), 0, 0, NULL },
	{ OPT_EVERY, "every", "TIME",
	    "run: sync once in this time, such as 90s, 2h or 1d (5m)", CLI_CALL,
	    AT(every_s), 0, 0, take_time },
	{ OPT_VERIFY_EVERY, "verify-every", "TIME",
	    "run: compare all data once in this time (never)", CLI_CALL,
	    AT(verify_every_s), 0, 0, take_time },
	{ 't', "target", "NAME",
	    "name the target, if DEV has several; each has a base of its own", CLI_STR,
	    AT(pair.from.target), 0, 0, NULL },
	FLAG(OPT_ZSTD, "zstd", "compress the data", pair.from.zstd),
	FLAG(OPT_CONSISTENT, "require-consistent",
	    "fail if the blocks could be of different moments",
	    pair.from.require_consistent),
	{ OPT_SNAPSHOT, "snapshot", "PROGRAM",
	    "read a snapshot: run PROGRAM take DEV before, and PROGRAM drop DEV PATH "
	    "afterwards",
	    CLI_STR, AT(pair.from.snapshot), 0, 0, NULL },
	{ OPT_BWLIMIT, "bwlimit", "SIZE", "send no more than this many bytes a second",
	    CLI_SIZE, AT(pair.from.bytes_per_second), 1024, INT64_MAX, NULL },
	{ OPT_STATE, "state", "FILE", "the file with the states of DEV", CLI_STR,
	    AT(pair.from.state), 0, 0, NULL },
	{ OPT_STATE_DIR, "state-dir", "DIR",
	    "the folder for files with states (/var/lib/dsync)", CLI_STR,
	    AT(pair.from.folder), 0, 0, NULL },
	{ OPT_RSH, "rsh", "COMMAND", "the command that reaches the host (ssh)", CLI_STR,
	    AT(pair.to.rsh), 0, 0, NULL },
	{ OPT_DMMERGE, "dmmerge", "PATH", "the path of dmmerge on the host (dmmerge)",
	    CLI_STR, AT(pair.to.dmmerge), 0, 0, NULL },
	{ OPT_FAR, "dmmerge-options", "OPTIONS",
	    "options for dmmerge, such as --in-place", CLI_STR, AT(pair.to.options), 0,
	    0, NULL },
	{ OPT_METRICS, "metrics", "FILE",
	    "write the metrics of each sync to this file, for Prometheus", CLI_STR,
	    AT(metrics), 0, 0, NULL },
	FLAG(OPT_FORCE, "force", "init: replace whatever the copy holds", force),
	FLAG('q', "quiet", "print no summary", quiet),
	FLAG(OPT_JSON, "json", "print JSON", json),
	{ 0 },
};

const struct cli_program dsync_program = {
	.name = "dsync",
	.synopsis = "[options] command DEV [HOST:]TARGET",
	.about = "Keep a copy of a device up to date, here or on another host.\n"
		 "\n"
		 "  init       copy all of it\n"
		 "  once       send what has changed\n"
		 "  run        send what has changed, again and again\n"
		 "  status     print the state and the age of the copy\n"
		 "  verify     compare device and copy, by digests",
	.examples =
	    "  dsync init mydev backup:/dev/mapper/mydev\n"
	    "  dsync run --every=5m --verify-every=30d mydev backup:/dev/mapper/mydev\n"
	    "  dsync once --since=scan:disk.state disk.img /mnt/usb/disk.img\n",
	.tables = { { opts, 0, NULL } },
	.ignores_hangup = true,
};

int
dsync_settle(struct options *o, char **operands, int n, struct err *e)
{
	static const char *const commands[] = { "init", "once", "run", "status", "verify" };
	bool known = false;

	if (n < 1)
		return err_misuse(e, "a command is needed: init, once, run, status or verify");
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		known |= strcmp(operands[0], commands[i]) == 0;
	if (!known)
		return err_misuse(e, "there is no command \"%.40s\"", operands[0]);
	if (n != 3)
		return err_misuse(e, "%s takes a device and its copy", operands[0]);
	o->command = operands[0];
	bool run = strcmp(o->command, "run") == 0;
	if (!run && (o->every_s != 0 || o->verify_every_s != 0))
		return err_misuse(e, "%s takes neither --every nor --verify-every", o->command);
	if (o->force && strcmp(o->command, "init") != 0)
		return err_misuse(e, "%s does not take --force", o->command);
	o->pair.from.device = operands[1];
	return far_parse(&o->pair.to, operands[2], e);
}
