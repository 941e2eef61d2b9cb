/* The folder of a store: made by store_init(), and its file "format", by which programs
 * know what they may do with it.  Called by store.c, and by a writer whose store gets a
 * newer format. */
#include "emustore/store/store_impl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emustore/store/own.h"

enum { FORMAT_BYTES = 200 };

const char store_new_index[] = "index.new", store_index_name[] = "index.db";
static const char new_format[] = "format.new";

void
store_path(const char *dir, const char *name, char out[STORE_PATH_BYTES])
{
	snprintf(out, STORE_PATH_BYTES, "%.500s/%s", dir, name);
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
	char path[STORE_PATH_BYTES], text[FORMAT_BYTES];
	int n = snprintf(text, sizeof text, "emustore %u\npack-bytes %" PRIu64 "\n",
	    format, pack_bytes);

	store_path(dir, name, path);
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
void
store_remove_index(const char *dir, const char *name)
{
	static const char *const ends[] = { "", "-wal", "-shm" };
	char path[STORE_PATH_BYTES], file[64];

	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		snprintf(file, sizeof file, "%s%s", name, ends[i]);
		store_path(dir, file, path);
		unlink(path);
	}
}

static int
fill_new(const char *dir, uint64_t pack_bytes, struct err *e)
{
	char path[STORE_PATH_BYTES];
	struct index *x;

	store_path(dir, store_index_name, path);
	if (index_open(&x, path, INDEX_CREATE, e) != 0)
		return -1;
	index_close(x);
	store_path(dir, "lock", path);
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
	char path[STORE_PATH_BYTES];

	if (strlen(dir) > 500)
		return err_set(e, ERR_USAGE, "the store's path is too long");
	bool made = mkdir(dir, 0777) == 0;
	if (!made && (errno != EEXIST || !is_empty_folder(dir)))
		return errno == EEXIST ? err_set(e, ERR_REFUSED,
					     "%s: is there already, and not empty", dir)
		                       : err_os(e, "%s", dir);
	store_path(dir, "packs", path);
	int rc = mkdir(path, 0777) != 0 ? err_os(e, "%s", path) : 0;
	if (rc == 0 && (rc = fill_new(dir, pack_bytes, e)) != 0) {
		store_remove_index(dir, store_index_name);
		rmdir(path);
		store_path(dir, "lock", path);
		unlink(path);
	}
	if (rc != 0 && made)
		rmdir(dir); /* unless somebody else has put something there */
	return rc;
}

int
store_read_format(struct store *s, struct err *e)
{
	char text[FORMAT_BYTES] = "", path[STORE_PATH_BYTES];

	store_path(s->dir, "format", path);
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
