/* cache.c: where the index of a store is kept, and the blocks of packs of a bucket.
 *
 * The index of a store in a folder is kept beside its objects, if this process may write
 * there and the folder is not on a network filesystem.  Otherwise it is kept in a folder
 * of this machine's cache.  Where there is no cache, or no room in it, the index is made
 * for this process alone.  Called by store.c and refresh.c, in the thread of whoever has the
 * store. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/lock.h"
#include "common/base/number.h"
#include "common/base/sha256.h"
#include "common/net/curl_lib.h"
#include "emustore/objects/folder.h"
#include "emustore/objects/own_file.h"
#include "emustore/s3/s3.h"
#include "emustore/store/store_impl.h"
#include "emustore/store/written.h"

enum { PATH_BYTES = 4096 };

static const uint64_t cache_default = 10ull << 30;

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

/* Name the base folder of caches: `named` (or NULL), EMUSTORE_CACHE, or the user's own. */
static int
name_base(const char *named, char *base, size_t cap, struct err *e)
{
	const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

	if (named == NULL)
		named = getenv("EMUSTORE_CACHE");
	if (named != NULL && named[0] != '\0')
		snprintf(base, cap, "%s", named);
	else if (xdg != NULL && xdg[0] == '/')
		snprintf(base, cap, "%s/emustore", xdg);
	else if (home != NULL && home[0] == '/')
		snprintf(base, cap, "%s/.cache/emustore", home);
	else
		return err_set(e, ERR_USAGE,
		    "no folder for the cache: --cache, EMUSTORE_CACHE or HOME");
	return 0;
}

void
store_written(
    const char *url, struct rights *r, char cache[STORE_CACHE_FOLDER_BYTES])
{
	struct err ignored; /* without a cache, the index is made for this process alone */

	/* What a bucket needs is loaded while the process has all its rights; if that
	 * fails, so does s3_open(), which says it. */
	if (s3_is_url(url))
		(void)curl_lib_load(&ignored);
	else
		rights_may_write(r, url);
	if (name_base(NULL, cache, STORE_CACHE_FOLDER_BYTES, &ignored) != 0 ||
	    make_folder(cache, &ignored) != 0)
		return;
	rights_may_write(r, cache);
	setenv("SQLITE_TMPDIR", cache, 0);
}

/* Name and make the folder of this store, within the base folder of caches. */
static int
name_folder(struct store *s, const struct store_place *p, struct err *e)
{
	const char *address = s->objects->address;
	uint8_t digest[SHA256_BYTES];
	char base[PATH_BYTES - 40];

	if (name_base(p->cache, base, sizeof base, e) != 0)
		return -1;
	sha256(address, strlen(address), digest);
	if (strlen(base) > 400 ||
	    asprintf(&s->cache, "%s/%02x%02x%02x%02x%02x%02x%02x%02x", base, digest[0],
		digest[1], digest[2], digest[3], digest[4], digest[5], digest[6],
		digest[7]) < 0)
		return err_set(e, ERR_USAGE, "the cache's path is too long");
	if (make_folder(s->cache, e) == 0)
		return 0;
	free(s->cache);
	s->cache = NULL;
	return -1;
}

static int
cache_limit(const struct store_place *p, uint64_t *bytes, struct err *e)
{
	const char *text = getenv("EMUSTORE_CACHE_SIZE");

	*bytes = p->cache_bytes != 0 ? p->cache_bytes : cache_default;
	if (p->cache_bytes != 0 || text == NULL)
		return 0;
	if (number_size(text, 0, INT64_MAX, bytes, e) != 0)
		return err_ctx(e, "EMUSTORE_CACHE_SIZE");
	return 0;
}

/* Find the place of the cache.  A store in a folder can do without one. */
static int
find_place(struct store *s, const struct store_place *p, struct err *e)
{
	struct err ignored;

	if (s->folder && folder_may_cache(s->objects)) {
		s->cache = strdup(s->objects->address);
		return s->cache != NULL ? 0 : err_nomem(e, "the cache");
	}
	return name_folder(s, p, s->folder ? &ignored : e) == 0 || s->folder ? 0 : -1;
}

/* Make s->blocks; on failure it stays as it is. */
static int
make_blocks(struct store *s, struct err *e)
{
	char path[PATH_BYTES];

	snprintf(path, sizeof path, "%s/blocks", s->cache);
	return blocks_new(&s->blocks, s->objects, path, s->blocks_bytes, e);
}

static int
open_blocks(struct store *s, const struct store_place *p, struct err *e)
{
	return cache_limit(p, &s->blocks_bytes, e) == 0 ? make_blocks(s, e) : -1;
}

/* The mode of a file that only those can open who may write to its folder.  flock(2) also locks
 * a file that is open for reading alone: anybody who can read it can hold up all others. */
static mode_t
mode_for_writers(int dirfd)
{
	struct stat st;
	mode_t others = fstat(dirfd, &st) == 0 ? st.st_mode & (S_IWGRP | S_IWOTH) : 0;

	return S_IRUSR | S_IWUSR | others | others << 1;
}

static int
open_lock(struct store *s, struct err *e)
{
	char path[PATH_BYTES];
	int dirfd = open(s->cache, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dirfd < 0)
		return err_os(e, "%s", s->cache);
	snprintf(path, sizeof path, "%s/index.lock", s->cache);
	s->cache_lock = own_file_open(dirfd, "index.lock", O_RDWR | O_CREAT,
	    mode_for_writers(dirfd),
	    path, e);
	close(dirfd);
	return s->cache_lock >= 0 ? 0 : -1;
}

/* The process that has the lock may be waiting for a server, so a signal ends the wait. */
int
cache_lock(struct store *s, struct err *e)
{
	struct err why; /* a filesystem without locks */

	if (s->cache_lock < 0 || lock_wait(s->cache_lock, &why) == 0 || why.kind != ERR_CANCELLED)
		return 0;
	*e = why;
	return -1;
}

void
cache_unlock(struct store *s)
{
	if (s->cache_lock >= 0)
		lock_end(s->cache_lock);
}

/* 0: there is no such file. */
static uint64_t
inode_of(const struct store *s)
{
	char path[PATH_BYTES];
	struct stat st;

	snprintf(path, sizeof path, "%s/index.db", s->cache);
	return stat(path, &st) == 0 ? (uint64_t)st.st_ino : 0;
}

bool
cache_is_current(const struct store *s)
{
	return s->cache == NULL || inode_of(s) == s->cache_inode;
}

static void
remove_index(const struct store *s)
{
	static const char *const names[] = { "index.db", "index.db-wal", "index.db-shm",
		"index.db-journal" };
	char path[PATH_BYTES];

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		snprintf(path, sizeof path, "%s/%s", s->cache, names[i]);
		unlink(path);
	}
}

/* An index that cannot be used is rebuilt from the objects; only the counts of loads are
 * lost. */
static int
open_kept(struct store *s, bool again, struct err *e)
{
	char path[PATH_BYTES];

	if (open_lock(s, e) != 0)
		return -1;
	snprintf(path, sizeof path, "%s/index.db", s->cache);
	if (cache_lock(s, e) != 0)
		return -1;
	if (again)
		remove_index(s);
	int rc = index_open(&s->index, path, e);
	if (rc != 0 && e->kind == ERR_FORMAT) {
		remove_index(s);
		rc = index_open(&s->index, path, e);
	}
	s->cache_inode = inode_of(s);
	cache_unlock(s);
	return rc;
}

/* Replace s->blocks, which knows packs by the numbers of the old index, by blocks without
 * packs.  Readers that use the old index keep the old blocks. */
static int
renew_blocks(struct store *s, struct err *e)
{
	struct blocks *old = s->blocks;

	if (make_blocks(s, e) != 0)
		return -1;
	blocks_release(old);
	return 0;
}

/* Open an index of this process alone in place of the one in the cache, if there is one. */
static int
open_own(struct store *s, bool damaged, struct err *e)
{
	int rc = damaged ? cache_lock(s, e) : 0;

	s->index_turn++;
	index_close(s->index);
	s->index = NULL;
	if (damaged && rc == 0) {
		remove_index(s);
		cache_unlock(s);
	}
	free(s->cache);
	s->cache = NULL;
	return rc == 0 ? index_open(&s->index, NULL, e) : -1;
}

int
cache_leave(struct store *s, bool damaged, struct err *e)
{
	if (s->blocks != NULL && s->cache != NULL && renew_blocks(s, e) != 0)
		return -1;
	return open_own(s, damaged, e);
}

int
cache_open(
    struct store *s, const struct store_place *p, unsigned access, struct err *e)
{
	if (find_place(s, p, e) != 0 || (!s->folder && open_blocks(s, p, e) != 0))
		return -1;
	if ((access & STORE_ANEW) == 0 && s->cache != NULL) {
		if (open_kept(s, (access & STORE_REMAKE) != 0, e) == 0)
			return 0;
		if (e->kind == ERR_CANCELLED || e->kind == ERR_NOMEM)
			return -1;
	}
	return open_own(s, false, e);
}
