/* export.c: an image as the disk that it was made of.  The plugin and streamdisk call this;
 * export_read() and export_run() come from any thread. */
#include "stream/export/export.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/disk/rangeset.h"
#include "common/image/read/random.h"
#include "common/image/read/sectors.h"

/* Threads that read at the same time: each needs some memory for what it decodes. */
enum { READERS_MAX = 32 };

struct export {
	struct source source;    /* the image's, */
	struct random *random;
	struct sectors *sectors; /* the random's */
	const struct rangeset *stored; /* the sectors' */
	uint64_t bytes;
	unsigned sector_bytes; /* of the disk that the image was made of */
	pthread_mutex_t lock;  /* of `readers` */
	pthread_cond_t ended;  /* one has */
	unsigned readers;
};

/* What the image stores must lie on its disk. */
static int
check_size(struct export *x, uint64_t bytes, enum err_kind kind, struct err *e)
{
	uint64_t sectors = bytes / SECTOR_BYTES + (bytes % SECTOR_BYTES != 0);
	size_t n = rangeset_count(x->stored);
	uint64_t end = n > 0 ? range_end(rangeset_get(x->stored, n - 1)) : 0;

	if (end > sectors)
		return err_set(e, kind,
		    "%s: stores sector %" PRIu64 ", which a disk of %" PRIu64
		    " bytes does not have",
		    export_name(x), end - 1, bytes);
	x->bytes = bytes;
	return 0;
}

static int
find_size(struct export *x, const struct export_config *cfg, struct err *e)
{
	const struct ext *ext = sectors_ext(x->sectors);
	const struct ext_image *image = ext->has_image ? &ext->image : NULL;
	uint64_t said = image != NULL ? image->source_bytes : 0;
	uint64_t total = sectors_total(x->sectors);

	x->sector_bytes = image != NULL ? image->sector_bytes : 0;
	if (cfg->size_bytes != 0)
		return check_size(x, cfg->size_bytes, ERR_USAGE, e);
	if (said == 0 && total > INT64_MAX / SECTOR_BYTES)
		return err_set(e, ERR_FORMAT, "%s: is of %" PRIu64 " sectors, which no disk has",
		    export_name(x), total);
	if (said > INT64_MAX)
		return err_set(e, ERR_FORMAT, "%s: is of %" PRIu64 " bytes, which no disk has",
		    export_name(x), said);
	return check_size(x, said != 0 ? said : total * SECTOR_BYTES, ERR_FORMAT, e);
}

static int
open_random(struct export *x, struct source *source, const struct export_config *cfg,
    struct err *e)
{
	uint64_t cache = cfg->cache_bytes != 0 ? cfg->cache_bytes : EXPORT_CACHE_BYTES;

	x->source = *source;
	if (sectors_open_source(&x->sectors, source, cfg->proof, e) != 0)
		return -1;
	if (random_open(&x->random, x->sectors, cache, e) != 0) {
		x->sectors = NULL;
		return -1;
	}
	if (ext_is_delta(sectors_ext(x->sectors)))
		return err_set(e, ERR_UNSUPPORTED,
		    "%s: is a delta, which is no disk without its base: imagedelta makes "
		    "one image of both",
		    export_name(x));
	x->stored = sectors_stored(x->sectors);
	return find_size(x, cfg, e);
}

int
export_open(struct export **out, struct source *source, const struct export_config *cfg,
    struct err *e)
{
	struct export *x = calloc(1, sizeof *x);

	if (x == NULL) {
		source_close(source);
		return err_nomem(e, "an image");
	}
	pthread_mutex_init(&x->lock, NULL);
	pthread_cond_init(&x->ended, NULL);
	if (open_random(x, source, cfg, e) != 0) {
		export_close(x);
		return -1;
	}
	*out = x;
	return 0;
}

void
export_close(struct export *x)
{
	if (x == NULL)
		return;
	random_close(x->random);
	pthread_cond_destroy(&x->ended);
	pthread_mutex_destroy(&x->lock);
	free(x);
}

const char *
export_name(const struct export *x)
{
	return sectors_name(x->sectors);
}

uint64_t
export_bytes(const struct export *x)
{
	return x->bytes;
}

uint64_t
export_stored_bytes(const struct export *x)
{
	return rangeset_total(x->stored) * SECTOR_BYTES;
}

uint64_t
export_lost_sectors(const struct export *x)
{
	return sectors_lost(x->sectors)->sectors;
}

/* How many sectors from this one on are stored, or are not. */
static uint64_t
run_of(const struct export *x, uint64_t sector, bool *stored)
{
	size_t i = rangeset_find(x->stored, sector);

	*stored = false;
	if (i == rangeset_count(x->stored))
		return UINT64_MAX - sector;
	struct range r = rangeset_get(x->stored, i);
	*stored = r.off <= sector;
	return (*stored ? range_end(r) : r.off) - sector;
}

uint64_t
export_run(const struct export *x, uint64_t at, bool *stored)
{
	uint64_t sector = at / SECTOR_BYTES, n = run_of(x, sector, stored);

	if (n > x->bytes / SECTOR_BYTES - sector)
		return x->bytes;
	return (sector + n) * SECTOR_BYTES;
}

static int
read_sectors(struct export *x, struct range r, uint8_t *out, struct err *e)
{
	bool stored;

	while (r.len > 0) {
		uint64_t n = run_of(x, r.off, &stored);
		n = n < r.len ? n : r.len;
		if (!stored)
			memset(out, 0, n * SECTOR_BYTES);
		else if (random_read(x->random, (struct range){ r.off, n }, out, e) != 0)
			return -1;
		out += n * SECTOR_BYTES;
		r.off += n;
		r.len -= n;
	}
	return 0;
}

static int
read_bytes(struct export *x, uint8_t *out, size_t n, uint64_t at, struct err *e)
{
	uint8_t sector[SECTOR_BYTES];

	while (n > 0) {
		size_t in = at % SECTOR_BYTES, whole = n / SECTOR_BYTES, now;
		bool part = in != 0 || whole == 0;
		struct range r = { at / SECTOR_BYTES, part ? 1 : whole };
		if (read_sectors(x, r, part ? sector : out, e) != 0)
			return -1;
		now = part ? SECTOR_BYTES - in : whole * SECTOR_BYTES;
		now = now < n ? now : n;
		if (part)
			memcpy(out, sector + in, now);
		out += now;
		at += now;
		n -= now;
	}
	return 0;
}

/* Where there are several sources, damage may be in one of them alone. */
static int
read_anyhow(struct export *x, void *buf, size_t n, uint64_t at, struct err *e)
{
	struct err first;

	if (read_bytes(x, buf, n, at, e) == 0)
		return 0;
	first = *e;
	for (unsigned i = 1; e->kind == ERR_FORMAT && source_other(&x->source, i); i++)
		if (read_bytes(x, buf, n, at, e) == 0)
			return 0;
	*e = first;
	return -1;
}

int
export_read(struct export *x, void *buf, size_t n, uint64_t at, struct err *e)
{
	if (!range_within((struct range){ at, n }, x->bytes))
		return err_set(e, ERR_USAGE, "%s: %zu bytes at %" PRIu64 " are behind its end",
		    export_name(x), n, at);
	pthread_mutex_lock(&x->lock);
	while (x->readers == READERS_MAX)
		pthread_cond_wait(&x->ended, &x->lock);
	x->readers++;
	pthread_mutex_unlock(&x->lock);
	int rc = read_anyhow(x, buf, n, at, e);
	pthread_mutex_lock(&x->lock);
	x->readers--;
	pthread_cond_signal(&x->ended);
	pthread_mutex_unlock(&x->lock);
	return rc;
}

/* As a disk.  A failure is told to the thread that asked. */

static _Thread_local struct err disk_err;

static ssize_t
disk_pread(void *ctx, void *buf, size_t len, uint64_t off)
{
	if (export_read(ctx, buf, len, off, &disk_err) == 0)
		return (ssize_t)len;
	errno = EIO;
	return -1;
}

static void
disk_why(void *ctx, struct err *e)
{
	(void)ctx;
	*e = disk_err;
}

int
export_as_disk(struct disk **out, struct export *x, struct err *e)
{
	static const struct disk_ops ops = { .pread = disk_pread, .why = disk_why };

	if (disk_open_ops(out, export_name(x), DISK_FILE, x->bytes, &ops, x, e) != 0)
		return -1;
	if (x->sector_bytes >= SECTOR_BYTES)
		disk_set_sector_bytes(*out, x->sector_bytes);
	return 0;
}
