/* scratch.h: a temporary directory, shell commands and loop devices for tests.
 *
 * The directory and the loop devices are removed when the program ends.
 */
#ifndef TESTS_UNIT_SCRATCH_H
#define TESTS_UNIT_SCRATCH_H

#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/t.h"
#include "tests/tmp.h"

static char scratch_dir[128];
static char scratch_undo[4096] = ":"; /* shell commands that run at the end */

static inline void
skip(const char *what, const char *why)
{
	printf("ok %d - %s # SKIP %s\n", ++t_run, what, why);
}

/* Runs a shell command in the directory, without its output.  Returns its exit status. */
static inline int __attribute__((format(printf, 1, 2))) sh(const char *fmt, ...)
{
	char cmd[4096], all[4300];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(cmd, sizeof cmd, fmt, ap);
	va_end(ap);
	snprintf(
	    all, sizeof all, "exec >/dev/null 2>&1; cd %s && %s", scratch_dir, cmd);
	fflush(stdout);
	return system(all);
}

static inline void
scratch_done(void)
{
	sh("(%s); cd / && rm -rf %s", scratch_undo, scratch_dir);
}

/* Cleans up when the runner ends the test by a signal, so that no loop device is left. */
static inline void
scratch_signal(int sig)
{
	scratch_done();
	_exit(128 + sig);
}

static inline void
scratch_init(void)
{
	if (!tmp_folder(scratch_dir, sizeof scratch_dir, "suite")) {
		perror(scratch_dir);
		exit(1);
	}
	atexit(scratch_done);
	signal(SIGTERM, scratch_signal);
	signal(SIGINT, scratch_signal);
	signal(SIGHUP, scratch_signal);
}

/* Adds a shell command that runs before the directory is removed.  The last one runs first. */
static inline void
at_end(const char *cmd)
{
	char rest[sizeof scratch_undo];

	memcpy(rest, scratch_undo, sizeof rest);
	snprintf(scratch_undo, sizeof scratch_undo, "%.200s; %.3800s", cmd, rest);
}

/* The path of this name in the directory; it is valid for eight more calls. */
static inline const char *
in_scratch(const char *name)
{
	static char path[8][200];
	static unsigned i;

	i = (i + 1) % 8;
	snprintf(path[i], sizeof path[i], "%.120s/%.60s", scratch_dir, name);
	return path[i];
}

/* Does the file of this name in the directory hold these bytes, and no more? */
static inline bool
scratch_holds(const char *name, const void *bytes, size_t n)
{
	uint8_t *got = malloc(n + 1);
	FILE *f = fopen(in_scratch(name), "r");
	bool same = got != NULL && f != NULL && fread(got, 1, n + 1, f) == n &&
	            memcmp(got, bytes, n) == 0;

	if (f != NULL)
		fclose(f);
	free(got);
	return same;
}

/* Attaches a loop device to a file in the directory, and writes its name to dev.  False: this
 * is not possible. */
static inline bool
loop_attach(const char *file, const char *options, char *dev, size_t cap)
{
	char cmd[512], undo[128];
	bool ok = false;

	if (geteuid() != 0)
		return false;
	snprintf(cmd, sizeof cmd, "losetup --show -f %s %s 2>/dev/null", options,
	    in_scratch(file));
	fflush(stdout);
	FILE *p = popen(cmd, "r");
	if (p == NULL)
		return false;
	if (fgets(dev, (int)cap, p) != NULL) {
		dev[strcspn(dev, "\n")] = '\0';
		ok = true;
	}
	if (pclose(p) != 0 || !ok)
		return false;
	snprintf(undo, sizeof undo, "losetup -d %s", dev);
	at_end(undo);
	return true;
}

#endif /* TESTS_UNIT_SCRATCH_H */
