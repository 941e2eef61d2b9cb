/* attach.c: attaches an image, or a disk that becomes what the image holds, as a file, a mounted
 * filesystem or a block device.  streamdisk calls this, in its one thread.
 *
 *	nbdkit -- socket --+-- the kernel's NBD client: /dev/nbdN
 *	                   +-- nbdfuse: a file --+-- the file that was asked for
 *	                                         +-- mount -o loop: the filesystem
 *
 * Of a disk that is streamed to, other machines can read the image (others.c). */
#include "stream/attach/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/args.h"
#include "common/base/beside.h"
#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/timed.h"
#include "stream/attach/others.h"
#include "stream/nbd/nbd.h"
#include "stream/switch/whole.h"

enum {
	PATH_BYTES = 200, /* of a path in the folder; a socket's has 107 at most */
	UNMOUNT_US = 2 * 1000000, /* how long programs may still use the mount */
	LOOK_US = 100000, /* between two looks at the children */
	/* How long a disk that is streamed to may take for its last flush.  A disk writes what
	 * its cache holds in less; one that does not should be looked at. */
	FLUSH_US = 600 * 1000000,
};

struct attach {
	const struct attach_config *c;
	char folder[100]; /* temporary, with the files of the next two lines */
	char socket[PATH_BYTES], server_pid[PATH_BYTES], fuse_pid[PATH_BYTES];
	char fuse[PATH_BYTES], fuse_disk[PATH_BYTES];
	char status[PATH_BYTES]; /* the socket of the plugin's status, when nobody has named one */
	bool whole; /* the disk that is streamed to, as the plugin has said */
	char *where; /* the file or folder that shows the disk; owned */
	struct child *server, *fuse_server;
	struct others *others; /* NULL: there are none, or none any more */
	bool mounted, on_nbd;
	int held; /* the device, which the kernel frees when nobody has it open; -1: none */
	bool owns_socket; /* nothing else was at its path */
	dev_t device; /* device number of the mounted filesystem */
};

/* Pass a line that nbdkit prints to the caller of attach_start(). */
static void
tell_line(void *attach, enum child_stream which, const char *line)
{
	const struct attach *t = attach;

	(void)which;
	t->c->tell(line);
}

/* The folder. */

static int
make_folder(struct attach *t, struct err *e)
{
	const char *tmp = getenv("XDG_RUNTIME_DIR");

	if (tmp == NULL || strlen(tmp) > 60 || access(tmp, W_OK) != 0)
		tmp = "/tmp";
	snprintf(t->folder, sizeof t->folder, "%s/streamdisk-XXXXXX", tmp);
	if (mkdtemp(t->folder) == NULL) {
		err_os(e, "%s", t->folder);
		t->folder[0] = '\0';
		return -1;
	}
	if (t->c->as == ATTACH_SOCKET && t->c->target != NULL)
		snprintf(t->socket, sizeof t->socket, "%s", t->c->target);
	else
		snprintf(t->socket, sizeof t->socket, "%s/nbd", t->folder);
	snprintf(t->server_pid, sizeof t->server_pid, "%s/nbdkit.pid", t->folder);
	snprintf(t->fuse_pid, sizeof t->fuse_pid, "%s/nbdfuse.pid", t->folder);
	snprintf(t->fuse, sizeof t->fuse, "%s/fuse", t->folder);
	snprintf(t->fuse_disk, sizeof t->fuse_disk, "%s/fuse/disk", t->folder);
	snprintf(t->status, sizeof t->status, "%s/status", t->folder);
	return 0;
}

static void
remove_folder(struct attach *t)
{
	if (t->folder[0] == '\0')
		return;
	if (t->owns_socket)
		unlink(t->socket);
	unlink(t->server_pid);
	unlink(t->status);
	unlink(t->fuse_pid);
	rmdir(t->fuse);
	rmdir(t->folder);
}

/* Programs. */

/* Find the plugin beside this program, as it was built or installed; otherwise nbdkit looks for
 * it by its name "ndz". */
static char *
find_plugin(void)
{
	static const char *const places[] = { "../lib/nbdkit-ndz-plugin.so",
		"../lib/nbdkit/plugins/nbdkit-ndz-plugin.so" };
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
		if (beside_find(path, sizeof path, places[i]))
			return strdup(path);
	return strdup("ndz");
}

/* Does a program listen at this socket?  1, 0, or -1. */
static int
is_answered(const char *path, struct err *e)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof a.sun_path)
		return err_set(e, ERR_USAGE, "%s: is too long for a socket", path);
	strcpy(a.sun_path, path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_os(e, "a socket");
	int answer = connect(fd, (const struct sockaddr *)&a, sizeof a) == 0 || errno == EAGAIN;
	if (!answer && errno != ECONNREFUSED)
		answer = err_os(e, "%s", path);
	close(fd);
	return answer;
}

/* A socket is there a moment before its program listens. */
static bool
is_heard(const char *path)
{
	struct err ignored;

	return is_answered(path, &ignored) == 1;
}

/* Make room for a socket.  A socket that was left by a program that has ended is removed, since
 * it would be taken for the server's; nothing else is removed. */
static int
make_room(const char *path, struct err *e)
{
	struct stat st;

	if (lstat(path, &st) != 0)
		return 0; /* the server says what is wrong with the path */
	if (!S_ISSOCK(st.st_mode))
		return err_set(e, ERR_REFUSED, "%s: exists already, and is no socket", path);
	int answered = is_answered(path, e);
	if (answered < 0)
		return -1;
	if (answered)
		return err_set(e, ERR_REFUSED, "%s: is the socket of a program that runs", path);
	return unlink(path) == 0 ? 0 : err_os(e, "%s", path);
}

static int
make_room_for_sockets(struct attach *t, struct err *e)
{
	const char *status = t->c->stream.status;

	if (make_room(t->socket, e) != 0 || (status != NULL && make_room(status, e) != 0))
		return -1;
	t->owns_socket = true;
	return 0;
}

static void
add_images(struct args *a, const struct attach_config *c)
{
	for (size_t i = 0; i < c->sources.n; i++)
		args_addf(a, "image=%s", c->sources.places[i]);
	for (size_t i = 0; i < c->sources.ndeltas; i++)
		args_addf(a, "delta=%s", c->sources.deltas[i]);
	if (c->sources.store != NULL)
		args_addf(a, "store=%s", c->sources.store);
	if (c->sources.work != NULL)
		args_addf(a, "work=%s", c->sources.work);
	if (c->sources.group_key != NULL)
		args_addf(a, "group-key=%s", c->sources.group_key);
	if (c->keys.verify_key != NULL)
		args_addf(a, "verify-key=%s", c->keys.verify_key);
	if (c->keys.decrypt != NULL)
		args_addf(a, "decrypt=%s", c->keys.decrypt);
	if (c->size_bytes != 0)
		args_addf(a, "size=%" PRIu64, c->size_bytes);
	if (c->cache_bytes != 0)
		args_addf(a, "cache=%" PRIu64, c->cache_bytes);
}

static bool
is_streaming(const struct attach *t)
{
	return t->c->stream.disk != NULL;
}

/* The socket of the plugin's status; NULL: nobody asks there. */
static const char *
status_socket(const struct attach *t)
{
	return t->c->stream.status != NULL ? t->c->stream.status
	       : t->c->progress != NULL  ? t->status
	                                  : NULL;
}

static void
add_stream(struct args *a, const struct attach_stream *s, const char *status)
{
	args_addf(a, "disk=%s", s->disk);
	if (s->table != NULL)
		args_addf(a, "table=%s", s->table);
	if (status != NULL)
		args_addf(a, "status=%s", status);
	if (s->order != NULL)
		args_addf(a, "order=%s", s->order);
	if (s->record != NULL)
		args_addf(a, "record=%s", s->record);
	if (s->rate_bits != 0)
		args_addf(a, "rate=%" PRIu64, s->rate_bits);
	args_addf(a, "when-idle=%" PRIu64, s->idle_ms);
	args_addf(a, "timeout=%" PRIu64, s->timeout_ms);
	if (s->anew)
		args_add(a, "anew=yes");
	if (s->fit)
		args_add(a, "fit=yes");
	if (s->zero)
		args_add(a, "zero=yes");
	if (s->discard)
		args_add(a, "discard=yes");
	if (s->no_fill)
		args_add(a, "fill=no");
}

static int
start_server(struct attach *t, struct err *e)
{
	const struct attach_config *c = t->c;
	char *plugin = find_plugin();
	struct args a = { 0 };

	args_add(&a, "nbdkit");
	args_add(&a, "--foreground");
	args_add(&a, "--exit-with-parent");
	if (!is_streaming(t))
		args_add(&a, "--readonly");
	if (is_streaming(t) && c->as == ATTACH_NBD)
		args_add(&a, "--swap"); /* the kernel may wait for it when it needs memory */
	args_addf(&a, "--unix=%s", t->socket);
	args_addf(&a, "--pidfile=%s", t->server_pid);
	if (c->part.len != 0)
		args_add(&a, "--filter=offset");
	args_add(&a, plugin);
	add_images(&a, c);
	if (is_streaming(t))
		add_stream(&a, &c->stream, status_socket(t));
	if (c->part.len != 0) {
		args_addf(&a, "offset=%" PRIu64, c->part.off * SECTOR_BYTES);
		args_addf(&a, "range=%" PRIu64, c->part.len * SECTOR_BYTES);
	}
	int rc = args_start(&t->server, &a, t->server_pid, UINT64_MAX, e);
	free(plugin);
	if (rc != 0 || c->stream.status == NULL) /* nbdkit makes that socket a little later */
		return rc;
	return child_ready_when(t->server, is_heard, c->stream.status, UINT64_MAX, e);
}

static int
start_fuse(struct attach *t, const char *file, struct err *e)
{
	struct args a = { 0 };

	args_add(&a, "nbdfuse");
	if (!is_streaming(t))
		args_add(&a, "--readonly");
	args_add(&a, "--pidfile");
	args_add(&a, t->fuse_pid);
	args_add(&a, file);
	args_add(&a, "--unix");
	args_add(&a, t->socket);
	return args_start(&t->fuse_server, &a, t->fuse_pid, UINT64_MAX, e);
}

/* A wrong address is found before anything is written. */
static int
check_address(const struct attach *t, struct err *e)
{
	const char *to = t->c->stream.export, *key = t->c->stream.export_key;

	if (to == NULL && key != NULL)
		return err_misuse(e, "--export-key is for --export");
	return to != NULL ? others_check(to, key, e) : 0;
}

static int
start_others(struct attach *t, struct err *e)
{
	const char *to = t->c->stream.export;

	return to != NULL ? others_start(&t->others, to, t->c->stream.export_key, t->socket,
				t->folder, e)
			  : 0;
}

/* Ways. */

static int
as_file(struct attach *t, struct err *e)
{
	struct stat st;

	if (stat(t->c->target, &st) != 0)
		return err_os(e, "%s", t->c->target);
	if (asprintf(&t->where, S_ISDIR(st.st_mode) ? "%s/%s" : "%s", t->c->target,
		t->c->name) < 0) {
		t->where = NULL;
		return err_nomem(e, t->c->target);
	}
	return start_fuse(t, t->where, e);
}

static int
mount_disk(struct attach *t, struct err *e)
{
	const char *options = t->c->options;
	struct args a = { 0 };
	struct stat st;

	args_add(&a, "mount");
	args_add(&a, "-o");
	args_addf(&a, "ro,loop%s%s", options != NULL ? "," : "", options != NULL ? options : "");
	args_add(&a, t->fuse_disk);
	args_add(&a, t->c->target);
	if (args_run(&a, e) != 0)
		return -1;
	t->mounted = true;
	if (stat(t->c->target, &st) != 0)
		return err_os(e, "%s", t->c->target);
	t->device = st.st_dev;
	return 0;
}

static int
as_mount(struct attach *t, struct err *e)
{
	if (mkdir(t->fuse, 0700) != 0)
		return err_os(e, "%s", t->fuse);
	if (start_fuse(t, t->fuse_disk, e) != 0)
		return -1;
	return mount_disk(t, e);
}

/* The device is disconnected when this process has ended, also if it is killed: as soon as nobody else
 * has it open. */
static int
hold(struct attach *t, struct err *e)
{
	t->held = open(t->c->target, O_RDONLY | O_CLOEXEC);
	return t->held >= 0 ? nbd_detach_when_closed(t->c->target, true, e)
	                    : err_os(e, "%s", t->c->target);
}

static int
as_nbd(struct attach *t, struct err *e)
{
	const struct nbd_device d = { .path = t->c->target, .sector_bytes = SECTOR_BYTES };
	struct nbd_export x;
	int fd = nbd_dial(t->socket, &x, e);

	if (fd < 0)
		return -1;
	t->on_nbd = nbd_attach(&d, fd, &x, e) == 0;
	close(fd);
	return t->on_nbd ? hold(t, e) : -1;
}

static int
start(struct attach *t, struct err *e)
{
	if (check_address(t, e) != 0 || make_folder(t, e) != 0 ||
	    make_room_for_sockets(t, e) != 0 || start_server(t, e) != 0 || start_others(t, e) != 0)
		return -1;
	if (t->c->as == ATTACH_FILE)
		return as_file(t, e);
	t->where = strdup(t->c->as == ATTACH_SOCKET ? t->socket : t->c->target);
	if (t->where == NULL)
		return err_nomem(e, "attaching");
	if (t->c->as == ATTACH_SOCKET)
		return 0;
	return t->c->as == ATTACH_NBD ? as_nbd(t, e) : as_mount(t, e);
}

int
attach_start(struct attach **out, const struct attach_config *c, struct err *e)
{
	struct attach *t = calloc(1, sizeof *t);
	struct err ignored;

	if (t == NULL)
		return err_nomem(e, "attaching");
	t->c = c;
	t->held = -1;
	if (start(t, e) != 0) {
		attach_end(t, &ignored);
		return -1;
	}
	if (c->tell != NULL)
		child_tell(t->server, tell_line, t);
	*out = t;
	return 0;
}

const char *
attach_where(const struct attach *t)
{
	return t->where;
}

static bool
is_detached(struct attach *t)
{
	struct stat st;

	if (t->mounted)
		return stat(t->c->target, &st) != 0 || st.st_dev != t->device;
	return t->fuse_server != NULL && !child_runs(t->fuse_server);
}

/* If the nbdkit for other machines has ended, say so: they lose their source, and this machine
 * goes on. */
static void
look_at_others(struct attach *t)
{
	char text[600];
	struct err why;

	if (t->others == NULL || others_run(t->others, &why))
		return;
	others_stop(t->others);
	t->others = NULL;
	snprintf(text, sizeof text, "%s: the image is not served there any more: %.400s",
	    t->c->stream.export, why.text);
	if (t->c->tell != NULL)
		t->c->tell(text);
}

/* A plugin that does not answer has no progress; whether it runs is seen elsewhere. */
static void
look_at_fill(struct attach *t)
{
	uint64_t present, stored;
	struct err ignored;

	if (t->c->progress == NULL || !is_streaming(t) || t->whole)
		return;
	if (whole_ask_bytes(status_socket(t), &t->whole, &present, &stored, &ignored) == 0)
		t->c->progress(t->c->progress_arg, present, stored);
}

int
attach_wait(struct attach *t, struct err *e)
{
	while (cancel_signal() == 0) {
		look_at_others(t);
		look_at_fill(t);
		if (!child_runs_for(t->server, LOOK_US))
			return child_result(t->server, e) == 0
			           ? err_set(e, ERR_IO, "nbdkit has ended")
			           : -1;
		if (is_detached(t)) {
			t->mounted = false;
			return 0;
		}
	}
	return 0;
}

/* Unmount.  Programs that still use the mount have UNMOUNT_US to end. */
static int
unmount(struct attach *t, struct err *e)
{
	uint64_t until = clock_us() + UNMOUNT_US;
	int rc;

	while ((rc = umount2(t->c->target, 0)) != 0 && errno == EBUSY && clock_us() < until)
		timed_sleep(LOOK_US);
	t->mounted = false;
	if (rc == 0)
		return 0;
	err_os(e,
	    "%s: could not be unmounted cleanly, so programs that use it get errors",
	    t->c->target);
	umount2(t->c->target, MNT_DETACH);
	return -1;
}

/* End the server.  With a disk that is streamed to, its result says whether all that was written
 * is on the disk. */
static int
end_server(struct attach *t, struct err *e)
{
	if (is_streaming(t))
		return child_end(t->server, FLUSH_US, e);
	child_stop(t->server);
	return 0;
}

/* Write to the server what programs have written to the device, and is only in this machine's
 * memory: the kernel does not do so when the device is disconnected.  A filesystem that is mounted
 * has more of that kind, which cannot be written from here. */
static int
flush_device(const char *path, struct err *e)
{
	int fd = open(path, O_RDWR | O_EXCL | O_CLOEXEC), rc = 0;

	if (fd < 0 && errno == EBUSY)
		rc = err_set(e, ERR_IO,
		    "%s: is still in use, so programs that use it get errors, and what they have "
		    "written and not flushed is lost",
		    path);
	else if (fd < 0 || fsync(fd) != 0)
		rc = err_os(e, "%s: what was written to it cannot be flushed", path);
	if (fd >= 0)
		close(fd);
	return rc;
}

static int
disconnect(struct attach *t, struct err *e)
{
	int rc = is_streaming(t) ? flush_device(t->c->target, e) : 0;
	struct err why, ignored; /* the kernel would disconnect it twice, and complain */

	nbd_detach_when_closed(t->c->target, false, &ignored);
	bool detached = nbd_detach(t->c->target, &why) == 0;
	if (t->held >= 0)
		close(t->held);
	if (detached || rc != 0)
		return rc;
	*e = why;
	return -1;
}

int
attach_end(struct attach *t, struct err *e)
{
	struct err why;
	int rc = 0;

	if (t->mounted)
		rc = unmount(t, e);
	if (t->on_nbd)
		rc = disconnect(t, e);
	others_stop(t->others);
	child_stop(t->fuse_server);
	if (end_server(t, &why) != 0 && rc == 0) {
		*e = why;
		rc = -1;
	}
	remove_folder(t);
	free(t->where);
	free(t);
	return rc;
}
