/* say.h: what programs print for people, line by line.
 *
 * Nothing else prints texts: whatever stands in the arguments, a terminal shows it and
 * does not obey it (plain.h).
 */
#ifndef COMMON_BASE_SAY_H
#define COMMON_BASE_SAY_H

#include <stdio.h>

/* One line, or a piece of one, to stdout or stderr, in one piece.  A newline at the
 * very end of the format is obeyed; any other, in the format or the arguments, becomes
 * '?', like all that is harmful.  Whether it could be written, cli_close_stdout() asks.
 * Threads may speak at once. */
void say(FILE *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif /* COMMON_BASE_SAY_H */
