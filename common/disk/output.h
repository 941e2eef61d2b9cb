/* output.h: where the image is written: a file that gets its name only when it
 * is whole, or a pipe or device. */
#ifndef COMMON_DISK_OUTPUT_H
#define COMMON_DISK_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/disk/disk.h"

struct output {
	struct disk *disk;
	char *path, *partial; /* partial: the name until output_commit(), or NULL */
	uint64_t at;          /* bytes written */
};

enum { OUTPUT_HEAD_BYTES = 16 };

/* What a program writes: only a file of the same kind is replaced without force. */
struct output_kind {
	const char *name;  /* "an ndz image" */
	size_t head_bytes; /* at the beginning of a file; up to OUTPUT_HEAD_BYTES */
	bool (*begins)(const uint8_t *head); /* does such a file begin so? */
};

/* Is the output an existing file or block device that is the input, too, by whatever
 * name?  "-" is standard output, and standard input. */
bool output_is_input(const char *output, const char *input);
/* ERR_USAGE when it is. */
int output_check_input(const char *output, const char *input, struct err *);
/* Where a report goes beside data that is written to `path`: standard output, or
 * standard error when the data goes there, by whatever name. */
FILE *output_report(const char *path);
/* The same of the last operand, for cli_program.report_to. */
FILE *output_report_last(const void *opts, char **operands, int n);
/* A file that was begun and is no result.  Where the name is a link, as /dev/stdout is,
 * the link stays, and the file behind it becomes empty. */
void output_remove(const char *path);
/* May this output be written?  ERR_REFUSED when it is a block device, or a file that is
 * neither empty nor of this kind; also when its beginning cannot be read.  0 for what
 * does not exist, for pipes and character devices, and with force.  For programs that
 * work long before they open it. */
int output_check_replace(
    const char *path, const struct output_kind *, bool force, struct err *);
/* The same check; then open it.  path "-" is standard output.  Of a file, NAME.partial
 * is written, and locked: beside the file that a link leads to.  ERR_REFUSED while
 * another program does that; what an earlier run left there is replaced.  Errors name
 * `path`. */
int output_open(struct output *, const char *path, const struct output_kind *,
    bool force, struct err *);
/* Append n bytes. */
int output_write(struct output *, const void *data, size_t n, struct err *);
/* Sync unless told not to, close, give the file its name.  -1: nothing is left, but
 * that a directory that could not be flushed has the name. */
int output_commit(struct output *, bool no_sync, struct err *);
/* Close and remove what was written. */
void output_abort(struct output *);

#endif /* COMMON_DISK_OUTPUT_H */
