/* options.c: the table of imagehash's options, and which of them go together.  cli_main()
 * reads the table, and main.c calls imagehash_settle(), in the first thread. */
#include "tools/imagehash/options.h"

#include <string.h>

#include "common/cli/cli_rows.h"

static int
set_hash(void *at, const char *arg, struct err *e)
{
	struct options *o = at;

	o->hash = strcmp(arg, "md5") == 0 ? SIG_MD5 : SIG_SHA1;
	if (o->hash == SIG_SHA1 && strcmp(arg, "sha1") != 0)
		return err_set(
		    e, ERR_USAGE, "\"%s\": the hash must be sha1 or md5", arg);
	return 0;
}

#define AT(field) offsetof(struct options, field)

static const struct cli_opt opts[] = {
	FLAG('c', "create", "write the image's signature", create),
	FLAG('R', "report", "print a signature, or the one that an image would have",
	    report),
	FLAG('S', "sanity", "check a signature, and whether it belongs to an image",
	    sanity),
	{ 'o', "signature", "SIG",
	    "the signature file of -c and -S (the image's name with .sig)", CLI_STR,
	    AT(sig), 0, 0, NULL },
	{ 'D', "digest", "HASH", "the hash: sha1 or md5 (sha1)", CLI_CALL, 0, 0, 0,
	    set_hash },
	{ 'b', "block", "SIZE", "the size of a hashed block in bytes (64k)", CLI_SIZE,
	    AT(block_bytes), SECTOR_BYTES, (uint64_t)SIG_BLOCK_MAX *SECTOR_BYTES,
	    NULL },
	{ 's', "slice", "N", "compare partition N of the disk", CLI_UINT, AT(slice), 1,
	    128, NULL },
	FLAG(302, "fit",
	    "the image was installed with --fit --no-follow: partitions are where the disk "
	    "has them, and filesystems have not grown",
	    fit),
	FLAG('r', "regular", "the disk is a file of any length", any_length),
	FLAG('X', "merge", "report neighbouring blocks as one", merge),
	FLAG(301, "force", "with -c, replace even a file that is not a signature",
	    force),
	FLAG('q', "quiet", "print nothing; the exit status is the result", quiet),
	FLAG(300, "json", "print JSON", json),
	{ 0 },
};

const struct cli_program imagehash_program = {
	.name = "imagehash",
	.synopsis = "[options] image|signature disk  or  -c|-R|-S image|signature",
	.about =
	    "Compare a disk with an image.  Only what the image stores is compared.",
	.examples =
	    "  imagehash disk.ndz /dev/sdb            exit status 0 if they are equal, "
	    "4 if not\n"
	    "  imagehash -s 2 root.sig /dev/sdb       a partition with a signature\n"
	    "  imagehash --fit disk.ndz /dev/sdb      what imageunzip --fit --no-follow has "
	    "installed\n"
	    "  imagehash -c disk.ndz                  write disk.ndz.sig, for imagezip "
	    "-H\n"
	    "  imagehash -S disk.ndz                  check that disk.ndz.sig is its "
	    "signature\n",
	.tables = { { opts, 0, NULL } },
};

static int
check(const struct options *o, struct err *e)
{
	bool compare = o->disk != NULL;

	if (o->create + o->report + o->sanity > 1)
		return err_set(e, ERR_USAGE,
		    "only one of -c, -R and -S can be given");
	if (!compare && (o->slice != 0 || o->any_length || o->fit))
		return err_set(e, ERR_USAGE,
		    "-s, -r and --fit can only be used to compare with a disk");
	if (o->fit && (o->slice != 0 || o->any_length))
		return err_set(e, ERR_USAGE, "--fit cannot be used with -s or -r");
	if (o->sig != NULL && !o->create && !o->sanity)
		return err_set(e, ERR_USAGE, "-o can only be used with -c or -S");
	if (o->force && !o->create)
		return err_set(e, ERR_USAGE, "--force can only be used with -c");
	if (o->create && o->json)
		return err_set(e, ERR_USAGE,
		    "-c prints nothing, so --json needs another form, such as -R");
	if (o->block_bytes % SECTOR_BYTES != 0)
		return err_set(
		    e, ERR_USAGE, "-b: the size of a block must be a multiple of 512");
	return 0;
}

int
imagehash_settle(struct options *o, char **operands, int n, struct err *e)
{
	int want = o->create || o->report || o->sanity ? 1 : 2;
	const char *needed = want == 2 ? "an image or signature and a disk are needed"
	                               : "one operand is needed: an image or a signature";
	if (cli_operands(operands, n, want, want, needed, e) != 0)
		return -1;
	o->image = operands[0];
	o->disk = want == 2 ? operands[1] : NULL;
	return check(o, e);
}
