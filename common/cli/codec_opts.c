/* codec_opts.c: the option table for codec, level and windows.  Programs that make images
 * refer to it in their own table; cli.c calls its functions in the first thread. */
#include "common/cli/codec_opts.h"

#include <string.h>

#include "common/base/number.h"

static int
set_codec(void *at, const char *arg, struct err *e)
{
	return codec_parse(&((struct maker_choice *)at)->codec, arg, e);
}

static int
set_level(void *at, const char *arg, struct err *e)
{
	uint64_t level;

	if (number_uint(arg, 0, 9, &level, e) != 0)
		return -1;
	((struct maker_choice *)at)->codec = (struct codec_choice){ &codec_deflate,
		(int)level, false };
	return 0;
}

static int
set_fast(void *at, const char *arg, struct err *e)
{
	(void)arg;
	return set_codec(at, codec_igzip.name, e);
}

static int
set_windows(void *at, const char *arg, struct err *e)
{
	static const char *const names[] = { [MAKER_CONTENT] = "content",
		[MAKER_STORE] = "store", [MAKER_ALIGNED] = "aligned" };
	struct maker_choice *how = at;

	for (unsigned i = MAKER_CONTENT; i <= MAKER_ALIGNED; i++)
		if (strcmp(arg, names[i]) == 0)
			return how->windows = i, 0;
	return err_set(e, ERR_USAGE, "\"%s\": must be content, store or aligned", arg);
}

/* These keys are above those of the programs' own tables. */
enum { OPT_CODEC = 400, OPT_FAST, OPT_WINDOWS };

const struct cli_opt codec_opts[] = {
	{ OPT_CODEC, "codec", "CODEC[:LEVEL]",
	    "deflate:0-9, igzip:0-3 or zstd:1-19 (deflate:6)", CLI_CALL, 0, 0, 0,
	    set_codec },
	{ 'z', "level", "N", "the same as --codec=deflate:N", CLI_CALL, 0, 0, 0,
	    set_level },
	{ OPT_FAST, "fast", NULL, "the same as --codec=igzip", CLI_CALL, 0, 0, 0,
	    set_fast },
	{ OPT_WINDOWS, "windows", "WHERE",
	    "where fragments end: content (the data decides, and chunks are filled), store "
	    "(the data alone decides, so that a store finds moved data) or aligned (at "
	    "multiples of 64 KiB of the disk) (content; with --to=store:NAME store)",
	    CLI_CALL, 0, 0, 0, set_windows },
	{ 0 },
};
