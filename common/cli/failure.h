/* failure.h: how a JSON document describes a run whose exit status is not 0.  It has
 * the members "ok" (false), "error" (the sentence), "kind" (err_word()) and "exit"
 * (the status), after those of a report, if one is printed.  The document of a run
 * whose status is 0 has "ok" (true) only if there is nothing else to report. */
#ifndef COMMON_CLI_FAILURE_H
#define COMMON_CLI_FAILURE_H

#include <stdio.h>

#include "common/base/json.h"

/* Put the four members into an object that is open. */
void failure_put(struct json *, const char *error, const char *kind, int exit_status);
/* failure_put() with the sentence and the kind of this error. */
void failure_put_err(struct json *, const struct err *, int exit_status);
/* To be called when a report that contains the members of this error was printed, so that
 * cli_main() prints no second document. */
void failure_told(struct err *);
/* Print a document that has the four members alone.  -1: it could not be written, or there
 * is no memory. */
int failure_show(const struct err *, int exit_status, FILE *);
/* Write the document of failure_show() into buf, without asking for memory.  The sentence
 * may have no character that JSON escapes.  Returns what snprintf() does. */
int failure_text(
    char *buf, size_t cap, const char *error, enum err_kind, int exit_status);
/* Print the document of a run that succeeded and has nothing else to report: "ok" (true), on
 * standard output.  Errors of json_show(), and ERR_NOMEM. */
int failure_none_show(struct err *);
/* failure_none_show() on the given file. */
int failure_none_show_on(FILE *, struct err *);

#endif /* COMMON_CLI_FAILURE_H */
