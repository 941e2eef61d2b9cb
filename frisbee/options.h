/* options.h: what the user asked of frisbee. */
#ifndef FRISBEE_OPTIONS_H
#define FRISBEE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/cli/cli.h"
#include "common/cli/progress.h"
#include "common/net/netopts.h"
#include "common/wire/addr.h"
#include "imageunzip/install/destination.h"

struct opts {
	bool gave_up; /* the load ended because nothing was heard for the time of -T */
	struct net_options net;
	struct install_config install;
	const char *server; /* -S */
	const char *name;   /* -F: of an image that a master server has; -S is the master */
	const char *query;  /* -Q */
	uint64_t retry_s;   /* -B */
	const char *token;  /* --token: a file */
	struct { /* what the master server said */
		char addr[ADDR_TEXT_MAX], server[ADDR_TEXT_MAX], port[8];
	} found;
	const char *stats_file;
	const char *doctor_report; /* --report: a file */
	bool report_names;
	struct progress progress;  /* how far the load is */
	struct destination target; /* where the image goes */
	bool any_file, sequential, quiet, debug, json, base, doctor, dry_run;
	FILE *report_to;
	uint64_t start_delay_s, readahead, redo_ms, chunk_mb, both_mb, silence_s,
	    progress_fd;
};

extern const struct opts frisbee_defaults;
extern const struct cli_program frisbee_program;

/* Fills in the sizes of memory that were not given.  ERR_USAGE: -N is combined with options that
 * mean nothing to it. */
int opts_settle(struct opts *, struct err *);

#endif /* FRISBEE_OPTIONS_H */
