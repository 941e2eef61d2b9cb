/* options.h: what the user asked of imagedump. */
#ifndef TOOLS_IMAGEDUMP_OPTIONS_H
#define TOOLS_IMAGEDUMP_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cli/cli.h"
#include "common/image/format/proof.h"
#include "common/image/read/only.h"

struct options {
	uint64_t detail; /* 1: chunks, 2: regions and relocations, too */
	bool quiet, json, verify;
	struct proof_config proof_files;
	struct proof *proof; /* made of them, or NULL; owned by main() */
	struct only_list only; /* --only: what belongs to these partitions */
	uint64_t jobs;       /* -j; 0: one a processor */
};

extern const struct cli_program imagedump_program;

#endif /* TOOLS_IMAGEDUMP_OPTIONS_H */
