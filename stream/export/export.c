/* export.c: shows images as the disk that they were made of.  The plugin and streamdisk call
 * this; export_read() and export_run() are called in any thread. */
#include "stream/export/export.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/sha256.h"
#include "common/base/wr.h"
#include "common/image/read/random.h"
#include "common/image/read/sectors.h"
#include "common/image/write/chain.h"
#include "stream/export/patience.h"
#include "stream/export/tables.h"

/* Threads that may read at the same time: each needs memory for what it decodes. */
enum { READERS_MAX = 32 };

/* 1/TABLES_SHARE of the cache at most is for fragment tables that nobody has asked for. */
enum { TABLES_SHARE = 2 };

struct export {
	struct random *random;   /* NULL: the export is `disk`, which is no image */
	struct source *sources;  /* n copies; `random` owns what they refer to */
	size_t n;
	struct disk *disk;
	struct rangeset of_disk; /* sectors that `disk` stores */
	const struct rangeset *stored; /* of_disk, or random's */
	char *name;
	uint64_t bytes, lost_sectors, cache_bytes;
	bool proved; /* all of the images was read when they were opened */
	struct tail tail; /* of the last image */
	struct reach *reach; /* of the last image; NULL: it does not say it */
	bool partition, foreign; /* the last image is of one; it says nothing of itself */
	uint8_t said_id[SHA256_BYTES]; /* digest of what the images say of themselves */
	bool says_nothing; /* one of the images, or the disk, says nothing */
	unsigned sector_bytes; /* sector size of the disk that was captured; 0: not known */
	pthread_mutex_t lock;  /* guards `readers` */
	pthread_cond_t ended;  /* a reader has ended */
	pthread_cond_t idle;   /* no reader is there any more */
	unsigned readers;
	struct patience *patience; /* borrowed; NULL: a read that fails is not tried again */
	struct tables *tables; /* NULL: they are fetched when they are needed */
	export_learnt_fn *learnt;
};

/* Set the disk's size.  What the image stores must lie on the disk. */
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

/* Find the size of the disk.  `top` is the last image, which describes the disk. */
static int
find_size(struct export *x, const struct sectors *top, const struct export_config *cfg,
    struct err *e)
{
	const struct ext *ext = sectors_ext(top);
	const struct ext_image *image = ext->has_image ? &ext->image : NULL;
	uint64_t said = image != NULL ? image->source_bytes : 0;
	uint64_t total = random_total(x->random);

	x->sector_bytes = image != NULL ? image->sector_bytes : 0;
	if (cfg->size_bytes != 0)
		return check_size(x, cfg->size_bytes, ERR_USAGE, e);
	if (said == 0 && total > INT64_MAX / SECTOR_BYTES)
		return err_set(e, ERR_FORMAT,
		    "%s: has %" PRIu64 " sectors, more than any disk", export_name(x),
		    total);
	if (said > INT64_MAX)
		return err_set(e, ERR_FORMAT, "%s: is of %" PRIu64 " bytes, which no disk has",
		    export_name(x), said);
	return check_size(x, said != 0 ? said : total * SECTOR_BYTES, ERR_FORMAT, e);
}

static void
close_images(struct sectors *images[], size_t n)
{
	for (size_t i = 0; i < n; i++)
		sectors_close(images[i]);
}

/* Open all sources as images.  After a failure all of them are closed. */
static int
open_images(struct sectors *images[], struct source sources[], size_t n,
    struct opener *opener, struct err *e)
{
	size_t i = 0;

	while (i < n && sectors_open_source(&images[i], &sources[i], opener, e) == 0)
		i++;
	if (i == n)
		return 0;
	close_images(images, i);
	while (++i < n)
		source_close(&sources[i]);
	return -1;
}

/* Refuse a delta as the first image: a delta alone is no disk. */
static int
check_base(const struct sectors *base, struct err *e)
{
	if (!ext_is_delta(sectors_ext(base)))
		return 0;
	return err_set(e, ERR_REFUSED,
	    "%s: is a delta, which cannot be read without its base: give the base as the "
	    "image, and this as a delta",
	    sectors_name(base));
}

enum { SAID_BYTES = SHA256_BYTES + 64 };

/* Put what an image says of itself into the digest of what those below it say.  Images of the
 * same contents say the same if they have a state. */
static void
note_said(struct export *x, const struct ext *ext)
{
	uint8_t said[SAID_BYTES];
	struct wr w = wr_to(said, sizeof said);

	wr_bytes(&w, x->said_id, sizeof x->said_id);
	wr_u8(&w, ext->has_state);
	if (ext->has_state) {
		wr_u8(&w, ext->state.kind);
		wr_u8(&w, ext->state.hash);
		wr_le32(&w, ext->state.block_sectors);
		wr_bytes(&w, ext->state.id, sizeof ext->state.id);
	} else if (ext->has_uuid) {
		wr_bytes(&w, ext->uuid, sizeof ext->uuid);
	}
	x->says_nothing |= !ext->has_state && !ext->has_uuid;
	sha256(said, wr_len(&w), x->said_id);
}

/* Keep what the last image says of its disk.  Without memory, it does not say how far its
 * parts reach. */
static void
note_top(struct export *x, const struct ext *top)
{
	x->tail = top->tail;
	x->partition = top->has_image && top->image.kind != EXT_KIND_DISK;
	x->foreign = !top->present;
	if (top->reach != NULL && (x->reach = malloc(sizeof *x->reach)) != NULL)
		*x->reach = *top->reach;
}

static int
open_random(struct export *x, struct sectors *images[], const struct export_config *cfg,
    struct err *e)
{
	x->cache_bytes = cfg->cache_bytes != 0 ? cfg->cache_bytes : EXPORT_CACHE_BYTES;
	x->proved = cfg->opener != NULL;
	x->name = strdup(sectors_name(images[0]));
	if (x->name == NULL || check_base(images[0], e) != 0) {
		if (x->name == NULL)
			err_nomem(e, "an image");
		close_images(images, x->n);
		return -1;
	}
	for (size_t i = 0; i < x->n; i++)
		note_said(x, sectors_ext(images[i]));
	note_top(x, sectors_ext(images[x->n - 1]));
	if (chain_random(&x->random, images, x->n, x->cache_bytes, cfg->warn, e) != 0)
		return -1;
	x->stored = random_stored(x->random);
	x->lost_sectors = random_lost(x->random);
	return find_size(x, images[x->n - 1], cfg, e);
}

static struct export *
new_export(void)
{
	struct export *x = calloc(1, sizeof *x);

	if (x == NULL)
		return NULL;
	pthread_mutex_init(&x->lock, NULL);
	pthread_cond_init(&x->ended, NULL);
	pthread_cond_init(&x->idle, NULL);
	rangeset_init(&x->of_disk);
	return x;
}

int
export_open(struct export **out, struct source sources[], size_t n,
    const struct export_config *cfg, struct err *e)
{
	struct export *x = new_export();
	struct sectors **images = calloc(n, sizeof(struct sectors *));
	struct source *own = calloc(n, sizeof *own);
	int rc = -1;

	if (x != NULL && images != NULL && own != NULL) {
		x->sources = memcpy(own, sources, n * sizeof *own);
		x->n = n;
		rc = open_images(images, sources, n, cfg->opener, e);
		if (rc == 0)
			rc = open_random(x, images, cfg, e);
	} else {
		for (size_t i = 0; i < n; i++)
			source_close(&sources[i]);
		free(own);
		err_nomem(e, "an image");
	}
	free(images);
	if (rc == 0)
		*out = x;
	else
		export_close(x);
	return rc;
}

static int
begin_disk(struct export *x, const struct export_config *cfg, struct err *e)
{
	x->name = strdup(disk_name(x->disk));
	if (x->name == NULL)
		return err_nomem(e, "a disk");
	x->bytes = disk_size_bytes(x->disk);
	x->sector_bytes = disk_sector_bytes(x->disk);
	if (cfg->size_bytes != 0)
		return err_set(e, ERR_USAGE, "%s: is no image, and its size is known", x->name);
	if (cfg->opener == NULL)
		return 0;
	return err_set(e, ERR_USAGE,
	    "%s: is no image, so it is neither signed nor encrypted with a key", x->name);
}

int
export_open_disk(struct export **out, struct disk *d, struct rangeset *stored,
    const struct export_config *cfg, struct err *e)
{
	struct export *x = new_export();
	struct err ignored;

	if (x == NULL) {
		disk_close(d, &ignored);
		rangeset_free(stored);
		return err_nomem(e, "a disk");
	}
	x->disk = d;
	x->says_nothing = true;
	x->of_disk = *stored;
	x->stored = &x->of_disk;
	rangeset_init(stored);
	if (begin_disk(x, cfg, e) != 0) {
		export_close(x);
		return -1;
	}
	*out = x;
	return 0;
}

void
export_be_patient(struct export *x, struct patience *patience)
{
	x->patience = patience;
}

void
export_close(struct export *x)
{
	struct err ignored; /* nothing was written */

	if (x == NULL)
		return;
	tables_end(x->tables);
	random_close(x->random);
	disk_close(x->disk, &ignored);
	rangeset_free(&x->of_disk);
	pthread_cond_destroy(&x->ended);
	pthread_cond_destroy(&x->idle);
	pthread_mutex_destroy(&x->lock);
	free(x->sources);
	free(x->name);
	free(x->reach);
	free(x);
}

const char *
export_name(const struct export *x)
{
	return x->name;
}

uint64_t
export_bytes(const struct export *x)
{
	return x->bytes;
}

uint64_t
export_sectors(const struct export *x)
{
	return x->bytes / SECTOR_BYTES + (x->bytes % SECTOR_BYTES != 0);
}

uint64_t
export_stored_bytes(const struct export *x)
{
	return rangeset_total(x->stored) * SECTOR_BYTES;
}

uint64_t
export_lost_sectors(const struct export *x)
{
	return x->lost_sectors;
}

/* How many sectors from this one on are stored, or are not stored. */
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

/* Read sectors that are stored.  The last sector of a disk that is no image may be incomplete;
 * its rest is read as zeros. */
static int
read_stored(struct export *x, struct range r, uint8_t *out, struct err *e)
{
	uint64_t at = r.off * SECTOR_BYTES, left = x->bytes - at, n = r.len * SECTOR_BYTES;

	if (x->disk == NULL)
		return random_read(x->random, r, out, e);
	if (n > left)
		memset(out + left, 0, n - left);
	return disk_read(x->disk, out, n < left ? n : left, at, e);
}

static int
read_sectors(void *ctx, void *buf, size_t len, uint64_t at, struct err *e)
{
	struct export *x = ctx;
	struct range r = { at / SECTOR_BYTES, len / SECTOR_BYTES };
	uint8_t *out = buf;
	bool stored;

	while (r.len > 0) {
		uint64_t n = run_of(x, r.off, &stored);
		n = n < r.len ? n : r.len;
		if (!stored)
			memset(out, 0, n * SECTOR_BYTES);
		else if (read_stored(x, (struct range){ r.off, n }, out, e) != 0)
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
	const struct disk_units sectors = { SECTOR_BYTES, read_sectors, x };

	return disk_read_units(&sectors, out, n, at, e);
}

/* Let the sources read from elsewhere in this thread, where several have the image.  Returns
 * whether any source can. */
static bool
ask_others(struct export *x, unsigned attempt)
{
	bool any = false;

	for (size_t i = 0; i < x->n; i++)
		any |= source_other(&x->sources[i], attempt);
	return any;
}

/* Read; after damage try again from other sources, since only one of them may be damaged. */
static int
read_anyhow(struct export *x, void *buf, size_t n, uint64_t at, struct err *e)
{
	struct err first;

	if (read_bytes(x, buf, n, at, e) == 0)
		return 0;
	first = *e;
	int rc = -1;
	for (unsigned i = 1; rc != 0 && e->kind == ERR_FORMAT && ask_others(x, i); i++)
		rc = read_bytes(x, buf, n, at, e);
	ask_others(x, 0);
	if (rc != 0)
		*e = first;
	return rc;
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
	while (rc != 0 && x->patience != NULL && patience_again(x->patience, e))
		rc = read_anyhow(x, buf, n, at, e);
	pthread_mutex_lock(&x->lock);
	x->readers--;
	pthread_cond_signal(&x->ended);
	if (x->readers == 0 && x->tables != NULL)
		pthread_cond_broadcast(&x->idle);
	pthread_mutex_unlock(&x->lock);
	return rc;
}

/* Fragment tables. */

static void
wait_for_idleness(void *arg)
{
	struct export *x = arg;

	pthread_mutex_lock(&x->lock);
	while (x->readers > 0)
		pthread_cond_wait(&x->idle, &x->lock);
	pthread_mutex_unlock(&x->lock);
}

static void
tell_learnt(void *arg, uint64_t chunks, uint64_t took_us)
{
	struct export *x = arg;

	if (x->learnt != NULL)
		x->learnt(export_name(x), chunks, took_us);
}

/* Does one of the sources still grow? */
static int
is_live(struct export *x, bool *live, struct err *e)
{
	struct source_info info;

	*live = false;
	for (size_t i = 0; i < x->n; i++) {
		if (source_info(&x->sources[i], &info, e) != 0)
			return -1;
		*live |= info.live;
	}
	return 0;
}

int
export_learn(struct export *x, export_learnt_fn *learnt, struct err *e)
{
	struct tables_config c = { .random = x->random,
		.most_bytes = x->cache_bytes / TABLES_SHARE,
		.wait_for_turn = wait_for_idleness,
		.done = tell_learnt,
		.arg = x };
	bool live;

	if (is_live(x, &live, e) != 0)
		return -1;
	x->learnt = learnt;
	return live && !x->proved ? tables_start(&x->tables, &c, e) : 0;
}

const struct rangeset *
export_stored(const struct export *x)
{
	return x->stored;
}

const struct tail *
export_tail(const struct export *x)
{
	return &x->tail;
}

const struct reach *
export_reach(const struct export *x)
{
	return x->reach;
}

bool
export_is_disk(const struct export *x)
{
	return !x->partition;
}

bool
export_is_foreign(const struct export *x)
{
	return x->foreign;
}

int
export_drop_tail(const struct export *x, struct rangeset *stored, struct err *e)
{
	const struct tail *tail = &x->tail;
	struct rangeset pieces;
	int rc = 0;

	rangeset_init(&pieces);
	for (size_t i = 0; rc == 0 && i < tail->n; i++)
		rc = rangeset_add(&pieces, tail->pieces[i].sectors, e);
	rangeset_seal(&pieces);
	if (rc == 0)
		rc = rangeset_minus(stored, &pieces, e);
	rangeset_free(&pieces);
	return rc;
}

int
export_stored_on(
    const struct export *x, uint64_t disk_bytes, struct rangeset *stored, struct err *e)
{
	if (rangeset_union(stored, x->stored, e) != 0)
		return -1;
	if (x->tail.n == 0 || x->tail.disk_sectors == disk_bytes / SECTOR_BYTES)
		return 0;
	return export_drop_tail(x, stored, e);
}

/* Digest of the size, and of which sectors are stored. */
static int
digest_layout(const struct export *x, uint8_t digest[SHA256_BYTES], struct err *e)
{
	size_t n = rangeset_count(x->stored), room = (2 * n + 1) * sizeof(uint64_t);
	uint8_t *all = malloc(room);
	struct wr w = wr_to(all, all != NULL ? room : 0);

	if (all == NULL)
		return err_nomem(e, x->name);
	wr_le64(&w, x->bytes);
	for (size_t i = 0; i < n; i++) {
		wr_le64(&w, rangeset_get(x->stored, i).off);
		wr_le64(&w, rangeset_get(x->stored, i).len);
	}
	sha256(all, wr_len(&w), digest);
	free(all);
	return 0;
}

enum { SAMPLE_SECTORS = 128 };

/* Digest of the first stored data. */
static int
digest_sample(struct export *x, uint8_t digest[SHA256_BYTES], struct err *e)
{
	static const struct range none = { 0, 0 };
	struct range r = rangeset_count(x->stored) > 0 ? rangeset_get(x->stored, 0) : none;
	uint8_t data[SAMPLE_SECTORS * SECTOR_BYTES];
	uint64_t n = (r.len < SAMPLE_SECTORS ? r.len : SAMPLE_SECTORS) * SECTOR_BYTES;
	uint64_t left = x->bytes - r.off * SECTOR_BYTES;

	n = n < left ? n : left;
	if (export_read(x, data, n, r.off * SECTOR_BYTES, e) != 0)
		return -1;
	sha256(data, n, digest);
	return 0;
}

int
export_identity(struct export *x, uint8_t id[EXPORT_ID_BYTES], struct err *e)
{
	uint8_t all[3 * SHA256_BYTES] = { 0 };

	memcpy(all, x->said_id, SHA256_BYTES);
	if (digest_layout(x, all + SHA256_BYTES, e) != 0)
		return -1;
	if (x->says_nothing && digest_sample(x, all + 2 * SHA256_BYTES, e) != 0)
		return -1;
	sha256(all, sizeof all, id);
	return 0;
}

static int
read_export(void *x, void *buf, size_t len, uint64_t off, struct err *e)
{
	return export_read(x, buf, len, off, e);
}

int
export_as_disk(struct disk **out, struct export *x, struct err *e)
{
	static const struct disk_ops ops = { .read = read_export };

	if (disk_open_ops(out, export_name(x), DISK_FILE, x->bytes, &ops, x, e) != 0)
		return -1;
	if (x->sector_bytes >= SECTOR_BYTES)
		disk_set_sector_bytes(*out, x->sector_bytes);
	return 0;
}
