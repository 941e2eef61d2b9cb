/* cli.h: options as data: one table drives parsing, --help and refusals.
 *
 * A program has one or more tables of struct cli_opt, each with the offset of
 * the structure it fills.  cli_parse() knows --help and --version by itself.
 */
#ifndef COMMON_CLI_CLI_H
#define COMMON_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/base/cancel.h"
#include "common/base/err.h"

enum cli_kind {
	CLI_FLAG,    /* bool at off becomes true */
	CLI_UINT,    /* uint64_t at off, min..max, decimal or 0x */
	CLI_INT,     /* int64_t at off, min..max taken as signed */
	CLI_SIZE,    /* uint64_t bytes at off: 64M, 1G, 512k; min..max */
	CLI_STR,     /* const char * at off, borrowed from argv */
	CLI_CALL,    /* call(at off, arg) */
	CLI_VERSION, /* the same as --version */
	CLI_REFUSED, /* known, but not available: help says why; always ERR_USAGE */
};

struct cli_opt {
	int key;          /* its letter, or 256 and up for long names only */
	const char *name; /* long name, NULL: none */
	const char *arg;  /* metavariable, NULL: takes none */
	const char *help; /* one line, lower case; NULL ends a table */
	enum cli_kind kind;
	size_t off; /* into the structure of this table */
	uint64_t min, max;
	int (*call)(void *at, const char *arg, struct err *);
};

struct cli_table {
	const struct cli_opt *opts;
	size_t base;         /* offset of its structure in the whole */
	const char *heading; /* in --help; NULL: "Options" */
};

enum { CLI_TABLES_MAX = 6 };

struct cli_program {
	const char *name;
	const char *synopsis;                    /* "[options] input output|-" */
	const char *about;                       /* a sentence or two */
	const char *examples;                    /* lines, each ended with \n */
	struct cli_table tables[CLI_TABLES_MAX]; /* the first NULL opts ends them */
	/* The exit status of a failure.  When it returns 0, or is NULL, the kind of the
	 * error decides (err_exit_status()). */
	int (*exit_status)(const void *opts, const struct err *);
	/* With --json: where the report goes, for these operands, so that it is not mixed
	 * with the data.  NULL: to standard output. */
	FILE *(*report_to)(const void *opts, char **operands, int n);
	/* The program ends a few seconds after a signal even when it hangs: cli_guard.h. */
	bool guarded;
	/* The program ignores SIGHUP: a server does not end with the terminal that it was
	 * started from. */
	bool ignores_hangup;
};

enum cli_rc { CLI_GO, CLI_EXIT, CLI_ERROR };

/* Parse into the structure at opts.  CLI_GO: operands begin at argv[*operand].  CLI_EXIT:
 * --help or --version was printed to stdout; leave with cli_close_stdout().  CLI_ERROR: *e
 * says the first mistake (ERR_USAGE); all options that are right were taken, so that --json
 * counts wherever it stands. */
enum cli_rc cli_parse(const struct cli_program *, int argc, char **argv, void *opts,
    int *operand, struct err *);

/* All of a main(): parse into opts, catch signals, run, close stdout, say what went
 * wrong: as "NAME: sentence" on stderr, and where there is an option --json (a
 * CLI_FLAG) that was given, as a document (failure.h); on stderr as that alone.  run()
 * gets the n operands and returns the exit status, or -1 with *err.  Returns the exit
 * status. */
int cli_main(const struct cli_program *, int argc, char **argv, void *opts,
    int (*run)(void *opts, char **operands, int n, struct err *));

/* Occupy the descriptors 0 to 2 that are closed: no disk that is opened later becomes
 * standard error, and gets warnings written to it.  Using them fails as before. */
int cli_hold_standard(struct err *);
/* Flush and close stdout: -1 when what was printed did not arrive. */
int cli_close_stdout(struct err *);
/* From now on SIGINT and SIGTERM, and SIGHUP where `hangup` says so, end the work of this
 * thread, and of those that it starts (cancel.h). */
void cli_catch_signals(bool hangup);
/* The owner of the work that those signals end. */
struct cancel *cli_cancel(void);

#endif /* COMMON_CLI_CLI_H */
