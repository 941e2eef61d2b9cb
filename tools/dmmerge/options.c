/* options.c: the command line of dmmerge.  cli_main() reads the table of options, and main.c
 * calls dmmerge_settle(), in the first thread. */
#include "tools/dmmerge/options.h"

#include <stddef.h>

#include "common/cli/cli_rows.h"

#define AT(field) offsetof(struct options, field)

enum {
	OPT_JOURNAL = 300, OPT_STATE_DIR, OPT_IN_PLACE, OPT_FORCE, OPT_NO_VERIFY, OPT_DISCARD,
	OPT_STATUS, OPT_RECOVER, OPT_DIGESTS, OPT_JSON,
};

static const struct cli_opt opts[] = {
	{ OPT_JOURNAL, "journal", "FILE",
	    "the journal: it receives the stream, and records the state of TARGET",
	    CLI_STR, AT(how.journal), 0, 0, NULL },
	{ OPT_STATE_DIR, "state-dir", "DIR",
	    "the folder for the journals of devices (/var/lib/dsync)", CLI_STR,
	    AT(how.folder), 0, 0, NULL },
	FLAG(OPT_IN_PLACE, "in-place",
	    "write blocks as they come; TARGET is incomplete until the stream ends",
	    how.in_place),
	FLAG(OPT_DISCARD, "discard", "discard ranges before zeros are written to them",
	    how.discard),
	FLAG(OPT_NO_VERIFY, "no-verify", "do not read back what was written",
	    how.no_verify),
	FLAG(OPT_FORCE, "force",
	    "merge whatever TARGET holds, and even if it is in use", how.force),
	FLAG(OPT_STATUS, "status", "print the state of TARGET", status),
	FLAG(OPT_RECOVER, "recover", "only finish a merge that was interrupted",
	    recover),
	{ OPT_DIGESTS, "digests", "SIZE",
	    "print the digest of each SIZE bytes of TARGET", CLI_SIZE, AT(digests),
	    4096, 1 << 30, NULL },
	FLAG('q', "quiet", "print neither progress nor a summary", quiet),
	FLAG(OPT_JSON, "json", "print JSON", json),
	{ 0 },
};

static const char *
left(const void *options, char **operands, int n)
{
	const struct options *o = options;

	(void)operands, (void)n;
	if (o->status || o->digests != 0)
		return NULL;
	return o->how.in_place ? "merging the same stream again completes it"
	                       : "dmmerge --status says what the target holds, and the next run "
	                         "finishes a merge that had begun";
}

const struct cli_program dmmerge_program = {
	.left = left,
	.name = "dmmerge",
	.synopsis = "[options] TARGET < stream",
	.about = "Merge a stream of dmextract, from standard input, into a device or "
	         "file.  The\n"
		 "whole stream is received and checked before the first byte of TARGET "
	         "changes.",
	.examples =
	    "  dmextract mydev | ssh host dmmerge /dev/mapper/mydev && dmextract "
	    "--done mydev\n"
	    "  dmmerge --status /dev/mapper/mydev     which state the copy has\n"
	    "  dmmerge --in-place copy.img < stream   without the stream in a journal\n",
	.tables = { { opts, 0, NULL } },
	.guarded = true,
};

int
dmmerge_settle(struct options *o, char **operands, int n, struct err *e)
{
	if (cli_operands(operands, n, 1, 1,
		"one operand is needed: the device or file to merge into", e) != 0)
		return -1;
	if (o->status + o->recover + (o->digests != 0) > 1)
		return err_misuse(
		    e, "only one of --status, --recover and --digests can be given");
	if (o->json && o->digests != 0)
		return err_misuse(e, "--digests prints lines, and cannot be combined with --json");
	o->how.target = operands[0];
	return 0;
}
