/* memdisk.h: a disk in memory, which may have a sector that cannot be read, and functions that
 * make and mend partition tables on it. */
#ifndef TESTS_UNIT_MEMDISK_H
#define TESTS_UNIT_MEMDISK_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/base/rd.h"
#include "common/base/wr.h"
#include "common/disk/disk_impl.h"

struct mem {
	uint8_t *b; /* owned by the user */
	size_t len;
	size_t bad; /* byte of the unreadable sector, or SIZE_MAX */
};

static inline ssize_t
mem_pread(void *ctx, void *buf, size_t len, uint64_t off)
{
	struct mem *m = ctx;

	if (off >= m->len)
		return 0;
	if (len > m->len - off)
		len = m->len - off;
	if (m->bad >= off && m->bad < off + len) {
		errno = EIO;
		return -1;
	}
	memcpy(buf, m->b + off, len);
	return (ssize_t)len;
}

static inline ssize_t
mem_pwrite(void *ctx, const void *buf, size_t len, uint64_t off)
{
	struct mem *m = ctx;

	if (off > m->len || len > m->len - off) {
		errno = ENOSPC;
		return -1;
	}
	memcpy(m->b + off, buf, len);
	return (ssize_t)len;
}

static inline struct disk *
mem_disk(struct mem *m, enum disk_kind kind, unsigned sector_bytes)
{
	static const struct disk_ops ops = { .pread = mem_pread, .pwrite = mem_pwrite };
	struct disk *d;
	struct err e;

	if (disk_open_ops(&d, "mem", kind, m->len, &ops, m, &e) != 0)
		abort();
	d->sector_bytes = sector_bytes;
	return d;
}

static inline uint64_t
peek(const uint8_t *p, size_t bytes)
{
	uint64_t v = 0;

	for (size_t i = bytes; i-- > 0;)
		v = v << 8 | p[i];
	return v;
}

static inline void
poke(uint8_t *p, uint64_t v, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

/* Gives the GPT header at lba, and its array of entries, the right checksums. */
static inline void
gpt_mend(struct mem *m, unsigned ss, uint64_t lba)
{
	if (lba >= m->len / ss)
		return;
	uint8_t *h = m->b + lba * ss;
	uint64_t len = peek(h + 12, 4), array = peek(h + 72, 8);
	uint64_t bytes = peek(h + 80, 4) * peek(h + 84, 4);

	if (len < 92 || len > ss)
		return;
	if (array <= m->len / ss && bytes <= m->len - array * ss)
		poke(h + 88, crc32(0, m->b + array * ss, (uInt)bytes), 4);
	poke(h + 16, 0, 4);
	poke(h + 16, crc32(0, h, (uInt)len), 4);
}

/* Writes the i-th entry of the MBR or EBR at lba, and its signature. */
static inline void
mbr_put(
    struct mem *m, uint64_t lba, int i, uint8_t type, uint32_t first, uint32_t count)
{
	uint8_t *s = m->b + lba * 512, *p = s + 446 + 16 * i;

	p[4] = type;
	poke(p + 8, first, 4);
	poke(p + 12, count, 4);
	poke(s + 510, 0xaa55, 2);
}

#endif /* TESTS_UNIT_MEMDISK_H */
