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
	CLI_VERSION, /* prints the version, as --version does */
	CLI_REFUSED, /* known, but not available: help says why; always ERR_USAGE */
};

struct cli_opt {
	int key;          /* the option's letter; 256 or more: it has a long name only */
	const char *name; /* long name, NULL: none */
	/* metavariable, NULL: takes none; "[PLAN]": it may be left out, and is "" then */
	const char *arg;
	/* One line, lower case; NULL ends a table.  Where only some commands take the option, they
	 * stand in front: "put, import: give it a label; gc: remove more". */
	const char *help;
	enum cli_kind kind;
	size_t off;        /* bytes: place of the value in the structure of this table */
	uint64_t min, max; /* range of a number; see enum cli_kind */
	/* CLI_CALL: takes the argument into `at`; -1 with *err when the argument is wrong. */
	int (*call)(void *at, const char *arg, struct err *);
};

struct cli_table {
	const struct cli_opt *opts;
	size_t base;         /* bytes: place of this table's structure in the one at `opts` */
	const char *heading; /* in --help; NULL: "Options" */
};

enum { CLI_TABLES_MAX = 6 };

struct cli_program {
	const char *name;
	const char *synopsis;                    /* "[options] input output|-" */
	/* A sentence or two.  A line that begins with two spaces and a command says what it does;
	 * with such a word, --help is about this command alone. */
	const char *about;
	const char *examples;                    /* lines, each ended with \n */
	struct cli_table tables[CLI_TABLES_MAX]; /* a table whose opts is NULL ends the list */
	/* The exit status of a failure.  When it returns 0, or is NULL, the kind of the
	 * error decides (err_exit_status()). */
	int (*exit_status)(const void *opts, const struct err *);
	/* With --json: where the report goes, for these operands, so that it is not mixed
	 * with the data.  NULL: to standard output. */
	FILE *(*report_to)(const void *opts, char **operands, int n);
	/* For these operands: what is left when a signal has ended the program, and how to go
	 * on, as in "no image was made"; it is added to the sentence.  NULL: there is nothing
	 * to say, or the error says it. */
	const char *(*left)(const void *opts, char **operands, int n);
	/* The option that chooses another port, when one is taken; NULL: there is none, or the error
	 * names it. */
	const char *port;
	/* The program ends a few seconds after a signal even when it hangs: cli_guard.h. */
	bool guarded;
	/* The program gives up rights (rights.h), which threads that it has already would keep: it
	 * calls cli_guard_start() afterwards. */
	bool gives_up_rights;
	/* The program ignores SIGHUP: a server does not end with the terminal that it was
	 * started from. */
	bool ignores_hangup;
};

/* What cli_parse() returns. */
enum cli_rc { CLI_GO, CLI_EXIT, CLI_ERROR };

/* Parse into the structure at opts.  CLI_GO: operands begin at argv[*operand].  CLI_EXIT:
 * --help or --version was printed to stdout; leave with cli_close_stdout().  CLI_ERROR: *e
 * says the first mistake (ERR_USAGE); all options that are right were taken, so that --json
 * counts wherever it stands. */
enum cli_rc cli_parse(const struct cli_program *, int argc, char **argv, void *opts,
    int *operand, struct err *);

/* Do all that a main() does: parse into opts, catch signals, call run(), close stdout and
 * report a failure.  A failure is printed as "NAME: sentence" on stderr.  If the program has
 * an option --json (a CLI_FLAG) and it was given, the failure is also printed as a document
 * (failure.h); a document that goes to stderr replaces the sentence.  run() gets the n
 * operands and returns the exit status, or -1 with *err.  Returns the exit status. */
int cli_main(const struct cli_program *, int argc, char **argv, void *opts,
    int (*run)(void *opts, char **operands, int n, struct err *));

/* Misuse unless there are `least` to `most` operands; `needed` says which.  The first one that is
 * too many is named. */
int cli_operands(char **operands, int n, int least, int most, const char *needed,
    struct err *);
/* Print a sentence of the program on stderr, as "NAME: warning: sentence" and "NAME:
 * sentence".  From any thread. */
void cli_warn(const char *sentence);
void cli_tell(const char *sentence);
/* Occupy those of the descriptors 0 to 2 that are closed, so that no disk that is opened
 * later becomes standard error and gets warnings written to it.  Using these descriptors
 * fails as before.  -1 (ERR_IO): /dev/null cannot be opened. */
int cli_hold_standard(struct err *);
/* Flush and close stdout.  -1 (ERR_IO): what was printed did not arrive. */
int cli_close_stdout(struct err *);
/* From now on SIGINT and SIGTERM end the work of this thread and of the threads that it
 * starts (cancel.h).  hangup: SIGHUP does so, too; without it SIGHUP is ignored. */
void cli_catch_signals(bool hangup);
/* The owner of the work that the signals of cli_catch_signals() end; it is static. */
struct cancel *cli_cancel(void);

#endif /* COMMON_CLI_CLI_H */
