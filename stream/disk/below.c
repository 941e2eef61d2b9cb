/* below.c: reads and writes the disk below a streaming disk.  streamed.c and others of stream/disk
 * call this, in any thread.
 *
 * The page cache is passed by: a daemon whose disk is the root of its own machine would otherwise
 * wait for memory that only its own writes can free.  O_DIRECT asks for transfers of whole
 * blocks, and some kernels and devices ask for memory that is aligned to blocks, too.  A transfer
 * that is aligned like this goes straight between the disk and the caller's memory; all others go
 * through a buffer. */
#include "stream/disk/below.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "stream/disk/identity.h"

_Static_assert((int)BELOW_BOOT_BYTES == (int)IDENTITY_BOOT_BYTES, "the boot area has the identity");

enum { PAGE = 4096, BUFFER_BYTES = 1 << 20 };

/* Each thread keeps a buffer of this size, which a request of 64 KiB fits into wherever it begins.  With a
 * buffer from the heap for each request, the threads of a busy disk wait for the lock of the heap,
 * of which a daemon under a root disk has one. */
enum { KEPT_BYTES = (64 << 10) + 2 * PAGE };

/* Can blocks of this size be read past the page cache? */
static bool
can_read(int fd, size_t grain, void *buf)
{
	return pread(fd, buf, grain, (off_t)grain) >= 0;
}

/* Find out what transfers past the page cache must be aligned to.  Linux tells it since version
 * 6.1; for NVMe, memory must be aligned to 4 bytes.  Where it is not told, pages of memory are
 * right; a trial would not show what is needed, since the holes of a file are read without the
 * device.  tmpfs has no device, and takes any. */
static void
find_alignment(struct below *b, int fd)
{
	struct statfs fs;

	b->align = PAGE;
	if (fstatfs(fd, &fs) == 0 && fs.f_type == TMPFS_MAGIC)
		b->align = 1;
#ifdef STATX_DIOALIGN
	struct statx s;
	if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &s) != 0 ||
	    (s.stx_mask & STATX_DIOALIGN) == 0 || s.stx_dio_mem_align == 0)
		return;
	b->align = s.stx_dio_mem_align;
	b->grain = s.stx_dio_offset_align > b->grain ? s.stx_dio_offset_align : b->grain;
#endif
}

/* Does the disk consist of whole grains?  A file is not asked for smaller ones than pages, since its
 * filesystem may not tell the truth about them (find_alignment()). */
static bool
is_divisible(const struct below *b, size_t grain)
{
	uint64_t size = disk_size_bytes(b->disk);

	return grain <= PAGE && size % grain == 0 &&
	       (size % PAGE == 0 || disk_kind(b->disk) == DISK_BLOCK);
}

/* Set O_DIRECT, and find the smallest transfer.  Where O_DIRECT is not available, as on some
 * filesystems, the page cache is used. */
static void
go_direct(struct below *b, uint8_t *buf)
{
	int fd = disk_fd(b->disk), flags = fd >= 0 ? fcntl(fd, F_GETFL) : -1;

	b->grain = disk_sector_bytes(b->disk);
	b->align = 1;
	if (flags < 0 || !is_divisible(b, b->grain) || fcntl(fd, F_SETFL, flags | O_DIRECT) != 0)
		return;
	find_alignment(b, fd);
	b->direct = is_divisible(b, b->grain) && can_read(fd, b->grain, buf);
	if (!b->direct && is_divisible(b, PAGE) && can_read(fd, PAGE, buf)) {
		b->direct = true;
		b->grain = PAGE;
	}
	if (b->direct)
		return;
	fcntl(fd, F_SETFL, flags);
	b->grain = disk_sector_bytes(b->disk);
	b->align = 1;
}

int
below_init(struct below *b, struct disk *d, struct table *t, struct err *e)
{
	uint8_t *buf = aligned_alloc(PAGE, PAGE);

	if (buf == NULL)
		return err_nomem(e, disk_name(d));
	*b = (struct below){ .disk = d, .table = t };
	pthread_mutex_init(&b->lock, NULL);
	go_direct(b, buf);
	free(buf);
	return table_read_boot(t, b->boot, e);
}

void
below_free(struct below *b)
{
	if (b->disk == NULL)
		return;
	if (b->direct)
		fcntl(disk_fd(b->disk), F_SETFL, fcntl(disk_fd(b->disk), F_GETFL) & ~O_DIRECT);
	pthread_mutex_destroy(&b->lock);
}

/* The boot area. */

/* How many bytes of [at, at + n) are in the boot area?  They are the first ones. */
static size_t
in_boot(struct below *b, uint64_t at, uint64_t n)
{
	if (at >= BELOW_BOOT_BYTES || atomic_load(&b->boot_placed))
		return 0;
	return n < BELOW_BOOT_BYTES - at ? n : BELOW_BOOT_BYTES - at;
}

static void
read_boot(struct below *b, void *buf, size_t n, uint64_t at)
{
	pthread_mutex_lock(&b->lock);
	memcpy(buf, b->boot + at, n);
	pthread_mutex_unlock(&b->lock);
}

/* buf NULL: zeros. */
static int
write_boot(struct below *b, const void *buf, size_t n, uint64_t at, struct err *e)
{
	pthread_mutex_lock(&b->lock);
	if (buf != NULL)
		memcpy(b->boot + at, buf, n);
	else
		memset(b->boot + at, 0, n);
	b->boot_written = true;
	int rc = table_write_boot(b->table, b->boot, e);
	pthread_mutex_unlock(&b->lock);
	return rc;
}

/* Transfers. */

/* One transfer of the buffer: bytes [from, to) of the disk, in whole grains. */
struct transfer {
	uint64_t from, to;
	size_t skip, n; /* bytes of the caller's in it */
};

/* The first transfer for [at, at + n). */
static struct transfer
next_transfer(const struct below *b, uint64_t at, uint64_t n)
{
	struct transfer t = { .from = at / b->grain * b->grain };
	uint64_t end = (at + n + b->grain - 1) / b->grain * b->grain;

	t.to = end - t.from > BUFFER_BYTES ? t.from + BUFFER_BYTES : end;
	t.skip = at - t.from;
	t.n = t.to - t.from - t.skip < n ? t.to - t.from - t.skip : n;
	return t;
}

/* A file whose size is no multiple of the grain ends within the last transfer. */
static size_t
whole_bytes(const struct below *b, const struct transfer *t)
{
	uint64_t size = disk_size_bytes(b->disk);

	return (t->to < size ? t->to : size) - t->from;
}

/* Can the disk take these bytes from the caller's memory, or put them there? */
static bool
is_straight(const struct below *b, const void *memory, size_t n, uint64_t at)
{
	return at % b->grain == 0 && n % b->grain == 0 && (uintptr_t)memory % b->align == 0;
}

static pthread_once_t kept_once = PTHREAD_ONCE_INIT;
static pthread_key_t kept; /* the buffer that this thread keeps, which is freed when it ends */
static bool keeps;

static void
begin_keeping(void)
{
	keeps = pthread_key_create(&kept, free) == 0;
}

/* The buffer that this thread keeps; NULL: it can have none. */
static void *
kept_buffer(void)
{
	pthread_once(&kept_once, begin_keeping);
	if (!keeps)
		return NULL;
	void *buf = pthread_getspecific(kept);
	if (buf != NULL)
		return buf;
	buf = aligned_alloc(PAGE, KEPT_BYTES);
	if (buf != NULL && pthread_setspecific(kept, buf) != 0) {
		free(buf);
		return NULL;
	}
	return buf;
}

/* A buffer for transfers of n bytes.  A thread takes one at a time. */
static void *
take_buffer(struct below *b, uint64_t n, struct err *e)
{
	size_t bytes = n + 2 * b->grain < BUFFER_BYTES ? n + 2 * b->grain : BUFFER_BYTES;
	void *buf = bytes <= KEPT_BYTES ? kept_buffer() : NULL;

	if (buf == NULL)
		buf = aligned_alloc(PAGE, (bytes + PAGE - 1) / PAGE * PAGE);
	if (buf == NULL)
		err_nomem(e, disk_name(b->disk));
	return buf;
}

static void
drop_buffer(void *buf)
{
	if (!keeps || buf != pthread_getspecific(kept))
		free(buf);
}

/* Read behind the boot area, through a buffer. */
static int
read_buffered(struct below *b, uint8_t *out, size_t n, uint64_t at, struct err *e)
{
	uint8_t *buf = take_buffer(b, n, e);
	int rc = 0;

	if (buf == NULL)
		return -1;
	while (rc == 0 && n > 0) {
		struct transfer t = next_transfer(b, at, n);
		rc = disk_read(b->disk, buf, whole_bytes(b, &t), t.from, e);
		memcpy(out, buf + t.skip, t.n);
		out += t.n;
		at += t.n;
		n -= t.n;
	}
	drop_buffer(buf);
	return rc;
}

int
below_read(struct below *b, void *to, size_t n, uint64_t at, struct err *e)
{
	size_t boot = in_boot(b, at, n);
	uint8_t *out = to;

	if (boot > 0)
		read_boot(b, out, boot, at);
	out += boot;
	at += boot;
	n -= boot;
	if (n == 0)
		return 0;
	return is_straight(b, out, n, at) ? disk_read(b->disk, out, n, at, e)
	                                  : read_buffered(b, out, n, at, e);
}

/* Write the caller's bytes of one transfer; the others of its grains stay as they are. */
static int
write_transfer(struct below *b, const struct transfer *t, const void *from, uint8_t *buf,
    struct err *e)
{
	size_t whole = whole_bytes(b, t);

	if (t->n < whole && disk_read(b->disk, buf, whole, t->from, e) != 0)
		return -1;
	memcpy(buf + t->skip, from, t->n);
	return disk_write(b->disk, buf, whole, t->from, e);
}

/* Write behind the boot area, through a buffer. */
static int
write_buffered(struct below *b, const uint8_t *p, size_t n, uint64_t at, struct err *e)
{
	uint8_t *buf = take_buffer(b, n, e);
	int rc = 0;

	if (buf == NULL)
		return -1;
	while (rc == 0 && n > 0) {
		struct transfer t = next_transfer(b, at, n);
		rc = write_transfer(b, &t, p, buf, e);
		p += t.n;
		at += t.n;
		n -= t.n;
	}
	drop_buffer(buf);
	return rc;
}

int
below_write(struct below *b, const void *from, size_t n, uint64_t at, struct err *e)
{
	size_t boot = in_boot(b, at, n);
	const uint8_t *p = from;

	if (boot > 0 && write_boot(b, p, boot, at, e) != 0)
		return -1;
	p += boot;
	at += boot;
	n -= boot;
	if (n == 0)
		return 0;
	return is_straight(b, p, n, at) ? disk_write(b->disk, p, n, at, e)
	                                : write_buffered(b, p, n, at, e);
}

/* Zero the odd ends of [*at, *at + *n) by writing, so that whole grains remain. */
static int
zero_ends(struct below *b, uint64_t *at, uint64_t *n, struct err *e)
{
	static const uint8_t zeros[PAGE];
	uint64_t front = (b->grain - *at % b->grain) % b->grain;

	front = front < *n ? front : *n;
	if (front > 0 && below_write(b, zeros, front, *at, e) != 0)
		return -1;
	*at += front;
	*n -= front;
	uint64_t back = *n % b->grain;
	if (back > 0 && below_write(b, zeros, back, *at + *n - back, e) != 0)
		return -1;
	*n -= back;
	return 0;
}

int
below_zero(struct below *b, uint64_t at, uint64_t n, struct err *e)
{
	size_t boot = in_boot(b, at, n);

	if (boot > 0 && write_boot(b, NULL, boot, at, e) != 0)
		return -1;
	at += boot;
	n -= boot;
	if (zero_ends(b, &at, &n, e) != 0)
		return -1;
	return n > 0 ? disk_zero(b->disk, at, n, e) : 0;
}

void
below_discard(struct below *b, uint64_t at, uint64_t n)
{
	uint64_t from = (at + PAGE - 1) / PAGE * PAGE, to = (at + n) / PAGE * PAGE;

	if (from < BELOW_BOOT_BYTES)
		from = BELOW_BOOT_BYTES;
	if (from < to)
		disk_discard(b->disk, from, to - from);
}

/* Returns whether the boot area was written since it was flushed, and takes note of the flush. */
static bool
take_boot(struct below *b)
{
	pthread_mutex_lock(&b->lock);
	bool written = b->boot_written;
	b->boot_written = false;
	pthread_mutex_unlock(&b->lock);
	return written;
}

int
below_sync(struct below *b, struct err *e)
{
	if (take_boot(b) && table_sync(b->table, e) != 0)
		return -1;
	return disk_sync(b->disk, e);
}

void
below_identity(struct below *b, uint8_t out[TABLE_DISK_BYTES])
{
	pthread_mutex_lock(&b->lock);
	identity_of(b->boot, out);
	pthread_mutex_unlock(&b->lock);
}

/* Write and flush the boot area from byte `from` on.  In front of it, page[] has what is on the
 * disk. */
static int
put_boot_from(struct below *b, uint8_t page[BELOW_BOOT_BYTES], size_t from, struct err *e)
{
	read_boot(b, page + from, BELOW_BOOT_BYTES - from, from);
	if (disk_write(b->disk, page, BELOW_BOOT_BYTES, 0, e) != 0)
		return -1;
	return disk_sync(b->disk, e);
}

/* The first sector, which has the marker, comes last, because a power cut may let some of the
 * sectors be written and others not. */
int
below_put_boot(struct below *b, struct err *e)
{
	uint8_t *page = take_buffer(b, BELOW_BOOT_BYTES, e);

	if (page == NULL)
		return -1;
	int rc = disk_read(b->disk, page, BELOW_BOOT_BYTES, 0, e);
	if (rc == 0)
		rc = put_boot_from(b, page, SECTOR_BYTES, e);
	if (rc == 0)
		rc = put_boot_from(b, page, 0, e);
	drop_buffer(page);
	if (rc != 0)
		return -1;
	atomic_store(&b->boot_placed, true);
	return 0;
}
