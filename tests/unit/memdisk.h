/* memdisk.h: a disk in memory, which can fail or wait where a test says so, and functions
 * that make and mend partition tables on it. */
#ifndef TESTS_UNIT_MEMDISK_H
#define TESTS_UNIT_MEMDISK_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/base/rd.h"
#include "common/base/wr.h"
#include "common/disk/disk.h"

enum mem_access { MEM_READ, MEM_WRITE, MEM_ZERO, MEM_SYNC };

struct mem {
	uint8_t *b; /* owned by the user; NULL: zeros, and what is written is forgotten */
	size_t len;
	_Atomic size_t bad; /* byte of the unreadable sector, or SIZE_MAX */
	/* Called before each access, by its thread; it returns the errno of a failure,
	 * or 0.  NULL: nothing is called. */
	int (*before)(struct mem *, enum mem_access, struct range bytes);
	_Atomic uint64_t writes; /* so often was it written to */
	_Atomic uint64_t flushed; /* so many of these writes were flushed */
	_Atomic uint64_t wanted_at, wanted_bytes; /* of the last hint */
};

/* A disk of these bytes, all of which can be read. */
static inline struct mem
mem_of(void *bytes, size_t len)
{
	return (struct mem){ .b = bytes, .len = len, .bad = SIZE_MAX };
}

static inline bool
mem_fails(struct mem *m, enum mem_access what, struct range bytes)
{
	errno = m->before != NULL ? m->before(m, what, bytes) : 0;
	return errno != 0;
}

static inline ssize_t
mem_pread(void *ctx, void *buf, size_t len, uint64_t off)
{
	struct mem *m = ctx;

	if (off >= m->len)
		return 0;
	if (len > m->len - off)
		len = m->len - off;
	if (mem_fails(m, MEM_READ, (struct range){ off, len }))
		return -1;
	if (m->bad >= off && m->bad < off + len) {
		errno = EIO;
		return -1;
	}
	if (m->b != NULL)
		memcpy(buf, m->b + off, len);
	else
		memset(buf, 0, len);
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
	if (mem_fails(m, MEM_WRITE, (struct range){ off, len }))
		return -1;
	m->writes++;
	if (m->b != NULL)
		memcpy(m->b + off, buf, len);
	return (ssize_t)len;
}

static inline int
mem_zero(void *ctx, uint64_t off, uint64_t len)
{
	struct mem *m = ctx;

	if (mem_fails(m, MEM_ZERO, (struct range){ off, len }))
		return -1;
	if (m->b != NULL)
		memset(m->b + off, 0, len);
	return 0;
}

static inline int
mem_sync(void *ctx)
{
	struct mem *m = ctx;

	if (mem_fails(m, MEM_SYNC, (struct range){ 0, m->len }))
		return -1;
	m->flushed = m->writes;
	return 0;
}

static inline void
mem_want(void *ctx, uint64_t off, uint64_t len)
{
	struct mem *m = ctx;

	m->wanted_at = off;
	m->wanted_bytes = len;
}

/* Opens it under this name; it must stay as long as the disk is open. */
static inline struct disk *
mem_open(struct mem *m, const char *name, enum disk_kind kind)
{
	static const struct disk_ops ops = { .pread = mem_pread,
		.pwrite = mem_pwrite,
		.zero = mem_zero,
		.sync = mem_sync,
		.want = mem_want };
	uint64_t size = kind == DISK_STREAM ? UINT64_MAX : m->len;
	struct disk *d;
	struct err e;

	if (disk_open_ops(&d, name, kind, size, &ops, m, &e) != 0)
		abort();
	return d;
}

static inline struct disk *
mem_disk(struct mem *m, enum disk_kind kind, unsigned sector_bytes)
{
	struct disk *d = mem_open(m, "mem", kind);

	disk_set_sector_bytes(d, sector_bytes);
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
