/* known_file.h: an image file of which only some blocks can be read, and whether these are enough
 * to read sectors of the disk that it was made of. */
#ifndef TESTS_UNIT_KNOWN_FILE_H
#define TESTS_UNIT_KNOWN_FILE_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/disk/disk.h"
#include "common/image/read/random.h"
#include "common/image/read/sectors.h"
#include "common/wire/wire.h"
#include "tests/unit/disk_model.h"

enum { IMAGE_MOST = 16 << 20, BLOCKS_MOST = IMAGE_MOST / WIRE_BLOCK_BYTES, READ_MOST = 700 };

/* An image file of which, while `limited`, only some blocks can be read. */
static struct {
	uint8_t *bytes;
	size_t len;
	bool limited, known[BLOCKS_MOST];
} file;

static inline ssize_t
pread_known(void *ctx, void *buf, size_t len, uint64_t off)
{
	(void)ctx;
	if (off >= file.len)
		return 0;
	if (len > file.len - off)
		len = file.len - off;
	for (uint64_t at = off; file.limited && at < off + len; at++)
		if (!file.known[at / WIRE_BLOCK_BYTES]) {
			errno = EIO;
			return -1;
		}
	memcpy(buf, file.bytes + off, len);
	return (ssize_t)len;
}

static inline struct sectors *
open_file(void)
{
	static const struct disk_ops ops = { .pread = pread_known };
	struct sectors *s;
	struct disk *d;
	struct err e;

	file.limited = false;
	if (disk_open_ops(&d, "image", DISK_FILE, file.len, &ops, NULL, &e) != 0 ||
	    sectors_open_disk(&s, d, NULL, &e) != 0) {
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
	file.len = fread(file.bytes, 1, IMAGE_MOST, f);
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
