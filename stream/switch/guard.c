/* guard.c: guards a server that may be killed.  streamswitch calls this, in its one thread.
 *
 *	start, greet, attach -- serves -- dies -- start, greet, reattach -- serves -- ends in order
 *
 * The one that died is waited for before another is started: what it had begun to write to the
 * disk is written then.  The kernel sends again what was not answered. */
#include "stream/switch/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/reboot.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/args.h"
#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/process.h"
#include "common/base/say.h"
#include "common/base/timed.h"
#include "stream/switch/memory.h"
#include "stream/nbd/nbd.h"
#include "stream/nbd/tell.h"

enum {
	SETTLED_US = 5 * 1000000, /* who has served as long as this was well */
	DEATHS_MAX = 10,          /* one after the other, of servers that had not settled */
	PAUSE_US = 500000,        /* behind the second of such deaths, and each later one */
	LOOK_US = 100000,
	LATER_US = 1000000, /* the kernel is given a connection as often: it takes it when the last has ended */
	FLUSH_US = 600 * 1000000, /* as streamdisk has it, for the last flush */
	/* How long requests wait for a server.  The guardian has started another one before, or has
	 * reset the machine; this is for when it is killed itself. */
	WAIT_S = 600,
};

struct guard {
	const struct guard_config *c;
	struct args words;
	struct process server;
	bool served;   /* one has said what its disk is, and the kernel could take it */
	bool killed;   /* the last one was ended by a signal */
	bool attached; /* the kernel has been given a connection */
	uint64_t since_us; /* since when the last one has served; 0: it has not */
	unsigned deaths; /* in a row */
};

static int
make_marks(const char *path, struct err *e)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0)
		return err_os(e, "%s", path);
	close(fd);
	return 0;
}

static int
prepare(struct guard *g, struct err *e)
{
	const struct guard_config *c = g->c;

	for (size_t i = 0; i < c->nwords; i++)
		args_add(&g->words, c->words[i]);
	if (c->marks != NULL)
		args_addf(&g->words, "marks=%s", c->marks);
	if (args_check(&g->words, e) != 0 || (c->marks != NULL && make_marks(c->marks, e) != 0))
		return -1;
	if (c->nbd == NULL) /* the memory of the machine does not depend on this server */
		return 0;
	/* Neither this process nor what it starts is ended when memory is short. */
	tell_kernel("/proc/self/oom_score_adj", "-1000\n");
	return memory_lock(e);
}

/* Connect to the server as soon as it listens.  Returns a descriptor, or -1: it has ended, or it
 * is no server. */
static int
greet(struct guard *g, struct nbd_export *x, struct err *e)
{
	int fd;

	while ((fd = nbd_dial(g->c->socket, x, e)) < 0 && e->kind == ERR_ABSENT)
		if (process_wait(&g->server, LOOK_US) || cancel_check(e) != 0)
			break;
	if (fd >= 0 && g->since_us == 0) {
		g->since_us = clock_us();
		say_text(stderr, "streamswitch: %s serves\n", g->c->words[0]);
	}
	return fd;
}

/* The device is there no more when the disk is whole and the system uses it directly. */
static bool
is_used(const struct guard *g)
{
	return g->attached && nbd_is_attached(g->c->nbd);
}

static int
connect_again(struct guard *g, struct err *e)
{
	struct nbd_export x;
	int fd = greet(g, &x, e);

	if (fd < 0)
		return -1;
	int rc = is_used(g) ? nbd_reattach(g->c->nbd, fd, e) : 0;
	close(fd);
	return rc;
}

static int
connect_first(struct guard *g, struct err *e)
{
	const struct nbd_device d = { g->c->nbd, g->c->sector_bytes, WAIT_S };
	struct nbd_export x;
	int fd = greet(g, &x, e), rc = 0;

	if (fd < 0)
		return -1;
	if (g->c->nbd != NULL)
		rc = nbd_attach(&d, fd, &x, e);
	close(fd);
	g->served = rc == 0;
	g->attached = rc == 0 && g->c->nbd != NULL;
	return rc;
}

static int
connect_kernel(struct guard *g, struct err *e)
{
	if (!g->served)
		return connect_first(g, e);
	for (int s = 0; s < SETTLED_US / LATER_US; s++) {
		if (connect_again(g, e) != 0)
			return -1;
		if (process_wait(&g->server, LATER_US) || !is_used(g) || cancel_signal() != 0)
			break;
	}
	return 0;
}

/* Wait for the end of the server, and end it when this process is told to end. */
static void
wait_for_end(struct guard *g)
{
	while (!process_wait(&g->server, LOOK_US))
		if (cancel_signal() != 0)
			process_end(&g->server, FLUSH_US);
}

/* 0: it has ended in order; -1: it has not, and *e says why. */
static int
how_it_ended(struct guard *g, int rc, struct err *e)
{
	char why[PROCESS_WHY_BYTES];
	bool failed = process_failed(&g->server, why);

	g->killed = failed && WIFSIGNALED(g->server.status);
	process_forget(&g->server);
	if (!failed && (cancel_signal() != 0 || (rc == 0 && !is_used(g))))
		return 0;
	if (failed || rc == 0)
		err_set(e, ERR_IO, "%s %s", g->c->words[0], why);
	return -1;
}

static int
run_one(struct guard *g, struct err *e)
{
	const struct process_files files = { -1, STDERR_FILENO, STDERR_FILENO };

	g->since_us = 0;
	unlink(g->c->socket); /* of one that was killed */
	if (process_start(&g->server, g->words.v, files, true, e) != 0)
		return -1;
	int rc = connect_kernel(g, e);
	if (rc != 0 && !process_wait(&g->server, LATER_US))
		process_end(&g->server, FLUSH_US);
	wait_for_end(g);
	return how_it_ended(g, rc, e);
}

/* May another one be started?  *e says how the last one ended. */
static bool
may_go_on(struct guard *g, struct err *e)
{
	bool settled = g->since_us != 0 && clock_us() - g->since_us >= SETTLED_US;

	if (cancel_signal() != 0 || (!g->served && !g->killed))
		return false;
	if (g->c->marks == NULL) {
		err_ctx(e, "what was written last may be lost");
		return false;
	}
	g->deaths = settled ? 1 : g->deaths + 1;
	if (g->deaths < DEATHS_MAX)
		return true;
	err_ctx(e, "%u in a row have each served for less than %d s", g->deaths,
	    SETTLED_US / 1000000);
	return false;
}

/* Nothing is written to the disk of the system: it would be waited for without end. */
static void
reset_machine(const struct err *why)
{
	char text[700];

	snprintf(text, sizeof text, "<0>frisbee: FAILED: %.600s; the machine is reset\n", why->text);
	tell_kernel("/dev/kmsg", text);
	reboot(RB_AUTOBOOT);
}

static int
run(struct guard *g, struct err *e)
{
	while (run_one(g, e) != 0) {
		if (!may_go_on(g, e))
			return -1;
		say_text(stderr, "streamswitch: %s; another one is started\n", e->text);
		if (g->deaths > 1)
			timed_pause(clock_us() + PAUSE_US);
	}
	return 0;
}

int
guard_run(const struct guard_config *c, struct err *e)
{
	struct guard g = { .c = c };
	int rc = -1;

	if (prepare(&g, e) == 0)
		rc = run(&g, e);
	if (rc != 0 && cancel_signal() == 0 && is_used(&g))
		reset_machine(e);
	args_free(&g.words);
	return rc;
}
