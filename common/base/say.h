/* say.h: what programs print for people, line by line.
 *
 * Nothing else prints texts: whatever stands in the arguments, a terminal shows it and
 * does not obey it (plain.h).
 */
#ifndef COMMON_BASE_SAY_H
#define COMMON_BASE_SAY_H

#include <stdio.h>

/* Write one line, or a piece of a line, to stdout or stderr at once.  A newline at the very
 * end of the format is obeyed; any other newline, in the format or in the arguments,
 * becomes '?', as all harmful characters do.  cli_close_stdout() asks later whether it
 * could be written.  Several threads may call this at once. */
void say(FILE *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif /* COMMON_BASE_SAY_H */
