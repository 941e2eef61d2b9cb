/* A tracker that is activated, by a device mapper that is played here: what was noted
 * before counts only if the last end was clean, and if nobody could have written
 * since. */
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "common/disk/inuse.h"
#include "dsync/run/cowsnap.h"
#include "dsync/track/superblock.h"
#include "dsync/track/track.h"
#include "tests/unit/scratch.h"

enum { DEVICE_BYTES = 7 << 20, SMALL_BYTES = (2 << 20) - 512 };

static const struct stream_id identity = { { 1, 2 } }, ended = { { 3, 4 } };
static struct stream_id in_metadata;
static uint64_t room = 64 << 20; /* of the metadata */
static bool in_use, era_fails;
static char table_now[MAPPED_LINE_BYTES], removed[MAPPED_WORD_BYTES];
static struct err e;

/* What the library asks of the system: a file of these sizes is a block device, and the
 * mapped device is there. */
static int
as_device(int rc, struct stat *st)
{
	if (rc == 0 && (st->st_size == DEVICE_BYTES || st->st_size == SMALL_BYTES))
		st->st_mode = (st->st_mode & ~(mode_t)S_IFMT) | S_IFBLK;
	return rc;
}

int
stat(const char *path, struct stat *st)
{
	memset(st, 0, sizeof *st);
	if (strcmp(path, "/dev/mapper/vol") == 0)
		return 0;
	return as_device(fstatat(AT_FDCWD, path, st, 0), st);
}

int
fstat(int fd, struct stat *st)
{
	return as_device(fstatat(fd, "", st, AT_EMPTY_PATH), st);
}

int
ioctl(int fd, unsigned long command, ...)
{
	struct stat st;
	va_list ap;

	va_start(ap, command);
	void *to = va_arg(ap, void *);
	va_end(ap);
	if (command == BLKGETSIZE64)
		return fstat(fd, &st) == 0 ? (*(uint64_t *)to = (uint64_t)st.st_size, 0) : -1;
	if (command == BLKSSZGET)
		return *(int *)to = 512, 0;
	return (int)syscall(SYS_ioctl, fd, command, to);
}

int
inuse_check(const struct inuse_query *q, struct err *why)
{
	return in_use ? err_set(why, ERR_REFUSED, "%s: is mounted", q->path) : 0;
}

int
superblock_read(struct superblock *s, const char *metadata, struct err *why)
{
	(void)metadata, (void)why;
	*s = (struct superblock){
		.generation = in_metadata, .block_sectors = 128, .blocks = 112, .room_bytes = room
	};
	return 0;
}

int
superblock_write(
    const char *metadata, const struct stream_id *generation, struct err *why)
{
	(void)generation;
	return err_set(why, ERR_IO, "%s: is not written here", metadata);
}

int
superblock_clear(const char *metadata, struct err *why)
{
	(void)metadata, (void)why;
	in_metadata = (struct stream_id){ 0 };
	return 0;
}

/* The device mapper: a mapped device that has a table of its own, and a tracker's
 * then.  All paths lead to it. */
bool
mapper_name(const char *device, char name[MAPPED_WORD_BYTES])
{
	snprintf(name, MAPPED_WORD_BYTES, "%s", device[0] == '/' ? "vol" : device);
	return true;
}

int
mapper_table(struct mapped *m, const char *device, struct err *why)
{
	(void)device, (void)why;
	*m = (struct mapped){ .sectors = DEVICE_BYTES / 512, .target = "linear" };
	return 0;
}

int
mapper_text(const char *device, char **table, struct err *why)
{
	(void)device;
	*table = strdup("0 14336 linear 8:16 0");
	return *table != NULL ? 0 : err_nomem(why, "a table");
}

int
mapper_create(const char *name, const char *table, bool read_only, struct err *why)
{
	(void)name, (void)table, (void)read_only, (void)why;
	return 0;
}

int
mapper_replace(const char *name, const char *table, struct err *why)
{
	snprintf(table_now, sizeof table_now, "%s", table);
	if (era_fails && strstr(table, " era ") != NULL)
		return err_set(why, ERR_IO, "%s: has no room for what is noted", name);
	return 0;
}

int
mapper_remove(const char *name, struct err *why)
{
	(void)why;
	snprintf(removed, sizeof removed, "%s", name);
	return 0;
}

int
mapper_generation(const char *device, char out[MAPPED_WORD_BYTES], struct err *why)
{
	(void)device, (void)why;
	snprintf(out, MAPPED_WORD_BYTES, "boot.7");
	return 0;
}

/* Snapshots, of which there are none. */
int
cowsnap_tidy(const char *device, struct err *why)
{
	return err_set(why, ERR_UNSUPPORTED, "%s: has no snapshots here", device);
}

static void
save_record(uint64_t bytes)
{
	struct record r;

	T_CHECK(record_begin(&r, scratch_dir, "vol", true, &e) == 0);
	snprintf(r.device, sizeof r.device, "%s", in_scratch("device"));
	snprintf(r.metadata, sizeof r.metadata, "%s", in_scratch("metadata"));
	r.block_sectors = 128;
	r.device_bytes = bytes;
	r.beneath = true;
	r.identity = identity;
	r.generation = ended;
	snprintf(r.active, sizeof r.active, "-");
	T_CHECK(record_save(&r, &e) == 0);
	record_close(&r);
}

/* Activates the tracker.  Does what was noted before count? */
static bool
goes_on(void)
{
	struct track_report out;
	struct record r;

	T_CHECK(track_start(scratch_dir, "vol", &out, &e) == 0);
	T_CHECK(out.tracked);
	T_CHECK(record_begin(&r, scratch_dir, "vol", true, &e) == 0);
	T_CHECK(record_read(&r, &e) == 0);
	T_CHECK(stream_id_same(&r.identity, &identity) == !out.anew);
	T_CHECK(!stream_id_set(&r.generation)); /* until it is ended cleanly */
	T_CHECK(strcmp(r.active, "boot.7") == 0);
	record_close(&r);
	return !out.anew;
}

/* The device has its own table again, which its tracker had taken: a tracker is begun anew
 * only if that is wanted, and under the same name, also while the device is not in use. */
static void
test_same_name(void)
{
	struct track_config c = { .folder = scratch_dir, .device = in_scratch("device"),
		.metadata = in_scratch("metadata") };
	struct track_report out;

	save_record(DEVICE_BYTES);
	T_CHECK(track_new(&c, &out, &e) != 0 && e.kind == ERR_REFUSED);
	T_CHECK(strstr(e.text, "dsync start vol") != NULL);
	c.force = true;
	T_CHECK(track_new(&c, &out, &e) == 0 && strcmp(out.name, "vol") == 0);
	T_CHECK(out.beneath && out.tracked && out.anew);
}

/* It has its own table again, and is mounted: an end removes what is left beneath, and what
 * the last clean end has noted stays. */
static void
test_left_beneath(void)
{
	save_record(DEVICE_BYTES);
	in_metadata = ended;
	in_use = true;
	removed[0] = '\0';
	T_CHECK(track_stop(scratch_dir, "vol", &e) == 0 && strcmp(removed, "vol-below") == 0);
	in_use = false;
	T_CHECK(goes_on());
}

/* The tracker's table is refused when it is to begin: the device gets its own again. */
static void
test_own_table_again(void)
{
	struct track_report out;

	save_record(DEVICE_BYTES);
	era_fails = true;
	T_CHECK(track_start(scratch_dir, "vol", &out, &e) == 0 && !out.tracked);
	T_CHECK(strstr(out.why, "no room") != NULL);
	T_CHECK(strcmp(table_now, "0 14336 linear 8:16 0") == 0);
	era_fails = false;
}

/* Of 7 MiB: 112 blocks of 64 KiB, or 1,792 of 4 KiB; in memory, bits are kept by eight bytes. */
static void
test_cost(void)
{
	struct track_config c = { .device = in_scratch("device") };
	struct track_cost cost;

	T_CHECK(track_cost(&c, &cost, &e) == 0 && cost.block_bytes == 65536 && cost.blocks == 112);
	T_CHECK(cost.memory_bytes == 32 && cost.metadata_bytes == 2 << 20);
	c.block_bytes = 4096;
	T_CHECK(track_cost(&c, &cost, &e) == 0 && cost.blocks == 1792 && cost.memory_bytes == 448);
	c.device = "/nowhere";
	T_CHECK(track_cost(&c, &cost, &e) != 0);
}

/* Metadata that could fill up is not begun with: no tracker is set up, and one that was is not
 * activated, so that the device is used without it. */
static void
test_room(void)
{
	struct track_config c = { .folder = scratch_dir, .device = in_scratch("device"),
		.metadata = in_scratch("small"), .force = true };
	struct track_report out;

	save_record(DEVICE_BYTES);
	T_CHECK(sh("truncate -s %d small", SMALL_BYTES) == 0);
	T_CHECK(track_new(&c, &out, &e) != 0 && e.kind == ERR_REFUSED);
	T_CHECK(strstr(e.text, "may need 2 MiB to note 112 blocks of 64 KiB") != NULL);
	T_CHECK(sh("truncate -s 1M small") == 0);
	T_CHECK(track_new(&c, &out, &e) != 0 && e.kind == ERR_UNSUPPORTED); /* it is no device */
	room = (2 << 20) - 1;
	in_metadata = ended;
	T_CHECK(track_start(scratch_dir, "vol", &out, &e) == 0 && !out.tracked && out.there);
	T_CHECK(strstr(out.why, "may need 2 MiB to note 112 blocks of 64 KiB") != NULL);
	room = 2 << 20;
	save_record(DEVICE_BYTES);
	T_CHECK(goes_on());
}

int
main(void)
{
	scratch_init();
	T_CHECK(sh("truncate -s %d device metadata", DEVICE_BYTES) == 0);
	test_cost();
	in_metadata = ended;
	save_record(DEVICE_BYTES);
	T_CHECK(goes_on());
	T_CHECK(!goes_on()); /* it was not ended */
	save_record(DEVICE_BYTES);
	in_use = true;
	T_CHECK(!goes_on());
	in_use = false;
	save_record(DEVICE_BYTES - 512);
	T_CHECK(!goes_on());
	save_record(DEVICE_BYTES);
	in_metadata = identity;
	T_CHECK(!goes_on());
	test_same_name();
	test_left_beneath();
	test_own_table_again();
	test_room();
	scratch_done();
	return t_done();
}
