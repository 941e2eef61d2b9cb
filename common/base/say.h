/* say.h: prints texts for people, line by line.
 *
 * Nothing else prints texts.  A terminal shows what stands in the arguments, and never
 * obeys it (plain.h).  A line of progress may stand on the terminal; whatever is printed by
 * say_text() takes its place, so that no sentence hangs on it. */
#ifndef COMMON_BASE_SAY_H
#define COMMON_BASE_SAY_H

#include <stdio.h>

/* Write one line, or a piece of a line, to stdout or stderr at once.  A newline at the very
 * end of the format is obeyed; any other newline, in the format or in the arguments,
 * becomes '?', as all harmful characters do.  Failures are not reported here:
 * cli_close_stdout() finds out later whether stdout could be written.  Several threads may
 * call this at once. */
void say_text(FILE *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Put a line, without a newline, onto the terminal that stderr is, in place of the one that
 * stands there.  It stands until the next say_text(), say_line() or say_line_clear(). */
void say_line(const char *text);
/* Remove the line that stands on the terminal, if there is one. */
void say_line_clear(void);
/* What a writer that goes past stdio writes first: what removes the line that stands on the
 * terminal; "": there is none. */
const char *say_line_clearing(void);

#endif /* COMMON_BASE_SAY_H */
