/* run.h: one image on its way to its target. */
#ifndef IMAGEUNZIP_RUN_H
#define IMAGEUNZIP_RUN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <zlib.h>

#include "common/cli/progress.h"
#include "common/image/read/image.h"
#include "common/image/read/sink.h"
#include "imageunzip/install/install.h"
#include "imageunzip/options.h"

struct run {
	const struct opts *o;
	const char *name;      /* of the image, as the user has it */
	struct opener *opener; /* borrowed */
	struct image *image;
	struct sink sink; /* the sink of the installation */
	struct install *install; /* the installation that `sink` belongs to */
	struct progress progress;
	FILE *report; /* --json goes there */
	uLong crc;    /* -C: the CRC-32 so far */
	uint32_t fed, chunk_dots;
	uint64_t dotted; /* bytes that dots were printed for */
};

#endif /* IMAGEUNZIP_RUN_H */
