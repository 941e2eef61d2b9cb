/* options.c: the table of streamdisk's options.  cli_main() reads it in the first
 * thread. */
#include "stream/options.h"

#include <stddef.h>

#include "common/cli/cli_rows.h"
#include "common/cli/image_opts.h"
#include "common/disk/ptable.h"
#include "stream/export/export.h"

/* Long-only options from 300 on. */
enum { OPT_RO = 300, OPT_SOURCE, OPT_DELTA, OPT_STORE, OPT_WORK, OPT_FILE, OPT_SIZE, OPT_CACHE, OPT_JSON };

#define AT(field) offsetof(struct opts, field)

static int
add_source(void *at, const char *arg, struct err *e)
{
	return sources_add(at, arg, e);
}

static int
add_delta(void *at, const char *arg, struct err *e)
{
	return sources_add_delta(at, arg, e);
}

static const struct cli_opt own_opts[] = {
	FLAG(OPT_RO, "ro", "nobody can write to what is attached", read_only),
	UINT('p', "partition", "N", "this partition, not the whole disk", partition, 1,
	    PTABLE_PARTS_MAX),
	FLAG(OPT_FILE, "file", "as a file, also for root", file),
	{ 'o', "options", "LIST", "further options of mount(8)", CLI_STR,
	    AT(mount_options), 0, 0, NULL },
	{ OPT_SOURCE, "source", "SOURCE", "has the same image; may be given several times",
	    CLI_CALL, AT(sources), 0, 0, add_source },
	{ OPT_DELTA, "delta", "SOURCE",
	    "a delta of it; the next one is of what this makes of it", CLI_CALL,
	    AT(sources), 0, 0, add_delta },
	{ OPT_STORE, "store", "DIR", "of images called store:NAME; or s3://BUCKET/PREFIX",
	    CLI_STR, AT(sources.store), 0, 0, NULL },
	{ OPT_WORK, "work", "DIR", "for what a session sends (TMPDIR or /var/tmp)", CLI_STR,
	    AT(sources.work), 0, 0, NULL },
	{ OPT_SIZE, "size", "SIZE", "of the disk, when its image does not say it", CLI_SIZE,
	    AT(size_bytes), 1, INT64_MAX, NULL },
	{ OPT_CACHE, "cache", "SIZE", "memory for what was decoded (64M)", CLI_SIZE,
	    AT(cache_bytes), EXPORT_CACHE_BYTES_MIN, INT64_MAX, NULL },
	FLAG('q', "quiet", "say nothing while all is well", quiet),
	FLAG(OPT_JSON, "json", "print JSON", json),
	{ 0 },
};

const struct cli_program streamdisk_program = {
	.name = "streamdisk",
	.synopsis = "[options] source [folder|file|/dev/nbdN]",
	.about = "Look into an image without installing it: list its partitions, mount one, "
		 "or attach it as a disk.  Only what is read is decoded, or fetched.",
	.examples =
	    "  streamdisk disk.ndz                    which partitions has it?\n"
	    "  streamdisk --ro -p 2 disk.ndz /mnt     mount its partition 2, until Ctrl-C\n"
	    "  streamdisk --ro --file disk.ndz dir    the disk as dir/disk\n"
	    "  streamdisk --ro disk.ndz /dev/nbd0     as a block device\n"
	    "  streamdisk --delta tue.ndz --delta wed.ndz monday.ndz  as it was on Wednesday\n"
	    "  streamdisk --store /srv/store store:ubuntu24:3\n"
	    "  streamdisk --ro -p 2 nbd://host/ /mnt  what another NBD server exports\n"
	    "  streamdisk --ro -p 2 frisbee://239.192.1.1:5000 /mnt   while a session sends it\n"
	    "  streamdisk --ro -p 2 --source https://b/disk.ndz https://a/disk.ndz /mnt\n",
	.tables = { { own_opts, 0, NULL }, { proof_opts, AT(keys), "Proof" } },
};
