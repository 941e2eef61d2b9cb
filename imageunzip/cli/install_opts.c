/* install_opts.c: the option table of installations.  imageunzip, frisbee and dolly refer
 * to it in their own tables, and cli.c reads it in the first thread. */
#include "imageunzip/cli/install_opts.h"

#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "common/base/number.h"
#include "common/cli/cli_guard.h"
#include "common/disk/ptable.h"
#include "imageunzip/install/install.h"

void
install_tells_user(struct install_config *c, bool quiet)
{
	c->warn = cli_warn;
	c->say = quiet ? NULL : cli_tell;
	c->guard = cli_guard_set;
	if (c->no_writer && isatty(STDERR_FILENO))
		cli_warn("-n is no dry run: it only starts no writer thread");
}

int
install_set_pattern(void *at, const char *arg, struct err *e)
{
	struct install_config *c = at;
	uint64_t v;

	if (number_uint(arg, 0, UINT32_MAX, &v, e) != 0)
		return -1;
	c->has_pattern = true;
	c->pattern = (uint32_t)v;
	return 0;
}

static int
set_zero_all(void *at, const char *arg, struct err *e)
{
	struct install_config *c = at;

	(void)arg, (void)e;
	c->zero = c->zero_all = true;
	return 0;
}

static int
set_tail(void *at, const char *arg, struct err *e)
{
	static const char *const names[] = { "same", "move", "skip" };
	struct install_config *c = at;

	for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
		if (strcmp(arg, names[i]) == 0) {
			c->tail = i;
			return 0;
		}
	return err_set(e, ERR_USAGE, "\"%s\": must be same, move or skip", arg);
}

#define AT(field) offsetof(struct install_config, field)

const struct cli_opt install_opts[] = {
	{ 's', "slice", "N", "install in partition N of the target", CLI_UINT,
	    AT(slice), 1, PTABLE_PARTS_MAX, NULL },
	{ 267, "only", "N[,M]",
	    "install only these partitions of a disk's image, each in the partition with "
	    "the same number (with -s: a single one in partition -s)",
	    CLI_CALL, AT(only), 0, 0, only_list_set },
	{ 'D', "part-type", "TYPE",
	    "set the type of the partition of -s or --only: MBR (131) or gdisk code "
	    "(0x8300)",
	    CLI_UINT, AT(part_type), 1, 0xffff, NULL },
	{ 'z', "zero", NULL, "fill the free space with zeros", CLI_FLAG, AT(zero), 0, 0,
	    NULL },
	{ 271, "zero-all", NULL,
	    "like -z, and fill also partitions of which the image stores nothing",
	    CLI_CALL, 0, 0, 0, set_zero_all },
	{ 258, "discard", NULL, "discard the free space", CLI_FLAG, AT(discard), 0, 0,
	    NULL },
	{ 259, "skip-same", NULL, "compare first, and write only what differs",
	    CLI_FLAG, AT(skip_same), 0, 0, NULL },
	{ 260, "read-back", NULL,
	    "read back what was written, past the cache, and compare", CLI_FLAG,
	    AT(read_back), 0, 0, NULL },
	{ 261, "state", "FILE|target",
	    "record progress in FILE, or on the target itself, and resume from it",
	    CLI_STR, AT(state), 0, 0, NULL },
	{ 262, "state-interval", "S",
	    "flush and record every S seconds (2; 0: each chunk)", CLI_UINT,
	    AT(state_s), 0, 3600, NULL },
	{ 272, "check-base", "FILE",
	    "of a delta: compare first all that its base stored; FILE is the base's image "
	    "or signature",
	    CLI_STR, AT(check_base), 0, 0, NULL },
	{ 263, "keep-stale", NULL, "keep stale signatures in free space", CLI_FLAG,
	    AT(keep_stale), 0, 0, NULL },
	{ 264, "fix-gpt", NULL,
	    "move the backup of the GPT to the end of a larger disk", CLI_FLAG,
	    AT(fix_gpt), 0, 0, NULL },
	{ 265, "grow", NULL,
	    "like --fix-gpt, and extend the last partition, with its filesystem, to the end",
	    CLI_FLAG, AT(grow), 0, 0, NULL },
	{ 273, "fit", "[PLAN]",
	    "move and enlarge partitions, with their filesystems, so that they fit the disk, "
	    "by a plan that is computed, or that of a file",
	    CLI_STR, AT(fit), 0, 0, NULL },
	{ 275, "fit-lv", "VG/LV",
	    "with --grow or --fit: the volume of LVM that gets the room of its group",
	    CLI_STR, AT(fit_lv), 0, 0, NULL },
	{ 274, "no-follow", NULL,
	    "with --grow or --fit: filesystems keep their lengths", CLI_FLAG,
	    AT(no_follow), 0, 0, NULL },
	{ 266, "convert", NULL,
	    "rewrite the partition table for a disk with another sector size", CLI_FLAG,
	    AT(convert), 0, 0, NULL },
	{ 270, "tail", "POLICY",
	    "write the end of the image's disk to a disk of the same size (same), also "
	    "to the end of a larger one (move), or never (skip)",
	    CLI_CALL, 0, 0, 0, set_tail },
	{ 'f', "direct", NULL,
	    "bypass the cache for a file, too (it is always bypassed for a device)",
	    CLI_FLAG, AT(direct), 0, 0, NULL },
	{ 'n', "no-writer", NULL, "start no writer thread: the decoders write",
	    CLI_FLAG, AT(no_writer), 0, 0, NULL },
	{ 'W', "write-mem", "MB",
	    "memory for decoded data, in MiB (16 for each thread, and 48 more; frisbee: "
	    "64; dolly: 16)", CLI_UINT,
	    AT(write_mb), 0, 1 << 20, NULL },
	{ 'j', "jobs", "N", "decode with N threads (default: one for each processor)",
	    CLI_UINT, AT(jobs), 1, 256, NULL },
	{ 256, "in-place", NULL, "treat a file like a device: its length is fixed",
	    CLI_FLAG, AT(in_place), 0, 0, NULL },
	{ 257, "force", NULL,
	    "write even to a disk in use, or one that the image was not made for",
	    CLI_FLAG, AT(force), 0, 0, NULL },
	{ 0 },
};
