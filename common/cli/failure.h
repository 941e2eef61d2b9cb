/* failure.h: how a JSON document describes a run whose exit status is not 0.  It has
 * the members "ok" (false), "error" (the sentence), "kind" (one word) and "exit"
 * (the status), after those of a report, if one is printed.  The document of a run
 * whose status is 0 has "ok" (true) only if there is nothing else to report. */
#ifndef COMMON_CLI_FAILURE_H
#define COMMON_CLI_FAILURE_H

#include <stdio.h>

#include "common/base/json.h"

/* "usage", "io", "damaged", "unsupported", "refused", "memory", "interrupted". */
const char *failure_kind(enum err_kind);
/* Put these members into an object that is open. */
void failure_put(struct json *, const char *error, const char *kind, int exit_status);
void failure_put_err(struct json *, const struct err *, int exit_status);
/* The members of an error are in a report that was printed: cli_main() prints no
 * document then. */
void failure_told(struct err *);
/* Print a document that has these members alone.  -1: it could not be written. */
int failure_show(const struct err *, int exit_status, FILE *);
/* Write the document of failure_show() into buf, without asking for memory.  The sentence
 * may have no character that JSON escapes.  Returns what snprintf() does. */
int failure_text(
    char *buf, size_t cap, const char *error, enum err_kind, int exit_status);
/* Print the document of a run that has nothing to say but that it succeeded. */
int failure_none_show(struct err *);

#endif /* COMMON_CLI_FAILURE_H */
