#include "common/disk/inuse.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

enum { DEVS_MAX = 257, PATH_BYTES = 512 };

/* The device asked about and its partitions. */
struct family {
	size_t n;
	dev_t dev[DEVS_MAX];
	char name[DEVS_MAX][256];	/* as in /sys: "sdb1" */
};

static bool
read_dev(const char *path, dev_t *dev)
{
	unsigned major, minor;
	FILE *f = fopen(path, "re");

	if (f == NULL)
		return false;
	bool ok = fscanf(f, "%u:%u", &major, &minor) == 2;
	fclose(f);
	*dev = makedev(major, minor);
	return ok;
}

static void
family_add(struct family *f, dev_t dev, const char *name)
{
	if (f->n == DEVS_MAX)
		return;
	f->dev[f->n] = dev;
	snprintf(f->name[f->n++], sizeof f->name[0], "%s", name);
}

/* Partitions are the folders below the disk's that have a file "partition". */
static void
family_find(struct family *f, const char *sys, dev_t dev)
{
	char dir[PATH_BYTES], file[PATH_BYTES + 300];
	dev_t part;

	snprintf(dir, sizeof dir, "%s/dev/block/%u:%u", sys, major(dev), minor(dev));
	family_add(f, dev, "");
	DIR *d = opendir(dir);
	if (d == NULL)
		return;
	for (struct dirent *de; (de = readdir(d)) != NULL; ) {
		struct stat st;
		snprintf(file, sizeof file, "%s/%s/partition", dir, de->d_name);
		if (stat(file, &st) != 0)
			continue;
		snprintf(file, sizeof file, "%s/%s/dev", dir, de->d_name);
		if (read_dev(file, &part))
			family_add(f, part, de->d_name);
	}
	closedir(d);
}

static const char *
member_name(const struct family *f, size_t i, const char *path)
{
	return f->name[i][0] != '\0' ? f->name[i] : path;
}

static int
check_holders(const struct family *f, const char *sys, const char *path, struct err *e)
{
	char dir[PATH_BYTES];

	for (size_t i = 0; i < f->n; i++) {
		snprintf(dir, sizeof dir, "%s/dev/block/%u:%u/holders", sys, major(f->dev[i]),
		    minor(f->dev[i]));
		DIR *d = opendir(dir);
		if (d == NULL)
			continue;
		for (struct dirent *de; (de = readdir(d)) != NULL; ) {
			if (de->d_name[0] == '.')
				continue;
			err_set(e, ERR_REFUSED, "%s: is in use: %s is held by %s; --force writes "
			    "all the same", path, member_name(f, i, path), de->d_name);
			closedir(d);
			return -1;
		}
		closedir(d);
	}
	return 0;
}

/* mountinfo: id, parent, major:minor, root, mount point, ... */
static int
check_mounts(const struct family *f, const char *proc, const char *path, struct err *e)
{
	char file[PATH_BYTES], where[256], *line = NULL;
	size_t cap = 0;
	unsigned maj, min;
	int rc = 0;

	snprintf(file, sizeof file, "%s/self/mountinfo", proc);
	FILE *in = fopen(file, "re");
	while (in != NULL && rc == 0 && getline(&line, &cap, in) > 0) {
		if (sscanf(line, "%*d %*d %u:%u %*s %255s", &maj, &min, where) != 3)
			continue;
		for (size_t i = 0; i < f->n && rc == 0; i++)
			if (f->dev[i] == makedev(maj, min))
				rc = err_set(e, ERR_REFUSED, "%s: is in use: %s is mounted on %s; "
				    "--force writes all the same", path,
				    member_name(f, i, path), where);
	}
	free(line);
	if (in != NULL)
		fclose(in);
	return rc;
}

static int
check_swaps(const struct family *f, const char *proc, const char *path, struct err *e)
{
	char file[PATH_BYTES], swap[256], *line = NULL;
	size_t cap = 0;
	struct stat st;
	int rc = 0;

	snprintf(file, sizeof file, "%s/swaps", proc);
	FILE *in = fopen(file, "re");
	while (in != NULL && rc == 0 && getline(&line, &cap, in) > 0) {
		if (sscanf(line, "%255s", swap) != 1 || stat(swap, &st) != 0 ||
		    !S_ISBLK(st.st_mode))
			continue;
		for (size_t i = 0; i < f->n && rc == 0; i++)
			if (f->dev[i] == st.st_rdev)
				rc = err_set(e, ERR_REFUSED, "%s: is in use: %s is swap space; "
				    "--force writes all the same", path, swap);
	}
	free(line);
	if (in != NULL)
		fclose(in);
	return rc;
}

int
inuse_check_in(const char *proc, const char *sys, const char *path, dev_t dev, struct err *e)
{
	struct family *f = calloc(1, sizeof *f);

	if (f == NULL)
		return err_nomem(e, path);
	family_find(f, sys, dev);
	int rc = check_mounts(f, proc, path, e) != 0 || check_swaps(f, proc, path, e) != 0 ||
	    check_holders(f, sys, path, e) != 0 ? -1 : 0;
	free(f);
	return rc;
}

int
inuse_check(const char *path, dev_t dev, struct err *e)
{
	return inuse_check_in("/proc", "/sys", path, dev, e);
}
