/* remake.h: the one long zlib stream of a chunk, made again from its data.
 *
 * Older programs compress a chunk's regions in pieces with zlib, so the same zlib
 * with the same parameters makes the same bytes.  Which parameters those were is
 * found by trying: REMAKE_FLUSHED is the rule of the original imagezip (Z_SYNC_FLUSH
 * behind each piece of at most 128 KiB, none over the end of a region, shorter where
 * the chunk gets full), REMAKE_PLAIN a stream without flushes.
 * Source: the image format specification, section 4.  One thread at a time.
 */
#ifndef EMUSTORE_STORE_REMAKE_H
#define EMUSTORE_STORE_REMAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/image/format/format.h"

enum remake_rule { REMAKE_FLUSHED = 1, REMAKE_PLAIN = 2, REMAKE_RULE_MAX = 2 };
enum { REMAKE_VERSION_MAX = 15, REMAKE_LEVEL_MAX = 9, REMAKE_MEMORY_MAX = 9 };

/* Window bits and strategy are zlib's defaults. */
struct remake_how {
	uint8_t rule, level, memory; /* enum remake_rule; level and memLevel of zlib */
	char zlib[REMAKE_VERSION_MAX + 1]; /* the version that did it */
};

struct remaker;

struct remaker *remaker_new(void); /* NULL: out of memory */
void remaker_free(struct remaker *);
/* The version of the zlib at hand. */
void remake_version(char out[REMAKE_VERSION_MAX + 1]);

/* Begin the stream of the chunk whose header is h into out[NDZ_STREAM_MAX]; h and
 * out are borrowed.  ERR_NOMEM. */
int remake_begin(struct remaker *, const struct remake_how *,
    const struct ndz_header *h, uint8_t *out, struct err *);
/* More of its data, in any amounts.  false: it does not fit any more, or there is more
 * than the regions say. */
bool remake_data(struct remaker *, const void *data, size_t n);
/* All data is there: the length of the stream, 0 when it does not fit. */
size_t remake_end(struct remaker *);

/* How was stream[h->size] made?  *how: what to try first (rule 0: nothing), and the
 * answer.  1 found, and all of the stream is right; 0 not found; -1 it is damaged. */
struct inflater;
int remake_find(struct remaker *, struct inflater *, const struct ndz_header *h,
    const uint8_t *stream, struct remake_how *how, struct err *);

#endif /* EMUSTORE_STORE_REMAKE_H */
