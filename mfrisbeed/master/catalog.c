/* catalog.c: finds the files that stand behind names (catalog.h).  The names come from strangers,
 * so only files that the settings give away are found.  answer.c, sessions.c and local.c call it, in
 * the master's first thread. */
#include "mfrisbeed/master/catalog.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/replace.h"
#include "emustore/store/name.h"

/* May a part of a name, which has n bytes, be that of a file or folder?  It must not be empty or begin
 * with a dot, nor end as the name of a file that is still being written (replace.h): nobody has verified what
 * is in such a file. */
static bool
is_part(const char *part, size_t n)
{
	const size_t end = sizeof REPLACE_PARTIAL - 1;

	return n > 0 && part[0] != '.' &&
	       (n < end || memcmp(part + n - end, REPLACE_PARTIAL, end) != 0);
}

/* May the name stand for a file in a folder?  It must be relative. */
static bool
is_file_name(const char *name)
{
	for (const char *part = name;; part++) {
		size_t n = strcspn(part, "/");
		if (!is_part(part, n))
			return false;
		part += n;
		if (*part == '\0')
			return true;
	}
}

static int
join(char **path, const char *folder, const char *name, struct err *e)
{
	return asprintf(path, "%s/%s", folder, name) < 0 ? err_nomem(e, name) : 0;
}

/* Opens a file below a folder.  Links in the name may not lead out of the folder. */
static int
open_beneath(const char *folder, const char *name)
{
	struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS };
	int dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0)
		return -1;
	int fd = (int)syscall(SYS_openat2, dir, name, &how, sizeof how);
	int saved = errno;
	close(dir);
	errno = saved;
	return fd;
}

static int
describe(struct catalog_entry *x, int fd, const char *name, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return err_os(e, "%s", name);
	if (!S_ISREG(st.st_mode))
		return err_set(e, ERR_ABSENT, "%s: is not a file", name);
	x->bytes = (uint64_t)st.st_size;
	x->mtime = st.st_mtim.tv_sec;
	x->device = st.st_dev;
	x->inode = st.st_ino;
	return 0;
}

/* Describes an open file, and closes it.  fd < 0: it could not be opened, and errno says why. */
static int
describe_and_close(struct catalog_entry *x, int fd, const char *name, struct err *e)
{
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == EXDEV || errno == ELOOP))
		return err_set(e, ERR_ABSENT, "%s: there is no such image", name);
	if (fd < 0)
		return err_os(e, "%s", name);
	int rc = describe(x, fd, name, e);
	close(fd);
	return rc;
}

static const struct settings_image *
named(const struct settings *s, const char *name)
{
	for (size_t i = 0; i < s->nimages; i++)
		if (strcmp(s->images[i].name, name) == 0)
			return &s->images[i];
	return NULL;
}

/* The store is asked for it when it is opened. */
static int
find_stored(struct catalog_entry *x, const struct settings *s, const char *place, struct err *e)
{
	x->place = strdup(place);
	x->store = strdup(s->store);
	return x->place != NULL && x->store != NULL ? 0 : err_nomem(e, place);
}

/* The name of the store's image for which a name of an image stands; NULL: it stands for none. */
static const char *
in_store(const struct settings *s, const char *name)
{
	const size_t n = sizeof SETTINGS_IN_STORE - 1;
	struct store_name ignored;
	struct err why;

	return s->store != NULL && strncmp(name, SETTINGS_IN_STORE, n) == 0 &&
	               store_name_get(&ignored, name + n, &why) == 0
	           ? name + n
	           : NULL;
}

static int
find_named(struct catalog_entry *x, const struct settings *s,
    const struct settings_image *image, struct err *e)
{
	if (image->in_store)
		return find_stored(x, s, image->place, e);
	x->place = strdup(image->place);
	if (x->place == NULL)
		return err_nomem(e, image->name);
	return describe_and_close(x,
	    open(image->place, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY),
	    image->name, e);
}

static int
find_in(struct catalog_entry *x, const char *folder, const char *name, struct err *e)
{
	if (folder == NULL || !is_file_name(name))
		return err_set(e, ERR_ABSENT, "%s: there is no such image", name);
	if (join(&x->place, folder, name, e) != 0)
		return -1;
	return describe_and_close(x, open_beneath(folder, name), name, e);
}

int
catalog_find(
    struct catalog_entry *x, const struct settings *s, const char *name, struct err *e)
{
	const struct settings_image *image = named(s, name);
	const char *stored = image == NULL ? in_store(s, name) : NULL;

	*x = (struct catalog_entry){ 0 };
	int rc = image != NULL    ? find_named(x, s, image, e)
	         : stored != NULL ? find_stored(x, s, stored, e)
	                          : find_in(x, s->folder, name, e);
	if (rc != 0 && image == NULL && e->kind == ERR_ABSENT && s->uploads != NULL) {
		catalog_entry_free(x);
		rc = find_in(x, s->uploads, name, e);
	}
	if (rc != 0)
		catalog_entry_free(x);
	return rc;
}

struct listing {
	const struct settings *settings;
	void (*each)(void *arg, const char *name, const struct catalog_entry *);
	void *arg;
	unsigned n;
	bool more;
};

/* Lists a name, if it stands for something. */
static int
list_name(struct listing *l, const char *name, struct err *e)
{
	struct catalog_entry x;

	if (l->n == CATALOG_MOST) {
		l->more = true;
		return 0;
	}
	if (catalog_find(&x, l->settings, name, e) != 0)
		return e->kind == ERR_NOMEM ? -1 : 0;
	l->n++;
	l->each(l->arg, name, &x);
	catalog_entry_free(&x);
	return 0;
}

/* Does another place have this name, from which it is listed? */
static bool
is_hidden(const struct settings *s, const char *folder, const char *name)
{
	struct catalog_entry x = { 0 };
	struct err ignored;

	if (named(s, name) != NULL || in_store(s, name) != NULL)
		return true;
	bool hidden = folder == s->uploads && s->folder != NULL &&
	              find_in(&x, s->folder, name, &ignored) == 0;
	catalog_entry_free(&x);
	return hidden;
}

static bool
ends_as_image(const char *name)
{
	size_t n = strlen(name);

	return n > 4 && n <= MASTER_NAME_MAX && strcmp(name + n - 4, ".ndz") == 0;
}

static bool
may_be_image(const FTSENT *at, const char *name)
{
	return at->fts_level > 0 && at->fts_info != FTS_D && at->fts_info != FTS_DP && ends_as_image(name);
}

static int
by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* Is it a link to a folder, below which images are served? */
static bool
leads_to_folder(const FTSENT *at, const char *folder, const char *name)
{
	int fd = at->fts_info == FTS_SL ? open_beneath(folder, name) : -1;
	struct stat st;
	bool does = fd >= 0 && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);

	if (fd >= 0)
		close(fd);
	return does;
}

static int
list_one(struct listing *l, FTS *all, FTSENT *at, const char *folder, struct err *e)
{
	const char *name = at->fts_path + strlen(folder);

	name += strspn(name, "/");
	if (at->fts_level == 0 && at->fts_errno != 0) {
		errno = at->fts_errno;
		return err_os(e, "%s", folder);
	}
	if (at->fts_level > 0 && at->fts_name[0] == '.') {
		fts_set(all, at, FTS_SKIP);
		return 0;
	}
	if (leads_to_folder(at, folder, name)) {
		fts_set(all, at, FTS_FOLLOW);
		return 0;
	}
	l->more |= at->fts_info == FTS_DNR; /* who knows what is in that folder */
	return may_be_image(at, name) && !is_hidden(l->settings, folder, name) ? list_name(l, name, e) : 0;
}

static int
list_folder(struct listing *l, const char *folder, struct err *e)
{
	char *const roots[] = { (char *)folder, NULL };
	FTS *all = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, by_name);
	FTSENT *at;
	int rc = 0;

	if (all == NULL)
		return err_os(e, "%s", folder);
	while (rc == 0 && (at = fts_read(all)) != NULL)
		rc = list_one(l, all, at, folder, e);
	if (rc == 0 && errno != 0)
		rc = err_os(e, "%s", folder);
	fts_close(all);
	return rc;
}

/* Lists what the store has, unless the configuration has the name. */
static int
list_store(struct listing *l, const struct buf *stored, struct err *e)
{
	char name[sizeof SETTINGS_IN_STORE + STORE_NAME_MAX + 16];
	int rc = 0;

	for (size_t at = 0, n; rc == 0 && at < stored->len; at += n) {
		n = strlen((const char *)stored->base + at) + 1;
		snprintf(name, sizeof name, SETTINGS_IN_STORE "%s", (const char *)stored->base + at);
		rc = named(l->settings, name) != NULL ? 0 : list_name(l, name, e);
	}
	return rc;
}

int
catalog_each(const struct settings *s, const struct buf *stored,
    void (*each)(void *arg, const char *name, const struct catalog_entry *), void *arg,
    bool *more, struct err *e)
{
	struct listing l = { s, each, arg, 0, s->parent_folder != NULL };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < s->nimages; i++)
		rc = list_name(&l, s->images[i].name, e);
	if (rc == 0 && stored != NULL)
		rc = list_store(&l, stored, e);
	if (rc == 0 && s->folder != NULL)
		rc = list_folder(&l, s->folder, e);
	if (rc == 0 && s->uploads != NULL)
		rc = list_folder(&l, s->uploads, e);
	*more = l.more;
	return rc;
}

void
catalog_entry_free(struct catalog_entry *x)
{
	free(x->place);
	free(x->store);
	*x = (struct catalog_entry){ 0 };
}

int
catalog_entry_copy(
    struct catalog_entry *to, const struct catalog_entry *from, struct err *e)
{
	*to = *from;
	to->place = strdup(from->place);
	to->store = from->store != NULL ? strdup(from->store) : NULL;
	if (to->place != NULL && (to->store != NULL) == (from->store != NULL))
		return 0;
	catalog_entry_free(to);
	return err_nomem(e, "an image");
}

/* Has the folder `images`, which is not that of uploads, this name?  1, 0 or -1. */
static int
is_in_images(const struct settings *s, const char *name, struct err *e)
{
	struct catalog_entry x = { 0 };

	if (s->folder == NULL || strcmp(s->folder, s->uploads) == 0)
		return 0;
	int rc = find_in(&x, s->folder, name, e);
	catalog_entry_free(&x);
	return rc == 0 ? 1 : e->kind == ERR_ABSENT ? 0 : -1;
}

int
catalog_upload_path(char **path, bool *replaces, const struct settings *s, const char *name,
    struct err *e)
{
	if (s->uploads == NULL)
		return err_set(e, ERR_ABSENT, "uploads are not allowed");
	if (!is_file_name(name))
		return err_set(
		    e, ERR_USAGE,
		    "%s: is not the name of a file in a folder, or ends in %s as unfinished "
		    "files do",
		    name, REPLACE_PARTIAL);
	if (in_store(s, name) != NULL)
		return err_set(e, ERR_USAGE, "%s: is the name of an image in the store", name);
	if (named(s, name) != NULL)
		return err_set(e, ERR_USAGE,
		    "%s: is the name of an image in the configuration, which no upload replaces",
		    name);
	int there = is_in_images(s, name, e);
	*replaces = there == 1;
	return there < 0 ? -1 : join(path, there ? s->folder : s->uploads, name, e);
}

int
catalog_signature_path(char **path, bool *replaces, const struct settings *s,
    const char *image, struct err *e)
{
	struct catalog_entry x;
	char *beside = NULL;

	if (catalog_upload_path(&beside, replaces, s, image, e) != 0)
		return -1;
	int rc = catalog_find(&x, s, image, e);
	if (rc == 0)
		catalog_entry_free(&x);
	else if (e->kind == ERR_ABSENT)
		err_set(e, ERR_USAGE, "%s: there is no such image, so no signature is taken", image);
	if (rc == 0)
		rc = asprintf(path, "%s.sig", beside) < 0 ? err_nomem(e, image) : 0;
	free(beside);
	return rc;
}
