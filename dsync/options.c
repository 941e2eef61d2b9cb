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
	OPT_FORCE, OPT_JSON, OPT_METADATA, OPT_BLOCK, OPT_WHOLE, OPT_FINE, OPT_NO_FINE,
	OPT_TARGET,
};

enum { MOST_S = 1 << 30 }; /* of a time: 34 years, whose microseconds fit into 64 bits */

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
	uint64_t each = unit != NULL ? seconds[unit - units] : 1;
	if (number_uint(number, 1, MOST_S / each, at, e) != 0)
		return -1;
	*(uint64_t *)at *= each;
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
	{ OPT_TARGET, "target", "NAME",
	    "name the target, if DEV has several; each has a base of its own", CLI_STR,
	    AT(pair.from.target), 0, 0, NULL },
	FLAG(OPT_WHOLE, "whole", "send also what no filesystem uses", whole),
	FLAG(OPT_FINE, "fine",
	    "always send only the 4 KiB that differ, by digests beside the states", fine),
	FLAG(OPT_NO_FINE, "no-fine", "send blocks as they are noted, and keep no digests",
	    no_fine),
	FLAG(OPT_ZSTD, "zstd", "compress the data", pair.from.zstd),
	FLAG(OPT_CONSISTENT, "require-consistent",
	    "fail if the blocks could be of different points in time",
	    pair.from.require_consistent),
	{ OPT_SNAPSHOT, "snapshot", "HOW", "read a snapshot: thin, lvm[:SIZE], dm:COW or a program",
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
	{ OPT_METADATA, "metadata", "META", "track: a device for what dm-era notes", CLI_STR,
	    AT(track.metadata), 0, 0, NULL },
	{ OPT_BLOCK, "block", "SIZE",
	    "track: the size of the blocks in which changes are noted (64k)", CLI_SIZE,
	    AT(track.block_bytes), 4096, STREAM_BLOCK_MAX, NULL },
	FLAG(OPT_FORCE, "force", "init, track: replace whatever the copy, or META, holds", force),
	FLAG('q', "quiet", "print neither progress nor a summary", quiet),
	FLAG(OPT_JSON, "json", "print JSON; run: print each object on one line", json),
	{ 0 },
};

static const char *
left(const void *options, char **operands, int n)
{
	const struct options *o = options;

	(void)operands, (void)n;
	switch (o->command) {
	case DSYNC_INIT: return "there is no whole copy yet: the same command begins anew";
	case DSYNC_ONCE:
		return "dsync status says what the copy holds, and the next sync completes it";
	case DSYNC_VERIFY: return "not all was compared";
	default: return NULL;
	}
}

const struct cli_program dsync_program = {
	.left = left,
	.name = "dsync",
	.synopsis = "[options] init|once|run|status|verify DEV [HOST:]TARGET  or  "
		    "track --metadata=META DEV [NAME]  or  start|stop|untrack NAME",
	.about = "Keep a copy of a device up to date, here or on another host.\n\n"
		 "  init       copy all of the device\n"
		 "  once       send what has changed\n"
		 "  run        send what has changed, again and again\n"
		 "  status     print the state and the age of the copy\n"
		 "  verify     compare device and copy, by digests\n\n"
		 "  track      note what is written to DEV from now on, by dm-era\n"
		 "  start      activate the tracker NAME, as a unit does\n"
		 "  stop       end the tracker, so that its next start misses nothing\n"
		 "  untrack    end the tracker, and forget it",
	.examples =
	    "  dsync init mydev backup:/dev/mapper/mydev\n"
	    "  dsync track --metadata=/dev/vg/meta /dev/vg/data mydev\n"
	    "  dsync run --every=5m --verify-every=30d mydev backup:/dev/mapper/mydev\n"
	    "  dsync once --since=scan:disk.state disk.img /mnt/usb/disk.img\n",
	.tables = { { opts, 0, NULL } },
	.ignores_hangup = true,
};

static const struct command_kind {
	const char *name;
	enum command command;
	int least, most; /* operands, the command not counted */
	const char *takes;
} commands[] = {
	{ "init", DSYNC_INIT, 2, 2, "a device and its copy" },
	{ "once", DSYNC_ONCE, 2, 2, "a device and its copy" },
	{ "run", DSYNC_RUN, 2, 2, "a device and its copy" },
	{ "status", DSYNC_STATUS, 2, 2, "a device and its copy" },
	{ "verify", DSYNC_VERIFY, 2, 2, "a device and its copy" },
	{ "track", DSYNC_TRACK, 1, 2, "a device, and perhaps a name for its tracker" },
	{ "start", DSYNC_START, 1, 1, "the name of a tracker" },
	{ "stop", DSYNC_STOP, 1, 1, "the name of a tracker" },
	{ "untrack", DSYNC_UNTRACK, 1, 1, "the name of a tracker" },
};

static const struct command_kind *
find_command(const char *name, struct err *e)
{
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		if (strcmp(name, commands[i].name) == 0)
			return &commands[i];
	err_misuse(e, "there is no command \"%.40s\"", name);
	return NULL;
}

/* Refuse options that the command has no use for. */
static int
check_options(const struct options *o, const char *name, struct err *e)
{
	bool track = o->command == DSYNC_TRACK;

	if (o->command != DSYNC_RUN && (o->every_s != 0 || o->verify_every_s != 0))
		return err_misuse(e, "%s takes neither --every nor --verify-every", name);
	if (o->fine && o->no_fine)
		return err_misuse(e, "--fine and --no-fine exclude each other");
	if (o->force && o->command != DSYNC_INIT && !track)
		return err_misuse(e, "%s does not take --force", name);
	if (!track && (o->track.metadata != NULL || o->track.block_bytes != 0))
		return err_misuse(e, "%s takes neither --metadata nor --block", name);
	if (track && o->track.metadata == NULL)
		return err_misuse(e, "track needs --metadata");
	if (o->track.block_bytes % 4096 != 0)
		return err_misuse(e, "--block takes a multiple of 4096 bytes");
	return 0;
}

int
dsync_settle(struct options *o, char **operands, int n, struct err *e)
{
	if (n < 1)
		return err_misuse(e, "a command is needed, such as once");
	const struct command_kind *k = find_command(operands[0], e);
	if (k == NULL)
		return -1;
	if (n - 1 < k->least || n - 1 > k->most)
		return err_misuse(e, "%s takes %s", k->name, k->takes);
	o->command = k->command;
	if (check_options(o, k->name, e) != 0)
		return -1;
	o->pair.from.device = o->track.device = operands[1];
	o->track.name = n > 2 ? operands[2] : NULL;
	o->track.folder = o->pair.from.folder;
	o->track.force = o->force;
	o->pair.from.used = !o->whole;
	o->pair.from.fine = o->fine      ? FINE_ALWAYS
	                    : o->no_fine ? FINE_NEVER
	                                 : FINE_BY_ITSELF;
	return o->command <= DSYNC_VERIFY ? far_parse(&o->pair.to, operands[2], e) : 0;
}
