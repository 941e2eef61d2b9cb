/* blockfiles.c: the folder of blocks and other ranges.  Called by blocks.c, in any thread. */
#include "emustore/store/blockfiles.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/grow.h"
#include "emustore/objects/own_file.h"

enum {
	NAME_BYTES = 120,
	STALE_SECONDS = 3600,
	/* How much longer the blocks of an image stay if it was loaded twice as often.  With a
	 * day, what was loaded twice outlives for a day what was loaded once since. */
	TWICE_SECONDS = 24 * 3600,
};

struct blockfiles {
	int dirfd;
	uint64_t max;
	pthread_mutex_t lock;
	uint64_t bytes, at_scan; /* of all files, as far as known; and when last
				  * counted */
	unsigned serial;
	_Atomic time_t bonus; /* seconds that are added to the time of a use */
};

struct file {
	char name[NAME_BYTES];
	struct timespec used;
	uint64_t bytes;
};

struct files {
	struct file *v;
	size_t n, cap;
	uint64_t bytes;
};

static void
file_name(const char *id, uint64_t at, size_t n, char out[NAME_BYTES])
{
	snprintf(out, NAME_BYTES, "%.64s.%" PRIu64 "+%zu", id, at, n);
}

/* A file that a process left when it died is removed when it is old. */
static bool
is_stale(const char *name, const struct stat *st)
{
	return strncmp(name, "new.", 4) == 0 &&
	       time(NULL) - st->st_mtim.tv_sec > STALE_SECONDS;
}

static void
add_file(struct files *f, const char *name, const struct stat *st)
{
	struct err ignored; /* a file that is not listed stays */

	if (grow_array(&f->v, &f->cap, f->n, sizeof *f->v, "a list of files", &ignored) != 0)
		return;
	struct file *x = &f->v[f->n++];
	snprintf(x->name, sizeof x->name, "%.119s", name);
	x->used = st->st_mtim;
	x->bytes = (uint64_t)st->st_blocks * 512;
	f->bytes += x->bytes;
}

static void
scan(struct blockfiles *b, struct files *f)
{
	int fd = openat(b->dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;
	struct stat st;

	if (d == NULL) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((entry = readdir(d)) != NULL) {
		if (fstatat(b->dirfd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
		    !S_ISREG(st.st_mode))
			continue;
		if (is_stale(entry->d_name, &st))
			unlinkat(b->dirfd, entry->d_name, 0);
		else
			add_file(f, entry->d_name, &st);
	}
	closedir(d);
}

static int
older(const void *a, const void *b)
{
	const struct timespec *x = &((const struct file *)a)->used,
			      *y = &((const struct file *)b)->used;

	if (x->tv_sec != y->tv_sec)
		return x->tv_sec < y->tv_sec ? -1 : 1;
	return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

/* Remove the oldest files down to nine tenths of the limit, so that this is done rarely. */
static void
make_room(struct blockfiles *b)
{
	struct files f = { 0 };

	scan(b, &f);
	if (f.bytes > b->max && f.n > 0) {
		qsort(f.v, f.n, sizeof *f.v, older);
		for (size_t i = 0; i < f.n && f.bytes > b->max / 10 * 9; i++)
			if (unlinkat(b->dirfd, f.v[i].name, 0) == 0)
				f.bytes -= f.v[i].bytes;
	}
	b->bytes = b->at_scan = f.bytes;
	free(f.v);
}

int
blockfiles_new(
    struct blockfiles **out, const char *dir, uint64_t max_bytes, struct err *e)
{
	struct blockfiles *b = calloc(1, sizeof *b);

	if (b == NULL)
		return err_nomem(e, dir);
	if (mkdir(dir, 0700) != 0 && errno != EEXIST) {
		free(b);
		return err_os(e, "%s", dir);
	}
	b->dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (b->dirfd < 0) {
		free(b);
		return err_os(e, "%s", dir);
	}
	b->max = max_bytes;
	pthread_mutex_init(&b->lock, NULL);
	make_room(b);
	*out = b;
	return 0;
}

void
blockfiles_free(struct blockfiles *b)
{
	if (b == NULL)
		return;
	make_room(b);
	close(b->dirfd);
	pthread_mutex_destroy(&b->lock);
	free(b);
}

void
blockfiles_note_loads(struct blockfiles *b, uint64_t loads)
{
	time_t doublings = 0;

	for (; loads > 1; loads /= 2)
		doublings++;
	b->bonus = doublings * TWICE_SECONDS;
}

/* Note in the file's time that it is used now.  A time that is later already stays: another
 * image, which is loaded more often, has the same block. */
static void
note_use(struct blockfiles *b, int fd)
{
	struct timespec t[2];
	struct stat st;

	clock_gettime(CLOCK_REALTIME, &t[1]);
	t[1].tv_sec += b->bonus;
	t[0] = t[1];
	if (fstat(fd, &st) == 0 && st.st_mtim.tv_sec < t[1].tv_sec)
		futimens(fd, t);
}

bool
blockfiles_get(
    struct blockfiles *b, const char *id, uint64_t at, void *out, size_t n)
{
	char name[NAME_BYTES];

	file_name(id, at, n, name);
	struct err ignored; /* then it is fetched */
	int fd = own_file_open(b->dirfd, name, O_RDONLY, 0, name, &ignored);
	if (fd < 0)
		return false;
	bool whole = own_file_read(fd, out, n, 0) == (ssize_t)n;
	note_use(b, fd);
	close(fd);
	return whole;
}

bool
blockfiles_have(struct blockfiles *b, const char *id, uint64_t at, size_t n)
{
	char name[NAME_BYTES];

	file_name(id, at, n, name);
	return faccessat(b->dirfd, name, F_OK, 0) == 0;
}

/* Other processes count for themselves: so look again after an eighth of the limit. */
static void
count(struct blockfiles *b, size_t n)
{
	pthread_mutex_lock(&b->lock);
	b->bytes += n;
	if (b->bytes > b->max || b->bytes - b->at_scan > b->max / 8)
		make_room(b);
	pthread_mutex_unlock(&b->lock);
}

/* common/base/replace does not do it: several processes put the same range at once, and the file
 * has the time of its use from the beginning on. */
void
blockfiles_put(
    struct blockfiles *b, const char *id, uint64_t at, const void *bytes, size_t n)
{
	char name[NAME_BYTES], temp[NAME_BYTES];

	if (n > b->max)
		return;
	pthread_mutex_lock(&b->lock);
	snprintf(temp, sizeof temp, "new.%ld.%u", (long)getpid(), b->serial++);
	pthread_mutex_unlock(&b->lock);
	file_name(id, at, n, name);
	unlinkat(b->dirfd, temp, 0); /* of a process of the same number */
	struct err ignored;          /* then it is fetched again */
	int fd = own_file_open(b->dirfd, temp, O_WRONLY | O_CREAT | O_EXCL, 0600, temp,
	    &ignored);
	if (fd < 0)
		return;
	bool ok = write(fd, bytes, n) == (ssize_t)n;
	note_use(b, fd);
	ok = close(fd) == 0 && ok;
	if (!ok || renameat(b->dirfd, temp, b->dirfd, name) != 0)
		unlinkat(b->dirfd, temp, 0);
	else
		count(b, n);
}
