/* headcheck.h: checks what the head of a fragment says of the fragment's data.
 *
 * The SHA-256 of a fragment's compressed bytes shows that they are the right bytes, but not
 * that they decompress to what the head says.  A put believes the head of a fragment that is
 * in the store already, so what comes from elsewhere is checked before it gets there.
 */
#ifndef EMUSTORE_STORE_HEADCHECK_H
#define EMUSTORE_STORE_HEADCHECK_H

#include "common/base/err.h"
#include "common/image/codec/codec.h"
#include "emustore/store/record.h"

/* What a thread needs for it; belongs to one thread at a time. */
struct headcheck;

struct headcheck *headcheck_new(void); /* NULL: out of memory */
void headcheck_free(struct headcheck *); /* NULL: nothing */
/* The codec that has made these n bytes of a fragment: zstd or deflate. */
const struct codec *headcheck_codec(const void *data, size_t n);
/* Decompress the n bytes of a fragment, and compare their data with the raw_bytes,
 * raw_digest and adler of its head.  A fragment with raw_bytes 0 passes if it can be a whole
 * stream: put would not accept any other fragment of which the head says so little.
 * ERR_FORMAT: the data is other data, or not a whole stream.  ERR_UNSUPPORTED: this build
 * lacks the codec.  ERR_NOMEM. */
int headcheck_fragment(struct headcheck *, const struct fragment_head *, const void *data,
    size_t n, struct err *);

#endif /* EMUSTORE_STORE_HEADCHECK_H */
