/* early.c: blocks of a growing file that come before their chunk is proved are kept (early.h).
 * source_live.c calls this, holding its lock, in any thread. */
#include "common/image/read/early.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/image/read/source.h"

static off_t
place_of(uint32_t chunk, uint32_t block)
{
	return (off_t)chunk * SOURCE_CHUNK_BYTES + (off_t)block * SOURCE_BLOCK_BYTES;
}

void
early_init(struct early *x)
{
	*x = (struct early){ .fd = -1 };
}

int
early_open(struct early *x, const char *path, uint32_t chunks, struct err *e)
{
	char *name;

	x->chunks = chunks;
	x->maps = calloc(chunks, sizeof(struct blockmap *));
	if (x->maps == NULL || asprintf(&name, "%s.early", path) < 0)
		return err_nomem(e, path);
	x->fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int rc = x->fd >= 0 ? 0 : err_os(e, "%s", name);
	if (rc == 0)
		unlink(name);
	free(name);
	return rc;
}

bool
early_keep(
    struct early *x, uint32_t chunk, uint32_t first, uint32_t count, const uint8_t *data)
{
	size_t bytes = (size_t)count * SOURCE_BLOCK_BYTES;
	struct blockmap those = blockmap_range(first, count);

	if (x->maps[chunk] == NULL)
		x->maps[chunk] = calloc(1, sizeof(struct blockmap));
	if (x->maps[chunk] == NULL ||
	    pwrite(x->fd, data, bytes, place_of(chunk, first)) != (ssize_t)bytes)
		return false;
	blockmap_add(x->maps[chunk], &those);
	return true;
}

void
early_forget(struct early *x, uint32_t chunk)
{
	if (x->maps == NULL || x->maps[chunk] == NULL)
		return;
	fallocate(x->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, place_of(chunk, 0),
	    SOURCE_CHUNK_BYTES);
	free(x->maps[chunk]);
	x->maps[chunk] = NULL;
}

struct blockmap
early_lacks(const struct early *x, uint32_t chunk, const struct blockmap *need)
{
	return x->maps == NULL || x->maps[chunk] == NULL
	           ? *need
	           : blockmap_minus(*need, x->maps[chunk]);
}

int
early_read(const struct early *x, const char *name, uint32_t chunk,
    const struct blockmap *need, uint32_t first, uint8_t *to, struct err *e)
{
	for (uint32_t b = 0, n;; b += n) {
		b = blockmap_next(need, b);
		n = blockmap_run(need, b, WIRE_CHUNK_BLOCKS - b);
		size_t bytes = (size_t)n * SOURCE_BLOCK_BYTES;
		if (n == 0)
			return 0;
		errno = EIO; /* a short read */
		if (pread(x->fd, to + (size_t)(b - first) * SOURCE_BLOCK_BYTES, bytes,
			place_of(chunk, b)) != (ssize_t)bytes)
			return err_os(e, "%s: chunk %u", name, chunk);
	}
}

void
early_close(struct early *x)
{
	for (uint32_t i = 0; x->maps != NULL && i < x->chunks; i++)
		free(x->maps[i]);
	free(x->maps);
	if (x->fd >= 0)
		close(x->fd);
	early_init(x);
}
