/* mapper.h: asks the device mapper about a device, and sends messages to it, by dmsetup(8). */
#ifndef DSYNC_RUN_MAPPER_H
#define DSYNC_RUN_MAPPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"

enum { MAPPED_ARGS_MAX = 16, MAPPED_WORD_BYTES = 128, MAPPED_LINE_BYTES = 600 /* of a table with one target */ };

/* The table or the status of a device with one target. */
struct mapped {
	uint64_t sectors;
	char target[MAPPED_WORD_BYTES]; /* name of the target, such as "era" */
	unsigned n;                       /* words in args[] */
	char args[MAPPED_ARGS_MAX][MAPPED_WORD_BYTES]; /* the words behind the name */
};

/* Read the table, or the status, of a device.  ERR_IO; ERR_UNSUPPORTED: it has several targets;
 * ERR_FORMAT: dmsetup prints no table.  Like all functions here that run dmsetup, they fail with
 * ERR_ABSENT when it is not installed. */
int mapper_table(struct mapped *, const char *device, struct err *);
int mapper_status(struct mapped *, const char *device, struct err *);
/* Read the whole table of a device, with all its lines.  The caller frees *table.  ERR_IO. */
int mapper_text(const char *device, char **table, struct err *);
/* The size of a device in sectors.  ERR_IO, ERR_FORMAT. */
int mapper_size(const char *device, uint64_t *sectors, struct err *);
/* Send a message to the device's target.  ERR_IO. */
int mapper_message(const char *device, const char *message, struct err *);
/* Resume a device, with the table that waits for it, if one does; freeze.h suspends one.  ERR_IO. */
int mapper_resume(const char *device, struct err *);
/* Create a device with this table, of one or more lines, and remove it.  ERR_IO. */
int mapper_create(const char *name, const char *table, bool read_only, struct err *);
int mapper_remove(const char *name, struct err *);
/* Hand a device another table, which it has from the next mapper_resume() on; it need not be
 * suspended before.  ERR_IO. */
int mapper_load(const char *name, const char *table, struct err *);
/* Load a table and resume.  What uses the device waits for a moment, and a filesystem on it is
 * frozen for that long.  On failure the device keeps the table that it has.  ERR_IO. */
int mapper_replace(const char *name, const char *table, struct err *);
/* Take back what mapper_load() handed over. */
void mapper_unload(const char *name);
/* The name of a device of the device mapper, which `device` leads to: NAME itself, or a path such
 * as /dev/mapper/NAME, /dev/vg/lv or /dev/dm-3.  Returns false if `device` is not there, or is no
 * device of the device mapper. */
bool mapper_name(const char *device, char name[MAPPED_WORD_BYTES]);
/* The name of a device that belongs to `device`, which is given as for mapper_name(): that one's name
 * with `suffix` behind it.  ERR_UNSUPPORTED: it is no device of the device mapper, or the name
 * would be too long for one. */
int mapper_beside(const char *device, const char *suffix, char out[MAPPED_WORD_BYTES],
    struct err *);
/* Whether a device of the device mapper of this name is there and cannot be written. */
bool mapper_is_read_only(const char *name);
/* The path of a device that a table calls MAJOR:MINOR; a path is copied as it is.  ERR_IO. */
int mapper_path(const char *word, char path[MAPPED_WORD_BYTES], struct err *);
/* A word that differs for each activation of the device.  ERR_IO, ERR_FORMAT. */
int mapper_generation(const char *device, char out[MAPPED_WORD_BYTES], struct err *);

/* A device of the device mapper, and what of it can be replaced below a tracker. */
struct mapped_stack {
	char top[MAPPED_WORD_BYTES];   /* what is used, such as mounted */
	char below[MAPPED_WORD_BYTES]; /* if dm-era is on top, what it stands on; else the same */
};
/* Find both names.  ERR_UNSUPPORTED: one of them is no device of the device mapper.  ERR_IO. */
int mapper_stack(struct mapped_stack *, const char *device, struct err *);

/* The value of attribute NAME="..." in text[0, n) as a number.  Returns false if there is no
 * such attribute, or if its value is not a number below 2^64. */
bool mapper_xml_number(const char *text, size_t n, const char *name, uint64_t *value);

#endif /* DSYNC_RUN_MAPPER_H */
