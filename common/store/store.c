#include "common/store/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/store/own.h"
#include "common/store/s3.h"

enum { PATH_BYTES = 600, FORMAT_BYTES = 200 };

static const char new_index[] = "index.new", index_name[] = "index.db";
static const char new_format[] = "format.new";

static void
path_in(const char *dir, const char *name, char out[PATH_BYTES])
{
	snprintf(out, PATH_BYTES, "%.500s/%s", dir, name);
}

static bool
is_empty_folder(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	bool empty = d != NULL;

	while (empty && (entry = readdir(d)) != NULL)
		empty = strcmp(entry->d_name, ".") == 0 ||
		        strcmp(entry->d_name, "..") == 0;
	if (d != NULL)
		closedir(d);
	return empty;
}

static int
sync_folder(const char *dir, struct err *e)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = fd < 0 || fsync(fd) != 0 ? err_os(e, "%s", dir) : 0;

	if (fd >= 0)
		close(fd);
	return rc;
}

static int
write_format(const char *dir, const char *name, unsigned format, uint64_t pack_bytes,
    struct err *e)
{
	char path[PATH_BYTES], text[FORMAT_BYTES];
	int n = snprintf(text, sizeof text, "emustore %u\npack-bytes %" PRIu64 "\n",
	    format, pack_bytes);

	path_in(dir, name, path);
	/* What is there was left by a writer that was cut short, or is somebody's
	 * link. */
	unlink(path);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (fd < 0)
		return err_os(e, "%s", path);
	int rc = write(fd, text, (size_t)n) != n || fsync(fd) != 0
	             ? err_os(e, "%s", path)
	             : 0;
	close(fd);
	if (rc == 0)
		return sync_folder(dir, e);
	unlink(path);
	return -1;
}

int
store_need_format(struct store *s, unsigned format, struct err *e)
{
	if (s->format >= format)
		return 0;
	if (write_format(s->dir, new_format, format, s->pack_bytes, e) != 0)
		return -1;
	if (renameat(s->dirfd, new_format, s->dirfd, "format") != 0 ||
	    fsync(s->dirfd) != 0)
		return err_os(e, "%s/format", s->dir);
	s->format = format;
	return 0;
}

/* An index, and what SQLite keeps beside it. */
static void
remove_index(const char *dir, const char *name)
{
	static const char *const ends[] = { "", "-wal", "-shm" };
	char path[PATH_BYTES], file[64];

	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		snprintf(file, sizeof file, "%s%s", name, ends[i]);
		path_in(dir, file, path);
		unlink(path);
	}
}

static int
fill_new(const char *dir, uint64_t pack_bytes, struct err *e)
{
	char path[PATH_BYTES];
	struct index *x;

	path_in(dir, index_name, path);
	if (index_open(&x, path, INDEX_CREATE, e) != 0)
		return -1;
	index_close(x);
	path_in(dir, "lock", path);
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (fd < 0)
		return err_os(e, "%s", path);
	close(fd);
	/* The last: a folder without it is no store. */
	return write_format(dir, "format", STORE_FORMAT, pack_bytes, e);
}

int
store_init(const char *dir, uint64_t pack_bytes, struct err *e)
{
	char path[PATH_BYTES];

	if (strlen(dir) > 500)
		return err_set(e, ERR_USAGE, "the store's path is too long");
	bool made = mkdir(dir, 0777) == 0;
	if (!made && (errno != EEXIST || !is_empty_folder(dir)))
		return errno == EEXIST ? err_set(e, ERR_REFUSED,
					     "%s: is there already, and not empty", dir)
		                       : err_os(e, "%s", dir);
	path_in(dir, "packs", path);
	int rc = mkdir(path, 0777) != 0 ? err_os(e, "%s", path) : 0;
	if (rc == 0 && (rc = fill_new(dir, pack_bytes, e)) != 0) {
		remove_index(dir, index_name);
		rmdir(path);
		path_in(dir, "lock", path);
		unlink(path);
	}
	if (rc != 0 && made)
		rmdir(dir); /* unless somebody else has put something there */
	return rc;
}

static int
read_format(struct store *s, struct err *e)
{
	char text[FORMAT_BYTES] = "", path[PATH_BYTES];

	path_in(s->dir, "format", path);
	int fd = own_open(s->dirfd, "format", O_RDONLY, 0, path, e);
	if (fd < 0)
		return e->os == ENOENT
		           ? err_set(e, ERR_ABSENT,
				 "%s: is no store (emustore init makes one)", s->dir)
		           : -1;
	ssize_t n = read(fd, text, sizeof text - 1);
	int rc = n < 0 ? err_os(e, "%s", path) : 0;
	close(fd);
	if (rc != 0)
		return -1;
	int got = sscanf(
	    text, "emustore %9u\npack-bytes %18" SCNu64, &s->format, &s->pack_bytes);
	if (got < 1 ||
	    (s->format <= STORE_FORMAT_MAX && (got != 2 || s->pack_bytes == 0)))
		return err_set(
		    e, ERR_FORMAT, "%s/format: is not that of a store", s->dir);
	if (s->format < STORE_FORMAT || s->format > STORE_FORMAT_MAX)
		return err_set(e, ERR_UNSUPPORTED,
		    "%s: a store of format %u; this program knows only "
		    "formats up to %d",
		    s->dir, s->format, STORE_FORMAT_MAX);
	return 0;
}

static int
take_lock(struct store *s, bool wait, struct err *e)
{
	char path[PATH_BYTES];

	path_in(s->dir, "lock", path);
	s->lock_fd = own_open(s->dirfd, "lock", O_RDWR | O_CREAT, 0666, path, e);
	if (s->lock_fd < 0)
		return -1;
	if (flock(s->lock_fd, LOCK_EX | (wait ? 0 : LOCK_NB)) == 0)
		return 0;
	if (errno == EWOULDBLOCK)
		return err_set(e, ERR_REFUSED,
		    "%s: another program is writing to this store (--wait waits "
		    "for it)",
		    s->dir);
	return err_os(e, "%s/lock", s->dir);
}

static int
open_index(struct store *s, bool anew, struct err *e)
{
	char path[PATH_BYTES];

	path_in(s->dir, anew ? new_index : index_name, path);
	bool writing = s->lock_fd >= 0;
	if (!anew && writing && own_check(s->dirfd, index_name, true, path, e) != 0)
		return -1;
	if (!anew)
		return index_open(
		    &s->index, path, writing ? INDEX_WRITE : INDEX_READ, e);
	remove_index(s->dir, new_index);
	s->reindexing = true;
	return index_open(&s->index, path, INDEX_CREATE, e);
}

/* Each pack that is read from is an open file. */
static void
allow_many_files(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) == 0 && l.rlim_cur < l.rlim_max) {
		l.rlim_cur = l.rlim_max;
		setrlimit(RLIMIT_NOFILE, &l);
	}
}

static int
open_parts(struct store *s, enum store_access access, struct err *e)
{
	s->dirfd = open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->dirfd < 0)
		return err_os(e, "%s", s->dir);
	if (read_format(s, e) != 0)
		return -1;
	s->packs_fd = openat(
	    s->dirfd, "packs", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (s->packs_fd < 0)
		return err_os(e, "%s/packs", s->dir);
	bool wait = access == STORE_WRITE_WAIT || access == STORE_REINDEX_WAIT;
	if (access != STORE_READ && take_lock(s, wait, e) != 0)
		return -1;
	s->packs = store_packs(s);
	if (s->packs == NULL)
		return err_nomem(e, s->dir);
	return open_index(
	    s, access == STORE_REINDEX || access == STORE_REINDEX_WAIT, e);
}

static const struct store closed = {
	.dirfd = -1, .packs_fd = -1, .lock_fd = -1, .w = { .fd = -1 }
};

int
store_open_remote(struct store *s, const struct remote_place *p,
    enum store_access access, struct err *e)
{
	*s = closed;
	s->dir = strdup(p->url);
	if (s->dir == NULL)
		return err_nomem(e, p->url);
	bool anew = access == STORE_REINDEX || access == STORE_REINDEX_WAIT;
	if (remote_open(&s->remote, p, anew, e) != 0) {
		store_close(s);
		return -1;
	}
	s->index = remote_index(s->remote);
	s->pack_bytes = remote_pack_bytes(s->remote);
	s->packs = store_packs(s);
	if (s->packs != NULL)
		return 0;
	store_close(s);
	return err_nomem(e, p->url);
}

int
store_open(struct store *s, const char *dir, enum store_access access, struct err *e)
{
	if (s3_is_url(dir))
		return store_open_remote(
		    s, &(struct remote_place){ .url = dir }, access, e);
	*s = closed;
	if (strlen(dir) > 500)
		return err_set(e, ERR_USAGE, "the store's path is too long");
	s->dir = strdup(dir);
	if (s->dir == NULL)
		return err_nomem(e, dir);
	allow_many_files();
	if (open_parts(s, access, e) == 0)
		return 0;
	store_close(s);
	return -1;
}

static void
close_if_open(int fd)
{
	if (fd >= 0)
		close(fd);
}

/* Before bytes of a pack from `from` on are given up, because the index does not count
 * them: does it mean any of them?  Then it is damaged, and they are all there is. */
static int
check_unused(struct store *s, uint32_t pack, uint64_t from, struct err *e)
{
	uint64_t end;

	if (index_pack_end(s->index, pack, &end, e) != 0)
		return -1;
	if (end <= from)
		return 0;
	return err_set(e, ERR_FORMAT,
	    "%s: the index counts %" PRIu64 " bytes of pack %" PRIu32 ", but has a "
	    "record behind them (emustore repair --index makes it again)",
	    s->dir, from, pack);
}

int
store_remove_strays(struct store *s, struct err *e)
{
	uint32_t *list;
	size_t n;
	struct index_pack p;
	char name[PACK_NAME_MAX];
	int rc = packs_list(s->packs_fd, s->dir, &list, &n, e);

	for (size_t i = 0; rc == 0 && i < n; i++) {
		rc = index_pack_from(s->index, list[i], &p, e);
		if (rc < 0 || (rc == 1 && p.number == list[i])) {
			rc = rc < 0 ? -1 : 0;
			continue;
		}
		pack_file_name(list[i], name);
		rc = check_unused(s, list[i], 0, e);
		if (rc == 0 && unlinkat(s->packs_fd, name, 0) != 0)
			rc = err_os(e, "%s/packs/%s", s->dir, name);
	}
	free(list);
	return rc;
}

/* *bytes 0: there is no such file. */
static int
file_bytes(const struct store *s, const struct index_pack *p, uint64_t *bytes,
    struct err *e)
{
	char name[PACK_NAME_MAX];
	struct stat st;

	pack_file_name(p->number, name);
	int rc = fstatat(s->packs_fd, name, &st, AT_SYMLINK_NOFOLLOW);
	*bytes = rc == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
	return rc == 0 || errno == ENOENT ? 0
	                                  : err_os(e, "%s/packs/%s", s->dir, name);
}

/* The last pack, when there is room in it.  One that lacks something is left as it is:
 * what is new goes into another one, so that it can be repaired. */
static int
open_last_pack(struct store *s, struct err *e)
{
	struct index_pack p = { 0 }, last = { 0 };
	uint64_t there;
	int rc;

	while ((rc = index_pack_from(s->index, p.number + 1, &p, e)) == 1)
		last = p;
	if (rc < 0)
		return -1;
	if (last.number == 0 || last.bytes >= s->pack_bytes)
		return 0;
	if (file_bytes(s, &last, &there, e) != 0)
		return -1;
	if (there < last.bytes)
		return 0;
	if (there > last.bytes && check_unused(s, last.number, last.bytes, e) != 0)
		return -1;
	return pack_writer_open(&s->w, last.number, last.bytes, e);
}

/* What a transaction that failed has left takes room that others need. */
static void
undo(struct store *s)
{
	struct err ignored; /* the next writer does it, then */

	pack_writer_drop(&s->w);
	index_rollback(s->index);
	if (store_remove_strays(s, &ignored) == 0 && open_last_pack(s, &ignored) == 0)
		pack_writer_drop(&s->w);
}

void
store_close(struct store *s)
{
	if (s->writing && s->remote == NULL)
		undo(s);
	pack_writer_drop(&s->w);
	remote_put_free(s->putting);
	if (s->remote == NULL)
		index_close(s->index);
	packs_free(s->packs);
	remote_close(s->remote); /* with its index */
	if (s->reindexing)
		remove_index(s->dir, new_index);
	close_if_open(s->packs_fd);
	close_if_open(s->dirfd);
	close_if_open(s->lock_fd); /* the last: nobody else may write before */
	free(s->dir);
	*s = closed;
}

int
store_begin(struct store *s, struct err *e)
{
	if (s->remote != NULL) {
		s->writing = true;
		return remote_put_new(&s->putting, s->remote, e);
	}
	s->w.dir = s->dir;
	s->w.dirfd = s->packs_fd;
	if (index_begin(s->index, true, e) != 0)
		return -1;
	s->writing = true;
	for (int i = 0; i < 3; i++)
		if (index_next(s->index, (enum index_next)i, &s->next[i], e) != 0)
			return -1;
	if (store_remove_strays(s, e) != 0)
		return -1;
	return open_last_pack(s, e);
}

bool
store_holds(const struct store *s, const char *path)
{
	char *real = realpath(path, NULL), *name;
	struct stat folder, own;
	bool holds = false;

	if (real != NULL && (name = strrchr(real, '/')) != NULL && name > real) {
		*name = '\0';
		holds = stat(real, &folder) == 0 &&
		        ((fstat(s->dirfd, &own) == 0 && own.st_dev == folder.st_dev &&
			     own.st_ino == folder.st_ino) ||
			    (fstat(s->packs_fd, &own) == 0 &&
				own.st_dev == folder.st_dev &&
				own.st_ino == folder.st_ino));
	}
	free(real);
	return holds;
}

uint64_t
store_number(struct store *s, enum index_next what)
{
	return s->next[what]++;
}

int
store_end_pack(struct store *s, struct err *e)
{
	struct index_pack p = { s->w.number, s->w.at };

	if (s->w.fd < 0)
		return 0;
	if (pack_writer_finish(&s->w, e) != 0)
		return -1;
	return index_put_pack(s->index, &p, e);
}

int
store_append(struct store *s, enum record_type type, uint64_t number, const void *a,
    size_t a_bytes, const void *b, size_t b_bytes, uint32_t *pack, uint64_t *at,
    struct err *e)
{
	if (s->w.fd >= 0 && s->w.at >= s->pack_bytes && store_end_pack(s, e) != 0)
		return -1;
	if (s->w.fd < 0 && pack_writer_open(&s->w,
			       (uint32_t)store_number(s, INDEX_NEXT_PACK), 0, e) != 0)
		return -1;
	*pack = s->w.number;
	return pack_append(&s->w, type, number, a, a_bytes, b, b_bytes, at, e);
}

int
store_sync(struct store *s, struct err *e)
{
	if (store_end_pack(s, e) != 0)
		return -1;
	return fsync(s->packs_fd) == 0 ? 0 : err_os(e, "%s/packs", s->dir);
}

struct packs *
store_packs(struct store *s)
{
	return s->remote != NULL ? remote_packs(s->remote)
	                         : packs_new(s->packs_fd, s->dir);
}

int
store_find_fragment(struct store *s, const uint8_t sha256[SHA256_BYTES],
    struct index_fragment *f, struct err *e)
{
	return s->putting != NULL ? remote_put_find(s->putting, sha256, f, e)
	                          : index_find_fragment(s->index, sha256, f, e);
}

int
store_add_fragment(
    struct store *s, struct index_fragment *f, const void *data, struct err *e)
{
	uint8_t head[FRAGMENT_HEAD_BYTES];
	bool lost = f->number != 0;

	if (s->putting != NULL)
		return remote_put_fragment(s->putting, f, data, e);
	fragment_put_head(&f->head, head);
	if (!lost)
		f->number = store_number(s, INDEX_NEXT_FRAGMENT);
	if (store_append(s, RECORD_FRAGMENT, f->number, head, sizeof head, data,
		f->bytes, &f->pack, &f->at, e) != 0)
		return -1;
	return lost ? index_move_fragment(s->index, f->number, f->pack, f->at, e)
	            : index_add_fragment(s->index, f, e);
}

int
store_commit(struct store *s, struct err *e)
{
	if (s->remote != NULL) { /* the image's object was the commit */
		s->writing = false;
		return 0;
	}
	if (store_sync(s, e) != 0)
		return -1;
	for (int i = 0; i < 3; i++)
		if (index_set_next(s->index, (enum index_next)i, s->next[i], e) != 0)
			return -1;
	if (index_commit(s->index, e) != 0)
		return -1;
	s->writing = false;
	return 0;
}

int
store_use_index(struct store *s, struct err *e)
{
	index_close(s->index); /* all of it is in its one file then */
	s->index = NULL;
	/* What the old one had not yet in its file must never meet the new file. */
	unlinkat(s->dirfd, "index.db-wal", 0);
	unlinkat(s->dirfd, "index.db-shm", 0);
	if (fsync(s->dirfd) != 0 ||
	    renameat(s->dirfd, new_index, s->dirfd, index_name) != 0 ||
	    fsync(s->dirfd) != 0)
		return err_os(e, "%s/%s", s->dir, index_name);
	s->reindexing = false;
	return 0;
}
