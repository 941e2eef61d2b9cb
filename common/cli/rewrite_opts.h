/* rewrite_opts.h: the options of programs that make an image of images. */
#ifndef COMMON_CLI_REWRITE_OPTS_H
#define COMMON_CLI_REWRITE_OPTS_H

#include "common/cli/cli.h"

/* The table's offsets are into struct rewrite_config (rewrite.h). */
extern const struct cli_opt rewrite_opts[];

#endif /* COMMON_CLI_REWRITE_OPTS_H */
