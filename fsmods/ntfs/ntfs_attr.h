/* ntfs_attr.h: the attributes of a record, before they are streams: for ntfs_boot.c,
 * ntfs_record.c, ntfs_list.c and ntfs_stream.c. */
#ifndef FSMODS_NTFS_NTFS_ATTR_H
#define FSMODS_NTFS_NTFS_ATTR_H

#include "fsmods/ntfs/ntfs_impl.h"

struct ntfs_attr {
	uint32_t type;
	bool resident;
	uint16_t flags;
	struct rd name;  /* UTF-16 */
	struct rd value; /* resident: the value; else the run list */
	uint64_t first_vcn, last_vcn;
	uint64_t bytes, valid;
};

/* ntfs_record.c */

/* The attribute of this type and name that starts at a vcn: 1, 0, -1. */
int ntfs_attr_find(const struct ntfs_record *, uint32_t type, const char *name,
    uint64_t vcn, struct ntfs_attr *, struct err *);
/* n bytes at off of what `whole` was made from. */
struct rd ntfs_slice(const struct rd *whole, size_t off, size_t n);
/* Is a name in UTF-16 this one? */
bool ntfs_name_is(struct rd name, const char *ascii);

/* ntfs_stream.c */

/* Put clusters behind a stream's others; lcn may be NTFS_HOLE. */
int ntfs_stream_append(const struct ntfs *, struct ntfs_stream *, uint64_t lcn,
    uint64_t len, struct err *);
/* One attribute, or one part of it, into the stream. */
int ntfs_stream_add(
    const struct ntfs *, const struct ntfs_attr *, struct ntfs_stream *, struct err *);

#endif /* FSMODS_NTFS_NTFS_ATTR_H */
