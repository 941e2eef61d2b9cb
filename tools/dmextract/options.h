/* options.h: what the user asked of dmextract. */
#ifndef TOOLS_DMEXTRACT_OPTIONS_H
#define TOOLS_DMEXTRACT_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cli/cli.h"
#include "dsync/extract/extract.h"

struct options {
	struct extract_config how;
	bool list, done, status, quiet, json, fine;
	struct stream_id done_id; /* --done ID; not set: the state that was sent last */
};

extern const struct cli_program dmextract_program;

/* Check the options, and take the n operands: [ID] DEV with --done, otherwise DEV.  They are
 * borrowed.  ERR_USAGE. */
int dmextract_settle(struct options *, char **operands, int n, struct err *);

#endif /* TOOLS_DMEXTRACT_OPTIONS_H */
