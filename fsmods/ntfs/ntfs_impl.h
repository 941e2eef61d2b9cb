/* ntfs_impl.h: reads NTFS through libntfs-3g, read-only; for ntfs*.c only.
 *
 * The library finds records, attributes, run lists and names, and reads what they lead
 * to. What the library says is checked here: it was made to mount whatever can be
 * mounted, and it takes for granted, or for zeros, some data that decides about free
 * space. Names here begin with nt_, since the library's begin with ntfs_.
 *
 * Layouts: the library's layout.h and logfile.h.
 */
#ifndef FSMODS_NTFS_NTFS_IMPL_H
#define FSMODS_NTFS_NTFS_IMPL_H

/* The library's headers include these only where its own configuration says that they
 * exist; without <endian.h> they would take every machine for a little-endian one. */
#include <endian.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

#include <ntfs-3g/attrib.h>
#include <ntfs-3g/inode.h>
#include <ntfs-3g/layout.h>
#include <ntfs-3g/volume.h>

#include "common/base/err.h"
#include "common/disk/disk.h"
#include "common/disk/range.h"
#include "common/disk/rangeset.h"

#define NT_HOLE UINT64_MAX

/* What the boot sector says. */
struct nt_boot {
	uint32_t cluster_bytes;
	uint64_t sectors; /* of 512 bytes, without the backup boot sector */
	uint64_t clusters;
	uint64_t mft_lcn, mirror_lcn;
};

struct nt {
	struct disk *disk;
	struct range part;
	struct nt_boot boot;
	ntfs_volume *vol;
	uint64_t at;    /* where the library would read next, bytes of the partition */
	char said[256]; /* its first complaint since nt_ask(), or "" */
	char first[256]; /* its first complaint of all, or "" */
};

/* len clusters of a stream, from vcn on, are at lcn of the volume. */
struct nt_run {
	uint64_t vcn, lcn, len;
};

/* An attribute of a file, and where it is; no part of it leaves the volume. */
struct nt_stream {
	ntfs_attr *attr;
	struct nt_run *runs; /* owned; none when the value is in the record */
	size_t nruns, cap;
	uint64_t clusters;  /* end of the last run */
	uint64_t allocated; /* clusters that are no holes */
};

/* ntfs_boot.c */

/* Decode the boot sector of a partition: 1 it is NTFS, 0 it is not, -1 cannot be read. */
int nt_boot(struct nt_boot *, struct disk *, struct range part, struct err *);

/* ntfs_volume.c */

/* Have the library open the volume of v->disk and v->part, after nt_boot(v->boot). Fails
 * with the reason: ERR_FORMAT, ERR_UNSUPPORTED, ERR_NOMEM. nt_close() follows in any
 * case. */
int nt_open(struct nt *, struct err *);
void nt_close(struct nt *);
/* Forget the library's last complaint and errno, before the library is asked for
 * something. */
void nt_ask(struct nt *);
/* Set an error after the library has failed: `what` it did, and why, in its own words or
 * those of errno. Returns -1. */
int nt_fail(const struct nt *, struct err *, const char *what);
/* Fails when the library has complained of anything, even if it went on. */
int nt_check_calm(const struct nt *, struct err *);
/* Open a file by its number, with its sequence number, or 0, in the upper 16 bits. The
 * caller closes it with ntfs_inode_close(). */
int nt_file(struct nt *, uint64_t ref, ntfs_inode **, struct err *);

/* ntfs_stream.c */

/* Open the attribute of this type and ASCII name ("": none), and read its run list: 1, 0
 * there is none, -1. nt_stream_close() follows in any case. */
int nt_stream_open(struct nt *, ntfs_inode *, ATTR_TYPES type, const char *name,
    struct nt_stream *, struct err *);
void nt_stream_close(struct nt_stream *);
/* Is the stream neither compressed, encrypted nor sparse? */
bool nt_stream_plain(const struct nt_stream *);
/* Read len bytes at byte off of the stream. All of them must be on the disk: a hole is
 * ERR_UNSUPPORTED. */
int nt_stream_read(struct nt *, const struct nt_stream *, void *buf, size_t len,
    uint64_t off, struct err *);
/* Add the clusters that the stream occupies to the set. */
int nt_stream_clusters(const struct nt_stream *, struct rangeset *clusters, struct err *);

/* ntfs_state.c
 *
 * Fails, with the reason, unless the volume is clean and not hibernated (ERR_REFUSED).
 */
int nt_check_clean(struct nt *, struct err *);
/* Does the volume have shadow copies (restore points)? Fails when they cannot be read. */
int nt_has_shadows(const struct nt *, bool *has, struct err *);

/* ntfs_root.c: finds files in the root directory whose data may be left out. */
enum nt_special { NT_PAGEFILE, NT_SWAPFILE, NT_HIBERFIL, NT_SPECIALS };
struct nt_found {
	unsigned n; /* directory entries with that name */
	uint64_t ref;
};
/* Look for all special files by name, without regard to case. */
int nt_root_find(struct nt *, struct nt_found found[NT_SPECIALS], struct err *);

/* ntfs_hot.c: report, with skip_hot(), what every use of the volume changes. */
struct skip_sink;
int nt_hot(struct nt *, struct skip_sink *, struct err *);

#endif /* FSMODS_NTFS_NTFS_IMPL_H */
