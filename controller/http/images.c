/* images.c: looks which images there are (images.h).  web.c calls this, in the program's first
 * thread. */
#include "controller/http/images.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/grow.h"

void
images_free(struct images *x)
{
	free(x->files);
	*x = (struct images){ 0 };
}

static bool
is_image(const char *name)
{
	size_t n = strlen(name);

	return name[0] != '.' && n > 4 && n < IMAGES_NAME_BYTES && strcmp(name + n - 4, ".ndz") == 0;
}

static struct image_file *
find(const struct images *x, const char *name)
{
	for (size_t i = 0; i < x->n; i++)
		if (strcmp(x->files[i].name, name) == 0)
			return &x->files[i];
	return NULL;
}

const struct image_file *
images_find(const struct images *x, const char *name)
{
	const struct image_file *f = find(x, name);

	return f != NULL && !f->gone ? f : NULL;
}

/* The name that has been gone for longest, when there is room for no other: whoever reads slowly does not
 * hear that it went.  NULL: all are there. */
static struct image_file *
oldest_gone(const struct images *x)
{
	struct image_file *oldest = NULL;

	for (size_t i = 0; i < x->n; i++)
		if (x->files[i].gone && (oldest == NULL || x->files[i].changed < oldest->changed))
			oldest = &x->files[i];
	return oldest;
}

/* A place for a file that was not seen before; *out is NULL if there are too many. */
static int
add(struct images *x, const char *name, struct image_file **out, struct err *e)
{
	*out = x->n == IMAGES_MAX ? oldest_gone(x) : NULL;
	if (*out == NULL && x->n == IMAGES_MAX)
		return 0;
	if (*out == NULL && grow(&x->files, &x->cap, x->n, sizeof *x->files, "the images", e) != 0)
		return -1;
	if (*out == NULL)
		*out = &x->files[x->n++];
	**out = (struct image_file){ .gone = true };
	strcpy((*out)->name, name);
	return 0;
}

static int
see(struct images *x, const char *name, const struct stat *st, struct err *e)
{
	struct image_file *f = find(x, name);

	if (f == NULL && add(x, name, &f, e) != 0)
		return -1;
	if (f == NULL)
		return 0;
	if (f->gone || f->bytes != (uint64_t)st->st_size || f->modified_s != st->st_mtime)
		f->changed = ++x->changed;
	f->bytes = (uint64_t)st->st_size;
	f->modified_s = st->st_mtime;
	f->gone = false;
	return 0;
}

static int
by_name(const void *a, const void *b)
{
	const struct image_file *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* Marks as gone the images whose file is not there any more. */
static void
miss(struct images *x, DIR *d)
{
	struct stat st;

	for (size_t i = 0; i < x->n; i++) {
		struct image_file *f = &x->files[i];
		if (!f->gone && (fstatat(dirfd(d), f->name, &st, 0) != 0 || !S_ISREG(st.st_mode))) {
			f->gone = true;
			f->changed = ++x->changed;
		}
	}
}

int
images_look(struct images *x, struct err *e)
{
	DIR *d = opendir(x->folder);
	const struct dirent *entry;
	struct stat st;
	int rc = 0;

	if (d == NULL)
		return err_os(e, "%s", x->folder);
	miss(x, d);
	while (rc == 0 && (entry = readdir(d)) != NULL)
		if (is_image(entry->d_name) && fstatat(dirfd(d), entry->d_name, &st, 0) == 0 &&
		    S_ISREG(st.st_mode))
			rc = see(x, entry->d_name, &st, e);
	closedir(d);
	if (x->n > 1)
		qsort(x->files, x->n, sizeof *x->files, by_name);
	return rc;
}
