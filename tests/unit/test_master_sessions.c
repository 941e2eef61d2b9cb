/* A session of mfrisbeed that is begun again at its group, because its clients wait there, while the
 * parent that has its image is away: it stays in the list for a restart, and where no thread can be
 * started it counts as failed. */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "mfrisbeed/master/slots.h"
#include "tests/unit/scratch.h"

enum { LIMIT_MS = 60000 };

static const char line[] = "session web.ndz 239.192.70.1 5555\n";
static struct settings settings;
static bool no_threads;
static struct err e;

/* The C library's function, or the failure of a system that has no room for another thread. */
int
pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

	void *found = dlsym(RTLD_NEXT, "pthread_create");

	memcpy(&real, &found, sizeof real);
	return no_threads ? EAGAIN : real(t, attr, run, arg);
}

static void
make_settings(void)
{
	char text[1024];

	T_CHECK(sh("mkdir kept state") == 0);
	T_CHECK(sh("printf 'session web.ndz 239.192.70.1 5555\\n' > state/sessions") == 0);
	/* Nobody listens at port 1. */
	int n = snprintf(text, sizeof text,
	    "parent 127.0.0.1:1 %s/kept\ngroup 239.192.70.1\nallow 127.0.0.0/8\n"
	    "state %s/state\ninterface lo\n",
	    scratch_dir, scratch_dir);
	T_CHECK(settings_parse(&settings, text, (size_t)n, "settings", &e) == 0);
}

static bool
is_in_the_list(void)
{
	char text[sizeof line + 1] = "";
	FILE *f = fopen(in_scratch("state/sessions"), "r");
	size_t n = f != NULL ? fread(text, 1, sizeof text, f) : 0;

	if (f != NULL)
		fclose(f);
	return n == sizeof line - 1 && memcmp(text, line, n) == 0;
}

static enum sessions_state
state_of_it(struct sessions *x)
{
	const struct catalog_entry entry = { .at_parent = true };
	const struct sessions_wish w = { "web.ndz", &entry, NULL };
	struct sessions_place p = { .state = SESSIONS_RUNNING };

	T_CHECK(sessions_find(x, &w, &p));
	return p.state;
}

static void
wait_for_start(struct sessions *x)
{
	int fds[SESSIONS_FDS];

	sessions_fds(x, fds);
	struct pollfd p = { .fd = fds[0], .events = POLLIN };
	T_CHECK(poll(&p, 1, LIMIT_MS) == 1);
}

int
main(void)
{
	struct sessions *x = NULL;

	scratch_init();
	log_open("test", true, LOG_LEVEL_ERR);
	make_settings();
	T_CHECK(sessions_new(&x, &settings, NULL, &e) == 0);
	T_CHECK(sessions_resume(x, &e) == 0);
	T_CHECK(state_of_it(x) == SESSIONS_STARTING);
	T_CHECK(state_save(x, &e) == 0);
	T_CHECK(is_in_the_list());
	wait_for_start(x);
	sessions_collect(x); /* it has failed, and is begun again */
	T_CHECK(state_of_it(x) == SESSIONS_STARTING);
	wait_for_start(x);
	no_threads = true;
	sessions_collect(x);
	no_threads = false;
	T_CHECK(state_of_it(x) == SESSIONS_FAILED);
	sessions_free(x);
	settings_free(&settings);
	return t_done();
}
