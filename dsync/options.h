/* options.h: what the user asked of dsync. */
#ifndef DSYNC_OPTIONS_H
#define DSYNC_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cli/cli.h"
#include "dsync/pair/pair.h"

struct options {
	struct pair pair;
	uint64_t every_s, verify_every_s; /* 0: not given */
	const char *metrics;              /* path of the file of metrics; NULL: none */
	bool force, quiet, json;
	const char *command; /* the first operand */
	char *copy; /* the operand, cut by far_parse() */
};

extern const struct cli_program dsync_program;

/* Check the options, and take the operands COMMAND DEV [HOST:]TARGET, which are borrowed; the
 * last one is changed.  ERR_USAGE. */
int dsync_settle(struct options *, char **operands, int n, struct err *);

#endif /* DSYNC_OPTIONS_H */
