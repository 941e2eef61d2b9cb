#include "common/disk/inuse.h"

#include <dirent.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { NESTING_MAX = 8 }; /* loop devices on loop devices */

struct target {
	const char *root, *path;
	struct stat st;
	unsigned nesting;
};

struct name {
	char text[256];
};

static int check(const struct target *, struct err *);

/* The first line of a small file below root, without its end; false if none. */
static bool __attribute__((format(printf, 4, 5)))
read_line(const char *root, char *buf, size_t cap, const char *fmt, ...)
{
	char rel[PATH_MAX], path[PATH_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(rel, sizeof rel, fmt, ap);
	va_end(ap);
	snprintf(path, sizeof path, "%.2000s/%.2000s", root, rel);
	FILE *f = fopen(path, "re");
	if (f == NULL)
		return false;
	bool ok = fgets(buf, (int)cap, f) != NULL;
	fclose(f);
	if (ok)
		buf[strcspn(buf, "\n")] = '\0';
	return ok;
}

/* The disk that a partition is on; any other device is its own disk. */
static dev_t
whole_disk(const char *root, dev_t dev)
{
	unsigned maj = major(dev), min = minor(dev);
	char line[64];

	if (read_line(
		root, line, sizeof line, "sys/dev/block/%u:%u/partition", maj, min) &&
	    read_line(root, line, sizeof line, "sys/dev/block/%u:%u/../dev", maj, min))
		sscanf(line, "%u:%u", &maj, &min);
	return makedev(maj, min);
}

/* Does writing to one of these devices change the other? */
static bool
share_sectors(const char *root, dev_t a, dev_t b)
{
	return a == b || whole_disk(root, a) == b || a == whole_disk(root, b);
}

static bool
same_bytes(const struct target *t, const struct stat *st)
{
	if (S_ISBLK(t->st.st_mode))
		return S_ISBLK(st->st_mode) &&
		       share_sectors(t->root, t->st.st_rdev, st->st_rdev);
	return S_ISREG(st->st_mode) && st->st_dev == t->st.st_dev &&
	       st->st_ino == t->st.st_ino;
}

/* The same for a path as the kernel prints it. */
static bool
path_is_target(const struct target *t, const char *path)
{
	char full[PATH_MAX];
	struct stat st;

	if (path[0] != '/')
		return false;
	snprintf(full, sizeof full, "%.2000s%.2000s", t->root, path);
	return stat(full, &st) == 0 && same_bytes(t, &st);
}

/* "/dev/sdb1" for a device number. */
static struct name
dev_name(const char *root, dev_t dev)
{
	char path[PATH_MAX], link[PATH_MAX];
	struct name n;

	snprintf(path, sizeof path, "%.2000s/sys/dev/block/%u:%u", root, major(dev),
	    minor(dev));
	ssize_t len = readlink(path, link, sizeof link - 1);
	if (len > 0) {
		link[len] = '\0';
		const char *base = strrchr(link, '/');
		snprintf(n.text, sizeof n.text, "/dev/%.200s",
		    base != NULL ? base + 1 : link);
	} else {
		snprintf(n.text, sizeof n.text, "device %u:%u", major(dev), minor(dev));
	}
	for (char *p = n.text; (p = strchr(p, '!')) != NULL;)
		*p = '/'; /* how sysfs spells cciss/c0d0 */
	return n;
}

/* Undo the kernel's \040 for blanks, in place. */
static void
unescape(char *s)
{
	char *out = s;

	for (; *s != '\0'; s++) {
		unsigned c;
		int n = 0;
		if (sscanf(s, "\\%3o%n", &c, &n) == 1) {
			*out++ = (char)c;
			s += n - 1;
		} else {
			*out++ = *s;
		}
	}
	*out = '\0';
}

static int
check_mount_line(const struct target *t, char *line, struct err *e)
{
	char on[PATH_MAX], source[PATH_MAX] = "";
	unsigned maj, min;

	if (sscanf(line, "%*u %*u %u:%u %*s %4095s", &maj, &min, on) != 3)
		return 0;
	/* btrfs has a number of its own: there only the source tells. */
	char *tail = strstr(line, " - ");
	if (tail != NULL)
		sscanf(tail, " - %*s %4095s", source);
	unescape(on);
	unescape(source);
	if (share_sectors(t->root, t->st.st_rdev, makedev(maj, min)))
		return err_set(e, ERR_REFUSED, "%s is in use: %s is mounted on %s",
		    t->path, dev_name(t->root, makedev(maj, min)).text, on);
	if (path_is_target(t, source))
		return err_set(e, ERR_REFUSED, "%s is in use: %s is mounted on %s",
		    t->path, source, on);
	return 0;
}

static int
check_swap_line(const struct target *t, char *line, struct err *e)
{
	char path[PATH_MAX];

	if (sscanf(line, "%4095s", path) != 1)
		return 0;
	unescape(path);
	if (!path_is_target(t, path))
		return 0;
	return err_set(
	    e, ERR_REFUSED, "%s is in use: %s is used as swap", t->path, path);
}

static int
check_lines(const struct target *t, const char *file,
    int (*check_line)(const struct target *, char *, struct err *), struct err *e)
{
	char path[PATH_MAX], *line = NULL;
	size_t cap = 0;
	int rc = 0;

	snprintf(path, sizeof path, "%.2000s/%s", t->root, file);
	FILE *f = fopen(path, "re");
	if (f == NULL)
		return 0;
	while (rc == 0 && getline(&line, &cap, f) > 0)
		rc = check_line(t, line, e);
	free(line);
	fclose(f);
	return rc;
}

/* Call f for each entry of a directory until it returns nonzero. */
static int
each_entry(const struct target *t, const char *dir,
    int (*f)(const struct target *, const char *dir, const char *entry, struct err *),
    struct err *e)
{
	char path[PATH_MAX];
	struct dirent *ent;
	int rc = 0;

	snprintf(path, sizeof path, "%.2000s/%.2000s", t->root, dir);
	DIR *d = opendir(path);
	if (d == NULL)
		return 0;
	while (rc == 0 && (ent = readdir(d)) != NULL)
		if (ent->d_name[0] != '.')
			rc = f(t, dir, ent->d_name, e);
	closedir(d);
	return rc;
}

/* dir is .../NAME/holders: NAME's name is what stands before. */
static int
check_holder(const struct target *t, const char *dir, const char *holder, struct err *e)
{
	char dm[200], devno[64], also[220] = "";
	unsigned maj, min;

	if (!read_line(t->root, devno, sizeof devno, "%.2000s/../dev", dir) ||
	    sscanf(devno, "%u:%u", &maj, &min) != 2)
		return 0;
	if (read_line(t->root, dm, sizeof dm, "sys/block/%.200s/dm/name", holder))
		snprintf(also, sizeof also, " (%s)", dm);
	return err_set(e, ERR_REFUSED, "%s is in use: %s is held by %s%s", t->path,
	    dev_name(t->root, makedev(maj, min)).text, holder, also);
}

static int
check_partition(
    const struct target *t, const char *dir, const char *entry, struct err *e)
{
	char path[PATH_MAX], line[64];

	if (!read_line(
		t->root, line, sizeof line, "%.1000s/%.200s/partition", dir, entry))
		return 0;
	snprintf(path, sizeof path, "%.1000s/%.200s/holders", dir, entry);
	return each_entry(t, path, check_holder, e);
}

static int
check_holders(const struct target *t, struct err *e)
{
	dev_t whole = whole_disk(t->root, t->st.st_rdev);
	char dir[64], held[80];

	snprintf(dir, sizeof dir, "sys/dev/block/%u:%u", major(t->st.st_rdev),
	    minor(t->st.st_rdev));
	snprintf(held, sizeof held, "%s/holders", dir);
	if (each_entry(t, held, check_holder, e) != 0 ||
	    each_entry(t, dir, check_partition, e) != 0)
		return -1;
	snprintf(held, sizeof held, "sys/dev/block/%u:%u/holders", major(whole),
	    minor(whole));
	return whole != t->st.st_rdev ? each_entry(t, held, check_holder, e) : 0;
}

/* A loop device on our bytes counts when it is itself in use. */
static int
check_loop(const struct target *t, const char *dir, const char *entry, struct err *e)
{
	char backing[PATH_MAX], devno[64], path[272];
	struct target loop = {
		.root = t->root, .path = path, .nesting = t->nesting + 1
	};
	unsigned maj, min;

	if (!read_line(t->root, backing, sizeof backing, "%s/%.200s/loop/backing_file",
		dir, entry) ||
	    !path_is_target(t, backing) ||
	    !read_line(t->root, devno, sizeof devno, "%s/%.200s/dev", dir, entry) ||
	    sscanf(devno, "%u:%u", &maj, &min) != 2)
		return 0;
	snprintf(path, sizeof path, "/dev/%.250s", entry);
	loop.st.st_mode = S_IFBLK;
	loop.st.st_rdev = makedev(maj, min);
	if (check(&loop, e) != 0)
		return err_ctx(e, "%s", t->path);
	return 0;
}

static int
check(const struct target *t, struct err *e)
{
	if (S_ISBLK(t->st.st_mode) &&
	    (check_lines(t, "proc/self/mountinfo", check_mount_line, e) != 0 ||
		check_holders(t, e) != 0))
		return -1;
	if (check_lines(t, "proc/swaps", check_swap_line, e) != 0)
		return -1;
	return t->nesting < NESTING_MAX ? each_entry(t, "sys/block", check_loop, e) : 0;
}

int
inuse_check(const char *root, const char *path, const struct stat *st, struct err *e)
{
	struct target t = { .root = root, .path = path, .st = *st };

	return check(&t, e);
}
