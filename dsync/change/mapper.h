/* mapper.h: what the device mapper says of a device, and messages to it, by dmsetup(8). */
#ifndef DSYNC_CHANGE_MAPPER_H
#define DSYNC_CHANGE_MAPPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"

enum { MAPPED_ARGS_MAX = 16, MAPPED_WORD_BYTES = 128 };

/* A device with one target. */
struct mapped {
	uint64_t sectors;
	char target[MAPPED_WORD_BYTES]; /* "era" */
	unsigned n;
	char args[MAPPED_ARGS_MAX][MAPPED_WORD_BYTES];
};

/* Is it NAME without a slash, or /dev/mapper/NAME? */
bool mapper_is_name(const char *device);
/* The table and the status of a device.  ERR_IO; ERR_UNSUPPORTED: it has several targets. */
int mapper_table(struct mapped *, const char *device, struct err *);
int mapper_status(struct mapped *, const char *device, struct err *);
/* Send a message. */
int mapper_message(const char *device, const char *message, struct err *);
/* Stop and start what goes to a device; a filesystem on it is frozen in between. */
int mapper_suspend(const char *device, struct err *);
int mapper_resume(const char *device, struct err *);
/* Make and remove a device with this table. */
int mapper_create(const char *name, const char *table, bool read_only, struct err *);
int mapper_remove(const char *name, struct err *);
/* The path of a device that a table calls MAJOR:MINOR; a path stays as it is. */
int mapper_path(const char *word, char path[MAPPED_WORD_BYTES], struct err *);
/* A word that is another one each time the device is activated. */
int mapper_generation(const char *device, char out[MAPPED_WORD_BYTES], struct err *);

/* The value of attribute NAME="..." in text[0, n) as a number.  false: it has none. */
bool mapper_xml_number(const char *text, size_t n, const char *name, uint64_t *value);

#endif /* DSYNC_CHANGE_MAPPER_H */
