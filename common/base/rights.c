/* rights.c: a server becomes another user, and gives up what it does not need.  mfrisbeed
 * and frisbeed call this in their first thread, before they start others. */
#include "common/base/rights.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/confined_impl.h"
#include "common/base/rights_impl.h"

void
rights_may_write(struct rights *r, const char *path)
{
	if (path != NULL && r->n < RIGHTS_PATHS_MAX)
		r->paths[r->n++] = path;
}

int
rights_may_replace(
    struct rights *r, const char *file, char folder[], size_t cap, struct err *e)
{
	const char *slash = strrchr(file, '/');
	size_t n = slash == NULL ? 1 : slash == file ? 1 : (size_t)(slash - file);
	struct stat st;

	if (n >= cap)
		return err_set(e, ERR_USAGE, "%.100s...: the path is too long", file);
	if (stat(file, &st) == 0 && !S_ISREG(st.st_mode)) {
		rights_may_write(r, file);
		return 0;
	}
	snprintf(folder, cap, "%.*s", (int)n, slash == NULL ? "." : file);
	rights_may_write(r, folder);
	return 0;
}

static int
find_user(const char *name, const struct passwd **p, struct err *e)
{
	errno = 0;
	*p = getpwnam(name);
	if (*p != NULL)
		return 0;
	return errno != 0 && errno != ENOENT ? err_os(e, "user %s", name)
	                                     : err_set(e, ERR_ABSENT, "there is no user %s", name);
}

int
rights_become(const char *user, struct err *e)
{
	const struct passwd *p;

	if (find_user(user, &p, e) != 0)
		return -1;
	if (geteuid() == p->pw_uid && getuid() == p->pw_uid)
		return 0;
	if (initgroups(p->pw_name, p->pw_gid) != 0 ||
	    setresgid(p->pw_gid, p->pw_gid, p->pw_gid) != 0 ||
	    setresuid(p->pw_uid, p->pw_uid, p->pw_uid) != 0)
		return err_os(e, "cannot become the user %s", user);
	return 0;
}

int
rights_give_folder(const char *user, const char *folder, struct err *e)
{
	const struct passwd *p = NULL;

	if (user != NULL && find_user(user, &p, e) != 0)
		return -1;
	if (mkdir(folder, 0755) != 0)
		return errno == EEXIST ? 0 : err_os(e, "%s", folder);
	return p == NULL || geteuid() != 0 || chown(folder, p->pw_uid, p->pw_gid) == 0
	           ? 0
	           : err_os(e, "%s: cannot be given to the user %s", folder, user);
}

int
rights_give_up(const struct rights *r, const char **without, struct err *e)
{
	*without = NULL;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return err_os(e, "cannot give up rights");
	int files = rights_limit_files(r, e);
	if (files < 0)
		return -1;
	if (files > 0)
		*without = "this system cannot limit which files are written (Landlock)";
	if (CONFINED_SHADOWED) { /* sanitizers start processes, and look at this one */
		*without = "an instrumented program makes all system calls";
		return 0;
	}
	int why = rights_limit_calls();
	if (why == EINVAL || why == ENOSYS)
		*without = "this system has no filter of system calls (seccomp)";
	else if (why != 0) {
		errno = why;
		return err_os(e, "cannot filter system calls");
	}
	return 0;
}
