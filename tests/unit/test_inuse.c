/* Who uses a device: a made-up /proc and /sys, then a real loop device. */
#include "common/disk/inuse.h"

#include <sys/sysmacros.h>

#include "common/disk/disk.h"
#include "tests/unit/scratch.h"

static struct err e;

/* What inuse_check() says of 8:minor; "" when it is not in use. */
static const char *
says(unsigned min)
{
	struct stat st = { .st_mode = S_IFBLK | 0600, .st_rdev = makedev(8, min) };

	e = (struct err){ 0 };
	if (inuse_check(in_scratch("root"), "DISK", &st, &e) == 0)
		return "";
	return e.kind == ERR_REFUSED ? e.text : "wrong kind";
}

static bool
all_free(void)
{
	for (unsigned min = 16; min < 20; min++)
		if (says(min)[0] != '\0')
			return false;
	return says(32)[0] == '\0';
}

/* sdb with sdb1, sdb2, cciss!p3; sdc without partitions. */
static void
make_tree(void)
{
	T_CHECK(
	    sh("mkdir -p root/proc/self root/sys/dev/block root/sys/block root/dev && "
	       "cd root/sys && mkdir -p devices/sdb/holders devices/sdb/slaves "
	       "devices/sdc/holders && echo 8:16 >devices/sdb/dev && "
	       "echo 8:32 >devices/sdc/dev && "
	       "ln -s ../../devices/sdb dev/block/8:16 && ln -s ../devices/sdb "
	       "block/sdb && "
	       "ln -s ../../devices/sdc dev/block/8:32") == 0);
	for (int i = 1; i <= 3; i++)
		T_CHECK(
		    sh("cd root/sys && p=devices/sdb/%s%d && mkdir -p $p/holders && "
		       "echo %d >$p/partition && echo 8:%d >$p/dev && "
		       "ln -s ../../$p dev/block/8:%d",
			i == 3 ? "cciss!p" : "sdb", i, i, 16 + i, 16 + i) == 0);
}

static void
test_mounts(void)
{
	T_CHECK(all_free()); /* without mountinfo and swaps */
	T_CHECK(
	    sh("printf '21 1 0:19 / /run rw - tmpfs tmpfs rw\\n"
	       "36 35 8:17 / /home/a\\\\040b rw,noatime master:1 - ext4 /dev/sdb1 rw' "
	       ">root/proc/self/mountinfo") == 0);
	T_CHECK(
	    strcmp(says(17), "DISK is in use: /dev/sdb1 is mounted on /home/a b") == 0);
	T_CHECK(
	    strcmp(says(16), "DISK is in use: /dev/sdb1 is mounted on /home/a b") == 0);
	T_CHECK(says(18)[0] == '\0' && says(19)[0] == '\0' && says(32)[0] == '\0');
	T_CHECK(sh("echo '36 35 8:16 / /mnt rw - ext4 /dev/sdb rw' "
		   ">root/proc/self/mountinfo") == 0);
	T_CHECK(strcmp(says(18), "DISK is in use: /dev/sdb is mounted on /mnt") == 0);
	T_CHECK(
	    sh("echo '36 35 8:19 / /mnt rw - ext4 x rw' >root/proc/self/mountinfo") ==
	    0);
	T_CHECK(
	    strcmp(says(16), "DISK is in use: /dev/cciss/p3 is mounted on /mnt") == 0);
	T_CHECK(sh("printf 'garbage\\n1 2\\n\\n1 2 8:x / /y\\n - - - ' "
		   ">root/proc/self/mountinfo") == 0);
	T_CHECK(all_free());
}

static void
test_holders(void)
{
	T_CHECK(sh("mkdir -p root/sys/block/dm-0/dm && echo vg-home "
		   ">root/sys/block/dm-0/dm/name &&"
		   "mkdir root/sys/devices/sdb/sdb2/holders/dm-0") == 0);
	T_CHECK(strcmp(says(16),
		    "DISK is in use: /dev/sdb2 is held by dm-0 (vg-home)") == 0);
	T_CHECK(strcmp(says(18),
		    "DISK is in use: /dev/sdb2 is held by dm-0 (vg-home)") == 0);
	T_CHECK(says(17)[0] == '\0' && says(19)[0] == '\0');
	T_CHECK(sh("cd root/sys/devices && rmdir sdb/sdb2/holders/dm-0 && "
		   "mkdir sdb/holders/md0 sdc/holders/md0") == 0);
	T_CHECK(strcmp(says(17), "DISK is in use: /dev/sdb is held by md0") == 0);
	T_CHECK(strcmp(says(32), "DISK is in use: /dev/sdc is held by md0") == 0);
	T_CHECK(
	    sh("cd root/sys/devices && rmdir sdb/holders/md0 sdc/holders/md0") == 0);
	T_CHECK(all_free());
}

/* What the kernel names by path needs device nodes. */
static void
test_nodes(void)
{
	if (sh("mknod root/dev/sdb1 b 8 17") != 0) {
		skip("swap, btrfs, loop on a device",
		    "cannot make device nodes (not root?)");
		return;
	}
	T_CHECK(
	    sh("printf 'Filename Type Size Used Priority\\n/dev/sdb1 partition 9 0 -2' "
	       ">root/proc/swaps") == 0);
	T_CHECK(strcmp(says(17), "DISK is in use: /dev/sdb1 is used as swap") == 0);
	T_CHECK(strcmp(says(16), "DISK is in use: /dev/sdb1 is used as swap") == 0);
	T_CHECK(says(18)[0] == '\0' && says(32)[0] == '\0');
	T_CHECK(
	    sh("rm root/proc/swaps && echo '36 35 0:50 / /b rw - btrfs /dev/sdb1 rw' "
	       ">root/proc/self/mountinfo") == 0);
	T_CHECK(strcmp(says(16), "DISK is in use: /dev/sdb1 is mounted on /b") == 0);
	T_CHECK(says(18)[0] == '\0');
	/* A loop device matters when it is used itself. */
	T_CHECK(sh("echo '1 2 7:1 / /l rw - ext4 /dev/loop1 rw' "
		   ">root/proc/self/mountinfo && "
		   "cd root/sys && mkdir -p block/loop0/loop block/loop1/loop && "
		   "ln -s ../../block/loop1 dev/block/7:1 && "
		   "echo /dev/sdb1 >block/loop0/loop/backing_file && "
		   "echo 7:0 >block/loop0/dev && echo 7:1 >block/loop1/dev") == 0);
	T_CHECK(says(17)[0] == '\0');
	T_CHECK(sh("echo /dev/sdb1 >root/sys/block/loop1/loop/backing_file") == 0);
	T_CHECK(strcmp(says(16),
		    "DISK: /dev/loop1 is in use: /dev/loop1 is mounted on /l") == 0);
	/* Loops that back each other cannot be, and must not hang us. */
	T_CHECK(sh("mknod root/dev/loop0 b 7 0; echo /dev/loop0 "
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
	snprintf(words, sizeof words, "%s is in use: %s is mounted on %s", dev, dev,
	    in_scratch("mnt"));
	T_CHECK(open_says(dev, DISK_WRITE, words));
	T_CHECK(open_says(dev, DISK_READ, NULL));
	T_CHECK(open_says(dev, DISK_WRITE | DISK_FORCE, NULL));
	T_CHECK(open_says(in_scratch("fs"), DISK_WRITE, words));
	T_CHECK(open_says(in_scratch("fs"), DISK_READ, NULL));
	T_CHECK(sh("umount mnt") == 0);
	T_CHECK(open_says(dev, DISK_WRITE, NULL));
	T_CHECK(open_says(in_scratch("fs"), DISK_WRITE, NULL));
}

int
main(void)
{
	scratch_init();
	make_tree();
	test_mounts();
	test_holders();
	test_nodes();
	test_real();
	return t_done();
}
