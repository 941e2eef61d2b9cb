/* cli_help.h: --help, made of the tables of options, for all of a program or one command. */
#ifndef COMMON_CLI_CLI_HELP_H
#define COMMON_CLI_CLI_HELP_H

#include "common/cli/cli.h"

/* May the argument of the option, which has a long name only, be left out? */
bool cli_may_lack(const struct cli_opt *);
/* Print on standard output what the program is told by its n words, the last of which is
 * --help: if one is a command, only about this command. */
void cli_help_print(const struct cli_program *, char **words, int n);

#endif /* COMMON_CLI_CLI_HELP_H */
