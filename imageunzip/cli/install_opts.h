/* install_opts.h: the options of programs that install. */
#ifndef IMAGEUNZIP_CLI_INSTALL_OPTS_H
#define IMAGEUNZIP_CLI_INSTALL_OPTS_H

#include "common/cli/cli.h"

/* Offsets into struct install_config. */
extern const struct cli_opt install_opts[];
/* For a program's own table, with the offset of its struct install_config:
 * frisbee's -p is the port. */
int install_set_pattern(void *config, const char *arg, struct err *);

#endif /* IMAGEUNZIP_CLI_INSTALL_OPTS_H */
