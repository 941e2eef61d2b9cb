/* A confined child: what it says is heard, and what becomes of one that crashes, hangs, lies
 * or needs too much. */
#include "common/base/confined.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/cancel.h"
#include "common/base/frame.h"
#include "tests/t.h"

enum { MESSAGES = 300, KIND = 7 };

struct heard {
	unsigned n;
	bool wrong;
	const char *refuse; /* the third message is refused with this */
};

static struct rlimit processor; /* of a child that talks; zeros: not known */

static void
look_at_child(void)
{
	FILE *f = fopen("/proc/thread-self/children", "r");
	int pid;

	if (f != NULL && fscanf(f, "%d", &pid) == 1)
		prlimit(pid, RLIMIT_CPU, NULL, &processor);
	if (f != NULL)
		fclose(f);
}

static int
hear(void *arg, uint8_t kind, struct rd *payload, struct err *e)
{
	struct heard *h = arg;
	uint32_t number = rd_le32(payload);

	if (h->n == 0)
		look_at_child();
	h->wrong = h->wrong || kind != KIND || number != h->n ||
	           rd_left(payload) != number % 100 * 100;
	h->n++;
	return h->refuse != NULL && h->n == 3 ? err_set(e, ERR_FORMAT, "%s", h->refuse)
	                                      : 0;
}

static int
talk(void *arg, struct confined *c, struct err *e)
{
	static uint8_t bytes[FRAME_PAYLOAD_MAX];

	(void)arg;
	for (uint32_t i = 0; i < MESSAGES; i++) {
		struct wr w = wr_to(bytes, sizeof bytes);
		wr_le32(&w, i);
		if (confined_say(c, KIND, bytes, 4 + i % 100 * 100, e) != 0)
			return -1;
	}
	return 0;
}

static int
run_limited(int (*run)(void *, struct confined *, struct err *), struct heard *h,
    unsigned seconds, struct err *e)
{
	struct confined_job job = { .who = "the child",
		.run = run,
		.heard = hear,
		.arg = h,
		.seconds = seconds,
		.memory_bytes = 64 << 20 };
	const char *unfiltered;

	return confined_run(&job, &unfiltered, e);
}

/* Fails with a sentence that has these words. */
static bool
fails(int (*run)(void *, struct confined *, struct err *), unsigned seconds,
    const char *words)
{
	struct heard h = { 0 };
	struct err e = { 0 };
	bool right = run_limited(run, &h, seconds, &e) == -1 &&
	             e.kind == ERR_FORMAT && strstr(e.text, words) != NULL;

	if (!right)
		printf("# said: %s\n", e.text);
	return right;
}

static void
test_talks(void)
{
	struct heard h = { 0 };
	struct err e;

	T_CHECK(run_limited(talk, &h, 60, &e) == 0);
	T_CHECK(h.n == MESSAGES);
	T_CHECK(!h.wrong);
	/* SIGXCPU, which says what was the matter, comes before SIGKILL. */
	if (processor.rlim_cur != 0)
		T_CHECK(processor.rlim_cur == 60 && processor.rlim_max > processor.rlim_cur);
}

static void
test_refused(void)
{
	struct heard h = { .refuse = "not believed" };
	struct err e;

	T_CHECK(run_limited(talk, &h, 60, &e) == -1);
	T_CHECK(strcmp(e.text, "not believed") == 0);
	T_CHECK(h.n == 3);
}

static int
fail(void *arg, struct confined *c, struct err *e)
{
	(void)arg, (void)c;
	return err_set(e, ERR_REFUSED, "it is asleep");
}

static void
test_fails(void)
{
	struct heard h = { 0 };
	struct err e;

	T_CHECK(run_limited(fail, &h, 60, &e) == -1);
	T_CHECK(e.kind == ERR_REFUSED);
	T_CHECK(strcmp(e.text, "it is asleep") == 0);
}

static int
crash(void *arg, struct confined *c, struct err *e)
{
	(void)c, (void)e;
	talk(arg, c, e);
	raise(SIGKILL);
	return 0;
}

static int
leave(void *arg, struct confined *c, struct err *e)
{
	(void)arg, (void)c, (void)e;
	_exit(0);
}

static int
hang(void *arg, struct confined *c, struct err *e)
{
	(void)arg, (void)c, (void)e;
	while (pause() != 0)
		;
	return 0;
}

static int
spin(void *arg, struct confined *c, struct err *e)
{
	(void)arg, (void)c, (void)e;
	for (atomic_int i = 0; i < 2; i ^= 1)
		;
	return 0;
}

/* For ever, and never silent. */
static int
chatter(void *arg, struct confined *c, struct err *e)
{
	uint8_t nothing[4] = { 0 };

	(void)arg;
	while (confined_say(c, KIND, nothing, sizeof nothing, e) == 0)
		;
	return -1;
}

static int
reserved(void *arg, struct confined *c, struct err *e)
{
	(void)arg;
	return confined_say(c, CONFINED_KINDS, NULL, 0, e);
}

/* The pipe is the highest descriptor that is open: what is written there is no frame. */
static int
babble(void *arg, struct confined *c, struct err *e)
{
	static uint8_t junk[64];
	int fd = *(int *)c;

	(void)arg, (void)e;
	memset(junk, 0xee, sizeof junk);
	return write(fd, junk, sizeof junk) == sizeof junk ? 0 : -1;
}

static void
test_ends_badly(void)
{
	T_CHECK(fails(crash, 60, "the child crashed (SIGKILL)"));
	T_CHECK(fails(leave, 60, "the child ended without a result"));
	T_CHECK(fails(hang, 1, "the child took longer than 1 s"));
	T_CHECK(fails(spin, 1, "the child took "));
	T_CHECK(fails(chatter, 1, "the child took "));
	T_CHECK(fails(reserved, 60, "messages of kind 128 are reserved"));
	T_CHECK(fails(babble, 60, "the child sent a message that is not understood"));
}

/* Large, and touched: a page that is not written to is none. */
static int
swell(void *arg, struct confined *c, struct err *e)
{
	(void)arg, (void)c;
	char *p = malloc(100 << 20);
	if (p == NULL)
		return err_nomem(e, "a lot");
	memset(p, 1, 100 << 20);
	free(p);
	return 0;
}

/* What is left without the filter or with it: nothing of this may work. */
static int
try_rights(void *arg, struct confined *c, struct err *e)
{
	(void)arg, (void)c;
	if (open("/", O_RDONLY) >= 0)
		return err_set(e, ERR_FORMAT, "a folder can be opened");
	if (socket(AF_UNIX, SOCK_STREAM, 0) >= 0)
		return err_set(e, ERR_FORMAT, "a socket can be made");
	if (fork() >= 0)
		return err_set(e, ERR_FORMAT, "a process can be started");
	if (write(STDOUT_FILENO, "", 0) >= 0)
		return err_set(e, ERR_FORMAT, "standard output can be written to");
	if (!T_INSTRUMENTED && write(STDERR_FILENO, "", 0) >= 0)
		return err_set(e, ERR_FORMAT, "standard error can be written to");
	if (kill(getppid(), 0) == 0)
		return err_set(e, ERR_FORMAT, "the parent can be told signals");
	return 0;
}

static int of_the_parent; /* a file that the parent has open */

/* What a child shares with its parent, by the same open files: places in them, what is in
 * pipes and sockets, and memory that both see. */
static int
try_shared(void *arg, struct confined *c, struct err *e)
{
	char byte;

	(void)arg, (void)c;
	if (lseek(of_the_parent, 7, SEEK_SET) == 7)
		return err_set(e, ERR_FORMAT, "the place in a file can be moved");
	if (read(of_the_parent, &byte, 1) >= 0)
		return err_set(e, ERR_FORMAT, "a file can be read where the parent is");
	if (mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, of_the_parent, 0) != MAP_FAILED)
		return err_set(e, ERR_FORMAT, "a file can be written to as memory");
	if (mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) !=
	    MAP_FAILED)
		return err_set(e, ERR_FORMAT, "memory can be had without a limit");
	if (pread(of_the_parent, &byte, 1, 0) != 1)
		return err_set(e, ERR_FORMAT, "the source cannot be read");
	return 0;
}

/* QEMU's user mode emulation accepts the limit and does not enforce it. */
static bool
memory_can_be_limited(void)
{
	enum { BYTES = 64 << 20 };
	struct rlimit was;

	T_CHECK(getrlimit(RLIMIT_DATA, &was) == 0);
	struct rlimit low = { .rlim_cur = BYTES / 2, .rlim_max = was.rlim_max };
	T_CHECK(setrlimit(RLIMIT_DATA, &low) == 0);
	void *p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	T_CHECK(setrlimit(RLIMIT_DATA, &was) == 0);
	if (p == MAP_FAILED)
		return true;
	munmap(p, BYTES);
	return false;
}

static void
test_limits(void)
{
	struct confined_job job = { .who = "the child",
		.run = try_rights,
		.heard = hear,
		.seconds = 60,
		.memory_bytes = 64 << 20 };
	const char *unfiltered;
	struct err e = { 0 };

	if (!memory_can_be_limited())
		printf("# this kernel does not limit the memory of a process\n");
	else if (!T_INSTRUMENTED)
		T_CHECK(fails(swell, 60, "would need more than 64 MiB of memory"));
	int rc = confined_run(&job, &unfiltered, &e);
	if (unfiltered != NULL)
		printf("# not filtered: %s\n", unfiltered);
	else if (!T_CHECK(rc == 0))
		printf("# said: %s\n", e.text);
}

static void
test_shares_nothing(void)
{
	struct confined_job job = { .who = "the child",
		.run = try_shared,
		.heard = hear,
		.seconds = 60,
		.memory_bytes = 64 << 20 };
	const char *unfiltered;
	struct err e = { 0 };

	of_the_parent = memfd_create("a file", MFD_CLOEXEC);
	T_CHECK(write(of_the_parent, "content", 7) == 7);
	T_CHECK(lseek(of_the_parent, 3, SEEK_SET) == 3);
	int rc = confined_run(&job, &unfiltered, &e);
	if (unfiltered != NULL)
		printf("# not filtered: %s\n", unfiltered);
	else if (!T_CHECK(rc == 0))
		printf("# said: %s\n", e.text);
	T_CHECK(lseek(of_the_parent, 0, SEEK_CUR) == 3 || unfiltered != NULL);
	close(of_the_parent);
}

/* The work of this thread is to end: it does not wait for the child. */
static void
test_cancelled(void)
{
	struct cancel c = { .signal = SIGTERM };
	struct heard h = { 0 };
	struct err e;

	cancel_work_for(&c);
	T_CHECK(run_limited(hang, &h, 60, &e) == -1);
	T_CHECK(e.kind == ERR_CANCELLED);
	cancel_work_for(NULL);
}

static void
test_memory(void)
{
	T_CHECK(confined_memory() > 0);
	T_CHECK(confined_memory() <= UINT64_C(4) << 30);
}

int
main(void)
{
	test_talks();
	test_refused();
	test_fails();
	test_ends_badly();
	test_limits();
	test_shares_nothing();
	test_cancelled();
	test_memory();
	return t_done();
}
