/* hold.h: whoever writes a disk or a file has it for himself while he writes.
 *
 * What is held is locked by flock(2): a file itself; of a device the node of the whole
 * disk, as systemd asks for ("Locking Block Device Access"), which udev and others
 * heed; of a loop device the file behind it, too.  A partition, and some sectors of a
 * disk, are held by a shared lock of the whole disk and a lock of their bytes
 * (fcntl(2), F_OFD_SETLK), so that several of them can be written at once.  A lock of
 * somebody else is waited for, for 5 s.
 *
 * Then it is looked who has it open for writing, or mounted, as inuse.h says; who holds
 * other sectors of the same disk does no harm.  A look can be left out, a lock cannot.
 *
 * A descriptor that was inherited and has the lock is a lock of ours: that of a parent
 * (hold_lend(), flock(1)).  Where a filesystem has no locks, nobody is refused.
 */
#ifndef COMMON_DISK_HOLD_H
#define COMMON_DISK_HOLD_H

#include <stdbool.h>
#include <sys/stat.h>

#include "common/base/err.h"
#include "common/disk/range.h"

struct disk_hold;
struct inuse_query;

struct hold_wish {
	const char *path;     /* of the device or file */
	struct range sectors; /* for hold_look() and hold_sectors(): what will be written;
	                       * all zeros: all of it */
	bool make;            /* a file that is not there is made */
	bool no_look;         /* only the lock is wanted */
};

/* Hold a device or file until hold_end().  What is neither needs no lock.  ERR_REFUSED:
 * it is locked or in use, and the sentence says by whom; ERR_CANCELLED; ERR_IO,
 * ERR_NOMEM. */
int hold_begin(struct disk_hold **, const struct hold_wish *, struct err *);
/* hold_begin() for what standard output leads to, by a descriptor that stays the
 * caller's.  Others may have it open, as a shell's other programs do. */
int hold_standard(struct disk_hold **, int fd, bool no_look, struct err *);
/* Share a disk with those who write other sectors of it: nobody can hold all of it until
 * hold_end(), so its partition table stays.  hold_sectors() must follow before it is
 * written.  Errors of hold_begin(). */
int hold_share(struct disk_hold **, const char *path, struct err *);
/* Hold these sectors of the disk that is shared, as hold_begin() does.  If there is a
 * look, nobody else can mount the partitions concerned, or open them exclusively, from
 * now on.  It may be called again for other sectors.  The hold stays, also on failure. */
int hold_sectors(struct disk_hold *, const struct hold_wish *, struct err *);
/* Hold its partition table, too, of which others change their entries; for that it is
 * waited as long as it takes.  ERR_CANCELLED. */
int hold_table(struct disk_hold *, const char *path, struct err *);
/* Programs that are started from now on, and what this program opens itself, share the
 * lock. */
void hold_lend(struct disk_hold *);
/* Is this what is held?  true for what needs no lock. */
bool hold_is_of(const struct disk_hold *, const struct stat *);
/* To be called when something else than a lock is in the way: waits for a
 * moment.  false: there was time enough already, or the work is to end.  NULL is fine:
 * false. */
bool hold_waits(const struct disk_hold *);
/* Could processes of other users not be looked into, so that one of them may have it
 * open for writing? */
bool hold_unseen(const struct disk_hold *);
/* Only look, as hold_begin() does.  *unseen is what hold_unseen() says.  ERR_IO: it is
 * not there. */
int hold_look(const struct hold_wish *, bool *unseen, struct err *);
/* Look whether somebody changes what is to be read: inuse_check(), and whether a writer
 * has locked all of it.  wait: a writer, who may be there for a moment only, is waited
 * for as hold_begin() does.  Nothing is held. */
int hold_look_source(const struct inuse_query *, bool wait, struct err *);
/* Let others have it.  NULL is fine.  -1: a descriptor could not be closed, and errno
 * says why. */
int hold_end(struct disk_hold *);

#endif /* COMMON_DISK_HOLD_H */
