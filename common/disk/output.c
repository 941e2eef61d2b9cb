#include "common/disk/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool
wants_partial(const char *path)
{
	struct stat st;

	if (strcmp(path, "-") == 0)
		return false;
	return stat(path, &st) != 0 || S_ISREG(st.st_mode);
}

static int
stat_of(const char *path, int standard_fd, struct stat *st)
{
	return strcmp(path, "-") == 0 ? fstat(standard_fd, st) : stat(path, st);
}

bool
output_is_input(const char *output, const char *input)
{
	struct stat a, b;

	if (stat_of(output, STDOUT_FILENO, &a) != 0 ||
	    stat_of(input, STDIN_FILENO, &b) != 0 ||
	    (a.st_mode & S_IFMT) != (b.st_mode & S_IFMT))
		return false;
	if (S_ISBLK(a.st_mode))
		return a.st_rdev == b.st_rdev;
	return S_ISREG(a.st_mode) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

int
output_check_input(const char *output, const char *input, struct err *e)
{
	if (output_is_input(output, input))
		return err_set(e, ERR_USAGE, "%s: is what is read", output);
	return 0;
}

FILE *
output_report(const char *path)
{
	struct stat data, out;
	bool same = stat(path, &data) == 0 && fstat(STDOUT_FILENO, &out) == 0 &&
	            !S_ISCHR(out.st_mode) && data.st_dev == out.st_dev &&
	            data.st_ino == out.st_ino;

	return same || strcmp(path, "-") == 0 ? stderr : stdout;
}

int
output_open(struct output *o, const char *path, bool force, struct err *e)
{
	unsigned flags = DISK_WRITE | DISK_CREATE | DISK_TRUNC |
	                 (force ? DISK_FORCE : 0);

	memset(o, 0, sizeof *o);
	o->path = strdup(path);
	if (o->path == NULL ||
	    (wants_partial(path) && asprintf(&o->partial, "%s.partial", path) < 0)) {
		free(o->path);
		return err_nomem(e, path);
	}
	if (disk_open(&o->disk, o->partial != NULL ? o->partial : path, flags, e) !=
	    0) {
		free(o->path);
		free(o->partial);
		return -1;
	}
	return 0;
}

int
output_write(struct output *o, const void *data, size_t n, struct err *e)
{
	if (disk_write(o->disk, data, n, o->at, e) != 0)
		return -1;
	o->at += n;
	return 0;
}

static void
output_free(struct output *o)
{
	free(o->path);
	free(o->partial);
	memset(o, 0, sizeof *o);
}

int
output_commit(struct output *o, bool no_sync, struct err *e)
{
	int rc = no_sync ? 0 : disk_sync(o->disk, e);

	if (rc == 0) {
		rc = disk_close(o->disk, e);
		o->disk = NULL;
	}
	if (rc == 0 && o->partial != NULL && rename(o->partial, o->path) != 0)
		rc = err_os(e, "%s: cannot rename it to %s", o->partial, o->path);
	if (rc != 0) {
		output_abort(o);
		return -1;
	}
	output_free(o);
	return 0;
}

void
output_abort(struct output *o)
{
	struct err ignored; /* a failure is being reported already */

	disk_close(o->disk, &ignored);
	if (o->partial != NULL)
		unlink(o->partial);
	output_free(o);
}
