/* redeflate.h: redeflates a chunk: reproduces its one long zlib stream from its data.
 *
 * Older programs compress the regions of a chunk in pieces with zlib, so the same zlib
 * with the same parameters makes the same bytes.  The parameters are found by trying.
 * REDEFLATE_FLUSHED is the rule of the original imagezip: Z_SYNC_FLUSH behind each piece
 * of at most 128 KiB; no piece goes over the end of a region, and pieces are shorter where
 * the chunk gets full.  REDEFLATE_PLAIN is a stream without flushes.  Source: the image
 * format specification, section 4.  A struct redeflater belongs to one thread at a time.
 */
#ifndef EMUSTORE_STORE_REDEFLATE_H
#define EMUSTORE_STORE_REDEFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/image/format/format.h"

enum redeflate_rule {
	REDEFLATE_FLUSHED = 1,
	REDEFLATE_PLAIN = 2,
	REDEFLATE_RULE_MAX = 2
};
enum { REDEFLATE_VERSION_MAX = 15, REDEFLATE_LEVEL_MAX = 9, REDEFLATE_MEMORY_MAX = 9 };

/* How a stream was made.  Window bits and strategy are zlib's defaults. */
struct redeflate_how {
	uint8_t rule, level, memory; /* enum redeflate_rule; level and memLevel of zlib */
	/* the version of zlib that was used when the parameters were found */
	char zlib[REDEFLATE_VERSION_MAX + 1];
};

struct redeflater;

struct redeflater *redeflater_new(void); /* NULL: out of memory */
/* Free it.  NULL is allowed. */
void redeflater_free(struct redeflater *);

/* Begin the stream of the chunk whose header is h, in out[NDZ_STREAM_MAX]; h and out are
 * borrowed until redeflate_end().  ERR_NOMEM. */
int redeflate_begin(struct redeflater *, const struct redeflate_how *,
    const struct ndz_header *h, uint8_t *out, struct err *);
/* Add n bytes of the chunk's data, in order.  false: the stream does not fit, or there are
 * more data than the regions have. */
bool redeflate_data(struct redeflater *, const void *data, size_t n);
/* All data were added: finish the stream.  Returns its length in bytes, or 0 when it does
 * not fit, or data are missing. */
size_t redeflate_end(struct redeflater *);

/* Find out how stream[h->size] was made.  *how: the parameters to try first (rule 0:
 * none); it becomes the answer.  1: found, and the whole stream comes out the same; 0: not
 * found; -1: the stream is damaged, or memory is missing. */
struct inflater;
int redeflate_find(struct redeflater *, struct inflater *, const struct ndz_header *h,
    const uint8_t *stream, struct redeflate_how *how, struct err *);

#endif /* EMUSTORE_STORE_REDEFLATE_H */
