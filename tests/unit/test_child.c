/* A program that runs beside this one: its result is its error, not the progress that
 * came after it; lines of both streams are told apart. */
#include "common/base/child.h"

#include <string.h>

#include "tests/t.h"

static struct err e;

static int
run(const char *script)
{
	const char *const argv[] = { "sh", "-c", script, NULL };

	e = (struct err){ .kind = ERR_NONE };
	return child_run(argv, &e);
}

static bool
fails_with(const char *script, const char *why)
{
	int rc = run(script);
	bool ok = rc == -1 && e.kind == ERR_IO && strcmp(e.text, why) == 0;

	if (!ok)
		printf("# %d: %s\n", rc, e.text);
	return ok;
}

static void
test_result(void)
{
	T_CHECK(run("echo 100 %; echo 'sh: a warning' >&2") == 0);
	T_CHECK(fails_with(
	    "echo 'sh: no room' >&2; sleep 0.05; echo 100 %; exit 1", "sh: no room"));
	T_CHECK(fails_with(
	    "echo 'x: error: no room' >&2; echo 100 %; exit 1", "sh: no room"));
	T_CHECK(fails_with("echo no room; echo; exit 1", "sh: no room"));
	T_CHECK(fails_with("printf 'no end of line' >&2; exit 1", "sh: no end of line"));
	T_CHECK(fails_with(
	    "echo first >&2; echo '  more of it' >&2; exit 1", "sh: first"));
	T_CHECK(fails_with("exit 1", "sh: failed, and did not say why"));
	T_CHECK(fails_with("kill -9 $$", "sh: was ended by signal 9"));
}

struct told {
	unsigned n[2];
	char last[2][100];
};

static void
tell(void *arg, enum child_stream which, const char *line)
{
	struct told *t = arg;

	t->n[which]++;
	snprintf(t->last[which], sizeof t->last[which], "%.99s", line);
}

static void
test_streams(void)
{
	static const char script[] =
	    "for i in 1 2 3; do echo $i; done; echo four >&2; echo done";
	const char *const argv[] = { "sh", "-c", script, NULL };
	struct told t = { .n = { 0 } };

	T_CHECK(child_run_telling(argv, tell, &t, &e) == 0);
	T_CHECK(t.n[CHILD_OUTPUT] == 4 && t.n[CHILD_ERRORS] == 1);
	T_CHECK(strcmp(t.last[CHILD_OUTPUT], "done") == 0);
	T_CHECK(strcmp(t.last[CHILD_ERRORS], "four") == 0);
}

/* A line longer than one that is kept is told in pieces, and none of it is lost. */
static void
test_long_line(void)
{
	static const char script[] = "head -c 5000 /dev/zero | tr '\\0' x";
	const char *const argv[] = { "sh", "-c", script, NULL };
	struct told t = { .n = { 0 } };

	T_CHECK(child_run_telling(argv, tell, &t, &e) == 0);
	T_CHECK(t.n[CHILD_OUTPUT] == (5000 + 398) / 399);
}

int
main(void)
{
	test_result();
	test_streams();
	test_long_line();
	return t_done();
}
