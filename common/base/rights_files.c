/* rights_files.c: which files a process may write, by Landlock (landlock(7)), which needs
 * no privilege.  rights_give_up() calls this in the process's first thread. */
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/rights_impl.h"

/* These flags are newer than some systems' headers. */
#ifndef LANDLOCK_ACCESS_FS_REFER
#define LANDLOCK_ACCESS_FS_REFER (1ULL << 13)
#endif
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif

enum { ABI_REFER = 2, ABI_TRUNCATE = 3 };

/* What is allowed on a file, and on a folder with all that is below it.  In a folder,
 * nothing can be made but files, folders and symbolic links. */
static const uint64_t on_file = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE;
static const uint64_t on_folder = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE |
                                  LANDLOCK_ACCESS_FS_REFER | LANDLOCK_ACCESS_FS_MAKE_REG |
                                  LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_SYM |
                                  LANDLOCK_ACCESS_FS_REMOVE_FILE |
                                  LANDLOCK_ACCESS_FS_REMOVE_DIR;
/* What is allowed nowhere. */
static const uint64_t on_nothing =
    LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_SOCK |
    LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK;

/* Those of the flags that this version of Landlock knows. */
static uint64_t
known(int abi, uint64_t access)
{
	if (abi < ABI_REFER)
		access &= ~(uint64_t)LANDLOCK_ACCESS_FS_REFER;
	if (abi < ABI_TRUNCATE)
		access &= ~(uint64_t)LANDLOCK_ACCESS_FS_TRUNCATE;
	return access;
}

static int
allow(int rules, int abi, const char *path, struct err *e)
{
	struct landlock_path_beneath_attr a = {
		.parent_fd = open(path, O_PATH | O_CLOEXEC),
	};
	struct stat st;
	int rc = 0;

	if (a.parent_fd < 0)
		return errno == ENOENT ? 0 : err_os(e, "%s", path);
	if (fstat(a.parent_fd, &st) != 0) {
		rc = err_os(e, "%s", path);
	} else {
		a.allowed_access = known(abi, S_ISDIR(st.st_mode) ? on_folder : on_file);
		if (syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &a, 0) != 0)
			rc = err_os(e, "%s: cannot be made writable", path);
	}
	close(a.parent_fd);
	return rc;
}

int
rights_limit_files(const struct rights *r, struct err *e)
{
	int abi = (int)syscall(
	    SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	int rc = 0;

	if (abi < 1)
		return 1;
	struct landlock_ruleset_attr a = { .handled_access_fs =
					       known(abi, on_folder | on_nothing) };
	int rules = (int)syscall(SYS_landlock_create_ruleset, &a, sizeof a, 0);
	if (rules < 0)
		return err_os(e, "cannot limit which files are written");
	for (size_t i = 0; rc == 0 && i < r->n; i++)
		rc = allow(rules, abi, r->paths[i], e);
	if (rc == 0 && syscall(SYS_landlock_restrict_self, rules, 0) != 0)
		rc = err_os(e, "cannot limit which files are written");
	close(rules);
	return rc;
}
