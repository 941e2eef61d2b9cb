/* codec_opts.h: the options of every program that compresses. */
#ifndef COMMON_CLI_CODEC_OPTS_H
#define COMMON_CLI_CODEC_OPTS_H

#include "common/cli/cli.h"
#include "common/image/write/maker.h"

/* --codec, -z, --fast and --windows; these options fill a struct maker_choice. */
extern const struct cli_opt codec_opts[];

#endif /* COMMON_CLI_CODEC_OPTS_H */
