/* options.h: what the user asked of imagezip. */
#ifndef IMAGEZIP_OPTIONS_H
#define IMAGEZIP_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cli/cli.h"
#include "common/layout/what.h"

struct since;

struct options {
	struct capture_what what;
	const char *output;  /* NULL with -i, and when the image goes into a store; "-" with a master server */
	const char *to;      /* --to: frisbee://HOST/NAME, a master server; store:NAME */
	const char *token;   /* --token: a file, for --to a master server */
	const char *store;   /* --store, or EMUSTORE */
	const char *name;    /* of an image that goes into the store; or NULL */
	const char *sig_new; /* -U: write a signature; "": next to the image */
	const char *changed_since; /* --changed-since: the file of states; NULL: none */
	const char *since;   /* --since: a source of change; NULL: the source's tracker */
	struct since *since_state; /* of since_begin(); NULL: without --changed-since */
	bool no_sync;        /* -D */
	bool verify;         /* --verify */
	bool shrink;         /* --shrink */
	uint64_t margin_bytes; /* --margin, or RESIZE_SPARE_DEFAULT */
	/* What to print. */
	bool debug, dots, quiet, json;
	uint64_t progress_fd; /* UINT64_MAX: the terminal */
};

extern const struct cli_program imagezip_program;

/* Get the name of the signature that is written (-U), which the caller frees; NULL: none
 * is written. ERR_NOMEM. */
int options_signature(const struct options *, char **path, struct err *);

/* Take the operands, and check everything that can be checked without looking at the
 * source. ERR_USAGE. */
int imagezip_settle(struct options *, char **operands, int n, struct err *);

#endif /* IMAGEZIP_OPTIONS_H */
