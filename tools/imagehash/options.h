/* options.h: what the user asked of imagehash. */
#ifndef TOOLS_IMAGEHASH_OPTIONS_H
#define TOOLS_IMAGEHASH_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cli/cli.h"
#include "common/image/format/sig.h"

struct options {
	const char *image;           /* an image, or a signature (not with -c) */
	const char *disk;            /* the disk to compare with, or NULL */
	bool create, report, sanity; /* -c, -R, -S; none: compare */
	enum sig_hash hash;   /* -D */
	uint64_t block_bytes; /* -b; a multiple of 512 */
	const char *sig;      /* -o; NULL: the image's name with .sig */
	uint64_t slice;       /* -s, a partition's number; 0: the whole disk */
	bool any_length;      /* -r */
	bool fit;             /* --fit */
	bool merge;           /* -X */
	bool force, quiet, json;
};

extern const struct cli_program imagehash_program;

/* Set image and disk from the n operands, which are borrowed, and check what can be checked
 * without looking at any file.  ERR_USAGE. */
int imagehash_settle(struct options *, char **operands, int n, struct err *);

#endif /* TOOLS_IMAGEHASH_OPTIONS_H */
