#include "emustore/store/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/number.h"
#include "common/base/sha256.h"
#include "emustore/store/own.h"
#include "emustore/store/remote_impl.h"

enum { FORMAT = 1, FORMAT_BYTES_MAX = 1000, PATH_BYTES = 4096 };

static const uint64_t cache_default = 10ull << 30;

double
remote_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t); /* also counts while it sleeps */
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int
remote_check_age(const struct remote *r, struct err *e)
{
	if (remote_clock() - r->looked_at < (double)r->grace_seconds / 2)
		return 0;
	return err_set(e, ERR_REFUSED,
	    "%s: this takes longer than half the store's grace of %" PRIu64
	    " seconds, so what it counts on may be gone: nothing was changed",
	    s3_title(r->s3), r->grace_seconds);
}

/* 1 there is a store already, 0, -1. */
static int
is_store(struct s3 *s3, struct err *e)
{
	struct buf there = { 0 };
	int rc = s3_get(s3, "format", FORMAT_BYTES_MAX, &there, e);

	buf_free(&there);
	return rc == 0 ? 1 : e->os == ENOENT ? 0 : -1;
}

int
remote_init(const char *url, uint64_t pack_bytes, uint64_t grace_seconds, struct err *e)
{
	char text[FORMAT_BYTES_MAX];
	struct s3 *s3;

	if (pack_bytes > REMOTE_PACK_BYTES_MAX)
		return err_set(e, ERR_USAGE,
		    "a pack in a bucket has at most %d MiB: it is made in memory",
		    REMOTE_PACK_BYTES_MAX >> 20);
	if (s3_open(&s3, url, e) != 0)
		return -1;
	int n = snprintf(text, sizeof text,
	    "emustore-s3 %d\npack-bytes %" PRIu64 "\ngrace-seconds %" PRIu64
	    "\nwriters claim\n",
	    FORMAT, pack_bytes, grace_seconds);
	int rc = is_store(s3, e);
	if (rc == 1)
		rc = err_set(
		    e, ERR_REFUSED, "%s: there is a store already", s3_title(s3));
	else if (rc == 0)
		rc = s3_put(s3, "format", text, (size_t)n, e);
	s3_close(s3);
	return rc;
}

static int
read_format(struct remote *r, struct err *e)
{
	struct buf b = { 0 };
	char writers[16] = "";
	unsigned version;
	int rc = s3_get(r->s3, "format", FORMAT_BYTES_MAX, &b, e);

	if (rc != 0 && e->os == ENOENT)
		rc = err_set(e, ERR_ABSENT, "%s: is no store (emustore init makes one)",
		    s3_title(r->s3));
	if (rc == 0) {
		buf_bytes(&b, "", 1);
		int n = sscanf((char *)b.base,
		    "emustore-s3 %u\npack-bytes %18" SCNu64 "\ngrace-seconds %18" SCNu64
		    "\nwriters %15s",
		    &version, &r->pack_bytes, &r->grace_seconds, writers);
		if (n >= 1 && version != FORMAT)
			rc = err_set(e, ERR_UNSUPPORTED,
			    "%s: a store of format %u; this program knows only "
			    "format %d",
			    s3_title(r->s3), version, FORMAT);
		else if (n == 4 && strcmp(writers, "claim") != 0)
			rc = err_set(e, ERR_UNSUPPORTED,
			    "%s: its writers keep apart by \"%s\"; this program's "
			    "only by claims",
			    s3_title(r->s3), writers);
		else if (n != 4 || r->pack_bytes == 0 ||
			 r->pack_bytes > REMOTE_PACK_BYTES_MAX)
			rc = err_set(e, ERR_FORMAT,
			    "%s: format: is not that of a store", s3_title(r->s3));
	}
	buf_free(&b);
	return rc;
}

static int
make_folder(const char *path, struct err *e)
{
	char part[PATH_BYTES];

	snprintf(part, sizeof part, "%s", path);
	for (char *p = part + 1; (p = strchr(p, '/')) != NULL; p++) {
		*p = '\0';
		mkdir(part, 0777); /* the last one tells */
		*p = '/';
	}
	return mkdir(part, 0700) == 0 || errno == EEXIST ? 0 : err_os(e, "%s", path);
}

/* CACHE/emustore or what was named, and in it a folder for this store. */
static int
name_folder(struct remote *r, const struct remote_place *p, struct err *e)
{
	const char *named = p->cache != NULL ? p->cache : getenv("EMUSTORE_CACHE");
	const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	uint8_t digest[SHA256_BYTES];
	char base[PATH_BYTES - 40];

	if (named != NULL && named[0] != '\0')
		snprintf(base, sizeof base, "%s", named);
	else if (xdg != NULL && xdg[0] == '/')
		snprintf(base, sizeof base, "%s/emustore", xdg);
	else if (home != NULL && home[0] == '/')
		snprintf(base, sizeof base, "%s/.cache/emustore", home);
	else
		return err_set(e, ERR_USAGE,
		    "no folder for the cache: --cache, EMUSTORE_CACHE or HOME");
	sha256(s3_address(r->s3), strlen(s3_address(r->s3)), digest);
	if (strlen(base) > 400 ||
	    asprintf(&r->dir, "%s/%02x%02x%02x%02x%02x%02x%02x%02x", base, digest[0],
		digest[1], digest[2], digest[3], digest[4], digest[5], digest[6],
		digest[7]) < 0)
		return err_set(e, ERR_USAGE, "the cache's path is too long");
	return make_folder(r->dir, e);
}

static int
cache_limit(const struct remote_place *p, uint64_t *bytes, struct err *e)
{
	const char *text = getenv("EMUSTORE_CACHE_SIZE");

	*bytes = p->cache_bytes != 0 ? p->cache_bytes : cache_default;
	if (p->cache_bytes != 0 || text == NULL)
		return 0;
	if (number_size(text, 0, INT64_MAX, bytes, e) != 0)
		return err_ctx(e, "EMUSTORE_CACHE_SIZE");
	return 0;
}

static int
take_lock(struct remote *r, struct err *e)
{
	while (flock(r->lock_fd, LOCK_EX) != 0)
		if (errno != EINTR)
			return err_os(e, "%s/lock", r->dir);
	return 0;
}

static void
remove_index(const struct remote *r)
{
	static const char *const names[] = { "index.db", "index.db-wal",
		"index.db-shm" };
	char path[PATH_BYTES];

	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof path, "%s/%s", r->dir, names[i]);
		unlink(path);
	}
}

/* The lock is held.  An index of no use is made again: all of it is in the bucket. */
static int
open_index(struct remote *r, bool anew, struct err *e)
{
	char path[PATH_BYTES];

	snprintf(path, sizeof path, "%s/index.db", r->dir);
	if (anew)
		remove_index(r);
	int rc = index_open_remote(&r->index, path, e);
	if (rc != 0 && e->kind == ERR_FORMAT) {
		remove_index(r);
		rc = index_open_remote(&r->index, path, e);
	}
	return rc;
}

static int
open_cache(struct remote *r, const struct remote_place *p, bool anew, struct err *e)
{
	char path[PATH_BYTES];
	uint64_t bytes;

	if (name_folder(r, p, e) != 0 || cache_limit(p, &bytes, e) != 0)
		return -1;
	snprintf(path, sizeof path, "%s/lock", r->dir);
	int dirfd = open(r->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dirfd < 0)
		return err_os(e, "%s", r->dir);
	r->lock_fd = own_open(dirfd, "lock", O_RDWR | O_CREAT, 0600, path, e);
	close(dirfd);
	if (r->lock_fd < 0)
		return -1;
	snprintf(path, sizeof path, "%s/blocks", r->dir);
	if (blocks_new(&r->blocks, r->s3, path, bytes, e) != 0)
		return -1;
	if (take_lock(r, e) != 0)
		return -1;
	int rc = open_index(r, anew, e);
	flock(r->lock_fd, LOCK_UN);
	return rc;
}

int
remote_open(struct remote **out, const struct remote_place *p, bool anew, struct err *e)
{
	struct remote *r = calloc(1, sizeof *r);

	if (r == NULL)
		return err_nomem(e, p->url);
	r->lock_fd = -1;
	if (s3_open(&r->s3, p->url, e) != 0 || read_format(r, e) != 0 ||
	    open_cache(r, p, anew, e) != 0 || remote_refresh(r, e) != 0) {
		remote_close(r);
		return -1;
	}
	*out = r;
	return 0;
}

void
remote_close(struct remote *r)
{
	if (r == NULL)
		return;
	index_close(r->index);
	if (r->blocks != NULL)
		blocks_release(r->blocks); /* and the s3 */
	else
		s3_close(r->s3);
	if (r->lock_fd >= 0)
		close(r->lock_fd);
	listing_free(&r->tables);
	listing_free(&r->condemned);
	listing_free(&r->images);
	free(r->dir);
	free(r);
}

struct index *
remote_index(struct remote *r)
{
	return r->index;
}

uint64_t
remote_pack_bytes(const struct remote *r)
{
	return r->pack_bytes;
}

uint64_t
remote_unreadable(const struct remote *r, const char **first)
{
	*first = r->first_unreadable;
	return r->unreadable;
}

static void *
hold(void *ctx)
{
	struct remote *r = ctx;

	return blocks_hold(r->blocks);
}

static void
release(void *ctx)
{
	blocks_release(ctx);
}

static uint64_t
size_of(void *ctx, uint32_t number)
{
	return blocks_pack_bytes(ctx, number);
}

static int
find(void *ctx, uint32_t number, struct err *e)
{
	if (blocks_has_pack(ctx, number))
		return 0;
	err_set(e, ERR_IO, "pack %" PRIu32 " is not there any more", number);
	e->os = ENOENT;
	return -1;
}

static ssize_t
read_pack(void *ctx, uint32_t number, void *buf, size_t n, uint64_t at, struct err *e)
{
	return blocks_read(ctx, number, buf, n, at, e);
}

static void
name_pack(void *ctx, uint32_t number, char *out, size_t cap)
{
	blocks_pack_name(ctx, number, out, cap);
}

static void
want_bytes(void *ctx, uint32_t number, uint64_t at, size_t n)
{
	blocks_want(ctx, number, at, n);
}

static int
know_pack(void *arg, const struct index_object *o, struct err *e)
{
	struct remote *r = arg;
	struct index_object again;
	struct buf digests = { 0 };

	if (blocks_has_pack(r->blocks, o->number))
		return 0;
	int rc = index_get_object(r->index, o->number, &again, &digests, e);
	uint64_t blocks = (o->bytes + TOC_BLOCK_BYTES - 1) / TOC_BLOCK_BYTES;
	if (rc == 1 && digests.len != blocks * SHA256_BYTES)
		rc = err_set(e, ERR_FORMAT,
		    "the index of the cache is damaged (emustore repair --index)");
	if (rc == 1)
		rc = blocks_add_pack(
		    r->blocks, o->number, o->id, o->bytes, digests.base, e);
	buf_free(&digests);
	return rc;
}

struct packs *
remote_packs(struct remote *r)
{
	static const struct pack_source source = { .hold = hold,
		.release = release,
		.find = find,
		.size = size_of,
		.pread = read_pack,
		.name = name_pack,
		.want = want_bytes };
	struct err ignored;

	if (index_each_object(r->index, know_pack, r, &ignored) != 0)
		return NULL;
	return packs_new_from(&source, r, s3_title(r->s3));
}

static int
read_object(
    struct remote *r, const struct index_recipe *k, struct buf *out, struct err *e)
{
	if (k->bytes > REMOTE_RECIPE_BYTES_MAX)
		return err_set(e, ERR_FORMAT, "%s: is too large", k->key);
	return s3_get(r->s3, k->key, (size_t)k->bytes, out, e);
}

static int
split_object(struct buf *object, struct buf *record, struct buf *digests, struct err *e)
{
	struct rd r = rd_from(object->base, object->len), about, image, list;
	struct record_head a, i, d;

	if (!record_next(&r, &a, &about) || a.type != RECORD_ABOUT ||
	    !record_next(&r, &i, &image) || i.type != RECORD_IMAGE ||
	    !record_next(&r, &d, &list) || d.type != RECORD_DIGESTS || !rd_done(&r) ||
	    list.len % SHA256_BYTES != 0)
		return err_set(e, ERR_FORMAT, "its recipe is damaged");
	record->len = digests->len = 0;
	buf_bytes(record, image.base, image.len);
	buf_bytes(digests, list.base, list.len);
	return buf_ok(record) && buf_ok(digests) ? 0 : err_nomem(e, "a recipe");
}

int
remote_get_recipe(struct remote *r, const struct index_image *i, struct buf *record,
    struct buf *digests, struct err *e)
{
	struct index_recipe k;
	struct buf object = { 0 };
	int rc = index_get_recipe(r->index, i->number, &k, e);

	if (rc == 0)
		rc = err_set(e, ERR_FORMAT, "the index has no recipe of it");
	else if (rc == 1)
		rc = read_object(r, &k, &object, e);
	if (rc == 0)
		rc = split_object(&object, record, digests, e);
	buf_free(&object);
	return rc;
}

int
remote_remove_image(struct remote *r, const struct index_image *i, struct err *e)
{
	char key[REMOTE_KEY_BYTES];

	key_of_image(&i->about.name, key);
	if (s3_delete(r->s3, key, e) != 0)
		return -1;
	return index_drop_recipe(r->index, i->number, e);
}

int
remote_remove_unreadable(struct remote *r, const struct store_name *name, struct err *e)
{
	char key[REMOTE_KEY_BYTES];

	key_of_image(name, key);
	if (listing_find(&r->images, key + strlen("images/")) == NULL)
		return err_set(e, ERR_ABSENT, "%s:%" PRIu32 ": is not in the store",
		    name->name, name->version);
	return s3_delete(r->s3, key, e);
}
