/* options.h: what the user asked of imagehash. */
#ifndef TOOLS_IMAGEHASH_OPTIONS_H
#define TOOLS_IMAGEHASH_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cli/cli.h"
#include "common/image/format/sig.h"

struct options {
	const char *image;           /* or a signature; not with -c */
	const char *disk;            /* to compare with, or NULL */
	bool create, report, sanity; /* -c, -R, -S; none: compare */
	bool has_hash;
	enum sig_hash hash;   /* -D */
	uint64_t block_bytes; /* -b */
	const char *sig;      /* -o; NULL: the image's name with .sig */
	uint64_t slice;       /* -s; 0: the whole disk */
	bool any_length;      /* -r */
	bool merge;           /* -X */
	bool force, quiet, json;
};

extern const struct cli_program imagehash_program;

/* Check what can be checked without looking at any file.  ERR_USAGE. */
int imagehash_settle(struct options *, char **operands, int n, struct err *);

#endif /* TOOLS_IMAGEHASH_OPTIONS_H */
