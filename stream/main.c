/* main.c: streamdisk lists an image, attaches it as a disk of this machine without
 * installing it, or streams it to a disk.  main() and all that it calls run in the first thread,
 * except the threads that read the output of child processes. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/cancel.h"
#include "common/base/say.h"
#include "common/cli/failure.h"
#include "common/cli/progress.h"
#include "common/disk/ptable.h"
#include "common/image/format/marker.h"
#include "stream/attach/attach.h"
#include "stream/boot/boot.h"
#include "stream/boot/start.h"
#include "stream/disk/streamed.h"
#include "stream/export/export.h"
#include "stream/merging.h"
#include "stream/options.h"
#include "stream/report.h"

static void
tell(const char *sentence)
{
	say_text(stderr, "streamdisk: %s\n", sentence);
}

/* The disk that the image holds, and its partitions, as this process reads them. */
struct look {
	struct opener *opener;
	struct export *export;
	struct ptable table;
};

static void
look_end(struct look *k)
{
	export_close(k->export);
	opener_free(k->opener);
	ptable_free(&k->table);
}

static int
read_table(struct look *k, struct err *e)
{
	struct disk *d;
	struct err ignored;

	if (export_as_disk(&d, k->export, e) != 0)
		return -1;
	int rc = ptable_read(&k->table, d, e);
	disk_close(d, &ignored);
	return rc;
}

static int
look_begin(struct look *k, const struct opts *o, struct err *e)
{
	struct export_config cfg = { .cache_bytes = o->cache_bytes,
		.size_bytes = o->size_bytes,
		.warn = tell };

	*k = (struct look){ .opener = NULL };
	if (opener_new(&k->opener, &o->keys, e) != 0)
		return -1;
	cfg.opener = k->opener;
	if (sources_open(&k->export, &o->sources, &cfg, tell, e) == 0 &&
	    read_table(k, e) == 0)
		return 0;
	look_end(k);
	return -1;
}

static int
list(const struct opts *o, struct err *e)
{
	struct look k;

	if (look_begin(&k, o, e) != 0)
		return -1;
	int rc = report_disk(o, k.export, &k.table, e);
	look_end(&k);
	return rc;
}

/* Find the partition that was asked for.  A disk that is mounted and has partitions needs one. */
static int
choose_part(const struct opts *o, struct attach_config *c, struct err *e)
{
	char numbers[300];
	struct look k;

	if (o->partition == 0 && c->as != ATTACH_MOUNT)
		return 0;
	if (look_begin(&k, o, e) != 0)
		return -1;
	const struct partition *p = ptable_find(&k.table, (unsigned)o->partition);
	int rc = 0;
	ptable_numbers(&k.table, numbers, sizeof numbers);
	if (p != NULL)
		c->part = p->sectors;
	else if (o->partition != 0)
		rc = err_set(e, ERR_ABSENT, "%s: has no partition %" PRIu64 "%s%s",
		    export_name(k.export), o->partition,
		    k.table.nparts > 0 ? ": it has " : "", numbers);
	else if (k.table.nparts > 0)
		rc = err_set(e, ERR_USAGE,
		    "%s: has partitions: select one of %s with --partition",
		    export_name(k.export), numbers);
	look_end(&k);
	return rc;
}

static int
choose_way(const struct opts *o, struct attach_config *c, struct err *e)
{
	struct stat st;
	bool root = geteuid() == 0;

	if (stat(c->target, &st) != 0) {
		err_os(e, "%s", c->target);
		e->kind = errno == ENOENT ? ERR_ABSENT : ERR_IO;
		return -1;
	}
	if (S_ISBLK(st.st_mode) && !root)
		return err_set(e, ERR_USAGE, "%s: only root can attach block devices", c->target);
	if (S_ISBLK(st.st_mode) && strncmp(c->target, "/dev/nbd", 8) != 0)
		return err_set(e, ERR_USAGE, "%s: is not /dev/nbdN", c->target);
	c->as = S_ISBLK(st.st_mode)                          ? ATTACH_NBD
	        : o->file || !root || !S_ISDIR(st.st_mode) ? ATTACH_FILE
	                                                     : ATTACH_MOUNT;
	return 0;
}

/* Until a disk that is streamed to is complete, it has the marker. */
static void
say_incomplete(const struct opts *o, const char *disk)
{
	char sentence[300];
	struct err ignored;
	struct disk *d;

	if (o->quiet || disk_open(&d, disk, DISK_READ, &ignored) != 0)
		return;
	bool complete = marker_refuse(d, 0, 0, &ignored) == 0;
	disk_close(d, &ignored);
	if (complete)
		return;
	bool forgets = o->stream.table != NULL && strcmp(o->stream.table, "memory") == 0;
	/* With --anew, the next run would lose what was written to the disk. */
	snprintf(sentence, sizeof sentence, "%.200s is incomplete: the same command%s %s", disk,
	    o->stream.anew && !forgets ? " without --anew" : "",
	    forgets ? "begins anew" : "goes on");
	tell(sentence);
}

static int
stay_attached(const struct opts *o, const struct attach_config *c, struct err *e)
{
	struct attach *t;
	struct err ending;

	if (attach_start(&t, c, e) != 0)
		return -1;
	int rc = report_attached(o, c->stream.disk, attach_where(t), e);
	bool reported = rc == 0;
	if (reported)
		rc = attach_wait(t, e);
	if (attach_end(t, &ending) != 0 && rc == 0) {
		*e = ending;
		rc = -1;
	}
	if (c->stream.disk != NULL)
		say_incomplete(o, c->stream.disk);
	if (rc != 0 && reported)
		failure_told(e); /* the document was printed when the image was attached */
	return rc;
}

/* The first option that was given of those for a disk that is streamed to; NULL: none. */
static const char *
stream_option(const struct opts *o)
{
	const struct attach_stream *s = &o->stream;

	return o->socket != NULL                   ? "--socket"
	       : s->table != NULL                  ? "--table"
	       : s->status != NULL                 ? "--status"
	       : s->order != NULL                  ? "--order"
	       : s->record != NULL                 ? "--record"
	       : s->export != NULL                 ? "--export"
	       : s->export_key != NULL             ? "--export-key"
	       : s->anew                           ? "--anew"
	       : s->fit                            ? "--fit"
	       : s->zero                           ? "--zero"
	       : s->discard                        ? "--discard"
	       : s->no_fill                        ? "--no-fill"
	       : s->rate_bits != 0                 ? "--rate"
	       : s->idle_ms != STREAMED_IDLE_MS    ? "--when-idle"
	       : s->timeout_ms != 0                ? "--timeout"
	                                           : NULL;
}

/* An option that has no effect is refused: whoever gives it expects one. */
static int
check_not_streaming(const struct opts *o, struct err *e)
{
	const char *option = stream_option(o);

	if (option == NULL)
		return 0;
	return err_misuse(e,
	    "%s is for a disk that is streamed to: streamdisk [options] source disk, without --ro",
	    option);
}

/* Refuse options that do nothing for the way in which the image or the disk is attached. */
static int
check_way(const struct opts *o, const struct attach_config *c, struct err *e)
{
	if (o->mount_options != NULL && c->as != ATTACH_MOUNT)
		return err_misuse(e, "--options is for a filesystem that root mounts, with --ro");
	if (o->file && c->as != ATTACH_FILE)
		return err_misuse(e, "--file needs a folder or a file to attach to");
	return 0;
}

static int
attach(const struct opts *o, const char *target, struct err *e)
{
	char name[32];
	struct attach_config c = { .sources = o->sources,
		.keys = o->keys,
		.size_bytes = o->size_bytes,
		.cache_bytes = o->cache_bytes,
		.target = target,
		.name = name,
		.options = o->mount_options,
		.tell = tell };

	snprintf(name, sizeof name, o->partition != 0 ? "part%" PRIu64 : "disk", o->partition);
	if (choose_way(o, &c, e) != 0 || check_way(o, &c, e) != 0 ||
	    choose_part(o, &c, e) != 0)
		return -1;
	return stay_attached(o, &c, e);
}

/* Where is a disk that is streamed to attached? */
static int
choose_stream_way(struct attach_config *c, struct err *e)
{
	struct stat st;

	if (c->target == NULL)
		return 0;
	if (stat(c->target, &st) != 0) {
		err_os(e, "%s", c->target);
		e->kind = errno == ENOENT ? ERR_ABSENT : ERR_IO;
		return -1;
	}
	c->as = S_ISBLK(st.st_mode) ? ATTACH_NBD : ATTACH_FILE;
	if (c->as == ATTACH_NBD && strncmp(c->target, "/dev/nbd", 8) != 0)
		return err_set(e, ERR_USAGE, "%s: is not /dev/nbdN", c->target);
	return 0;
}

/* The disk is looked at here already, so that its errors are those of the command line. */
static int
check_disk(const char *disk, struct err *e)
{
	struct stat st;

	if (stat(disk, &st) != 0) {
		err_os(e, "%s", disk);
		e->kind = errno == ENOENT ? ERR_ABSENT : ERR_IO;
		return -1;
	}
	if (S_ISBLK(st.st_mode) || S_ISREG(st.st_mode))
		return 0;
	return err_misuse(e,
	    "%s: is neither a block device nor a file, so nothing can be streamed to it; to "
	    "attach the image, use --ro",
	    disk);
}

/* What is still absent when a disk is attached is filled meanwhile. */
struct filling {
	struct progress bar;
	uint64_t had_bytes;
	bool begun;
};

static void
on_fill(void *arg, uint64_t done, uint64_t total)
{
	struct filling *f = arg;

	if (!f->begun)
		f->had_bytes = done;
	f->begun = true;
	if (done < total)
		progress_of(&f->bar, done - f->had_bytes, total - f->had_bytes);
	else
		progress_end(&f->bar, done);
}

static int
stay_filling(const struct opts *o, struct attach_config *c, struct err *e)
{
	struct filling f = { .begun = false };

	progress_begin(&f.bar, "streamdisk", 0, -1, o->quiet || o->json || o->stream.no_fill);
	c->progress = f.bar.shown ? on_fill : NULL;
	c->progress_arg = &f;
	int rc = stay_attached(o, c, e);
	progress_end(&f.bar, 0);
	return rc;
}

/* SOURCE DISK [TARGET]: the disk becomes what the image holds, and can be used meanwhile. */
static int
stream_to(const struct opts *o, const char *disk, const char *target, struct err *e)
{
	struct attach_config c = { .sources = o->sources,
		.keys = o->keys,
		.size_bytes = o->size_bytes,
		.cache_bytes = o->cache_bytes,
		.stream = o->stream,
		.as = ATTACH_SOCKET,
		.target = target,
		.name = "disk",
		.tell = tell };

	c.stream.disk = disk;
	if (o->partition != 0)
		return err_set(e, ERR_USAGE, "--partition is for images that are attached with --ro");
	if (o->socket != NULL && target != NULL)
		return err_set(e, ERR_USAGE, "--socket and %s exclude each other", target);
	if (check_disk(disk, e) != 0 || choose_stream_way(&c, e) != 0 ||
	    check_way(o, &c, e) != 0)
		return -1;
	if (target == NULL)
		c.target = o->socket;
	return stay_filling(o, &c, e);
}

/* Make the boot image of an image that is no folder. */
static int
make_from_image(const struct opts *o, struct boot_config *c, struct boot_made *made, struct err *e)
{
	struct err ignored; /* the image is only read */
	struct look k;

	if (look_begin(&k, o, e) != 0)
		return -1;
	int rc = export_as_disk(&c->image, k.export, e);
	if (rc == 0) {
		c->table = &k.table;
		rc = boot_make(c, made, e);
		disk_close(c->image, &ignored);
	}
	look_end(&k);
	return rc;
}

/* bootimage SOURCE FOLDER: make the files from which a machine starts whose disk streams. */
static int
make_boot_image(struct opts *o, const char *folder, struct err *e)
{
	struct boot_config c = { .mounted = o->sources.places[0],
		.drivers = o->drivers,
		.devices = &o->devices,
		.programs = o->programs,
		.folder = folder };
	struct boot_made made = { .suspended = false };
	struct stat st;
	bool mounted = stat(c.mounted, &st) == 0 && S_ISDIR(st.st_mode);

	int rc = mounted ? boot_make(&c, &made, e) : make_from_image(o, &c, &made, e);
	o->suspended = made.suspended;
	return rc == 0 ? report_boot(o, &made, folder, e) : -1;
}

/* status SOCKET: what the disk behind this socket says of itself. */
static int
show_status(char **operands, int n, struct err *e)
{
	return n == 1 ? report_streaming(operands[0], e)
	              : err_misuse(e, "status needs the socket that --status has named");
}

/* boot FOLDER: start what bootimage has made. */
static int
start_boot_image(const struct opts *o, char **operands, int n, struct err *e)
{
	if (n != 1)
		return err_misuse(e, "boot needs a folder that bootimage has made");
	return boot_start(operands[0], o->append, e);
}

static int
act(void *opts, char **operands, int n, struct err *e)
{
	struct opts *o = opts;
	struct sources_config *s = &o->sources;
	bool boot = n > 0 && strcmp(operands[0], "bootimage") == 0;

	if (n > 0 && strcmp(operands[0], "boot") == 0)
		return start_boot_image(o, operands + 1, n - 1, e);
	if (n > 0 && strcmp(operands[0], "status") == 0)
		return show_status(operands + 1, n - 1, e);
	if (n > 0 && strcmp(operands[0], "merge-records") == 0)
		return merging_run(o, operands + 1, n - 1, e);
	o->boot = boot;
	if (boot)
		operands++, n--;
	if (boot && n != 2)
		return err_misuse(e, "bootimage needs an image and a folder");
	if (n < 1 || n > 3 || (o->read_only && n > 2))
		return err_misuse(e,
		    "an image is needed, and behind it at most a disk and a target, or with --ro a "
		    "target");
	if (o->append != NULL ||
	    (!boot && (o->drivers != NULL || o->programs != NULL || o->devices.n > 0)))
		return err_set(e, ERR_USAGE,
		    "--append is for boot, --device, --drivers and --programs are for bootimage");
	if (s->n == SOURCES_MAX)
		return err_set(e, ERR_USAGE, "there are more than %d sources", SOURCES_MAX);
	memmove(s->places + 1, s->places, s->n * sizeof *s->places);
	s->places[0] = operands[0];
	s->n++;
	bool streaming = !boot && n > 1 && !o->read_only;
	if (sources_check(s, e) != 0 || (!streaming && check_not_streaming(o, e) != 0))
		return -1;
	return boot     ? make_boot_image(o, operands[1], e)
	       : n == 1 ? list(o, e)
	       : o->read_only
	           ? attach(o, operands[1], e)
	           : stream_to(o, operands[1], n == 3 ? operands[2] : NULL, e);
}

int
main(int argc, char **argv)
{
	struct opts o = { .stream.idle_ms = STREAMED_IDLE_MS };

	return cli_main(&streamdisk_program, argc, argv, &o, act);
}
