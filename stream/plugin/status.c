/* status.c: answers on a socket with the status of a streaming disk.  streaming.c calls
 * status_start() and status_stop() in nbdkit's first thread; a thread of its own answers. */
#include "stream/plugin/status.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/cancel.h"
#include "common/base/json.h"

enum {
	PATH_CAP = sizeof ((struct sockaddr_un *)0)->sun_path, /* with the final NUL */
	ANSWER_S = 2, /* after which a program that connects and does not read is left behind */
	AGAIN_MS = 200, /* until the next attempt to take a connection that could not be taken */
};

static struct streamed *device;
static const char *socket_path; /* NULL: no thread was started */
static int listener = -1, ending = -1;
static pthread_t thread;

static struct json *
document(void)
{
	struct streamed_status s = streamed_status(device);
	struct json *j = json_new();

	if (j == NULL)
		return NULL;
	json_object(j, NULL);
	json_uint(j, "disk_bytes", streamed_bytes(device));
	json_uint(j, "stored_bytes", s.stored_bytes);
	json_uint(j, "present_bytes", s.present_bytes);
	json_uint(j, "read_bytes", s.read_bytes);
	json_uint(j, "written_bytes", s.written_bytes);
	json_uint(j, "fetched_bytes", s.fetched_bytes);
	json_uint(j, "awaited_bytes", s.awaited_bytes);
	json_uint(j, "filled_bytes", s.filled_bytes);
	json_uint(j, "ordered_bytes", s.ordered_bytes);
	json_bool(j, "waiting_for_source", s.waiting);
	json_bool(j, "complete", s.finished);
	json_end(j);
	return j;
}

static void
answer(int fd)
{
	const struct timeval most = { .tv_sec = ANSWER_S };
	struct json *j = document();
	struct err ignored;

	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
	FILE *f = fdopen(fd, "w");
	if (j != NULL && f != NULL)
		json_show_on(j, f, &ignored);
	else
		json_free(j);
	if (f != NULL)
		fclose(f);
	else
		close(fd);
}

static void *
serve(void *arg)
{
	struct pollfd p[] = { { .fd = listener, .events = POLLIN },
		{ .fd = ending, .events = POLLIN } };

	(void)arg;
	while (poll(p, 2, -1) >= 0 || errno == EINTR) {
		if (p[1].revents != 0)
			break;
		if (p[0].revents == 0)
			continue;
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (fd >= 0)
			answer(fd);
		else
			poll(&p[1], 1, AGAIN_MS); /* the connection waits on: no descriptor is free */
	}
	return NULL;
}

static int
check_length(const char *path, struct err *e)
{
	return strlen(path) < PATH_CAP
	           ? 0
	           : err_set(e, ERR_USAGE, "%s: is too long for a socket", path);
}

int
status_check(const char *path, struct err *e)
{
	char folder[PATH_CAP];
	struct stat st;

	if (check_length(path, e) != 0)
		return -1;
	if (lstat(path, &st) == 0 && !S_ISSOCK(st.st_mode))
		return err_set(e, ERR_IO, "%s: is there, and is no socket", path);
	snprintf(folder, sizeof folder, "%s", path);
	char *slash = strrchr(folder, '/');
	if (slash != NULL)
		slash[1] = '\0';
	return access(folder, W_OK | X_OK) == 0
	           ? 0
	           : err_os(e, "%s: no socket can be made in %s", path, folder);
}

/* Remove a socket that an earlier process has left; nothing else. */
static void
remove_socket(const char *path)
{
	struct stat st;

	if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode))
		unlink(path);
}

static int
make_socket(const char *path, struct err *e)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	if (check_length(path, e) != 0)
		return -1;
	strcpy(a.sun_path, path);
	/* The thread waits in poll(2) alone, where it can be told to end. */
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	ending = eventfd(0, EFD_CLOEXEC);
	remove_socket(path);
	if (listener < 0 || ending < 0 ||
	    bind(listener, (const struct sockaddr *)&a, sizeof a) != 0 ||
	    listen(listener, 8) != 0)
		return err_os(e, "%s", path);
	return 0;
}

static void
close_all(void)
{
	if (listener >= 0)
		close(listener);
	if (ending >= 0)
		close(ending);
	listener = ending = -1;
}

int
status_start(const char *path, struct streamed *d, struct err *e)
{
	int rc = make_socket(path, e);

	device = d;
	if (rc == 0 && thread_start(&thread, serve, NULL) != 0)
		rc = err_set(e, ERR_IO, "%s: no thread can be started", path);
	if (rc == 0)
		socket_path = path;
	else
		close_all();
	return rc;
}

void
status_stop(void)
{
	const uint64_t one = 1;

	if (socket_path == NULL)
		return;
	if (write(ending, &one, sizeof one) != sizeof one)
		return;
	pthread_join(thread, NULL);
	unlink(socket_path);
	socket_path = NULL;
	close_all();
}
