/* args.h: a command line that is built word by word, and then run as child.h does.
 *
 * A struct args that is all zeros has no words.  When there was no memory for a
 * word, nothing is run. */
#ifndef COMMON_BASE_ARGS_H
#define COMMON_BASE_ARGS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/child.h"
#include "common/base/err.h"

struct args {
	const char **v; /* n words and a NULL; owned */
	char **owned;   /* those of them that args_addf() has made */
	size_t n, cap, nowned;
	bool failed; /* there was no memory */
};

/* Append a word, which is borrowed until the command line is run. */
void args_add(struct args *, const char *word);
/* Append a word that printf(3) makes. */
void args_addf(struct args *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* ERR_NOMEM: a word is missing. */
int args_check(const struct args *, struct err *);
/* Of words that are not run here. */
void args_free(struct args *);
/* child_start() without pipes, child_run() and child_run_telling() with these words;
 * *args is freed, also on failure.  ERR_NOMEM: a word is missing.  The first word must
 * have been given to args_add(): it is the name that the child's errors have.
 * args_start() does child_ready(), too, with that file; a program that is not ready then
 * is left to the caller. */
int args_start(struct child **, struct args *, const char *pid_file, uint64_t most_us,
    struct err *);
int args_run(struct args *, struct err *);
int args_run_telling(struct args *, child_line_fn tell, void *arg, struct err *);

#endif /* COMMON_BASE_ARGS_H */
