/* prove.h: proves that a chunk is what it should be, before anything is done with it.  Chunks
 * may come from a network, in any order, or from an image file.
 *
 * A chunk is proved by its signature, by what authenticates its encryption, by its digest, or
 * else by decoding it; and it must be of the same image, and of the same kind (signed,
 * encrypted), as the first one that was proved.
 */
#ifndef COMMON_IMAGE_READ_PROVE_H
#define COMMON_IMAGE_READ_PROVE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/image/format/opener.h"
#include "common/image/read/sink.h"

struct prover;

/* Reads the keys.  keys: what is demanded.  keep_encrypted: the image is kept as it is, so an
 * encrypted chunk whose header is right passes where there is no key.  Errors as those of
 * opener_new(). */
int prover_new(struct prover **, const struct opener_config *keys, bool keep_encrypted,
    struct err *);
void prover_free(struct prover *);
/* Does prover_chunk() change chunks, because it decrypts them?  NULL is allowed. */
bool prover_decrypts(const struct prover *);
/* Proves a chunk, or the part of it that is here, and decrypts it in place.  -1: *bad has
 * the blocks that are damaged, or all blocks when it cannot be told which.  ERR_FORMAT and
 * ERR_REFUSED are the chunk's fault, other errors are not: prover_blames_chunk().  From one
 * thread at a time. */
int prover_chunk(
    struct prover *, const struct sink_chunk *, struct blockmap *bad, struct err *);
/* Might the same chunk be proved if it came again? */
bool prover_blames_chunk(const struct err *);

/* Is each of two chunks of an image that is read in order what its digest says?  chunk[1] may
 * be NULL; two chunks take little longer than one.  A chunk that has no digest, or makes no
 * sense, counts as good here. */
void prove_digests(const void *const chunk[2], bool good[2]);

#endif /* COMMON_IMAGE_READ_PROVE_H */
