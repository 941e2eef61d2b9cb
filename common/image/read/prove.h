/* prove.h: proves that a chunk is what it should be, before anything is done with it.  Chunks
 * may come from a network, in any order, or from an image file.
 *
 * A proved chunk is a type, struct proved: only prove.c makes it, and a sink takes nothing
 * else (sink_put()).  Its bytes belong to its holders, of which each calls proved_read() and
 * proved_drop(), or both by proved_free().
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
#include "common/image/read/chunk.h"
#include "common/image/read/sink.h"

struct prover;

/* What is proved: as it was given, for as long as somebody holds it. */
const struct sink_chunk *proved_chunk(const struct proved *);
/* Its header and extension area, which are parsed once.  NULL: ERR_FORMAT, ERR_UNSUPPORTED.
 * From one thread at a time until it was parsed. */
struct chunk *proved_parsed(struct proved *, struct err *);
/* There is one holder more. */
struct proved *proved_hold(struct proved *);
/* A holder does not need the bytes any more.  The last one's call releases them. */
void proved_read(struct proved *);
/* A holder that has called proved_read() does not need the rest any more. */
void proved_drop(struct proved *);
void proved_free(struct proved *);
/* The only holder frees it, and the bytes stay its own: released() is not called. */
void proved_give_back(struct proved *);
/* What was decoded of a chunk goes along with it: drop(data) is called when the chunk is
 * freed and nobody has taken it by proved_take(), which returns NULL when there is none. */
void proved_keep(struct proved *, void *data, void (*drop)(void *data));
void *proved_take(struct proved *);

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
 * thread at a time.  later: what nothing but decoding proves is not decoded here:
 * proved_undecoded() is true of it, until the caller has had it decoded (sink_decode()) and
 * prover_decoded() returns 0. */
int prover_chunk(struct prover *, const struct sink_chunk *, bool later,
    struct proved **, struct blockmap *bad, struct err *);
bool proved_undecoded(const struct proved *);
int prover_decoded(struct prover *, struct proved *, struct err *);
/* Might the same chunk be proved if it came again? */
bool prover_blames_chunk(const struct err *);

/* Proves n chunks, one or two, of an image that is read in order, by their digests; two take
 * little longer than one.  out[i] is NULL when the digest is wrong.  What has no digest is
 * proved by whoever decodes it; a chunk that makes no sense is found by whoever parses it.
 * digests: false when image.h has proved them all, or the sink only keeps them.
 * ERR_NOMEM. */
int prove_read(const struct sink_chunk *, unsigned n, bool digests, struct proved **out,
    struct err *);
/* Takes a chunk of any file, which nothing can prove, and which is only kept. */
int prove_any(const struct sink_chunk *, struct proved **, struct err *);

#endif /* COMMON_IMAGE_READ_PROVE_H */
