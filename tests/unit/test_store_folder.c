/* Objects that are files of a folder: an object counts as put when its name is on the
 * disk, and not only its bytes. */
#include "emustore/objects/folder.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "tests/unit/scratch.h"

static bool no_names; /* folders cannot be flushed */
static unsigned names;
static struct err e;

/* What the library asks of the system. */
int
fsync(int fd)
{
	struct stat st;

	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		names++;
		if (no_names)
			return errno = EIO, -1;
	}
	return (int)syscall(SYS_fsync, fd);
}

int
main(void)
{
	struct objects *o = NULL;
	bool made;

	scratch_init();
	T_CHECK(folder_make(in_scratch("store"), &made, &e) == 0);
	T_CHECK(folder_open(&o, in_scratch("store"), &e) == 0);
	T_CHECK(folder_make_parts(o, &e) == 0);
	T_CHECK(o->ops->put(o->ctx, "images/first", "x", 1, &e) == 0);
	T_CHECK(names > 0);
	no_names = true;
	T_CHECK(o->ops->put(o->ctx, "images/second", "x", 1, &e) == -1);
	T_CHECK(e.os == EIO);
	T_CHECK(folder_replace(o, "images/first", "y", 1, &e) == -1);
	T_CHECK(o->ops->remove(o->ctx, "images/first", &e) == -1);
	objects_release(o);
	scratch_done();
	return t_done();
}
