/* keep.h: keeps a disk from everybody but one program while the disk is being filled.
 *
 * The disk is held by the device mapper: a device NAME has all of its sectors, and the kernel
 * lets nobody else mount the disk, open it for himself alone (O_EXCL), or use it as swap.  The
 * program that fills the disk uses /dev/mapper/NAME.  Other devices of the device mapper may lead
 * to the disk at the same time, so the table that leads to it in the end can be loaded while NAME
 * is there.
 *
 * The nodes of the partitions that the disk had are taken away, and rules for udev hide the disk
 * and NAME: there are no links to them by UUID or label, systemd and udisks do not see them, and
 * udev does not look for partitions when somebody has written to them. */
#ifndef STREAM_SWITCH_KEEP_H
#define STREAM_SWITCH_KEEP_H

#include "common/base/err.h"

/* Where udev looks for rules that last until the machine is switched off. */
#define KEEP_RULES "/run/udev/rules.d"

/* Hold the disk (the path of a block device) as NAME, and hide both with rules in the folder
 * `rules`, usually KEEP_RULES.  ERR_REFUSED: somebody uses the disk or one of its partitions;
 * ERR_ABSENT: no such disk, or no device mapper; ERR_UNSUPPORTED: it is no block device; ERR_IO. */
int keep_take(const char *disk, const char *name, const char *rules, struct err *);
/* Release what keep_take() holds, and let the kernel look for partitions on the disk.  ERR_IO: it
 * is in use. */
int keep_drop(const char *disk, const char *name, const char *rules, struct err *);

/* Remove NAME and its partitions, as switch_remove() does, and the rule that hides NAME, if there is
 * one.  Errors of switch_remove(). */
int keep_remove(const char *name, const char *rules, struct err *);

/* Write a rule for udev that hides this block device, and take the nodes of its partitions away.
 * ERR_IO, also when a partition is in use; ERR_ABSENT, ERR_UNSUPPORTED: as block_open(). */
int keep_hide(const char *device, const char *rules, struct err *);
/* Remove the rule that hides this block device, if it is there, and let the kernel look for
 * partitions on it, which it does not do on a device that is held. */
void keep_show(const char *device, const char *rules);
/* Write the rules by which udev shows the devices of switch.h, with links by UUID and label, also
 * on a system that does not have the rules of the device mapper's own package, and after udev was
 * started anew.  ERR_IO. */
int keep_write_rules(const char *rules, struct err *);

#endif /* STREAM_SWITCH_KEEP_H */
