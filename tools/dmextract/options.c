/* options.c: the command line of dmextract.  cli_main() reads the table of options, and main.c
 * calls dmextract_settle(), in the first thread. */
#include "tools/dmextract/options.h"

#include <stddef.h>

#include "common/cli/cli_rows.h"

#define AT(field) offsetof(struct options, field)

enum {
	OPT_SINCE = 300, OPT_DONE, OPT_ZSTD, OPT_CONSISTENT, OPT_FROM, OPT_SNAPSHOT, OPT_FULL,
	OPT_STATE, OPT_STATE_DIR, OPT_BWLIMIT, OPT_JSON, OPT_STATUS, OPT_USED,
	OPT_FORCE, OPT_FINE, OPT_LIST, OPT_TARGET,
};

static const struct cli_opt opts[] = {
	{ OPT_SINCE, "since", "KIND:ARGS", "the source of change, from the list above",
	    CLI_STR, AT(how.since), 0, 0, NULL },
	FLAG(OPT_LIST, "list", "print the changed ranges; send and remember nothing", list),
	FLAG(OPT_DONE, "done",
	    "note that the target has the state ID, or the state that was sent last",
	    done),
	FLAG(OPT_STATUS, "status", "print the states that are remembered", status),
	{ OPT_TARGET, "target", "NAME",
	    "name the target, if DEV has several; each has a base of its own", CLI_STR,
	    AT(how.target), 0, 0, NULL },
	FLAG(
	    OPT_FULL, "full", "send everything, as if all of it had changed", how.full),
	FLAG(OPT_FORCE, "force",
	    "send everything also of a disk whose installation is not complete",
	    how.any_source),
	FLAG(OPT_USED, "used",
	    "when everything is sent, send the space that no filesystem uses as zeros",
	    how.used),
	FLAG(OPT_FINE, "fine",
	    "send only the 4 KiB that differ, by digests beside the states", fine),
	FLAG(OPT_ZSTD, "zstd", "compress the data", how.zstd),
	FLAG(OPT_CONSISTENT, "require-consistent",
	    "fail if the blocks could be of different points in time", how.require_consistent),
	{ OPT_FROM, "from", "PATH", "read the data from this snapshot of DEV", CLI_STR,
	    AT(how.from), 0, 0, NULL },
	{ OPT_SNAPSHOT, "snapshot", "HOW", "read a snapshot: thin, lvm[:SIZE], dm:COW or a program",
	    CLI_STR, AT(how.snapshot), 0, 0, NULL },
	{ OPT_STATE, "state", "FILE", "the file with the states of DEV", CLI_STR,
	    AT(how.state), 0, 0, NULL },
	{ OPT_STATE_DIR, "state-dir", "DIR",
	    "the folder for files with states (/var/lib/dsync)", CLI_STR,
	    AT(how.folder), 0, 0, NULL },
	{ OPT_BWLIMIT, "bwlimit", "SIZE", "send no more than this many bytes a second",
	    CLI_SIZE, AT(how.bytes_per_second), 1024, INT64_MAX, NULL },
	UINT('j', "jobs", "N", "read with N threads (8, or 2 from an NBD server)",
	    how.jobs, 1, 64),
	FLAG('q', "quiet", "print neither progress nor a summary", quiet),
	FLAG(OPT_JSON, "json",
	    "print a report as JSON (on standard error if a stream is written)", json),
	{ 0 },
};

/* Reports go to standard error when the stream goes to standard output. */
static FILE *
report_to(const void *options, char **operands, int n)
{
	const struct options *o = options;

	(void)operands, (void)n;
	return o->list || o->done || o->status ? stdout : stderr;
}

static const char *
left(const void *options, char **operands, int n)
{
	const struct options *o = options;

	(void)operands, (void)n;
	return o->list || o->done || o->status
	           ? NULL
	           : "the stream is not whole, and dmmerge refuses it";
}

const struct cli_program dmextract_program = {
	.name = "dmextract",
	.report_to = report_to,
	.left = left,
	.synopsis = "[options] DEV > stream  or  --done [options] [ID] DEV",
	.about =
	    "Write what has changed on a device or in a file to standard output, as a "
	    "stream\n"
	    "for dmmerge.  The sources of change are\n"
	    "\n"
	    "  era:METADATA          the tracker dm-era, with this metadata device\n"
	    "  thin:POOL             snapshots of DEV, a thin volume in this pool\n"
	    "  nbd:BITMAP[,NEXT]     a dirty bitmap of QEMU; DEV is an NBD export\n"
	    "  map:TABLE,IMAGE       the sector table of a disk that is streamed from IMAGE\n"
	    "  ranges:FILE           a list: lines with a first sector and a number of "
	    "sectors\n"
	    "  sig:FILE              a comparison with a signature of an image\n"
	    "  image:FILE            a comparison with an image\n"
	    "  scan:STATE            a comparison with digests, which reads all of DEV",
	.examples =
	    "  dmextract mydev | ssh host dmmerge /dev/mapper/mydev && dmextract "
	    "--done mydev\n"
	    "  dmextract --since=scan:disk.state disk.img | ssh host dmmerge disk.img\n"
	    "  dmextract --list --since=image:base.ndz /dev/sdb\n",
	.tables = { { opts, 0, NULL } },
	.guarded = true,
};

int
dmextract_settle(struct options *o, char **operands, int n, struct err *e)
{
	if (o->done && n == 2) {
		if (stream_id_get(&o->done_id, operands[0], e) != 0)
			return -1;
		operands++, n--;
	}
	if (n != 1)
		return err_misuse(e, o->done
					 ? "a device is needed; before it, there may "
					   "be the id of a state"
					 : "one operand is needed: a device or file");
	if (o->list + o->done + o->status > 1)
		return err_misuse(e, "only one of --list, --done and --status can be given");
	if (o->how.from != NULL && o->how.snapshot != NULL)
		return err_misuse(e, "only one of --from and --snapshot can be given");
	o->how.fine = o->fine ? FINE_ALWAYS : FINE_NEVER;
	o->how.device = operands[0];
	return 0;
}
