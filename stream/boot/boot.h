/* boot.h: makes what a machine starts an image from while its disk is still empty: the image's own
 * newest kernel, and a ramdisk with the modules that it needs for that. */
#ifndef STREAM_BOOT_BOOT_H
#define STREAM_BOOT_BOOT_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/disk.h"
#include "common/disk/ptable.h"
#include "stream/boot/drivers.h"

/* Between a card or a disk and the processor lie far fewer devices than half of that. */
enum { BOOT_VERSION_CAP = 128, BOOT_DEVICES_MAX = 256 };

/* What the machine cannot do without, such as its network card and its disk, and buses between. */
struct boot_devices {
	struct device of[BOOT_DEVICES_MAX];
	size_t n;
};

struct boot_config {
	/* The disk that the image holds, and its partitions; borrowed.  NULL: `mounted` counts. */
	struct disk *image;
	const struct ptable *table;
	const char *mounted; /* a folder where the image's filesystems are mounted */
	/* Names of drivers with commas between them; NULL: those of the memory-root environment,
	 * for any machine. */
	const char *drivers;
	const struct boot_devices *devices; /* of this machine; each needs a driver */
	/* An archive for the initial ramdisk, that is appended to the modules, with /init and the
	 * programs; NULL: none. */
	const char *programs;
	/* The folder, which is made, for the files vmlinuz, initrd.img and cmdline. */
	const char *folder;
};

struct boot_made {
	char version[BOOT_VERSION_CAP]; /* of the kernel */
	/* The number of the one that has the root filesystem; 0: it was mounted. */
	unsigned partition;
	size_t modules;                 /* how many are in the ramdisk */
	uint64_t ramdisk_bytes;
	/* A partition, or a volume of LVM there, holds a suspended system, or does not tell whether it
	 * does: nothing is made. */
	bool suspended;
};

/* Make the files, when all that they will hold has been read.  Modules that gzip, xz or zstd has
 * compressed are decompressed.  cmdline has the words that the image's GRUB gives to this kernel
 * ("ro" if it has none of that), "nohibernate", and for a disk "frisbee.root=N" with the number of
 * the partition of the root filesystem.  ERR_UNSUPPORTED: no partition has an ext2, ext3 or ext4
 * filesystem with a kernel and its modules, or what is mounted has none, or the kernel lacks a
 * module or the driver of a device; ERR_REFUSED: made->suspended is set; ERR_FORMAT: what is there
 * is damaged; ERR_ABSENT: there is no such folder; ERR_IO; ERR_NOMEM. */
int boot_make(const struct boot_config *, struct boot_made *, struct err *);

#endif /* STREAM_BOOT_BOOT_H */
