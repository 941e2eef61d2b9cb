/* mapper.h: asks the device mapper about a device, and sends messages to it, by dmsetup(8). */
#ifndef DSYNC_CHANGE_MAPPER_H
#define DSYNC_CHANGE_MAPPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"

enum { MAPPED_ARGS_MAX = 16, MAPPED_WORD_BYTES = 128 };

/* The table or the status of a device with one target. */
struct mapped {
	uint64_t sectors;
	char target[MAPPED_WORD_BYTES]; /* name of the target, such as "era" */
	unsigned n;                       /* words in args[] */
	char args[MAPPED_ARGS_MAX][MAPPED_WORD_BYTES]; /* the words behind the name */
};

/* Whether `device` is NAME without a slash, or /dev/mapper/NAME. */
bool mapper_is_name(const char *device);
/* Read the table, or the status, of a device.  ERR_IO; ERR_UNSUPPORTED: it has several targets;
 * ERR_FORMAT: dmsetup prints no table.  Like all functions here that run dmsetup, they fail with
 * ERR_ABSENT when it is not installed. */
int mapper_table(struct mapped *, const char *device, struct err *);
int mapper_status(struct mapped *, const char *device, struct err *);
/* Send a message to the device's target.  ERR_IO. */
int mapper_message(const char *device, const char *message, struct err *);
/* Suspend and resume a device: requests to it wait in between, and a filesystem on it is
 * frozen.  ERR_IO. */
int mapper_suspend(const char *device, struct err *);
int mapper_resume(const char *device, struct err *);
/* Create a device with this table, and remove it.  ERR_IO. */
int mapper_create(const char *name, const char *table, bool read_only, struct err *);
int mapper_remove(const char *name, struct err *);
/* The path of a device that a table calls MAJOR:MINOR; a path is copied as it is.  ERR_IO. */
int mapper_path(const char *word, char path[MAPPED_WORD_BYTES], struct err *);
/* A word that differs for each activation of the device.  ERR_IO, ERR_FORMAT. */
int mapper_generation(const char *device, char out[MAPPED_WORD_BYTES], struct err *);

/* The value of attribute NAME="..." in text[0, n) as a number.  Returns false if there is no
 * such attribute, or if its value is not a number below 2^64. */
bool mapper_xml_number(const char *text, size_t n, const char *name, uint64_t *value);

#endif /* DSYNC_CHANGE_MAPPER_H */
