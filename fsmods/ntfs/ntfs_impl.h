/* ntfs_impl.h: reading NTFS's own files, bounded and read-only, for ntfs*.c.
 *
 * Layouts: the Linux-NTFS documentation (flatcap.github.io/linux-ntfs) and the
 * structures of libntfs-3g's layout.h and logfile.h.  No library is used: the
 * few files that matter (records 0 to 11, the root directory, three files in
 * it) need less code than a library would need guarding.
 *
 *	boot sector → $MFT's record → its run list → any record → any stream
 */
#ifndef FSMODS_NTFS_NTFS_IMPL_H
#define FSMODS_NTFS_NTFS_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/base/rd.h"
#include "common/disk/disk.h"
#include "common/disk/range.h"
#include "common/disk/rangeset.h"

enum ntfs_record_number {
	NTFS_MFT = 0,
	NTFS_MIRROR = 1,
	NTFS_LOG = 2,
	NTFS_VOLUME = 3,
	NTFS_ATTRDEF = 4,
	NTFS_ROOT = 5,
	NTFS_BITMAP = 6,
	NTFS_BOOT = 7,
	NTFS_BADCLUS = 8,
	NTFS_SECURE = 9,
	NTFS_UPCASE = 10,
};

enum ntfs_attr_type {
	NTFS_AT_LIST = 0x20,
	NTFS_AT_VOLUME_INFORMATION = 0x70,
	NTFS_AT_DATA = 0x80,
	NTFS_AT_INDEX_ROOT = 0x90,
	NTFS_AT_INDEX_ALLOCATION = 0xa0,
	NTFS_AT_BITMAP = 0xb0,
};

enum {
	NTFS_STRIDE = 512,          /* a fix-up every so many bytes, always */
	NTFS_CLUSTER_MAX = 2 << 20, /* bytes */
	NTFS_RECORD_MAX = 65536,    /* of the MFT or an index; bytes */
};

#define NTFS_HOLE UINT64_MAX
#define NTFS_REF_RECORD(ref) ((ref)&UINT64_C(0xffffffffffff))
#define NTFS_REF_SEQUENCE(ref) ((uint16_t)((ref) >> 48))

/* len clusters of a stream, from vcn on, are at lcn of the volume. */
struct ntfs_run {
	uint64_t vcn, lcn, len;
};

struct ntfs_stream {
	uint16_t flags; /* compressed, encrypted, sparse: 0 when plain */
	bool resident;
	uint64_t bytes, valid; /* valid: behind it, zeros are read */
	uint8_t *data;         /* resident; owned */
	struct ntfs_run *runs; /* owned */
	size_t nruns, cap;
	uint64_t clusters;  /* end of the last run */
	uint64_t allocated; /* clusters that are no holes */
};

struct ntfs {
	struct disk *disk;
	struct range part;
	uint32_t cluster_bytes, record_bytes;
	uint64_t sectors; /* of 512 bytes, without the backup boot sector */
	uint64_t clusters;
	uint64_t mft_lcn, mirror_lcn;
	struct ntfs_stream mft;
};

/* A record of the MFT, checked and with its fix-ups undone. */
struct ntfs_record {
	uint64_t number;
	uint16_t sequence, links, flags;
	uint64_t base; /* 0, or whose extension it is */
	uint32_t used_bytes;
	struct rd attrs;
	uint8_t bytes[NTFS_RECORD_MAX];
};

/* ntfs_boot.c */

/* What the boot sector says: 1 NTFS, 0 not, -1 cannot read it. */
int ntfs_boot(struct ntfs *, struct disk *, struct range part, struct err *);
/* After ntfs_boot(): find the MFT. */
int ntfs_open(struct ntfs *, struct err *);
void ntfs_close(struct ntfs *);

/* Bytes of the volume. */
int ntfs_read(const struct ntfs *, void *buf, size_t len, uint64_t off, struct err *);

/* ntfs_record.c */

/* Check a block with fix-ups ("FILE", "INDX", "RSTR") and undo them. */
int ntfs_fix_up(uint8_t *block, size_t bytes, const char magic[4], struct err *);
/* A record that is in use. */
int ntfs_record_read(
    const struct ntfs *, uint64_t number, struct ntfs_record *, struct err *);
/* The value of a resident attribute without a name: 1, 0 not there, -1. */
int ntfs_record_value(
    const struct ntfs_record *, uint32_t type, struct rd *value, struct err *);

/* ntfs_list.c */

/* The attribute of this type and ASCII name ("": none) in a base record, with its
 * attribute list followed: 1, 0 not there, -1.  To be closed whatever comes. */
int ntfs_stream_open(const struct ntfs *, const struct ntfs_record *, uint32_t type,
    const char *name, struct ntfs_stream *, struct err *);

/* ntfs_stream.c */

void ntfs_stream_close(struct ntfs_stream *);
int ntfs_stream_read(const struct ntfs *, const struct ntfs_stream *, void *buf,
    size_t len, uint64_t off, struct err *);
/* Add the clusters that the stream occupies. */
int ntfs_stream_clusters(
    const struct ntfs_stream *, struct rangeset *clusters, struct err *);

/* ntfs_state.c: fails, with the reason, unless the volume is clean. */
int ntfs_check_clean(const struct ntfs *, struct err *);
/* Does the volume have shadow copies (restore points)? */
int ntfs_has_shadows(const struct ntfs *, bool *has, struct err *);

/* ntfs_root.c: files in the root directory whose data may be left out. */
enum ntfs_special { NTFS_PAGEFILE, NTFS_SWAPFILE, NTFS_HIBERFIL, NTFS_SPECIALS };
struct ntfs_found {
	unsigned n; /* directory entries with that name */
	uint64_t ref;
};
int ntfs_root_find(
    const struct ntfs *, struct ntfs_found found[NTFS_SPECIALS], struct err *);

#endif /* FSMODS_NTFS_NTFS_IMPL_H */
