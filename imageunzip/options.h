/* options.h: what the user asked of imageunzip. */
#ifndef IMAGEUNZIP_OPTIONS_H
#define IMAGEUNZIP_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cli/cli.h"
#include "imageunzip/install/install.h"

struct opts {
	struct install_config install;
	bool dots, gb_dots, raw_chunks, crc_only, quiet, json, status, dry_run, plan;
	uint64_t progress_fd; /* UINT64_MAX: the terminal */
	const char *uuid;
	const char *store;
};

extern const struct cli_program imageunzip_program;

#endif /* IMAGEUNZIP_OPTIONS_H */
