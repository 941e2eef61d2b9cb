/* chain.h: checks that each delta belongs to what is below it, and gives out what a base and
 * its deltas amount to, as a disk that is read anywhere or as an image.
 *
 * images[0] is the base, and each of the others is a delta of what is below it.
 */
#ifndef COMMON_IMAGE_WRITE_CHAIN_H
#define COMMON_IMAGE_WRITE_CHAIN_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/image/read/layers.h"
#include "common/image/read/random.h"
#include "common/image/read/sectors.h"
#include "common/image/read/source.h"
#include "common/image/write/maker.h"
#include "common/image/write/rewrite.h"

/* Called with a sentence about a delta that does not say what it belongs to; the image below
 * the delta then counts as its base.  NULL instead of a function: such a delta is refused. */
typedef void chain_warning(const char *sentence);

/* Reads all of the base when a delta knows it by its signature.  ERR_REFUSED when a delta says
 * that it belongs to something else, images[0] is a delta, or another is none. */
int chain_check(
    struct sectors *const images[], size_t n, chain_warning *, struct err *);
/* Check that an image is whole: ERR_REFUSED for a delta. */
int chain_check_whole(const struct sectors *, struct err *);

/* chain_check(), then random_open_layers(): all images are taken over, also on failure. */
int chain_random(struct random **, struct sectors *const images[], size_t n,
    uint64_t cache_bytes, chain_warning *, struct err *);

/* The whole image that the layers of these images amount to, for rewrite_save().  Its state is not
 * filled in: when chain_check() has been passed, it is the state of the topmost image. */
struct rewrite_source chain_whole(
    const char *program, struct layers *, struct sectors *const images[], size_t n);

/* How the chunks of that image are made. */
struct chain_config {
	const char *program;     /* chunk 0 has it, with the suite's version */
	struct maker_choice how; /* checked by maker_check() */
	chain_warning *warn;
};
/* chain_check(), then a source that is in_order: each chunk of the whole image is made when it
 * is soon needed, by a thread of the source.  A few chunks are held ahead.  All images are taken
 * over, also on failure; what the config points to is borrowed until source_close().  When
 * source_next() has said that all were given out, all that was read has been checked; an error
 * comes behind the chunks that were made before it.  ERR_REFUSED, ERR_FORMAT, ERR_NOMEM, and
 * those of maker_new(). */
int source_of_chain(struct source *, struct sectors *const images[], size_t n,
    const struct chain_config *, struct err *);

#endif /* COMMON_IMAGE_WRITE_CHAIN_H */
