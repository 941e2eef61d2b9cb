/* source_disk.c: the bytes of a file, of a pipe, or of what is behind a server, as a
 * source.  Whoever has the source calls this, in any thread; source_next() in one at a
 * time. */
#include <stdlib.h>
#include <string.h>

#include "common/disk/disk.h"
#include "common/image/read/source.h"

struct disk_source {
	struct disk *disk;
	uint32_t next; /* chunk that source_next() gives out */
	bool ended;    /* all chunks were given out */
};

static const char *
name(void *self)
{
	const struct disk_source *s = self;

	return disk_name(s->disk);
}

static int
info(void *self, struct source_info *info, struct err *e)
{
	const struct disk_source *s = self;
	uint64_t bytes = disk_size_bytes(s->disk);

	info->in_order = !disk_seekable(s->disk);
	if (info->in_order)
		return 0;
	uint64_t chunks = bytes / SOURCE_CHUNK_BYTES + (bytes % SOURCE_CHUNK_BYTES != 0);
	if (chunks >= SOURCE_CHUNKS_UNKNOWN)
		return err_set(e, ERR_UNSUPPORTED, "%s: has more chunks than can be counted",
		    disk_name(s->disk));
	info->bytes = bytes;
	info->chunks = (uint32_t)chunks;
	info->has_identity = disk_digest(s->disk) != NULL;
	if (info->has_identity)
		memcpy(info->identity, disk_digest(s->disk), sizeof info->identity);
	return 0;
}

/* Most runs of blocks that one chunk can have. */
enum { RUNS_MAX = WIRE_CHUNK_BLOCKS / 2 };

/* Cut the part at the end of the file; what is behind its end is zeros.  False: all is
 * behind. */
static bool
cut(const struct disk_source *s, struct disk_part *p)
{
	uint64_t size = disk_size_bytes(s->disk), left = p->at < size ? size - p->at : 0;
	size_t there = left < p->bytes ? (size_t)left : p->bytes;

	memset(p->to + there, 0, p->bytes - there);
	p->bytes = there;
	return there > 0;
}

static int
read_blocks(void *self, uint32_t chunk, const struct blockmap *need, uint32_t first,
    void *to, struct err *e)
{
	struct disk_source *s = self;
	uint64_t at = (uint64_t)chunk * SOURCE_CHUNK_BYTES;
	struct disk_part parts[RUNS_MAX];
	size_t n = 0;
	uint32_t run;

	if (!disk_seekable(s->disk))
		return err_set(e, ERR_UNSUPPORTED,
		    "%s: is a pipe, which cannot be read in any order",
		    disk_name(s->disk));
	if (at >= disk_size_bytes(s->disk))
		return err_set(e, ERR_FORMAT, "%s: has no chunk %u: it is too short",
		    disk_name(s->disk), chunk);
	for (uint32_t b = 0; (run = blockmap_next_run(need, &b)) > 0; b += run) {
		parts[n] = (struct disk_part){ at + (uint64_t)b * SOURCE_BLOCK_BYTES,
			(size_t)run * SOURCE_BLOCK_BYTES,
			(uint8_t *)to + (size_t)(b - first) * SOURCE_BLOCK_BYTES };
		n += cut(s, &parts[n]);
	}
	return disk_read_parts(s->disk, parts, n, e);
}

static void
want(void *self, uint32_t chunk, const struct blockmap *need, enum source_when when)
{
	struct disk_source *s = self;
	uint64_t at = (uint64_t)chunk * SOURCE_CHUNK_BYTES;
	uint32_t n;

	for (uint32_t b = 0; (n = blockmap_next_run(need, &b)) > 0; b += n) {
		uint64_t off = at + (uint64_t)b * SOURCE_BLOCK_BYTES;
		uint64_t len = (uint64_t)n * SOURCE_BLOCK_BYTES;
		disk_want(s->disk, off, len);
		/* A read that comes at once needs no hint to the kernel. */
		if (when != SOURCE_NOW)
			disk_will_need(s->disk, off, len);
	}
}

static int
next(void *self, uint32_t *chunk, void *to, size_t *bytes, struct err *e)
{
	struct disk_source *s = self;

	if (s->ended)
		return 0;
	ssize_t n = disk_read_upto(s->disk, to, SOURCE_CHUNK_BYTES,
	    (uint64_t)s->next * SOURCE_CHUNK_BYTES, e);
	if (n < 0)
		return -1;
	s->ended = n < SOURCE_CHUNK_BYTES;
	if (n == 0)
		return 0;
	memset((uint8_t *)to + n, 0, SOURCE_CHUNK_BYTES - (size_t)n);
	*chunk = s->next++;
	*bytes = (size_t)n;
	return 1;
}

static void
close_disk(void *self)
{
	struct disk_source *s = self;
	struct err ignored; /* nothing was written */

	disk_close(s->disk, &ignored);
	free(s);
}

int
source_of_disk(struct source *out, struct disk *d, struct err *e)
{
	static const struct source_ops ops = { .name = name,
		.info = info,
		.read = read_blocks,
		.want = want,
		.next = next,
		.close = close_disk };
	struct disk_source *s = calloc(1, sizeof *s);
	struct err ignored;

	if (s == NULL) {
		err_nomem(e, disk_name(d));
		disk_close(d, &ignored);
		return -1;
	}
	s->disk = d;
	*out = (struct source){ &ops, s };
	return 0;
}
