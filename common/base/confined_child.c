/* confined_child.c: the child of confined_run(): its limits, its messages to the parent,
 * its end.  It runs in the child's only thread, the copy of the one that forked. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/base/confined_impl.h"
#include "common/base/frame.h"
#include "common/base/process.h"
#include "common/base/whole.h"

struct confined {
	int pipe;
};

/* Sends a frame of any kind, those of confined_impl.h included. */
static int
tell(struct confined *c, uint8_t kind, const void *payload, size_t len, struct err *e)
{
	uint8_t bytes[FRAME_BYTES_MAX];
	struct wr w = wr_to(bytes, sizeof bytes);

	frame_put(&w, kind, payload, len);
	if (!wr_ok(&w))
		return err_set(e, ERR_FORMAT, "a message of %zu bytes is too long", len);
	if (write_whole(c->pipe, bytes, wr_len(&w)) != 0)
		return err_os(e, "writing to the parent process");
	return 0;
}

int
confined_say(
    struct confined *c, uint8_t kind, const void *payload, size_t len, struct err *e)
{
	if (kind >= CONFINED_KINDS)
		return err_set(e, ERR_FORMAT, "messages of kind %u are reserved", kind);
	return tell(c, kind, payload, len, e);
}

static void
limit(int resource, rlim_t most)
{
	struct rlimit r;

	if (getrlimit(resource, &r) == 0 && most < r.rlim_max)
		setrlimit(resource, &(struct rlimit){ most, most });
}

/* At the soft limit the kernel sends SIGXCPU, by which the parent knows why the child ended, and
 * at the hard limit SIGKILL.  Where both are equal, it sends SIGKILL first, so they differ. */
static void
limit_processor(rlim_t seconds)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_CPU, &r) == 0 && seconds + 1 < r.rlim_max)
		setrlimit(RLIMIT_CPU, &(struct rlimit){ seconds, seconds + 1 });
}

/* Limits what the child may use.  It leaves no core file, which would hold what was read
 * from the disk.  Where another limit cannot be set, the parent's clock still ends the
 * child. */
static void
set_limits(const struct confined_job *j)
{
	limit(RLIMIT_CORE, 0);
	limit_processor(j->seconds);
	limit(RLIMIT_NPROC, 0);
	if (!CONFINED_SHADOWED)
		limit(RLIMIT_DATA, j->memory_bytes);
}

static int
tell_filter(struct confined *c, int why, struct err *e)
{
	uint8_t bytes[4];
	struct wr w = wr_to(bytes, sizeof bytes);

	wr_le32(&w, (uint32_t)why);
	return tell(c, CONFINED_FILTER, bytes, sizeof bytes, e);
}

static int
tell_failure(struct confined *c, const struct err *why)
{
	uint8_t bytes[1 + sizeof why->text];
	struct wr w = wr_to(bytes, sizeof bytes);
	struct err e;

	wr_u8(&w, (uint8_t)why->kind);
	wr_bytes(&w, why->text, strlen(why->text));
	return tell(c, CONFINED_FAILED, bytes, wr_len(&w), &e);
}

_Noreturn void
confined_child(const struct confined_job *j, pid_t parent, int pipe)
{
	struct confined c = { pipe };
	struct err e;

	if (!process_ends_with(parent))
		_exit(EXIT_FAILURE);
	set_limits(j);
	int rc = tell_filter(&c, confined_filter(pipe, j->asks_fd), &e);
	if (rc == 0 && (rc = j->run(j->arg, &c, &e)) == 0)
		rc = tell(&c, CONFINED_DONE, NULL, 0, &e);
	if (rc != 0)
		rc = tell_failure(&c, &e);
	_exit(rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
}
