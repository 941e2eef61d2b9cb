/* known_file.h: an image file of which only some blocks can be read, and whether these are enough
 * to read sectors of the disk that it was made of. */
#ifndef TESTS_UNIT_KNOWN_FILE_H
#define TESTS_UNIT_KNOWN_FILE_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/image/read/random.h"
#include "common/image/read/sectors.h"
#include "common/wire/wire.h"
#include "tests/unit/disk_model.h"
#include "tests/unit/memdisk.h"

enum { IMAGE_MOST = 16 << 20, BLOCKS_MOST = IMAGE_MOST / WIRE_BLOCK_BYTES, READ_MOST = 700 };

/* An image file of which, while `limited`, only some blocks can be read. */
static struct {
	struct mem mem;
	bool limited, known[BLOCKS_MOST];
} file = { .mem.bad = SIZE_MAX };

static inline int
is_unknown(struct mem *m, enum mem_access what, struct range bytes)
{
	(void)m, (void)what;
	for (uint64_t at = bytes.off; file.limited && at < range_end(bytes); at++)
		if (!file.known[at / WIRE_BLOCK_BYTES])
			return EIO;
	return 0;
}

static inline struct sectors *
open_file(void)
{
	struct sectors *s;
	struct err e;

	file.limited = false;
	file.mem.before = is_unknown;
	struct disk *d = mem_open(&file.mem, "image", DISK_FILE);
	if (sectors_open_disk(&s, d, NULL, &e) != 0) {
		printf("# %s\n", e.text);
		abort();
	}
	return s;
}

static inline void
load_file(const char *path)
{
	FILE *f = fopen(path, "rb");

	if (f == NULL)
		abort();
	file.mem.len = fread(file.mem.b, 1, IMAGE_MOST, f);
	fclose(f);
}

/* From now on this block of a chunk can be read.  False: it could before. */
static inline bool
know(uint32_t chunk, uint32_t block)
{
	bool *known = &file.known[chunk * WIRE_CHUNK_BLOCKS + block];
	bool fresh = !*known;

	*known = true;
	return fresh;
}

/* Can these sectors be read when only the known blocks can? */
static inline bool
suffices(struct range r, const struct model *m)
{
	static uint8_t buf[READ_MOST * SECTOR_BYTES];
	struct random *anywhere;
	struct err e;

	if (random_open(&anywhere, open_file(), 1 << 20, &e) != 0)
		return false;
	file.limited = true;
	int rc = random_read(anywhere, r, buf, &e);
	if (rc != 0)
		printf("# %s\n", e.text);
	random_close(anywhere);
	return rc == 0 &&
	       memcmp(buf, m->data + r.off * SECTOR_BYTES, r.len * SECTOR_BYTES) == 0;
}

#endif /* TESTS_UNIT_KNOWN_FILE_H */
