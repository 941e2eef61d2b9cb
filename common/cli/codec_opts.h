/* codec_opts.h: the options of every program that compresses. */
#ifndef COMMON_CLI_CODEC_OPTS_H
#define COMMON_CLI_CODEC_OPTS_H

#include "common/cli/cli.h"
#include "common/image/codec/codec.h"

/* --codec, -z and --fast; they fill a struct codec_choice, which begins as this. */
extern const struct cli_opt codec_opts[];

#endif /* COMMON_CLI_CODEC_OPTS_H */
