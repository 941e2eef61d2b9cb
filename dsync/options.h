/* options.h: what the user asked of dsync. */
#ifndef DSYNC_OPTIONS_H
#define DSYNC_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cli/cli.h"
#include "dsync/pair/pair.h"
#include "dsync/track/track.h"

/* The first operand.  Those up to DSYNC_VERIFY take a device and its copy. */
enum command {
	DSYNC_INIT,
	DSYNC_ONCE,
	DSYNC_RUN,
	DSYNC_STATUS,
	DSYNC_VERIFY,
	DSYNC_TRACK,
	DSYNC_START,
	DSYNC_STOP,
	DSYNC_UNTRACK,
};

struct options {
	struct pair pair;
	struct track_config track; /* its device is the second operand of all commands */
	uint64_t every_s, verify_every_s; /* 0: not given */
	const char *metrics;              /* path of the file of metrics; NULL: none */
	bool force, quiet, json, whole, fine, no_fine;
	enum command command;
};

extern const struct cli_program dsync_program;

/* Check the options, and take the operands of the command, which are borrowed; [HOST:]TARGET is
 * changed.  ERR_USAGE. */
int dsync_settle(struct options *, char **operands, int n, struct err *);

#endif /* DSYNC_OPTIONS_H */
