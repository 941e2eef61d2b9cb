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
/* path "-": standard output.  Of a file, NAME.partial is written, and locked:
 * behind a link beside the file that it leads to;
 * ERR_REFUSED while another program does that; what an earlier run left there is
 * replaced. */
int output_open(struct output *, const char *path, bool force, struct err *);
/* Append n bytes. */
int output_write(struct output *, const void *data, size_t n, struct err *);
/* Sync unless told not to, close, give the file its name.  -1: nothing is left, but
 * that a directory that could not be flushed has the name. */
int output_commit(struct output *, bool no_sync, struct err *);
/* Close and remove what was written. */
void output_abort(struct output *);

#endif /* COMMON_DISK_OUTPUT_H */
