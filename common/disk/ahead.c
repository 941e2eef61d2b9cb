/* ahead.c: reads a disk ahead (ahead.h).  Called through disk.h, in any thread. */
#include "common/disk/ahead.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES_MAX = 64 };

struct ahead {
	struct disk *below;
	struct ahead_reads reads;
	pthread_mutex_t lock; /* guards the next two lines */
	uint64_t first; /* of places first to first + n - 1, `kept` has what was read */
	unsigned n;
	uint8_t *kept;
};

/* Read this place and those behind it that lie wholly on the disk.  The caller holds the
 * lock. */
static int
fetch(struct ahead *a, uint64_t place, struct err *e)
{
	struct disk_part parts[PLACES_MAX];
	uint64_t at = place * a->reads.every_bytes, size = disk_size_bytes(a->below);
	unsigned n = 0;

	for (; n < a->reads.places && at <= size && a->reads.bytes <= size - at; n++) {
		parts[n] = (struct disk_part){ at, a->reads.bytes,
			a->kept + n * a->reads.bytes };
		at += a->reads.every_bytes;
	}
	a->first = place;
	a->n = 0;
	if (disk_read_parts(a->below, parts, n, e) != 0)
		return -1;
	a->n = n;
	return 0;
}

/* Answer from memory, where the reads of all threads are in order.  1; 0: they are not,
 * so the place is to be read alone; -1. */
static int
read_kept(struct ahead *a, uint64_t place, void *to, struct err *e)
{
	int rc = 0;

	if (pthread_mutex_trylock(&a->lock) != 0)
		return 0;
	if (place == a->first + a->n)
		rc = fetch(a, place, e);
	bool here = rc == 0 && place - a->first < a->n;
	if (here)
		memcpy(to, a->kept + (place - a->first) * a->reads.bytes, a->reads.bytes);
	pthread_mutex_unlock(&a->lock);
	return here ? 1 : rc;
}

static int
read_bytes(void *ctx, void *buf, size_t len, uint64_t off, struct err *e)
{
	struct ahead *a = ctx;
	uint64_t every = a->reads.every_bytes;
	int rc = len == a->reads.bytes && off % every == 0
	             ? read_kept(a, off / every, buf, e)
	             : 0;

	if (rc == 0)
		return disk_read(a->below, buf, len, off, e);
	return rc == 1 ? 0 : -1;
}

static int
read_parts(void *ctx, const struct disk_part *parts, size_t n, struct err *e)
{
	const struct ahead *a = ctx;

	return n == 1 ? read_bytes(ctx, parts->to, parts->bytes, parts->at, e)
	              : disk_read_parts(a->below, parts, n, e);
}

static int
close_below(void *ctx)
{
	struct ahead *a = ctx;
	struct err ignored; /* nothing was written */

	disk_close(a->below, &ignored);
	pthread_mutex_destroy(&a->lock);
	free(a->kept);
	free(a);
	return 0;
}

int
ahead_open(struct disk **out, struct disk *below, const struct ahead_reads *reads,
    struct err *e)
{
	static const struct disk_ops ops = {
		.read = read_bytes, .read_parts = read_parts, .close = close_below
	};
	struct ahead *a = calloc(1, sizeof *a);
	struct err ignored;

	assert(reads->places <= PLACES_MAX);
	if (a == NULL) {
		disk_close(below, &ignored);
		return err_nomem(e, "reads ahead");
	}
	*a = (struct ahead){ .below = below, .reads = *reads };
	pthread_mutex_init(&a->lock, NULL);
	a->kept = malloc(reads->places * reads->bytes);
	int rc = a->kept != NULL ? disk_open_view(out, below, &ops, a, e)
	                         : err_nomem(e, "reads ahead");
	if (rc != 0)
		close_below(a);
	return rc;
}
