/* disk.h: what images are read from and written to: a regular file, a block device, a pipe,
 * /dev/null.
 *
 * Reads and writes are complete or an error: short transfers and EINTR are
 * handled here.  Errors name the path and the sector (or byte, for pipes).
 * A struct disk may be used from several threads for pread and pwrite.
 */
#ifndef COMMON_DISK_DISK_H
#define COMMON_DISK_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/err.h"
#include "common/disk/range.h"

enum disk_kind {
	DISK_FILE,   /* regular */
	DISK_BLOCK,  /* block device */
	DISK_STREAM, /* pipe, socket, terminal: in order, size unknown */
	DISK_NULL,   /* /dev/null and other character devices that eat all */
};

/* No disk has more, so whoever says so is not believed: all of it would be read. */
#define DISK_BYTES_MAX (UINT64_C(1) << 60)

/* For disk_open(). */
enum disk_flags {
	DISK_READ = 1 << 0,
	DISK_WRITE = 1 << 1,
	DISK_CREATE = 1 << 2, /* make the file when it does not exist */
	DISK_TRUNC = 1 << 3,  /* regular files only */
	DISK_FORCE = 1 << 4,  /* write also to a device in use, or a terminal */
	DISK_HELD = 1 << 5,   /* the caller holds what will be written (hold.h) */
};

struct disk;

/* Bytes of a disk, and where they go. */
struct disk_part {
	uint64_t at;
	size_t bytes; /* not 0 */
	uint8_t *to;
};

/* The back end.  disk_open() provides it for paths; tests provide their own
 * (memory, faults).  Calls return a count like read(2), 0 at the end, or -1
 * with errno; NULL slots fail with ENOTSUP (sync, close: succeed). */
struct disk_ops {
	/* Of a back end that has errors of its own, instead of pread() and pwrite(): read
	 * or write all of it.  What is read lies on the disk.  0, or -1 with the error.
	 */
	int (*read)(void *ctx, void *buf, size_t len, uint64_t off, struct err *);
	int (*write)(void *ctx, const void *buf, size_t len, uint64_t off, struct err *);
	/* read() of n parts, several at the same time.  NULL: one after the other. */
	int (*read_parts)(void *ctx, const struct disk_part *, size_t n, struct err *);
	ssize_t (*pread)(void *ctx, void *buf, size_t len, uint64_t off);
	ssize_t (*pwrite)(void *ctx, const void *buf, size_t len, uint64_t off);
	int (*truncate)(void *ctx, uint64_t size);
	/* Make [off, off+len) read as zeros without writing zeros, if possible. */
	int (*zero)(void *ctx, uint64_t off, uint64_t len);
	/* Tell the device that nobody needs what is in [off, off+len). */
	int (*discard)(void *ctx, uint64_t off, uint64_t len);
	/* Send [off, off+len) to the medium and forget it, so that the next read
	 * comes from there. */
	int (*uncache)(void *ctx, uint64_t off, uint64_t len);
	/* pread() past the cache, into memory that is aligned to 4096 bytes, as are off
	 * and len. NULL, or -1 for any reason: uncache() and pread() are called instead.
	 * */
	ssize_t (*pread_direct)(void *ctx, void *buf, size_t len, uint64_t off);
	int (*sync)(void *ctx);
	/* A hint: [off, off+len) will be read soon. */
	void (*want)(void *ctx, uint64_t off, uint64_t len);
	/* Find the first data from `off` on, and where it ends; both are the size of the disk
	 * behind the last data.  NULL: all of it is data. */
	void (*holes)(void *ctx, uint64_t off, uint64_t *data, uint64_t *hole);
	/* SHA-256 of all bytes of the disk, if it is known and they never change. */
	const uint8_t *(*digest)(void *ctx);
	int (*close)(void *ctx);
	/* A child of fork(2) cannot read the disk (disk_lent.h). */
	bool one_process;
};

/* Open a path with enum disk_flags.  "-" is stdin or stdout: a stream even where it leads to a
 * file.  Opening
 * for writing holds the device or file until it is closed (hold.h), and is refused
 * (ERR_REFUSED) when another program has locked it, or, without DISK_FORCE, when it is in use as
 * inuse.h defines it, or a terminal; block devices are then opened O_EXCL.  With DISK_HELD, it is
 * neither held nor looked at.  What the kernel has cached of a block device is forgotten, because
 * it may be older than what was written to a partition of the device.  A missing name in /dev is
 * never made. */
int disk_open(struct disk **, const char *path, unsigned flags, struct err *);
/* Make a disk with a back end of the caller's, for what is no file.  The name and the ops are
 * copied; ctx is passed to the ops, and ops->close() frees it.  size_bytes: UINT64_MAX when
 * unknown.  ERR_NOMEM; ctx is still the caller's then. */
int disk_open_ops(struct disk **, const char *name, enum disk_kind kind,
    uint64_t size_bytes, const struct disk_ops *, void *ctx, struct err *);
/* The same, with the name, kind, size and logical sector size of another disk, which it
 * is a view of. */
int disk_open_view(struct disk **, const struct disk *of, const struct disk_ops *,
    void *ctx, struct err *);
/* Set the logical sector size of a disk from disk_open_ops(). */
void disk_set_sector_bytes(struct disk *, unsigned);
/* Close and free a disk.  NULL is fine.  -1 (ERR_IO): closing has failed, and writes may be
 * lost. */
int disk_close(struct disk *, struct err *);

/* From now on errors call the disk `name`, and count bytes instead of sectors.  The name
 * stays as it is when `name` is "-", or when there is no memory. */
void disk_call_data(struct disk *, const char *name);

const char *disk_name(const struct disk *);
enum disk_kind disk_kind(const struct disk *);
bool disk_seekable(const struct disk *); /* is it a DISK_FILE or DISK_BLOCK? */
/* The size in bytes; UINT64_MAX for streams and null.  It grows with writes behind the end of a
 * file. */
uint64_t disk_size_bytes(const struct disk *);
/* The logical sector size in bytes: 512 or 4096 for devices, 512 for all else. */
unsigned disk_sector_bytes(const struct disk *);
int disk_fd(const struct disk *); /* the descriptor; -1 when there is none */
/* Programs that are started from now on, and what this program opens itself, share the lock
 * of a disk that was opened for writing (hold_lend()). */
void disk_lend_hold(struct disk *);
/* Was it opened for writing while processes of other users could not be looked into, one of which
 * may write it, too? */
bool disk_unseen(const struct disk *);
/* Can a child of fork(2) read the disk, too? */
bool disk_child_reads(const struct disk *);
/* The SHA-256 of all bytes of a disk that never changes; NULL: it is not known, or the disk may
 * change. */
const uint8_t *disk_digest(const struct disk *);

/* Read exactly len bytes at byte off.  ERR_IO; ERR_FORMAT: the disk ends before. */
int disk_read(struct disk *, void *buf, size_t len, uint64_t off, struct err *);
/* Read n parts, at the same time where that is faster.  Errors as disk_read(). */
int disk_read_parts(struct disk *, const struct disk_part *, size_t n, struct err *);
/* A hint that [off, off+len) will be read soon, for back ends that take time to make what
 * is read. */
void disk_want(struct disk *, uint64_t off, uint64_t len);
/* Find the first data from `off` on: *data is where bytes begin that are no hole, *hole is where they
 * end.  Behind the last data both are the size.  Holes read as zeros; files have some, and what NBD
 * servers export. */
void disk_holes(const struct disk *, uint64_t off, uint64_t *data, uint64_t *hole);
/* Read up to len bytes at byte off, fewer only at the end.  Returns the count, or -1.  On a
 * stream, off must be where the last read ended (ERR_UNSUPPORTED). */
ssize_t disk_read_upto(
    struct disk *, void *buf, size_t len, uint64_t off, struct err *);
/* What is read in whole units alone, as sectors are; read() is called for those. */
struct disk_units {
	size_t bytes; /* of a unit */
	int (*read)(void *ctx, void *buf, size_t len, uint64_t off, struct err *);
	void *ctx;
};
/* Read any bytes of it.  A unit that is needed in part is read into memory of its own. */
int disk_read_units(
    const struct disk_units *, void *buf, size_t len, uint64_t off, struct err *);
/* Write exactly len bytes at byte off.  ERR_IO.  On a stream, off must be where the last write
 * ended (ERR_UNSUPPORTED). */
int disk_write(struct disk *, const void *buf, size_t len, uint64_t off, struct err *);
/* Make [off, off+len) read as zeros: by punching a hole or BLKZEROOUT where that is
 * available, else by writing. */
int disk_zero(struct disk *, uint64_t off, uint64_t len, struct err *);
/* A hint that nobody needs what is in [off, off+len); what is read there afterwards is not
 * known.  false: this disk cannot use the hint (errno says why). */
bool disk_discard(struct disk *, uint64_t off, uint64_t len);
/* A hint that [off, off+len) will be read soon. */
void disk_will_need(struct disk *, uint64_t off, uint64_t len);
/* disk_read() and disk_read_upto() from the medium instead of the page cache, as far as
 * the system allows that.  If buf, off and len are multiples of 4096 and the file takes
 * O_DIRECT, the read goes past the cache.  Otherwise the pages are written
 * (sync_file_range(2)) and dropped (POSIX_FADV_DONTNEED), and then read; pages that a
 * program has mapped stay. */
int disk_read_back(struct disk *, void *buf, size_t len, uint64_t off, struct err *);
ssize_t disk_read_back_upto(
    struct disk *, void *buf, size_t len, uint64_t off, struct err *);
/* Set the size in bytes of a regular file; ERR_UNSUPPORTED for all else.  ERR_IO. */
int disk_truncate(struct disk *, uint64_t size, struct err *);
/* Flush what was written to the medium.  ERR_IO; 0 where there is nothing to flush. */
int disk_sync(struct disk *, struct err *);
/* Tell the kernel that the partition table of a block device has changed; for all else, do
 * nothing.  ERR_IO: the kernel still uses the old table. */
int disk_reread_partitions(struct disk *, struct err *);

#endif /* COMMON_DISK_DISK_H */
