/* options.c: the table of imagedump's options.  cli_main() reads it in the first thread. */
#include "tools/imagedump/options.h"

#include "common/cli/cli_rows.h"
#include "common/cli/image_opts.h"

static int
more_detail(void *at, const char *arg, struct err *e)
{
	struct options *o = at;

	(void)arg, (void)e;
	o->detail++;
	return 0;
}

static int
ignored_letter(void *at, const char *arg, struct err *e)
{
	(void)at, (void)arg, (void)e;
	return 0;
}

#define AT(field) offsetof(struct options, field)

static const struct cli_opt opts_table[] = {
	{ 'd', "detail", NULL,
	    "list all chunks; if given twice, also their regions and relocations",
	    CLI_CALL, 0, 0, 0, more_detail },
	FLAG('q', "quiet", "print nothing; the exit status is the result", quiet),
	FLAG(300, "json", "print JSON", json),
	FLAG(301, "verify", "decode everything and check it", verify),
	{ 'j', "jobs", "N", "verify with N threads (default: one for each processor)",
	    CLI_UINT, AT(jobs), 1, 256, NULL },
	{ 302, "only", "N[,M]", "also show what belongs to these partitions", CLI_CALL,
	    AT(only), 0, 0, only_list_set },
	{ 'i', NULL, NULL,
	    "accepted, does nothing: the index fields of version 1 are ignored",
	    CLI_CALL, 0, 0, 0, ignored_letter },
	REFUSED('m', NULL, "not supported: printing a map of the image"),
	REFUSED('c', NULL, "not supported: Emulab's signatures; see --verify-key"),
	{ 0 },
};

const struct cli_program imagedump_program = {
	.name = "imagedump",
	.synopsis = "[options] image...",
	.about = "Show what images contain, and check them.",
	.examples =
	    "  imagedump disk.ndz              a summary\n"
	    "  imagedump -dd disk.ndz          every region\n"
	    "  imagedump --only 2 disk.ndz     what belongs to its partition 2\n"
	    "  imagedump --verify -q disk.ndz && echo good\n"
	    "  imagedump --verify --verify-key lab.pub disk.ndz\n",
	.tables = { { opts_table, 0, NULL },
	    { opener_opts, AT(opener_files), "Signature and encryption" } },
};
