/* images.h: the images that can be loaded: files of one folder. */
#ifndef CONTROLLER_HTTP_IMAGES_H
#define CONTROLLER_HTTP_IMAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"

enum { IMAGES_MAX = 4096, IMAGES_NAME_BYTES = 256 };

struct image_file {
	char name[IMAGES_NAME_BYTES];
	uint64_t bytes;
	int64_t modified_s;
	uint64_t changed; /* images.changed when the file was first seen as it is now */
	bool gone;        /* it was there, and is not any more */
};

/* Begins as all zeros, but for the folder, which is borrowed. */
struct images {
	const char *folder;
	struct image_file *files; /* by name */
	size_t n, cap;
	uint64_t changed; /* grows with each change */
};

void images_free(struct images *);
/* Look at the folder again.  ERR_IO: it cannot be read; ERR_NOMEM. */
int images_look(struct images *, struct err *);
/* The image of this name, or NULL. */
const struct image_file *images_find(const struct images *, const char *name);

#endif /* CONTROLLER_HTTP_IMAGES_H */
