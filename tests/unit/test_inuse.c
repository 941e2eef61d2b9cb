/* Who uses a device: a made-up /proc and /sys, then a real loop device. */
#include "common/disk/inuse.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "common/disk/disk.h"
#include "tests/unit/scratch.h"

static struct err e;

/* Only some sectors are of interest. */
static struct range sectors_wanted;

static bool
wants(const void *arg, struct range r)
{
	const struct range *w = arg;

	return r.off < range_end(*w) && w->off < range_end(r);
}

static const char *
answer(const struct inuse_query *q)
{
	e = (struct err){ 0 };
	if (inuse_check(q, &e) == 0)
		return "";
	return e.kind == ERR_REFUSED ? e.text : "wrong kind";
}

/* What inuse_check() says of device 240:minor, which no driver has; "" when it is not
 * in use. */
static const char *
asked(unsigned min, enum inuse_purpose purpose)
{
	struct inuse_query q = { .root = in_scratch("root"),
		.path = "DISK",
		.st = { .st_mode = S_IFBLK | 0600, .st_rdev = makedev(240, min) },
		.purpose = purpose };

	if (sectors_wanted.len > 0) {
		q.wants = wants;
		q.arg = &sectors_wanted;
	}
	return answer(&q);
}

static const char *
says(unsigned min)
{
	return asked(min, INUSE_TO_WRITE);
}

static const char *
read_says(unsigned min)
{
	return asked(min, INUSE_TO_READ);
}

/* The same when only these sectors are to be written. */
static const char *
area_says(unsigned min, uint64_t off, uint64_t len)
{
	const struct inuse_query q = { .root = in_scratch("root"),
		.path = "DISK",
		.st = { .st_mode = S_IFBLK | 0600, .st_rdev = makedev(240, min) },
		.purpose = INUSE_TO_WRITE };

	e = (struct err){ 0 };
	if (inuse_check_area(&q, (struct range){ off, len }, &e) == 0)
		return "";
	return e.kind == ERR_REFUSED ? e.text : "wrong kind";
}

static bool
all_free(void)
{
	for (unsigned min = 16; min < 20; min++)
		if (says(min)[0] != '\0' || read_says(min)[0] != '\0')
			return false;
	return says(32)[0] == '\0' && read_says(32)[0] == '\0';
}

/* sdb with sdb1, sdb2, cciss!p3; sdc without partitions. */
static void
make_tree(void)
{
	T_CHECK(
	    sh("mkdir -p root/proc/self root/sys/dev/block root/sys/block root/dev && "
	       "cd root/sys && mkdir -p devices/sdb/holders devices/sdb/slaves "
	       "devices/sdc/holders && echo 240:16 >devices/sdb/dev && "
	       "echo 240:32 >devices/sdc/dev && "
	       "ln -s ../../devices/sdb dev/block/240:16 && ln -s ../devices/sdb "
	       "block/sdb && "
	       "ln -s ../../devices/sdc dev/block/240:32") == 0);
	for (int i = 1; i <= 3; i++)
		T_CHECK(
		    sh("cd root/sys && p=devices/sdb/%s%d && mkdir -p $p/holders && "
		       "echo %d >$p/partition && echo 240:%d >$p/dev && "
		       "echo %d000 >$p/start && echo 1000 >$p/size && "
		       "ln -s ../../$p dev/block/240:%d",
			i == 3 ? "cciss!p" : "sdb", i, i, 16 + i, i, 16 + i) == 0);
}

static bool
is_partition(unsigned minor_number, mode_t kind)
{
	struct stat st = { .st_mode = kind, .st_rdev = makedev(240, minor_number) };

	return inuse_is_partition(in_scratch("root"), &st);
}

static void
test_partitions(void)
{
	T_CHECK(is_partition(17, S_IFBLK));
	T_CHECK(is_partition(19, S_IFBLK));
	T_CHECK(!is_partition(16, S_IFBLK));
	T_CHECK(!is_partition(32, S_IFBLK));
	T_CHECK(!is_partition(99, S_IFBLK));
	T_CHECK(!is_partition(17, S_IFREG));
}

static void
test_mounts(void)
{
	T_CHECK(all_free()); /* without mountinfo and swaps */
	T_CHECK(
	    sh("printf '21 1 0:19 / /run rw - tmpfs tmpfs rw\\n"
	       "36 35 240:17 / /home/a\\\\040b rw,noatime master:1 - ext4 /dev/sdb1 rw' "
	       ">root/proc/self/mountinfo") == 0);
	T_CHECK(
	    strcmp(says(17), "DISK is in use: /dev/sdb1 is mounted on /home/a b") == 0);
	T_CHECK(
	    strcmp(says(16), "DISK is in use: /dev/sdb1 is mounted on /home/a b") == 0);
	T_CHECK(says(18)[0] == '\0');
	T_CHECK(says(19)[0] == '\0');
	T_CHECK(says(32)[0] == '\0');
	T_CHECK(sh("echo '36 35 240:16 / /mnt rw - ext4 /dev/sdb rw' "
		   ">root/proc/self/mountinfo") == 0);
	T_CHECK(strcmp(says(18), "DISK is in use: /dev/sdb is mounted on /mnt") == 0);
	T_CHECK(
	    sh("echo '36 35 240:19 / /mnt rw - ext4 x rw' >root/proc/self/mountinfo") ==
	    0);
	T_CHECK(
	    strcmp(says(16), "DISK is in use: /dev/cciss/p3 is mounted on /mnt") == 0);
	T_CHECK(sh("printf 'garbage\\n1 2\\n\\n1 2 240:x / /y\\n - - - ' "
		   ">root/proc/self/mountinfo") == 0);
	T_CHECK(all_free());
}

/* A device that holds another one, as sysfs shows it. */
static void
make_holder(const char *name, unsigned min)
{
	T_CHECK(sh("cd root/sys && mkdir -p devices/%s/holders && "
		   "echo 240:%u >devices/%s/dev && ln -s ../devices/%s block/%s && "
		   "ln -s ../../devices/%s dev/block/240:%u",
		    name, min, name, name, name, name, min) == 0);
}

static void
mount_only(const char *line)
{
	T_CHECK(sh("echo '1 2 %s' >root/proc/self/mountinfo", line) == 0);
}

/* dm-0 on sdb2, dm-1 on dm-0.  A reader is told only of who writes. */
static void
test_volumes(void)
{
	make_holder("dm-0", 64);
	make_holder("dm-1", 65);
	T_CHECK(sh("cd root/sys/devices && mkdir dm-0/dm && echo vg-home >dm-0/dm/name && "
		   "mkdir sdb/sdb2/holders/dm-0 dm-0/holders/dm-1") == 0);
	const char *held = "DISK is in use: /dev/sdb2 is held by /dev/dm-0 (vg-home)";
	T_CHECK(strcmp(says(16), held) == 0);
	T_CHECK(strcmp(says(18), held) == 0);
	T_CHECK(says(17)[0] == '\0');
	T_CHECK(says(19)[0] == '\0');
	T_CHECK(read_says(16)[0] == '\0');
	T_CHECK(read_says(18)[0] == '\0');
	mount_only("240:65 / /home rw - ext4 /dev/mapper/x rw,relatime");
	T_CHECK(strcmp(says(18), "DISK is in use: /dev/dm-1 is mounted on /home") == 0);
	const char *mounted = "DISK is in use: /dev/dm-1 is mounted read-write on /home";
	T_CHECK(strcmp(read_says(16), mounted) == 0);
	T_CHECK(strcmp(read_says(18), mounted) == 0);
	T_CHECK(strcmp(read_says(64), mounted) == 0);
	T_CHECK(read_says(17)[0] == '\0');
	/* What counts is the filesystem, not this mount of it. */
	mount_only("240:65 / /home rw - ext4 /dev/mapper/x ro,relatime");
	T_CHECK(read_says(16)[0] == '\0');
	T_CHECK(says(16)[0] != '\0');
	mount_only("240:65 / /home ro - ext4 /dev/mapper/x rw,relatime");
	T_CHECK(strcmp(read_says(16), mounted) == 0);
	T_CHECK(sh("rm root/proc/self/mountinfo; cd root/sys/devices && "
		   "rmdir sdb/sdb2/holders/dm-0 dm-0/holders/dm-1") == 0);
	T_CHECK(all_free());
}

/* md0 on all of sdb and sdc, with a partition. */
static void
test_arrays(void)
{
	make_holder("md0", 80);
	T_CHECK(
	    sh("cd root/sys/devices && mkdir sdb/holders/md0 sdc/holders/md0 && "
	       "mkdir -p md0/md md0/md0p1/holders && echo idle >md0/md/sync_action && "
	       "echo 1 >md0/md0p1/partition && echo 240:81 >md0/md0p1/dev && "
	       "ln -s ../../devices/md0/md0p1 ../dev/block/240:81") == 0);
	T_CHECK(strcmp(says(17), "DISK is in use: /dev/sdb is held by /dev/md0") == 0);
	T_CHECK(strcmp(says(32), "DISK is in use: /dev/sdc is held by /dev/md0") == 0);
	T_CHECK(read_says(17)[0] == '\0');
	T_CHECK(read_says(32)[0] == '\0');
	mount_only("240:81 / /srv rw - xfs /dev/md0p1 rw");
	T_CHECK(strcmp(read_says(32),
		    "DISK is in use: /dev/md0p1 is mounted read-write on /srv") == 0);
	T_CHECK(strcmp(read_says(81),
		    "DISK is in use: /dev/md0p1 is mounted read-write on /srv") == 0);
	T_CHECK(sh("rm root/proc/self/mountinfo; "
		   "echo resync >root/sys/devices/md0/md/sync_action") == 0);
	T_CHECK(strcmp(read_says(32),
		    "DISK is in use: /dev/sdc is a member of md0, which is being "
		    "rebuilt (resync)") == 0);
	T_CHECK(read_says(80)[0] == '\0'); /* the array itself has its bytes */
	T_CHECK(sh("echo check >root/sys/devices/md0/md/sync_action") == 0);
	T_CHECK(read_says(32)[0] == '\0');
	T_CHECK(
	    sh("cd root/sys/devices && rmdir sdb/holders/md0 sdc/holders/md0") == 0);
	T_CHECK(all_free());
}

/* sdb1 is sectors 1000 to 1999 of sdb, sdb2 2000 to 2999. */
static void
test_some_sectors(void)
{
	mount_only("240:17 / /home rw - ext4 /dev/sdb1 rw");
	sectors_wanted = (struct range){ 1999, 1 };
	T_CHECK(read_says(16)[0] != '\0');
	sectors_wanted = (struct range){ 2000, 1000 };
	T_CHECK(read_says(16)[0] == '\0');
	mount_only("240:16 / /home rw - ext4 /dev/sdb rw");
	T_CHECK(read_says(16)[0] != '\0'); /* all of the disk */
	sectors_wanted = (struct range){ 0, 0 };
	T_CHECK(sh("rm root/proc/self/mountinfo") == 0);
	T_CHECK(all_free());
}

/* For a writer, with pages of 4 KiB: sdb1 is from here on sectors 100 to 199, sdb2 200 to
 * 299, the third one 1000 to 1099. */
static void
test_areas(void)
{
	char names[4][INUSE_NAME_CAP];
	struct stat st = { .st_mode = S_IFBLK | 0600, .st_rdev = makedev(240, 16) };

	T_CHECK(sh("cd root/sys/devices/sdb && echo 100 >sdb1/start && "
		   "echo 200 >sdb2/start && echo 1000 >'cciss!p3/start' && "
		   "for p in sdb1 sdb2 'cciss!p3'; do echo 100 >$p/size; done") == 0);
	mount_only("240:17 / /one rw - ext4 /dev/sdb1 rw");
	const char *mounted = "DISK is in use: /dev/sdb1 is mounted on /one";
	T_CHECK(strcmp(says(16), mounted) == 0);
	T_CHECK(strcmp(area_says(16, 150, 10), mounted) == 0);
	T_CHECK(area_says(16, 1000, 100)[0] == '\0');
	/* Sectors 200 to 207 are a page of their own, 96 to 103 are not. */
	T_CHECK(area_says(16, 200, 100)[0] == '\0');
	T_CHECK(area_says(16, 90, 9)[0] != '\0');
	T_CHECK(area_says(16, 80, 16)[0] == '\0');
	mount_only("240:16 / /all rw - ext4 /dev/sdb rw");
	T_CHECK(strcmp(area_says(16, 1000, 1),
		    "DISK is in use: /dev/sdb is mounted on /all") == 0);
	T_CHECK(sh("rm root/proc/self/mountinfo && "
		   "mkdir root/sys/devices/sdb/sdb2/holders/dm-0") == 0);
	T_CHECK(area_says(16, 250, 1)[0] != '\0');
	T_CHECK(area_says(16, 100, 50)[0] == '\0');
	T_CHECK(sh("rmdir root/sys/devices/sdb/sdb2/holders/dm-0") == 0);
	T_CHECK(inuse_partitions(in_scratch("root"), &st, (struct range){ 199, 802 },
		    names, 4) == 3);
	T_CHECK(inuse_partitions(
		    in_scratch("root"), &st, (struct range){ 1099, 1 }, names, 4) == 1);
	T_CHECK(strcmp(names[0], "/dev/cciss/p3") == 0);
	T_CHECK(all_free());
}

static bool
is_77(const void *fellows, long pid)
{
	(void)fellows;
	return pid == 77;
}

/* Process 77 has it open for writing, and somebody else wants to write it. */
static void
test_writers(struct inuse_query q)
{
	struct inuse_found found = { .writer = false };
	char line[100];

	q.purpose = INUSE_TO_WRITE;
	q.found = &found;
	T_CHECK(strcmp(answer(&q), "vm.img is in use: kvm (process 77) has vm.img open "
				   "for writing") == 0);
	T_CHECK(found.writer && found.unseen); /* there is no process 1 */
	T_CHECK(sh("mkdir root/proc/1 && echo init >root/proc/1/comm") == 0);
	T_CHECK(answer(&q)[0] != '\0' && found.writer && !found.unseen);
	q.no_writers = true;
	T_CHECK(answer(&q)[0] == '\0');
	q.no_writers = false;
	q.is_fellow = is_77;
	T_CHECK(answer(&q)[0] == '\0' && !found.writer);
	q.is_fellow = NULL;
	/* A child of a child of ours, and who has started us. */
	T_CHECK(sh("mkdir root/proc/76 && echo '77 (a b) c) S 76 1' >root/proc/77/stat && "
		   "echo '76 (sh) S %d 1' >root/proc/76/stat", (int)getpid()) == 0);
	T_CHECK(answer(&q)[0] == '\0');
	snprintf(line, sizeof line, "echo '%d (x) S 77 1' >root/proc/%d/stat",
	    (int)getpid(), (int)getpid());
	T_CHECK(sh("echo '77 (kvm) S 1 1' >root/proc/77/stat") == 0);
	T_CHECK(answer(&q)[0] != '\0');
	T_CHECK(sh("mkdir root/proc/%d && %s", (int)getpid(), line) == 0);
	T_CHECK(answer(&q)[0] == '\0');
	T_CHECK(sh("rm -r root/proc/1 root/proc/76 root/proc/%d", (int)getpid()) == 0);
}

/* A program that has a file or device open, as /proc shows it. */
static void
test_programs(void)
{
	struct inuse_query q = { .root = in_scratch("root"),
		.path = "vm.img",
		.purpose = INUSE_TO_READ };

	T_CHECK(sh("mkdir -p root/proc/77/fd root/proc/77/fdinfo && echo kvm "
		   ">root/proc/77/comm && echo x >root/vm.img && "
		   "ln -s %s root/proc/77/fd/9 && ln -s /dev/null root/proc/77/fd/8 && "
		   "printf 'pos:\\t0\\nflags:\\t02100002\\n' >root/proc/77/fdinfo/9",
		    in_scratch("root/vm.img")) == 0);
	T_CHECK(stat(in_scratch("root/vm.img"), &q.st) == 0);
	T_CHECK(strcmp(answer(&q), "vm.img is in use: kvm (process 77) has vm.img open "
				   "for writing") == 0);
	test_writers(q);
	T_CHECK(sh("printf 'flags:\\t0100000\\n' >root/proc/77/fdinfo/9") == 0);
	T_CHECK(answer(&q)[0] == '\0');
	/* FUSE on a file: the source is its name. */
	mount_only("0:44 / /mnt rw - fuse.ntfs-3g /vm.img rw");
	T_CHECK(strcmp(answer(&q),
		    "vm.img is in use: vm.img is mounted read-write on /mnt") == 0);
	mount_only("0:44 / /mnt rw - fuse.ntfs-3g /vm.img ro");
	T_CHECK(answer(&q)[0] == '\0');
	/* A loop device of a part of it. */
	T_CHECK(sh("cd root/sys && mkdir -p devices/loop9/loop && "
		   "echo /vm.img >devices/loop9/loop/backing_file && "
		   "echo 512000 >devices/loop9/loop/offset && "
		   "echo 512000 >devices/loop9/loop/sizelimit") == 0);
	make_holder("loop9", 90);
	mount_only("240:90 / /mnt rw - ext4 /dev/loop9 rw");
	T_CHECK(strcmp(answer(&q),
		    "vm.img is in use: /dev/loop9 is mounted read-write on /mnt") == 0);
	q.wants = wants;
	q.arg = &sectors_wanted;
	sectors_wanted = (struct range){ 0, 1000 };
	T_CHECK(answer(&q)[0] == '\0');
	sectors_wanted = (struct range){ 1999, 1 };
	T_CHECK(answer(&q)[0] != '\0');
	sectors_wanted = (struct range){ 0, 0 };
	T_CHECK(sh("rm -r root/proc/77 root/proc/self/mountinfo root/sys/block/loop9") ==
		0);
}

/* What the kernel names by path needs device nodes. */
static void
test_nodes(void)
{
	if (sh("mknod root/dev/sdb1 b 240 17") != 0) {
		skip("swap, btrfs, loop on a device",
		    "cannot make device nodes (not root?)");
		return;
	}
	T_CHECK(
	    sh("printf 'Filename Type Size Used Priority\\n/dev/sdb1 partition 9 0 -2' "
	       ">root/proc/swaps") == 0);
	T_CHECK(strcmp(says(17), "DISK is in use: /dev/sdb1 is used as swap") == 0);
	T_CHECK(strcmp(says(16), "DISK is in use: /dev/sdb1 is used as swap") == 0);
	T_CHECK(says(18)[0] == '\0');
	T_CHECK(says(32)[0] == '\0');
	T_CHECK(
	    sh("rm root/proc/swaps && echo '36 35 0:50 / /b rw - btrfs /dev/sdb1 rw' "
	       ">root/proc/self/mountinfo") == 0);
	T_CHECK(strcmp(says(16), "DISK is in use: /dev/sdb1 is mounted on /b") == 0);
	T_CHECK(says(18)[0] == '\0');
	T_CHECK(read_says(18)[0] == '\0');
	/* Its other device is not named there. */
	T_CHECK(sh("cd root/sys && mkdir -p fs/btrfs/5eed/devices fs/btrfs/features && "
		   "touch fs/btrfs/5eed/devices/sdb1 fs/btrfs/5eed/devices/sdc") == 0);
	T_CHECK(strcmp(read_says(32),
		    "DISK is in use: /dev/sdc is mounted read-write on /b") == 0);
	T_CHECK(read_says(18)[0] == '\0');
	T_CHECK(sh("rm -r root/sys/fs") == 0);
	/* A loop device matters when it is used itself. */
	T_CHECK(sh("echo '1 2 241:1 / /l rw - ext4 /dev/loop1 rw' "
		   ">root/proc/self/mountinfo && "
		   "cd root/sys && mkdir -p block/loop0/loop block/loop1/loop && "
		   "ln -s ../../block/loop1 dev/block/241:1 && "
		   "echo /dev/sdb1 >block/loop0/loop/backing_file && "
		   "echo 241:0 >block/loop0/dev && echo 241:1 >block/loop1/dev") == 0);
	T_CHECK(says(17)[0] == '\0');
	T_CHECK(sh("echo /dev/sdb1 >root/sys/block/loop1/loop/backing_file") == 0);
	T_CHECK(strcmp(says(16),
		    "DISK is in use: /dev/loop1 is mounted on /l") == 0);
	/* Loops that back each other cannot be, and must not hang us. */
	T_CHECK(sh("mknod root/dev/loop0 b 241 0; echo /dev/loop0 "
		   ">root/sys/block/loop0/loop/backing_file; rm "
		   "root/proc/self/mountinfo") == 0);
	T_CHECK(says(17)[0] == '\0');
}

static bool
open_says(const char *path, unsigned flags, const char *words)
{
	struct disk *d;

	if (disk_open(&d, path, flags, &e) == 0) {
		disk_close(d, &e);
		return words == NULL;
	}
	printf("# %s\n", e.text);
	return words != NULL && e.kind == ERR_REFUSED && strstr(e.text, words) != NULL;
}

/* Of a device or file of this machine. */
static const char *
real_says(const char *path)
{
	struct inuse_query q = { .root = "", .path = path, .purpose = INUSE_TO_READ };

	if (stat(path, &q.st) != 0)
		return "not there";
	const char *text = answer(&q);
	printf("# %s\n", text);
	return text;
}

/* Will nobody have it in use?  Somebody else's losetup(8) opens any loop device for a moment
 * while it looks for a free one; and the kernel lets go of a namespace a little after its
 * last process has ended, on a busy machine perhaps seconds. */
static bool
becomes_free(const char *path)
{
	for (int i = 0; i < 3000; i++) {
		if (real_says(path)[0] == '\0')
			return true;
		usleep(20000);
	}
	return false;
}

static bool
is_writer(const char *path, const char *of)
{
	char words[256];

	snprintf(words, sizeof words, "(process %d) has %s open for writing",
	    (int)getppid(), of);
	return strstr(real_says(path), words) != NULL;
}

/* A file and the loop device on it: who has one open for writing changes the other.
 * Our own descriptors are no reason, so a child asks. */
static void
test_real_writer(const char *dev)
{
	const char *const opened[] = { in_scratch("fs"), dev };

	for (int i = 0; i < 2; i++) {
		int fd = open(opened[i], O_WRONLY | O_CLOEXEC), status = 1;
		fflush(stdout);
		pid_t child = fork();
		if (child == 0) {
			close(fd);
			_exit(is_writer(dev, opened[i]) &&
			              is_writer(in_scratch("fs"), opened[i])
			          ? 0
			          : 1);
		}
		waitpid(child, &status, 0);
		T_CHECK(fd >= 0);
		T_CHECK(status == 0);
		close(fd);
	}
	T_CHECK(becomes_free(dev));
}

/* A mount that is not in our namespace is not seen; that the device is claimed is. */
static void
test_real_hidden(const char *dev)
{
	if (sh("unshare -m sh -c 'mount %s mnt && { (sleep 600) & echo $! >sleeper; }'",
		dev) != 0) {
		skip("hidden mount", "no mount namespaces");
		return;
	}
	const char *text = real_says(dev);
	T_CHECK(strstr(text, dev) == text);
	T_CHECK(strstr(text, "another namespace") != NULL);
	T_CHECK(sh("p=$(cat sleeper); kill $p; while kill -0 $p; do sleep 0.02; done") ==
		0);
	T_CHECK(becomes_free(dev));
}

/* Mount in a namespace of its own: whoever makes one beside this test would copy the mounts, and
 * keep the disks in use after they are unmounted here. */
static void
own_mounts(void)
{
	if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		skip("mounts of its own", "not root?");
}

static void
test_real(void)
{
	char dev[64], undo[128], words[256];

	T_CHECK(sh("truncate -s 4M fs && mkdir mnt") == 0);
	if (!loop_attach("fs", "", dev, sizeof dev)) {
		skip("mounted loop device", "no loop device to be had (not root?)");
		return;
	}
	if (sh("mkfs.ext4 -q %s && mount %s mnt", dev, dev) != 0) {
		skip("mounted loop device", "cannot make or mount an ext4 file system");
		return;
	}
	snprintf(undo, sizeof undo, "umount %s", in_scratch("mnt"));
	at_end(undo);
	snprintf(words, sizeof words, "is in use: %s is mounted on %s", dev,
	    in_scratch("mnt"));
	T_CHECK(open_says(dev, DISK_WRITE, words));
	T_CHECK(open_says(dev, DISK_READ, NULL));
	T_CHECK(open_says(dev, DISK_WRITE | DISK_FORCE, NULL));
	T_CHECK(open_says(in_scratch("fs"), DISK_WRITE, words));
	T_CHECK(open_says(in_scratch("fs"), DISK_READ, NULL));
	snprintf(words, sizeof words, "%s is in use: %s is mounted read-write on %s", dev,
	    dev, in_scratch("mnt"));
	T_CHECK(strcmp(real_says(dev), words) == 0);
	T_CHECK(strstr(real_says(in_scratch("fs")), "is mounted read-write on") != NULL);
	T_CHECK(sh("mount -o remount,ro mnt") == 0);
	T_CHECK(becomes_free(dev));
	T_CHECK(becomes_free(in_scratch("fs")));
	T_CHECK(sh("umount mnt") == 0);
	T_CHECK(becomes_free(dev));
	T_CHECK(becomes_free(in_scratch("fs")));
	test_real_writer(dev);
	test_real_hidden(dev);
	T_CHECK(open_says(dev, DISK_WRITE, NULL));
	T_CHECK(open_says(in_scratch("fs"), DISK_WRITE, NULL));
}

int
main(void)
{
	scratch_init();
	own_mounts();
	make_tree();
	test_partitions();
	test_mounts();
	test_volumes();
	test_arrays();
	test_some_sectors();
	test_areas();
	test_programs();
	test_nodes();
	test_real();
	return t_done();
}
