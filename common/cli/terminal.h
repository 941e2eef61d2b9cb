/* terminal.h: standard error as a terminal on which a line, or a table, is drawn anew in its
 * place. */
#ifndef COMMON_CLI_TERMINAL_H
#define COMMON_CLI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

/* Is standard error a terminal that draws?  With TERM=dumb, as in an editor, it is none. */
bool terminal_draws(void);

struct terminal_size {
	unsigned rows, columns; /* neither is 0 */
};
/* How large it is now; 24 rows of 80 columns where it does not say so. */
struct terminal_size terminal_size(void);
/* How many bytes of the text have room in so many columns; it is cut between characters.  A
 * byte counts as a column, so a text that is not ASCII may have room for more. */
size_t terminal_fit(const char *text, unsigned columns);

#endif /* COMMON_CLI_TERMINAL_H */
