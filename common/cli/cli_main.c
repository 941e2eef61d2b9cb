/* cli_main.c: a program from its first argument to its exit status.  Every program's main()
 * calls cli_main(), in the first thread; cli_warn() and cli_tell() may be called in any. */
#include <errno.h>
#include <string.h>

#include "common/base/say.h"
#include "common/base/test_times.h"
#include "common/cli/cli.h"
#include "common/cli/cli_guard.h"
#include "common/cli/failure.h"

static const char *program; /* its name */

void
cli_warn(const char *sentence)
{
	say_text(stderr, "%s: warning: %s\n", program, sentence);
}

void
cli_tell(const char *sentence)
{
	say_text(stderr, "%s: %s\n", program, sentence);
}

static bool
is_json(const struct cli_opt *o)
{
	return o->kind == CLI_FLAG && o->name != NULL && strcmp(o->name, "json") == 0;
}

static bool
wants_json(const struct cli_program *prog, const void *opts)
{
	for (size_t t = 0; t < CLI_TABLES_MAX && prog->tables[t].opts != NULL; t++)
		for (const struct cli_opt *o = prog->tables[t].opts; o->help != NULL;
		     o++)
			if (is_json(o))
				return *(const bool *)((const char *)opts +
						       prog->tables[t].base + o->off);
	return false;
}

/* Where the JSON of a failure is printed; NULL: none is wanted. */
static FILE *
report_to(const struct cli_program *prog, const void *opts, char **operands, int n)
{
	if (!wants_json(prog, opts))
		return NULL;
	return prog->report_to != NULL ? prog->report_to(opts, operands, n) : stdout;
}

/* Add to the error what is left, when a signal has ended the program. */
static void
add_left(const struct cli_program *prog, const void *opts, char **operands, int n,
    struct err *e)
{
	const char *left = cancel_signal() != 0 && prog->left != NULL
	                       ? prog->left(opts, operands, n)
	                       : NULL;

	if (left != NULL)
		err_add(e, "%s", left);
}

static void
add_port(const struct cli_program *prog, struct err *e)
{
	if (e->kind == ERR_IO && e->os == EADDRINUSE && prog->port != NULL)
		err_add(e, "%s chooses another one", prog->port);
}

/* The synopsis has several lines in some programs. */
static void
tell_usage(const struct cli_program *prog)
{
	const char *line = prog->synopsis, *end;

	say_text(stderr, "usage: %s ", prog->name);
	for (; (end = strchr(line, '\n')) != NULL; line = end + 1)
		say_text(stderr, "%.*s\n", (int)(end - line), line);
	say_text(stderr, "%s (see --help)\n", line);
}

static void
tell(const struct cli_program *prog, const struct err *e)
{
	say_text(stderr, "%s: %s\n", prog->name, e->text);
	if (e->misuse)
		tell_usage(prog);
}

/* Report a failure, as cli_main() promises.  Returns the exit status. */
static int
fail(
    const struct cli_program *prog, const void *opts, FILE *report, const struct err *e)
{
	int status = prog->exit_status != NULL ? prog->exit_status(opts, e) : 0;

	if (status == 0)
		status = err_exit_status(e);
	bool document = report != NULL && !e->told;
	if (!document || report != stderr)
		tell(prog, e);
	if (document && failure_show(e, status, report) != 0 && report == stderr)
		tell(prog, e);
	return status;
}

int
cli_main(const struct cli_program *prog, int argc, char **argv, void *opts,
    int (*run)(void *opts, char **operands, int n, struct err *))
{
	struct err e = { 0 };
	FILE *report = NULL;
	int at = argc, status = 0;

	program = prog->name;
	if (cli_hold_standard(&e) != 0 || test_times_check(&e) != 0)
		return fail(prog, opts, NULL, &e);
	enum cli_rc parsed = cli_parse(prog, argc, argv, opts, &at, &e);
	if (parsed != CLI_EXIT)
		report = report_to(prog, opts, argv + at, argc - at);
	if (parsed == CLI_GO) {
		cli_guard_prepare(
		    prog->name, prog->guarded, report != NULL ? fileno(report) : -1);
		if (!prog->gives_up_rights)
			cli_guard_start();
		cli_catch_signals(!prog->ignores_hangup);
		status = run(opts, argv + at, argc - at, &e);
		say_line_clear(); /* of what has failed amid it */
		if (status < 0)
			add_left(prog, opts, argv + at, argc - at, &e);
		cancel_work_for(NULL); /* what is still said is not interrupted */
	}
	if (parsed == CLI_ERROR || status < 0) {
		add_port(prog, &e);
		return fail(prog, opts, report, &e);
	}
	if (cli_close_stdout(&e) == 0)
		return status;
	return fail(prog, opts, report != stdout ? report : NULL, &e);
}
