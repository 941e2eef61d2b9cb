/* options.h: what the user asked of imagedump. */
#ifndef TOOLS_IMAGEDUMP_OPTIONS_H
#define TOOLS_IMAGEDUMP_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cli/cli.h"
#include "common/image/format/opener.h"
#include "common/image/read/only.h"

struct options {
	uint64_t detail; /* how often -d: 1 lists chunks, 2 also regions and relocations */
	bool quiet, json, verify;
	struct opener_config opener_files;
	struct opener *opener; /* made of opener_files, or NULL; main.c frees it */
	struct only_list only; /* --only: what belongs to these partitions */
	uint64_t jobs;       /* -j, threads for --verify; 0: one for each processor */
};

extern const struct cli_program imagedump_program;

#endif /* TOOLS_IMAGEDUMP_OPTIONS_H */
