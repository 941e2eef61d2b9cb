/* fetched.c: where images of the parent are kept here (fetched.h).  parents.c,
 * answer.c and sessions.c call this, in the master's first thread. */
#include "mfrisbeed/master/fetched.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mfrisbeed/master/names.h"

enum { NUMBER_DIGITS = 10 };

static int
place_of(char **path, const char *folder, const char *name, struct err *e)
{
	char file[NAMES_ENCODED_BYTES];

	names_encode(name, file);
	if (strlen(file) + sizeof FETCH_ARRIVING + NUMBER_DIGITS > NAME_MAX)
		return err_set(e, ERR_USAGE,
		    "%s: the name is too long for a file that the parent's image is kept in",
		    name);
	return asprintf(path, "%s/%s", folder, file) < 0 ? err_nomem(e, name) : 0;
}

int
fetched_entry(struct catalog_entry *x, const char *folder, const char *name,
    const struct master_get_reply *r, struct err *e)
{
	*x = (struct catalog_entry){ .at_parent = true,
		.bytes = r->bytes,
		.mtime = fetch_mtime(r) };
	return place_of(&x->place, folder, name, e);
}

bool
fetched_find(struct catalog_entry *x, const char *folder, const char *name)
{
	struct err ignored;
	struct stat st;

	*x = (struct catalog_entry){ .at_parent = true };
	if (place_of(&x->place, folder, name, &ignored) != 0)
		return false;
	if (stat(x->place, &st) != 0 || !S_ISREG(st.st_mode)) {
		catalog_entry_free(x);
		return false;
	}
	x->bytes = (uint64_t)st.st_size;
	x->mtime = st.st_mtim.tv_sec;
	return true;
}

/* An image of which the time is not known, as an image of a store, may change without
 * notice, and never counts as whole. */
bool
fetched_is_whole(const struct catalog_entry *x)
{
	struct stat st;

	return x->mtime != 0 && stat(x->place, &st) == 0 && S_ISREG(st.st_mode) &&
	       (uint64_t)st.st_size == x->bytes && st.st_mtim.tv_sec == x->mtime;
}

void
fetched_forget(const struct catalog_entry *x, pid_t process)
{
	char *path;

	if (!x->at_parent ||
	    asprintf(&path, "%s%s%d", x->place, FETCH_ARRIVING, (int)process) < 0)
		return;
	(void)unlink(path);
	free(path);
}

int
fetched_clean(const char *folder, struct err *e)
{
	DIR *d = opendir(folder);
	struct dirent *x;

	if (d == NULL)
		return err_os(e, "%s", folder);
	while ((x = readdir(d)) != NULL)
		if (strstr(x->d_name, FETCH_ARRIVING) != NULL)
			(void)unlinkat(dirfd(d), x->d_name, 0);
	closedir(d);
	return 0;
}
