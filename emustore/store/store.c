/* A store is opened, for reading or as its only writer, and closed: by one thread of whoever
 * has it.  Readers in other threads have packs of their own, by store_packs(). */
#include "emustore/store/store_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emustore/s3/s3.h"
#include "emustore/store/own.h"

enum { READERS_TRIES = 500, READERS_US = 10000 };

/* Readers that copy the index hold the lock for a moment, shared; a writer holds it alone.
 * 0, or -1 with EWOULDBLOCK: a writer is there, or a reader that does not end. */
static int
lock_in_a_moment(int fd)
{
	for (int tries = 0; tries < READERS_TRIES; tries++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return 0;
		if (errno != EWOULDBLOCK || flock(fd, LOCK_SH | LOCK_NB) != 0)
			return -1;
		flock(fd, LOCK_UN);
		usleep(READERS_US);
	}
	errno = EWOULDBLOCK;
	return -1;
}

static int
take_lock(struct store *s, bool wait, struct err *e)
{
	char path[STORE_PATH_BYTES];

	store_path(s->dir, "lock", path);
	s->lock_fd = own_open(s->dirfd, "lock", O_RDWR | O_CREAT, 0666, path, e);
	if (s->lock_fd < 0)
		return -1;
	if ((wait ? flock(s->lock_fd, LOCK_EX) : lock_in_a_moment(s->lock_fd)) == 0)
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
	char path[STORE_PATH_BYTES];

	store_path(s->dir, anew ? store_new_index : store_index_name, path);
	bool writing = s->lock_fd >= 0;
	if (!anew && writing && own_check(s->dirfd, store_index_name, true, path, e) != 0)
		return -1;
	if (!anew)
		return index_open(
		    &s->index, path, writing ? INDEX_WRITE : INDEX_READ, e);
	store_remove_index(s->dir, store_new_index);
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
	if (store_read_format(s, e) != 0)
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

void
store_close(struct store *s)
{
	if (s->writing && s->remote == NULL)
		store_undo(s);
	pack_writer_drop(&s->w);
	remote_put_free(s->putting);
	if (s->remote == NULL)
		index_close(s->index);
	packs_free(s->packs);
	remote_close(s->remote); /* with its index */
	if (s->reindexing)
		store_remove_index(s->dir, store_new_index);
	close_if_open(s->packs_fd);
	close_if_open(s->dirfd);
	close_if_open(s->lock_fd); /* the last: nobody else may write before */
	free(s->dir);
	*s = closed;
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

struct packs *
store_packs(struct store *s)
{
	return s->remote != NULL ? remote_packs(s->remote)
	                         : packs_new(s->packs_fd, s->dir);
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
	    renameat(s->dirfd, store_new_index, s->dirfd, store_index_name) != 0 ||
	    fsync(s->dirfd) != 0)
		return err_os(e, "%s/%s", s->dir, store_index_name);
	s->reindexing = false;
	return 0;
}
