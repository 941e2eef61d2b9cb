/* report.h: what imagedump tells, as text on standard output or as JSON. */
#ifndef TOOLS_IMAGEDUMP_REPORT_H
#define TOOLS_IMAGEDUMP_REPORT_H

#include "common/base/json.h"
#include "common/image/read/chunk.h"
#include "tools/imagedump/options.h"
#include "tools/imagedump/totals.h"

/* Print chunk number i, or put it into the array that is open; from a detail of 2 on with its
 * regions and relocations. */
void report_chunk(const struct chunk *, uint32_t i, uint64_t detail);
void report_chunk_json(struct json *, const struct chunk *, uint64_t detail);
/* Print to standard error what is odd in the header of the next chunk, which the totals do not
 * have yet: a number other than the chunk's place in the image, or, from version 2 on, a first
 * sector other than the end of the chunk before it.  Neither makes the image useless. */
void report_oddities(
    const char *name, const struct totals *, const struct ndz_header *);
/* Print the summary of the image of this name. */
void report_totals(const struct totals *, const char *name);
/* Put the summary into the object that is open. */
void report_totals_json(struct json *, const struct totals *);
/* Print one line that says what --verify has checked, when it found nothing wrong. */
void report_verdict(const struct options *, const struct totals *);
/* What is known of the image's signature: "good" (--verify-key has checked it), "none",
 * "unchecked" (all chunks are signed) or "partial" (only some chunks are signed). */
const char *imagedump_signature(const struct options *, const struct totals *);

#endif /* TOOLS_IMAGEDUMP_REPORT_H */
