/* image_opts.h: the options of programs that prove images which they read, or seal images
 * which they write. */
#ifndef COMMON_CLI_IMAGE_OPTS_H
#define COMMON_CLI_IMAGE_OPTS_H

#include "common/cli/cli.h"

/* --verify-key and --decrypt; the offsets are into struct proof_config. */
extern const struct cli_opt proof_opts[];
/* --sign and --encrypt; the offsets are into struct seal_config. */
extern const struct cli_opt seal_opts[];

#endif /* COMMON_CLI_IMAGE_OPTS_H */
