/* say.h: prints texts for people, line by line.
 *
 * Nothing else prints texts.  A terminal shows what stands in the arguments, and never
 * obeys it (plain.h). */
#ifndef COMMON_BASE_SAY_H
#define COMMON_BASE_SAY_H

#include <stdio.h>

/* Write one line, or a piece of a line, to stdout or stderr at once.  A newline at the very
 * end of the format is obeyed; any other newline, in the format or in the arguments,
 * becomes '?', as all harmful characters do.  Failures are not reported here:
 * cli_close_stdout() finds out later whether stdout could be written.  Several threads may
 * call this at once. */
void say_text(FILE *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif /* COMMON_BASE_SAY_H */
