/* view.c: a copy-on-write view of a disk.  shrink.c calls this, in one thread.
 *
 *	nbdkit cow, file -- socket -- nbdkit offset, nbd -- nbdfuse: the file */
#include "imagezip/shrink/view.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/args.h"
#include "common/base/tmpfolder.h"

enum {
	PATH_BYTES = 100, /* the path of a socket has 107 bytes at most */
	START_US = 60 * 1000000, /* for a program that starts on a loaded machine */
	END_US = 60 * 1000000, /* for nbdfuse, which takes the mount away */
};

struct view {
	char folder[TMPFOLDER_CAP]; /* what follows is in it */
	char socket[PATH_BYTES], server_pid[PATH_BYTES];
	char shown[PATH_BYTES], file[PATH_BYTES], fuse_pid[PATH_BYTES];
	struct child *server, *fuse;
};

static int
start_server(struct view *v, const char *path, struct err *e)
{
	struct args a = { 0 };

	args_add(&a, "nbdkit");
	args_add(&a, "--foreground");
	args_add(&a, "--exit-with-parent");
	args_addf(&a, "--unix=%s", v->socket);
	args_addf(&a, "--pidfile=%s", v->server_pid);
	args_add(&a, "--filter=cow");
	args_add(&a, "file");
	args_addf(&a, "file=%s", path);
	return args_start(&v->server, &a, v->server_pid, START_US, e);
}

static void
fill_names(struct view *v)
{
	snprintf(v->socket, sizeof v->socket, "%s/nbd", v->folder);
	snprintf(v->server_pid, sizeof v->server_pid, "%s/nbdkit.pid", v->folder);
	snprintf(v->shown, sizeof v->shown, "%s/shown", v->folder);
	snprintf(v->file, sizeof v->file, "%s/shown/disk", v->folder);
	snprintf(v->fuse_pid, sizeof v->fuse_pid, "%s/nbdfuse.pid", v->folder);
}

int
view_open(struct view **out, const char *path, struct err *e)
{
	struct view *v = calloc(1, sizeof *v);

	if (v == NULL)
		return err_nomem(e, "a view of the disk");
	if (tmpfolder_make(v->folder, "imagezip", e) != 0) {
		free(v);
		return -1;
	}
	fill_names(v);
	if (mkdir(v->shown, 0700) != 0)
		err_os(e, "%s", v->shown);
	else if (start_server(v, path, e) == 0) {
		*out = v;
		return 0;
	}
	view_close(v);
	return -1;
}

int
view_show(struct view *v, struct range bytes, const char **file, struct err *e)
{
	struct args a = { 0 };

	args_add(&a, "setpriv"); /* nbdfuse takes the mount away when it is told to end */
	args_add(&a, "--pdeathsig=TERM");
	args_add(&a, "nbdfuse");
	args_add(&a, "--pidfile");
	args_add(&a, v->fuse_pid);
	args_add(&a, v->file);
	args_add(&a, "--command");
	args_add(&a, "nbdkit");
	args_add(&a, "--single");
	args_add(&a, "--exit-with-parent");
	args_add(&a, "--filter=offset");
	args_add(&a, "nbd");
	args_addf(&a, "socket=%s", v->socket);
	args_addf(&a, "offset=%" PRIu64, bytes.off);
	args_addf(&a, "range=%" PRIu64, bytes.len);
	*file = v->file;
	return args_start(&v->fuse, &a, v->fuse_pid, START_US, e);
}

/* nbdfuse keeps no write back, so its end loses nothing; its exit status says that it was told
 * to end. */
void
view_hide(struct view *v)
{
	struct err told;

	child_end(v->fuse, END_US, &told);
	v->fuse = NULL;
	unlink(v->fuse_pid);
}

void
view_close(struct view *v)
{
	if (v == NULL)
		return;
	view_hide(v);
	child_stop(v->server);
	unlink(v->server_pid);
	unlink(v->socket);
	rmdir(v->shown);
	rmdir(v->folder);
	free(v);
}
