/* options.h: what the user asked of dmmerge. */
#ifndef TOOLS_DMMERGE_OPTIONS_H
#define TOOLS_DMMERGE_OPTIONS_H

#include <stdbool.h>

#include "common/cli/cli.h"
#include "dsync/merge/merge.h"

enum { EXIT_DIFFERS = 4 }; /* --status: the target does not hold what was merged into it */

struct options {
	struct merge_config how;
	bool status, recover, quiet, json;
	uint64_t digests; /* --digests: bytes of each piece; 0: not given */
};

extern const struct cli_program dmmerge_program;

/* Check the options, and take the operand, TARGET, which is borrowed.  ERR_USAGE. */
int dmmerge_settle(struct options *, char **operands, int n, struct err *);

#endif /* TOOLS_DMMERGE_OPTIONS_H */
