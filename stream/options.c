/* options.c: the table of streamdisk's options.  cli_main() reads it in the first
 * thread. */
#include "stream/options.h"

#include <stddef.h>

#include "common/base/number.h"
#include "common/cli/cli_rows.h"
#include "common/cli/image_opts.h"
#include "common/disk/ptable.h"
#include "stream/export/export.h"

/* Long-only options from 300 on. */
enum {
	OPT_RO = 300, OPT_SOURCE, OPT_DELTA, OPT_STORE, OPT_WORK, OPT_FILE, OPT_SIZE, OPT_CACHE,
	OPT_DRIVERS, OPT_DEVICE, OPT_PROGRAMS, OPT_APPEND, OPT_TABLE, OPT_SOCKET, OPT_STATUS, OPT_RATE,
	OPT_IDLE, OPT_TIMEOUT, OPT_NO_FILL, OPT_ANEW, OPT_FIT, OPT_DISCARD, OPT_ORDER,
	OPT_RECORD, OPT_EXPORT, OPT_EXPORT_KEY, OPT_GROUP_KEY, OPT_JSON,
	OPT_PARTITION, OPT_OPTIONS
};

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

static int
set_rate(void *at, const char *arg, struct err *e)
{
	return number_rate(arg, 8, INT64_MAX, at, e);
}

static int
add_device(void *at, const char *arg, struct err *e)
{
	struct boot_devices *d = at;

	if (d->n == BOOT_DEVICES_MAX)
		return err_set(e, ERR_USAGE, "there are more than %d devices", BOOT_DEVICES_MAX);
	return device_parse(&d->of[d->n++], arg, e);
}

enum { MS_MAX = 24 * 3600 * 1000 };

/* Of a disk that becomes what the image holds. */
static const struct cli_opt stream_opts[] = {
	{ OPT_TABLE, "table", "FILE",
	    "keep the sector table in FILE; memory: only in memory (default: on the disk)",
	    CLI_STR, AT(stream.table), 0, 0, NULL },
	FLAG(OPT_ANEW, "anew",
	    "fill the disk from the beginning, whatever is on it", stream.anew),
	FLAG(OPT_FIT, "fit", "let the partitions be as large as the disk", stream.fit),
	FLAG('z', "zero", "fill the free space with zeros first", stream.zero),
	FLAG(OPT_DISCARD, "discard", "discard the free space first", stream.discard),
	FLAG(OPT_NO_FILL, "no-fill",
	    "fetch only what is read, and nothing in the background", stream.no_fill),
	{ OPT_ORDER, "order", "FILE",
	    "the order of reads that says what is fetched first, or none "
	    "(SOURCE.order); merge-records: the file to write",
	    CLI_STR, AT(stream.order), 0, 0, NULL },
	{ OPT_RECORD, "record", "FILE",
	    "record in this file what is read for the first time, and when", CLI_STR,
	    AT(stream.record), 0, 0, NULL },
	{ OPT_RATE, "rate", "BITS",
	    "fetch in the background at most this many bits a second", CLI_CALL,
	    AT(stream.rate_bits), 0, 0, set_rate },
	UINT(OPT_IDLE, "when-idle", "MS",
	    "fetch in the background only if there was no request for MS milliseconds "
	    "(20)",
	    stream.idle_ms, 0, MS_MAX),
	UINT(OPT_TIMEOUT, "timeout", "MS",
	    "let reads fail if the source is silent for MS milliseconds (0: never)",
	    stream.timeout_ms, 0, MS_MAX),
	{ OPT_SOCKET, "socket", "PATH", "the NBD server's Unix socket", CLI_STR, AT(socket), 0,
	    0, NULL },
	{ OPT_EXPORT, "export", "ADDRESS",
	    "let other machines read the image by NBD at HOST[:PORT]", CLI_STR,
	    AT(stream.export), 0, 0, NULL },
	{ OPT_EXPORT_KEY, "export-key", "FILE",
	    "encrypt --export with TLS, for those who have a key of this file", CLI_STR,
	    AT(stream.export_key), 0, 0, NULL },
	{ OPT_STATUS, "status", "PATH",
	    "make a Unix socket that tells how much of the disk has arrived", CLI_STR,
	    AT(stream.status), 0, 0, NULL },
	{ 0 },
};

static const struct cli_opt own_opts[] = {
	FLAG(OPT_RO, "ro", "attach read-only", read_only),
	UINT(OPT_PARTITION, "partition", "N", "attach only partition N", partition, 1,
	    PTABLE_PARTS_MAX),
	FLAG(OPT_FILE, "file", "attach as a file, even as root", file),
	{ OPT_OPTIONS, "options", "LIST", "further options of mount(8)", CLI_STR,
	    AT(mount_options), 0, 0, NULL },
	{ OPT_SOURCE, "source", "SOURCE",
	    "another source of the same image; repeatable", CLI_CALL, AT(sources), 0, 0,
	    add_source },
	{ OPT_DELTA, "delta", "SOURCE",
	    "a delta of the source or, if repeated, of the delta before it", CLI_CALL,
	    AT(sources), 0, 0, add_delta },
	{ OPT_STORE, "store", "DIR",
	    "the store of store:NAME: a folder, or s3://BUCKET/PREFIX", CLI_STR,
	    AT(sources.store), 0, 0, NULL },
	{ OPT_WORK, "work", "DIR",
	    "the folder for the image that a session sends (TMPDIR or /var/tmp)", CLI_STR,
	    AT(sources.work), 0, 0, NULL },
	{ OPT_GROUP_KEY, "group-key", "FILE",
	    "the key of a session: no packet without it is taken", CLI_STR,
	    AT(sources.group_key), 0, 0, NULL },
	{ OPT_SIZE, "size", "SIZE",
	    "the size of the disk, if the image does not say it", CLI_SIZE,
	    AT(size_bytes), 1, INT64_MAX, NULL },
	{ OPT_CACHE, "cache", "SIZE", "memory for decoded data (64M)", CLI_SIZE,
	    AT(cache_bytes), EXPORT_CACHE_BYTES_MIN, INT64_MAX, NULL },
	{ OPT_DRIVERS, "drivers", "LIST",
	    "bootimage: only these modules, separated by commas "
	    "(drivers for all kinds of machines)", CLI_STR, AT(drivers), 0, 0, NULL },
	{ OPT_DEVICE, "device", "DEVICE",
	    "bootimage: refuse a kernel that does not drive this device of the machine: "
	    "NAME,DRIVER,MODALIAS; repeatable", CLI_CALL, AT(devices), 0, 0, add_device },
	{ OPT_PROGRAMS, "programs", "FILE", "bootimage: an archive that is appended to the ramdisk",
	    CLI_STR, AT(programs), 0, 0, NULL },
	{ OPT_APPEND, "append", "WORDS",
	    "boot: more words for the command line of the kernel", CLI_STR,
	    AT(append), 0, 0, NULL },
	FLAG('q', "quiet", "print only warnings and errors", quiet),
	FLAG(OPT_JSON, "json", "print JSON", json),
	{ 0 },
};

/* The statuses 4 and 5 of bootimage tell a program that starts machines that this image has to be
 * loaded before a machine can be started from it: as it is, or in any case. */
static int
exit_status(const void *opts, const struct err *e)
{
	const struct opts *o = opts;

	if (!o->boot)
		return 0;
	return o->suspended ? 5 : e->kind == ERR_UNSUPPORTED ? 4 : 0;
}

const struct cli_program streamdisk_program = {
	.name = "streamdisk",
	.port = "--export=ADDR:PORT",
	.synopsis = "[options] source [folder|file|/dev/nbdN]\n"
		    "       streamdisk [options] source disk [folder|file|/dev/nbdN]\n"
		    "       streamdisk status socket\n"
		    "       streamdisk [options] bootimage source folder\n"
		    "       streamdisk [--append=WORDS] boot folder\n"
		    "       streamdisk --order=FILE merge-records record...",
	.about = "Read an image as a disk without installing it: list its partitions, "
	         "mount one of\n"
		 "them, or attach the disk.  Only the data that is read is fetched and "
	         "decoded.\n"
		 "With a disk, the disk is usable at once, and its contents arrive while it "
	         "is used.",
	.examples =
	    "  streamdisk disk.ndz                    list the partitions\n"
	    "  streamdisk --ro --partition=2 disk.ndz /mnt   as root: mount partition 2 until Ctrl-C\n"
	    "  streamdisk --ro --file disk.ndz dir    the disk as dir/disk\n"
	    "  streamdisk --ro disk.ndz /dev/nbd0     as a block device\n"
	    "  streamdisk https://a/disk.ndz /dev/sda /dev/nbd0   "
	    "fill sda, and use it as nbd0 meanwhile\n"
	    "  streamdisk --table=file.table disk.ndz file        "
	    "fill a file, behind a socket\n"
	    "  streamdisk --delta tue.ndz --delta wed.ndz monday.ndz  as it was on "
	    "Wednesday\n"
	    "  streamdisk --store /srv/store store:ubuntu24:3\n"
	    "  streamdisk --ro --partition=2 nbd://host/ /mnt   what another NBD server exports\n"
	    "  streamdisk --ro --partition=2 frisbee://239.192.1.1:5000 /mnt   while a session "
	    "sends it\n"
	    "  streamdisk bootimage disk.ndz dir      its kernel, and a ramdisk to stream with\n"
	    "  streamdisk --order=disk.ndz.order merge-records a.record b.record c.record\n"
	    "  streamdisk --ro --partition=2 --source https://b/disk.ndz https://a/disk.ndz "
	    "/mnt\n",
	.exit_status = exit_status,
	.tables = { { own_opts, 0, NULL }, { stream_opts, 0, "Streaming" },
	    { opener_opts, AT(keys), "Signature and encryption" } },
};
