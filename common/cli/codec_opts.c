/* codec_opts.c: the option table for codec and level.  Programs that make images refer to
 * it in their own table; cli.c calls its function in the first thread. */
#include "common/cli/codec_opts.h"

#include "common/base/number.h"

static int
set_codec(void *at, const char *arg, struct err *e)
{
	return codec_parse(at, arg, e);
}

static int
set_level(void *at, const char *arg, struct err *e)
{
	uint64_t level;

	if (number_uint(arg, 0, 9, &level, e) != 0)
		return -1;
	*(struct codec_choice *)at = (struct codec_choice){ &codec_deflate,
		(int)level };
	return 0;
}

static int
set_fast(void *at, const char *arg, struct err *e)
{
	(void)arg;
	return codec_parse(at, codec_igzip.name, e);
}

/* Above the keys of the programs' own tables. */
enum { OPT_CODEC = 400, OPT_FAST };

const struct cli_opt codec_opts[] = {
	{ OPT_CODEC, "codec", "CODEC[:LEVEL]",
	    "deflate:0-9, igzip or zstd:1-19 (deflate:6)", CLI_CALL, 0, 0, 0,
	    set_codec },
	{ 'z', "level", "N", "the same as --codec=deflate:N", CLI_CALL, 0, 0, 0,
	    set_level },
	{ OPT_FAST, "fast", NULL, "the same as --codec=igzip", CLI_CALL, 0, 0, 0,
	    set_fast },
	{ 0 },
};
