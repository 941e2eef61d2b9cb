/* image_opts.h: the options of programs that open sealed images which they read, or seal
 * images which they write. */
#ifndef COMMON_CLI_IMAGE_OPTS_H
#define COMMON_CLI_IMAGE_OPTS_H

#include "common/cli/cli.h"

/* --verify-key and --decrypt; the offsets are into struct opener_config. */
extern const struct cli_opt opener_opts[];
/* --sign and --encrypt; the offsets are into struct sealer_config. */
extern const struct cli_opt sealer_opts[];

#endif /* COMMON_CLI_IMAGE_OPTS_H */
