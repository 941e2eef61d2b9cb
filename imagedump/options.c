#include "imagedump/options.h"

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
	{ 'd', "detail", NULL, "each chunk; twice: its regions and relocations",
	    CLI_CALL, 0, 0, 0, more_detail },
	{ 'q', "quiet", NULL, "print nothing: the exit status tells", CLI_FLAG,
	    AT(quiet), 0, 0, NULL },
	{ 300, "json", NULL, "print JSON", CLI_FLAG, AT(json), 0, 0, NULL },
	{ 301, "verify", NULL, "decode and check everything: can it be restored?",
	    CLI_FLAG, AT(verify), 0, 0, NULL },
	{ 'j', "jobs", "N", "threads for --verify (default: one a processor)", CLI_UINT,
	    AT(jobs), 1, 256, NULL },
	{ 'i', NULL, NULL, "accepted: the index fields of V1 are never looked at",
	    CLI_CALL, 0, 0, 0, ignored_letter },
	{ 'm', NULL, NULL, "not built yet: a map", CLI_REFUSED, 0, 0, 0, NULL },
	{ 'c', NULL, NULL, "not built yet: Emulab's signatures; see --verify-key",
	    CLI_REFUSED, 0, 0, 0, NULL },
	{ 0 },
};

const struct cli_program imagedump_program = {
	.name = "imagedump",
	.synopsis = "[options] image...",
	.about = "Show what images hold, and check that they are whole.",
	.examples = "  imagedump disk.ndz              a summary\n"
		    "  imagedump -dd disk.ndz          every region\n"
		    "  imagedump --verify -q disk.ndz && echo good\n"
		    "  imagedump --verify --verify-key lab.pub disk.ndz\n",
	.tables = { { opts_table, 0, NULL }, { proof_opts, AT(proof_files), "Proof" } },
};
