/* report.h: what imagedump tells, as text on standard output or as JSON. */
#ifndef TOOLS_IMAGEDUMP_REPORT_H
#define TOOLS_IMAGEDUMP_REPORT_H

#include "common/base/json.h"
#include "common/image/read/chunk.h"
#include "tools/imagedump/options.h"
#include "tools/imagedump/totals.h"

/* Where j is NULL, print to standard output, and otherwise put members into what is
 * open of it. */

/* Chunk number i, which is an element of an array; from a detail of 2 on with its
 * regions and relocations. */
void report_chunk(struct json *j, const struct chunk *, uint32_t i, uint64_t detail);
/* The summary of the image of this name. */
void report_totals(struct json *j, const struct totals *, const char *name);
/* Print to standard error what is odd in the header of the next chunk, which the totals do not
 * have yet: a number other than the chunk's place in the image, or, from version 2 on, a first
 * sector other than the end of the chunk before it.  Neither makes the image useless. */
void report_oddities(
    const char *name, const struct totals *, const struct ndz_header *);
/* Print how much of the file is no compressed data.  Not for an encrypted image without its
 * key, of which only headers are known. */
void report_rest(const struct totals *);
/* What is known of the image's signature and encryption, and, as text, one line that
 * says what --verify has checked, when it found nothing wrong. */
void report_verdict(struct json *j, const struct options *, const struct totals *);

#endif /* TOOLS_IMAGEDUMP_REPORT_H */
