/* options.c: the table of imageunzip's options.  cli_main() reads it in the first thread. */
#include "imageunzip/options.h"

#include <stddef.h>

#include "common/cli/cli_rows.h"
#include "common/cli/image_opts.h"
#include "common/disk/output.h"
#include "imageunzip/cli/install_opts.h"

/* Long-only options from 300 on. */
enum { OPT_PROGRESS = 300, OPT_JSON, OPT_STATUS, OPT_STORE, OPT_DRY_RUN, OPT_PLAN };

#define AT(field) offsetof(struct opts, field)

static const struct cli_opt own_opts[] = {
	{ 'p', "pattern", "N", "fill the free space with this 32-bit number", CLI_CALL,
	    AT(install), 0, 0, install_set_pattern },
	FLAG('o', "dots", "print a dot for each chunk", dots),
	FLAG('O', "gb-dots", "print a dot for each GB of the disk", gb_dots),
	FLAG('N', "raw-chunks", "copy the chunks themselves, undecoded", raw_chunks),
	FLAG('C', "crc", "write nothing; print the CRC-32 of the installed disk",
	    crc_only),
	{ 'u', "uuid", "HEX32", "the image must have this UUID", CLI_STR, AT(uuid), 0,
	    0, NULL },
	{ OPT_STORE, "store", "DIR|URL", "take the image with this name from the store",
	    CLI_STR, AT(store), 0, 0, NULL },
	FLAG('q', "quiet", "print neither progress nor a summary", quiet),
	FLAG(OPT_STATUS, "status",
	    "only report whether an installation on the disk is incomplete", status),
	FLAG(OPT_DRY_RUN, "dry-run", "write nothing; report what would be done",
	    dry_run),
	FLAG(OPT_PLAN, "plan", "write nothing; print the plan of --fit", plan),
	FLAG(OPT_JSON, "json", "print the summary as JSON", json),
	{ OPT_PROGRESS, "progress", "FD",
	    "write progress to descriptor FD, as lines \"DONE TOTAL\"", CLI_UINT,
	    AT(progress_fd), 0, 1 << 20, NULL },
	REFUSED('r', "N", "not supported: read retries"),
	REFUSED('I', NULL, "not supported: holes in a pipe are always zeros"),
	REFUSED('M', "SECTOR", "not supported: a highest sector"),
	REFUSED('E', NULL, "not supported; see --discard"),
	REFUSED('F', NULL, "not supported: random order of chunks"),
	REFUSED('c', NULL, "not supported: Emulab's signed images; see --verify-key"),
	REFUSED('a', "KEY", "not supported: Emulab's signed images; see --verify-key"),
	REFUSED(
	    'e', "CIPHER", "not supported: Emulab's encrypted images; see --decrypt"),
	REFUSED('k', "KEY", "not supported: Emulab's encrypted images; see --decrypt"),
	{ 0 },
};

static FILE *
report_to(const void *opts, char **operands, int n)
{
	const struct opts *o = opts;

	if (o->status || o->crc_only || o->dry_run || o->plan || n == 0)
		return stdout;
	return output_report(n > 1 ? operands[n - 1] : "-");
}

const struct cli_program imageunzip_program = {
	.report_to = report_to,
	.name = "imageunzip",
	.guarded = true,
	.synopsis = "[options] image|URL|- [target|-]",
	.about = "Install an image made by imagezip.  Every chunk is checked before it "
		 "is written.",
	.examples =
	    "  imageunzip disk.ndz /dev/sdb           a whole disk\n"
	    "  imageunzip -s 2 -D 131 root.ndz /dev/sdb   into partition 2, type "
	    "Linux\n"
	    "  imageunzip --only 2 disk.ndz /dev/sdb  only partition 2 of a disk\n"
	    "  imageunzip disk.ndz disk.img           a new sparse file\n"
	    "  imageunzip --store /srv/store ubuntu24:3 /dev/sdb   from a store\n"
	    "  imageunzip https://host/disk.ndz /dev/sdb   from a web server\n"
	    "  cat disk.ndz | imageunzip - - | ...    through pipes\n"
	    "  imageunzip --verify-key lab.pub disk.ndz /dev/sdb   only if it is "
	    "signed\n"
	    "  imageunzip --dry-run disk.ndz /dev/sdb   show what that would do\n"
	    "  imageunzip --fit disk.ndz /dev/sdb     partitions that fit the disk\n"
	    "  imageunzip --status /dev/sdb           check that its installation is "
	    "complete\n",
	.tables = { { install_opts, AT(install), NULL },
	    { opener_opts, AT(install.opener), "Signature and encryption" },
	    { own_opts, 0, "Program" } },
};
