/* output.c: a file gets its name when it is complete and on the disk, and a program does
 * not overwrite its own input.  Programs and whatever writes files for them call this,
 * each output in one thread. */
#include "common/disk/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/replace.h"

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
		return err_set(
		    e, ERR_USAGE, "%s: source and image are the same file", output);
	return 0;
}

/* Does the file begin as this kind does?  -1: it cannot be read. */
static int
is_of_kind(const char *path, const struct output_kind *kind, struct err *e)
{
	uint8_t head[OUTPUT_HEAD_BYTES];
	struct err ignored; /* the file was only read, so nothing can be lost */
	struct disk *d;

	if (disk_open(&d, path, DISK_READ, e) != 0)
		return -1;
	ssize_t n = disk_read_upto(d, head, kind->head_bytes, 0, e);
	disk_close(d, &ignored);
	if (n < 0)
		return -1;
	return n == 0 || ((size_t)n == kind->head_bytes && kind->begins(head));
}

int
output_check_replace(
    const char *path, const struct output_kind *kind, bool force, struct err *e)
{
	bool standard = strcmp(path, "-") == 0;
	struct stat st;

	if (force || stat_of(path, STDOUT_FILENO, &st) != 0)
		return 0;
	if (S_ISBLK(st.st_mode))
		return err_set(e, ERR_REFUSED,
		    "%s: is a disk, and %s would overwrite its contents; use --force "
		    "to write it there",
		    standard ? "standard output" : path, kind->name);
	/* A file that standard output leads to was chosen, and emptied, by the shell. */
	if (!S_ISREG(st.st_mode) || standard)
		return 0;
	int is = is_of_kind(path, kind, e);
	if (is > 0)
		return 0;
	return err_set(e, ERR_REFUSED,
	    "%s: exists already, and %s %s; --force replaces it", path,
	    is < 0 ? "it cannot be found out whether it is" : "is not", kind->name);
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

FILE *
output_report_last(const void *opts, char **operands, int n)
{
	(void)opts;
	return n > 0 ? output_report(operands[n - 1]) : stdout;
}

const char *
output_image_left(const void *opts, char **operands, int n)
{
	struct stat st;
	(void)opts;

	if (n == 0)
		return "no image was made";
	bool is_file = stat(operands[n - 1], &st) != 0 || S_ISREG(st.st_mode);
	return is_file && strcmp(operands[n - 1], "-") != 0 ? "no image was made"
	                                                    : "the image is incomplete";
}

void
output_remove(const char *path)
{
	struct stat st;

	if (lstat(path, &st) != 0)
		return;
	if (!S_ISLNK(st.st_mode))
		unlink(path);
	else if (truncate(path, 0) != 0)
		return; /* a pipe: what was written to it cannot be taken back */
}

static void
output_free(struct output *o)
{
	free(o->path);
	free(o->partial);
	memset(o, 0, sizeof *o);
}

/* Let the error name both files: the user named `path`, and the system refused `partial`. */
static void
name_in_error(const char *path, const char *partial, struct err *e)
{
	size_t n = partial != NULL ? strlen(partial) : 0;
	const struct err was = *e;

	if (n > 0 && strncmp(was.text, partial, n) == 0)
		snprintf(e->text, sizeof e->text, "%.200s%.300s", path, was.text + n);
}

/* Make the file empty.  Nobody else has it: it is held. */
static int
take_partial(struct output *o, struct err *e)
{
	struct stat named, old;

	if (lstat(o->partial, &named) == 0 && S_ISLNK(named.st_mode))
		return err_set(e, ERR_REFUSED,
		    "%s: is a symbolic link, and what it leads to would be lost; remove it",
		    o->partial);
	if (disk_size_bytes(o->disk) > 0 && disk_truncate(o->disk, 0, e) != 0)
		return -1;
	/* A file that replaces a private one gets the same mode, where files have modes. */
	if (stat(o->path, &old) == 0)
		fchmod(disk_fd(o->disk), old.st_mode & 0777);
	return 0;
}

/* The new file takes the place of the old one, not that of a link to it. */
static char *
own_name(const char *path)
{
	struct stat st;
	bool link = wants_partial(path) && lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
	char *name = link ? realpath(path, NULL) : NULL;

	return name != NULL ? name : strdup(path);
}

int
output_open(struct output *o, const char *path, const struct output_kind *kind,
    bool force, struct err *e)
{
	unsigned flags = DISK_WRITE | DISK_CREATE | (force ? DISK_FORCE : 0);
	struct err closing;

	memset(o, 0, sizeof *o);
	if (output_check_replace(path, kind, force, e) != 0)
		return -1;
	o->path = own_name(path);
	if (o->path == NULL ||
	    (wants_partial(path) && asprintf(&o->partial, "%s" REPLACE_PARTIAL, o->path) < 0)) {
		free(o->path);
		return err_nomem(e, path);
	}
	int rc = disk_open(&o->disk, o->partial != NULL ? o->partial : path, flags, e);
	if (rc != 0)
		name_in_error(path, o->partial, e);
	else
		disk_call_data(o->disk, path);
	if (rc == 0 && o->partial != NULL && take_partial(o, e) != 0) {
		/* the file is another program's: it is not removed */
		disk_close(o->disk, &closing);
		rc = -1;
	}
	if (rc != 0)
		output_free(o);
	return rc;
}

int
output_write(struct output *o, const void *data, size_t n, struct err *e)
{
	if (disk_write(o->disk, data, n, o->at, e) != 0)
		return -1;
	o->at += n;
	return 0;
}

/* The file is renamed while it is held; otherwise another program would take the partial
 * file for its own. */
static int
close_named(struct output *o, bool no_sync, struct err *e)
{
	bool named = o->partial != NULL;

	/* The folder is synced when it is known that no write was lost. */
	if (named && replace_name(o->partial, o->path, REPLACE_UNSYNCED, e) != 0)
		return -1;
	free(o->partial);
	o->partial = NULL;
	int rc = disk_close(o->disk, e);
	o->disk = NULL;
	if (rc != 0 && named)
		unlink(o->path); /* writes may be lost, so the file must not look complete */
	return rc == 0 && named && !no_sync ? replace_sync_name(o->path, e) : rc;
}

int
output_commit(struct output *o, bool no_sync, struct err *e)
{
	int rc = no_sync ? 0 : disk_sync(o->disk, e);

	if (rc == 0)
		rc = close_named(o, no_sync, e);
	if (rc != 0) {
		output_abort(o);
		return -1;
	}
	output_free(o);
	return 0;
}

int
output_replace(const char *path, const struct output_kind *kind, const void *data, size_t n,
    struct err *e)
{
	return output_check_replace(path, kind, false, e) == 0
	           ? replace_file(path, data, n, 0644, 0, e)
	           : -1;
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
