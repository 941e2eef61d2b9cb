/* report.h: what imagedump tells, as text on standard output or as JSON. */
#ifndef TOOLS_IMAGEDUMP_REPORT_H
#define TOOLS_IMAGEDUMP_REPORT_H

#include "common/base/json.h"
#include "common/image/read/chunk.h"
#include "tools/imagedump/options.h"
#include "tools/imagedump/totals.h"

/* Chunk number i; its regions and relocations with a detail of 2. */
void report_chunk(const struct chunk *, uint32_t i, uint64_t detail);
void report_chunk_json(struct json *, const struct chunk *, uint64_t detail);
/* What is odd about the next chunk, but does not make the image useless, to stderr. */
void report_oddities(
    const char *name, const struct totals *, const struct ndz_header *);
/* The summary of the image of this name. */
void report_totals(const struct totals *, const char *name);
/* Into an object that is open. */
void report_totals_json(struct json *, const struct totals *);
/* --verify found nothing wrong: one line. */
void report_verdict(const struct options *, const struct totals *);
/* "good", "none", "unchecked", "partial". */
const char *imagedump_signature(const struct options *, const struct totals *);

#endif /* TOOLS_IMAGEDUMP_REPORT_H */
