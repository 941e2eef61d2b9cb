/* sparse_disk.h: a disk of any size whose few sectors that matter come from a
 * short input; the rest is zeros.
 *
 *	le64 sectors, then any number of: le64 first sector, le32 bytes, the bytes
 *
 * record_fs writes such files from real filesystems: what a scan of them reads.
 */
#ifndef TESTS_FUZZ_SPARSE_DISK_H
#define TESTS_FUZZ_SPARSE_DISK_H

#include <stdlib.h>
#include <string.h>

#include "common/base/rd.h"
#include "common/disk/disk.h"

enum { SPARSE_EXTENTS_MAX = 4096 };

struct sparse_disk {
	uint64_t bytes;
	unsigned n;
	struct {
		uint64_t off;
		size_t len;
		const uint8_t *data;
	} extents[SPARSE_EXTENTS_MAX];
};

static inline ssize_t
sparse_pread(void *ctx, void *buf, size_t len, uint64_t off)
{
	const struct sparse_disk *s = ctx;

	if (off >= s->bytes)
		return 0;
	if (len > s->bytes - off)
		len = (size_t)(s->bytes - off);
	memset(buf, 0, len);
	for (unsigned i = 0; i < s->n; i++) {
		uint64_t lo = s->extents[i].off > off ? s->extents[i].off : off;
		uint64_t end = s->extents[i].off + s->extents[i].len;
		uint64_t hi = end < off + len ? end : off + len;
		if (lo < hi)
			memcpy((uint8_t *)buf + (lo - off),
			    s->extents[i].data + (lo - s->extents[i].off), hi - lo);
	}
	return (ssize_t)len;
}

/* The disk that an input stands for; NULL when it is none.  The input must stay. */
static inline struct disk *
sparse_open(struct sparse_disk *s, const uint8_t *data, size_t len)
{
	static const struct disk_ops ops = { .pread = sparse_pread };
	struct rd r = rd_from(data, len);
	uint64_t sectors = rd_le64(&r);
	struct disk *d;
	struct err e;

	if (!rd_ok(&r) || sectors > UINT64_C(1) << 45)
		return NULL;
	*s = (struct sparse_disk){ .bytes = sectors * 512 };
	while (rd_left(&r) > 12 && s->n < SPARSE_EXTENTS_MAX) {
		uint64_t first = rd_le64(&r);
		uint32_t bytes = rd_le32(&r);
		if (bytes > rd_left(&r))
			bytes = (uint32_t)rd_left(&r);
		const uint8_t *p = rd_bytes(&r, bytes);
		if (first >= sectors)
			continue;
		s->extents[s->n].off = first * 512;
		s->extents[s->n].len = bytes;
		s->extents[s->n++].data = p;
	}
	if (disk_open_ops(&d, "sparse", DISK_FILE, s->bytes, &ops, s, &e) != 0)
		abort();
	return d;
}

/* try() the disk as it is, and again read through ops, which put its checksums right.
 */
static inline void
sparse_try_both(const uint8_t *data, size_t len, const struct disk_ops *mending,
    void (*try)(struct disk *, uint64_t sectors))
{
	struct sparse_disk s;
	struct disk *d = sparse_open(&s, data, len);
	struct err e;

	if (d == NULL)
		return;
	try(d, s.bytes / 512);
	disk_close(d, &e);
	if (disk_open_ops(&d, "mended", DISK_FILE, s.bytes, mending, &s, &e) != 0)
		abort();
	try(d, s.bytes / 512);
	disk_close(d, &e);
}

#endif /* TESTS_FUZZ_SPARSE_DISK_H */
