/* install_opts.h: the options of programs that install, for imageunzip and frisbee. */
#ifndef IMAGEUNZIP_CLI_INSTALL_OPTS_H
#define IMAGEUNZIP_CLI_INSTALL_OPTS_H

#include "common/cli/cli.h"

/* The table; its offsets are those of struct install_config. */
extern const struct cli_opt install_opts[];
/* Sets the pattern that fills free space: a CLI_CALL function for a program's own table,
 * with the offset of its struct install_config. The option is not in install_opts,
 * because frisbee's -p is the port. ERR_USAGE. */
int install_set_pattern(void *config, const char *arg, struct err *);
/* What the installation says goes to stderr (quiet: only its warnings), and what it makes is
 * removed when the program is ended in the middle (cli_guard.h).  On a terminal, -n is told from a
 * dry run. */
struct install_config;
void install_tells_user(struct install_config *, bool quiet);

#endif /* IMAGEUNZIP_CLI_INSTALL_OPTS_H */
