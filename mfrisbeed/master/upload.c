/* upload.c: takes images from connections, proves them, and puts them in their places
 * (upload.h).  answer.c and master.c call the functions of the header, in the master's first
 * thread; receive() runs in a thread of each upload. */
#include "mfrisbeed/master/upload.h"

#include <netinet/in.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/loop.h"
#include "common/base/timed.h"
#include "common/disk/output.h"
#include "common/image/format/kind.h"
#include "common/image/format/sig.h"
#include "common/image/read/chunk.h"
#include "common/image/read/image.h"
#include "common/net/accepting.h"
#include "common/net/await.h"
#include "common/net/guests.h"
#include "common/wire/master.h"

enum {
	TIMEOUT_S = 60,
	TIMEOUT_MAX_S = 3600, /* a host that sends nothing holds a place no longer */
	PIECE_BYTES = 256 << 10,
	LATE_BYTES = 64, /* of the sentence that says that nothing arrived */
	/* Those that give way need up to a fifth of a second to end (await.h); others may begin and
	 * give way meanwhile, and there must still be one for whoever comes next. */
	SLOTS = 8 * UPLOADS_MAX,
};

/* Until `ended` it belongs to its thread, except the name, which does not change. */
struct upload {
	struct guest guest;   /* of the first thread */
	struct cancel cancel; /* it gives way to another */
	atomic_bool speaks;   /* bytes of its image have come */
	char *name, *path; /* name NULL: the place is free */
	struct upload_request asked;
	struct loop *loop; /* is woken when it has ended; or NULL */
	struct accepting accepting;
	pthread_t thread;
	uint64_t began_us;
	/* The outcome: */
	int rc;
	struct err err;
	uint64_t bytes, ended_us;
	atomic_bool ended;
};

struct uploads {
	struct cancel cancel; /* of the threads of all uploads */
	struct history *history;
	struct loop *loop;
	struct guests *guests;
	struct upload each[SLOTS];
	bool some_ended; /* since uploads_collect() was called */
};

/* How long an upload may stand still. */
static uint32_t
limit_s(const struct upload *u)
{
	if (u->asked.timeout_s == 0)
		return TIMEOUT_S;
	return u->asked.timeout_s < TIMEOUT_MAX_S ? u->asked.timeout_s : TIMEOUT_MAX_S;
}

static uint64_t
limit_from_now_us(const struct upload *u)
{
	return clock_us() + (uint64_t)limit_s(u) * 1000000;
}

/* Waits until the descriptor can be read.  Returns 0; -1 with the error, also when until_us has
 * passed. */
static int
await(const struct upload *u, int fd, uint64_t until_us, struct err *e)
{
	char late[LATE_BYTES];

	snprintf(late, sizeof late, "nothing arrived for %u seconds", limit_s(u));
	return await_socket(fd, POLLIN, until_us, late, e);
}

/* Accepts the connection of the host that asked, and closes those of others, which cannot make
 * the upload wait any longer. */
static int
accept_one(struct upload *u, struct err *e)
{
	uint64_t until_us = limit_from_now_us(u);

	for (;;) {
		struct sockaddr_in from;
		socklen_t len = sizeof from;
		if (await(u, u->accepting.listener, until_us, e) != 0)
			return -1;
		int fd = accepting_next(&u->accepting, &from, &len);
		if (fd >= 0 &&
		    memcmp(&from.sin_addr, u->asked.from, sizeof u->asked.from) == 0)
			return fd;
		if (fd >= 0)
			close(fd);
		if (accepting_fd(&u->accepting) < 0)
			timed_pause(clock_us() + ACCEPTING_REST_US);
	}
}

static int
store(struct upload *u, int fd, struct output *out, uint8_t *piece, struct err *e)
{
	for (;;) {
		if (await(u, fd, limit_from_now_us(u), e) != 0)
			return -1;
		ssize_t n = recv(fd, piece, PIECE_BYTES, 0);
		if (n == 0)
			return 0;
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n < 0)
			return err_os(e, "the connection");
		atomic_store(&u->speaks, true);
		if (out->at + (uint64_t)n > u->asked.bytes_max)
			return err_set(e, ERR_REFUSED,
			    "it is longer than the %" PRIu64 " bytes that are allowed",
			    u->asked.bytes_max);
		if (output_write(out, piece, (size_t)n, e) != 0)
			return -1;
	}
}

static int
verify_chunk(
    void *arg, struct chunk *c, uint32_t i, const void *bytes, struct err *e)
{
	(void)i;
	return chunk_verify(c, bytes, arg, e);
}

static int
parse_signature(const char *path, struct err *e)
{
	struct sig s;

	if (sig_read(&s, path, e) != 0)
		return -1;
	sig_free(&s);
	return 0;
}

/* Verifies every chunk of the file that was written. */
static int
verify_image(const char *path, struct err *e)
{
	struct decoder *d = decoder_new();
	struct image *img;

	if (d == NULL)
		return err_nomem(e, "a decoder");
	int rc = image_open(&img, path, e);
	if (rc == 0) {
		image_keep_encrypted(img);
		rc = image_each(img, verify_chunk, d, e);
		image_close(img);
	}
	decoder_free(d);
	return rc;
}

static int
check_length(const struct upload *u, const struct output *out, struct err *e)
{
	if (u->asked.bytes != 0 && out->at != u->asked.bytes)
		return err_set(e, ERR_FORMAT,
		    "%" PRIu64 " bytes came, %" PRIu64 " were announced", out->at,
		    u->asked.bytes);
	return 0;
}

static int
take(struct upload *u, int fd, struct output *out, struct err *e)
{
	uint8_t *piece = malloc(PIECE_BYTES);
	int rc = piece != NULL ? store(u, fd, out, piece, e) : err_nomem(e, "an upload");

	free(piece);
	u->bytes = out->at;
	if (rc == 0)
		rc = check_length(u, out, e);
	if (rc != 0)
		return rc;
	return u->asked.signature ? parse_signature(out->partial, e) : verify_image(out->partial, e);
}

/* Emulab's frisupload looks whether the file has the time that it announced. */
static int
set_time(const struct upload *u, const char *path, struct err *e)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
		{ .tv_sec = u->asked.mtime } };

	if (u->asked.mtime == 0 || utimensat(AT_FDCWD, path, times, 0) == 0)
		return 0;
	return err_os(e, "%s", path);
}

/* Removes the signature of the image that is about to be replaced, which describes other bytes. */
static int
remove_signature(const struct upload *u, struct err *e)
{
	char *path;

	if (u->asked.signature)
		return 0;
	if (asprintf(&path, "%s.sig", u->path) < 0)
		return err_nomem(e, u->path);
	int rc = unlink(path) == 0 || errno == ENOENT || errno == EISDIR
	             ? 0
	             : err_os(e, "%s", path);
	free(path);
	return rc;
}

static int
take_into_place(struct upload *u, int fd, struct err *e)
{
	struct output out;

	if (output_open(&out, u->path, u->asked.signature ? &kind_signature : &kind_image, true, e) != 0)
		return -1;
	if (take(u, fd, &out, e) != 0 || set_time(u, out.partial, e) != 0 ||
	    remove_signature(u, e) != 0) {
		output_abort(&out);
		return -1;
	}
	return output_commit(&out, false, e);
}

/* Tells the client, if it still listens, that the image was taken, or why not. */
static void
tell(int fd, int rc, const struct err *why)
{
	struct master_verdict v = { .taken = rc == 0 };
	uint8_t out[MASTER_VERDICT_BYTES];

	if (rc != 0)
		snprintf(v.reason, sizeof v.reason, "%.500s", why->text);
	master_verdict_write(&v, out);
	(void)!send(fd, out, sizeof out, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void *
receive(void *arg)
{
	struct upload *u = arg;
	int fd = accept_one(u, &u->err);

	u->rc = fd >= 0 ? take_into_place(u, fd, &u->err) : -1;
	if (u->rc != 0 && atomic_load(&u->cancel.signal) != 0)
		(void)err_set(&u->err, ERR_REFUSED, "it had to give way to another upload");
	close(u->accepting.listener);
	if (u->rc == 0)
		log_info("image was uploaded name=%s", u->name);
	else
		log_warn("upload failed name=%s: %s", u->name, u->err.text);
	int rc = u->rc; /* copied, because `u` may be freed once `ended` is set */
	struct err e = u->err;
	struct loop *loop = u->loop;
	u->ended_us = clock_us();
	atomic_store(&u->ended, true);
	if (loop != NULL)
		loop_wake(loop);
	if (fd >= 0) {
		tell(fd, rc, &e);
		close(fd);
	}
	return NULL;
}

static void
forget(struct uploads *x, struct upload *u)
{
	guests_go(x->guests, &u->guest);
	free(u->name);
	free(u->path);
	*u = (struct upload){ 0 };
}

static void
note(struct history *h, const struct upload *u)
{
	struct history_event v = { .kind = HISTORY_UPLOAD,
		.outcome = u->rc == 0 ? HISTORY_DONE : HISTORY_FAILED,
		.began_us = u->began_us,
		.seconds = (double)(u->ended_us - u->began_us) / 1e6,
		.bytes = u->bytes };

	strcpy(v.image, u->name);
	memcpy(v.host, u->asked.from, sizeof v.host);
	if (u->rc != 0)
		snprintf(v.why, sizeof v.why, "%.*s", HISTORY_WHY_BYTES - 1, u->err.text);
	history_note(h, &v);
}

static void
collect(struct uploads *x)
{
	for (unsigned i = 0; i < SLOTS; i++)
		if (x->each[i].name != NULL && atomic_load(&x->each[i].ended)) {
			pthread_join(x->each[i].thread, NULL);
			note(x->history, &x->each[i]);
			forget(x, &x->each[i]);
			x->some_ended = true;
		}
}

bool
uploads_collect(struct uploads *x)
{
	collect(x);
	bool some = x->some_ended;
	x->some_ended = false;
	return some;
}

bool
uploads_has(struct uploads *x, const char *name)
{
	collect(x);
	for (unsigned i = 0; i < SLOTS; i++)
		if (x->each[i].name != NULL && strcmp(x->each[i].name, name) == 0)
			return true;
	return false;
}

/* Is it the same image, or its signature, which would be put in place with no regard to each other? */
static bool
is_beside(const struct upload *u, const struct upload_request *r)
{
	size_t n = strlen(u->name) - (u->asked.signature ? strlen(".sig") : 0);

	return n == strlen(r->name) - (r->signature ? strlen(".sig") : 0) &&
	       memcmp(u->name, r->name, n) == 0;
}

static bool
is_under_way(struct uploads *x, const struct upload_request *r)
{
	collect(x);
	for (unsigned i = 0; i < SLOTS; i++)
		if (x->each[i].name != NULL && is_beside(&x->each[i], r))
			return true;
	return false;
}

/* Makes the folder if it is missing, and goes into it.  A link is refused, so that nobody
 * who can write to the folder of uploads leads this program elsewhere. */
static int
enter(int *dir, const char *folder, struct err *e)
{
	if (mkdirat(*dir, folder, 0755) != 0 && errno != EEXIST)
		return err_os(e, "%s", folder);
	int next = openat(*dir, folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (next < 0)
		return err_set(e, ERR_USAGE, "%s: is not a folder but a link or a file", folder);
	close(*dir);
	*dir = next;
	return 0;
}

/* The upload replaces what has its name now, which must be a file or nothing. */
static int
check_replaced(int dir, const char *file, struct err *e)
{
	struct stat st;

	if (fstatat(dir, file, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(st.st_mode))
		return err_set(e, ERR_USAGE, "%s: is not a file but a link or a folder", file);
	return 0;
}

/* Makes the folders in an upload's name, which begins at path[from]. */
static int
make_folders(char *path, size_t from, struct err *e)
{
	char *part = path + from, *slash;
	int rc = 0;

	path[from - 1] = '\0';
	int dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		rc = err_os(e, "%s", path);
	path[from - 1] = '/';
	for (; rc == 0 && (slash = strchr(part, '/')) != NULL; part = slash + 1) {
		*slash = '\0';
		rc = enter(&dir, part, e);
		*slash = '/';
	}
	if (rc == 0)
		rc = check_replaced(dir, part, e);
	if (dir >= 0)
		close(dir);
	return rc == 0 ? 0 : err_ctx(e, "%s", path);
}

static int
start(struct uploads *x, struct upload *u, uint16_t *port, struct err *e)
{
	struct cancel *mine = cancel_owner();

	*port = 0;
	if (accepting_port(&u->accepting, u->asked.here, port, false, e) != 0)
		return err_ctx(e, "an upload");
	u->cancel.whole = &x->cancel;
	cancel_work_for(&u->cancel);
	int rc = thread_start(&u->thread, receive, u);
	cancel_work_for(mine);
	if (rc == 0)
		return 0;
	close(u->accepting.listener);
	return err_set(e, ERR_IO, "cannot start a thread: %s", strerror(rc));
}

/* Whoever has sent something of its image is no silent guest any more. */
static void
hear(struct uploads *x)
{
	for (unsigned i = 0; i < SLOTS; i++) {
		struct upload *u = &x->each[i];
		if (u->guest.here && atomic_load(&u->speaks))
			guests_heard(x->guests, &u->guest, clock_us(), UINT64_MAX);
	}
}

/* A place for an upload from this host, for which others may have to end; NULL: there is none. */
static struct upload *
place_for_one(struct uploads *x, const uint8_t from[4])
{
	struct guest *way;

	hear(x);
	while ((way = guests_gives_way(x->guests, from)) != NULL) {
		guests_go(x->guests, way);
		/* It is the first member of its upload. */
		atomic_store(&((struct upload *)way)->cancel.signal, SIGTERM);
	}
	for (unsigned i = 0; i < SLOTS; i++) {
		struct upload *u = &x->each[i];
		if (u->name == NULL)
			return guests_come(x->guests, &u->guest, from, clock_us()) ? u : NULL;
	}
	return NULL;
}

int
uploads_begin(
    struct uploads *x, const struct upload_request *r, uint16_t *port, struct err *e)
{
	if (is_under_way(x, r))
		return err_set(e, ERR_REFUSED,
		    "%s: it, its image or its signature is being uploaded", r->name);
	struct upload *u = place_for_one(x, r->from);
	if (u == NULL)
		return err_set(e, ERR_REFUSED, "%d images are being uploaded", UPLOADS_MAX);
	u->asked = *r;
	u->loop = x->loop;
	u->began_us = clock_us();
	u->name = strdup(r->name);
	u->path = strdup(r->path);
	size_t folder = strlen(r->path) - strlen(r->name);
	int rc = u->name == NULL || u->path == NULL
	             ? err_nomem(e, "an upload")
	             : make_folders(u->path, folder, e);
	if (rc == 0)
		rc = start(x, u, port, e);
	if (rc != 0)
		forget(x, u);
	return rc;
}

int
uploads_new(
    struct uploads **out, struct history *history, struct loop *loop, struct err *e)
{
	static const struct guests_limits limits = { UPLOADS_MAX, UPLOADS_MAX, UINT32_MAX };
	struct uploads *x = calloc(1, sizeof *x);

	if (x == NULL || guests_new(&x->guests, &limits, e) != 0) {
		free(x);
		return err_nomem(e, "uploads");
	}
	x->cancel.whole = cancel_owner();
	x->history = history;
	x->loop = loop;
	*out = x;
	return 0;
}

void
uploads_free(struct uploads *x)
{
	if (x == NULL)
		return;
	atomic_store(&x->cancel.signal, SIGTERM);
	for (unsigned i = 0; i < SLOTS; i++)
		if (x->each[i].name != NULL) {
			pthread_join(x->each[i].thread, NULL);
			note(x->history, &x->each[i]);
			forget(x, &x->each[i]);
		}
	guests_free(x->guests);
	free(x);
}
