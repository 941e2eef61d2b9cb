/* status.c: answers on a socket with the status of a streaming disk.  streaming.c calls
 * status_start() and status_stop() in nbdkit's first thread; a thread of its own answers. */
#include "stream/plugin/status.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/cancel.h"
#include "common/base/json.h"
#include "common/net/border.h"

enum {
	PATH_CAP = sizeof ((struct sockaddr_un *)0)->sun_path, /* with the final NUL */
	CALLERS_MAX = 64,
	CALLER_US = 2000000,
};

static struct streamed *device;
static struct loop loop = { .epoll = -1 };
static struct border *border; /* NULL: no thread was started */
static atomic_bool ends;
static pthread_t thread;

static struct json *
document(void)
{
	struct streamed_status s = streamed_status(device);
	struct json *j = json_new();

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

/* The document fits into the buffer of a new connection, so nobody is waited for. */
static bool
answer(void *arg, struct caller *c)
{
	struct json *j = document();
	int fd = dup(c->watch.fd);
	FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
	struct err ignored;

	(void)arg;
	if (f != NULL)
		json_show_on(j, f, &ignored);
	else
		json_free(j);
	if (f != NULL)
		fclose(f);
	else if (fd >= 0)
		close(fd);
	return false;
}

static void *
serve(void *arg)
{
	(void)arg;
	while (!ends)
		loop_once(&loop, -1);
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

static int
make_socket(const char *path, struct err *e)
{
	const struct border_config config = { .path = path,
		.limits = { CALLERS_MAX, CALLERS_MAX / 2, CALLER_US },
		.caller_bytes = sizeof(struct caller),
		.came = answer };

	ends = false;
	if (check_length(path, e) != 0 || loop_open(&loop, e) != 0)
		return -1;
	return border_open(&border, &loop, &config, e);
}

static void
close_all(void)
{
	border_close(border);
	border = NULL;
	loop_close(&loop);
}

int
status_start(const char *path, struct streamed *d, struct err *e)
{
	int rc = make_socket(path, e);

	device = d;
	if (rc == 0 && thread_start(&thread, serve, NULL) != 0)
		rc = err_set(e, ERR_IO, "%s: no thread can be started", path);
	if (rc != 0)
		close_all();
	return rc;
}

void
status_stop(void)
{
	if (border == NULL)
		return;
	ends = true;
	loop_wake(&loop);
	pthread_join(thread, NULL);
	close_all();
}
