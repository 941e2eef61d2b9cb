/* output.h: what a program writes its data to: a file that gets its name only when it is
 * complete, or a pipe or device. */
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

/* The kind of file that a program writes.  Without force, only a file of the same kind is
 * replaced. */
struct output_kind {
	const char *name;  /* "an ndz image" */
	size_t head_bytes; /* how many bytes begins() looks at; up to OUTPUT_HEAD_BYTES */
	bool (*begins)(const uint8_t *head); /* does a file of this kind begin so? */
};

/* Are output and input the same existing file or block device, under whatever names?  "-"
 * is standard output or standard input. */
bool output_is_input(const char *output, const char *input);
/* ERR_USAGE when output and input are the same. */
int output_check_input(const char *output, const char *input, struct err *);
/* Where a report goes beside data that is written to `path`: standard output, or
 * standard error when the data goes there, by whatever name. */
FILE *output_report(const char *path);
/* output_report() for the last operand; for cli_program.report_to. */
FILE *output_report_last(const void *opts, char **operands, int n);
/* What is left of an image that a signal has ended, as the last operand, of which only a file is removed; for cli_program.left. */
const char *output_image_left(const void *opts, char **operands, int n);
/* Remove a file that was begun and is no result.  Where the name is a link, as /dev/stdout
 * is, the link stays, and the file behind it becomes empty. */
void output_remove(const char *path);
/* May this output be written?  ERR_REFUSED when it is a block device, or a file that is
 * neither empty nor of this kind, or a file whose beginning cannot be read.  0 for a name
 * that does not exist, for pipes and character devices, and with force.  For programs that
 * work long before they open their output. */
int output_check_replace(
    const char *path, const struct output_kind *, bool force, struct err *);
/* Check as output_check_replace() does, then open.  path "-" is standard output.  For a
 * file, NAME.partial is written, in the folder of the file that a link leads to.
 * ERR_REFUSED while another program writes it; what an earlier run left there is replaced.
 * Errors name `path`. */
int output_open(struct output *, const char *path, const struct output_kind *,
    bool force, struct err *);
/* Append n bytes.  Errors of disk_write(). */
int output_write(struct output *, const void *data, size_t n, struct err *);
/* Sync unless told not to, close, and give the file its name.  -1: no file is left, unless
 * only its directory could not be flushed. */
int output_commit(struct output *, bool no_sync, struct err *);
/* Replace a small file as a whole (replace.h), if output_check_replace() finds that it may be;
 * a new one has the mode 0644. */
int output_replace(const char *path, const struct output_kind *, const void *data, size_t n,
    struct err *);
/* Close the output, and remove the partial file. */
void output_abort(struct output *);

#endif /* COMMON_DISK_OUTPUT_H */
