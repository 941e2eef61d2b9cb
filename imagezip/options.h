/* options.h: what the user asked of imagezip. */
#ifndef IMAGEZIP_OPTIONS_H
#define IMAGEZIP_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cli/cli.h"
#include "common/disk/ptable.h"
#include "common/cli/codec_opts.h"
#include "common/image/format/format.h"
#include "common/image/format/seal.h"

/* Partitions of a disk by number, and those inside of its BSD slices. */
struct part_choice {
	bool whole[PTABLE_PARTS_MAX + 1];
	uint32_t letters[PTABLE_PARTS_MAX + 1]; /* bit 0: a; none of slice 0 */
};

struct options {
	const char *source, *output; /* output NULL with -i */
	/* What to capture. */
	uint64_t slice;       /* -s; 0: all */
	bool linux_partition; /* -l */
	bool has_type;        /* -S */
	uint64_t type;
	bool whole_disk;                      /* --disk */
	bool raw, any_length;                 /* -r, -f (which implies raw) */
	uint64_t count;                       /* -c: first sectors only; 0: all */
	struct part_choice ignore, force_raw; /* -I, -R */
	/* What to leave out. */
	uint64_t min_free;             /* -F, sectors */
	bool zero_small;               /* -Z */
	bool blank_inodes;             /* -M */
	bool exclude_slack;            /* -x */
	bool store_outside, skip_outside, skip_gaps; /* --outside, --gaps */
	uint64_t limit_mb;             /* -A; 0: none */
	uint64_t boot_root;            /* -B; 0: no boot image */
	bool bad_as_zeros;             /* -X */
	uint64_t retries;              /* --retries */
	bool no_relocs, force_relocs;  /* -N, -L */
	/* How to write it. */
	struct codec_choice codec; /* --codec, -z, --fast */
	struct seal_config seal;   /* --sign, --encrypt */
	uint64_t jobs;             /* -j; 0: one a processor */
	bool no_sync;              /* -D */
	bool has_uuid;             /* -u */
	uint8_t uuid[NDZ_UUID_BYTES];
	bool v3, v5;
	const char *sig_old;    /* -H: a delta against this signature */
	const char *sig_new;    /* -U: write one; "": next to the image */
	uint64_t delta_percent; /* -P */
	bool force, live;       /* --force, --live */
	/* What to say. */
	bool info, debug, dots, quiet, json;
	uint64_t progress_fd; /* UINT64_MAX: the terminal */
};

extern const struct cli_program imagezip_program;

/* -U: the name of the signature that is written, to be freed; NULL: none is. */
int options_signature(const struct options *, char **path, struct err *);

/* Parse and check what can be checked without looking at the source. */
int imagezip_settle(struct options *, char **operands, int n, struct err *);

#endif /* IMAGEZIP_OPTIONS_H */
