/* net_opts.h: the options of programs that take part in a session. */
#ifndef COMMON_CLI_NET_OPTS_H
#define COMMON_CLI_NET_OPTS_H

#include "common/cli/cli.h"

/* The table's offsets are into struct net_options (netopts.h). */
extern const struct cli_opt net_opts[];

#endif /* COMMON_CLI_NET_OPTS_H */
