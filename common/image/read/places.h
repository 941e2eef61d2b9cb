/* places.h: where in the data of a chunk its sectors are, and in which fragment.
 *
 * The data of a chunk is that of its regions, one behind the other.  Nothing here changes what
 * it is given, so all of it may be called from any thread. */
#ifndef COMMON_IMAGE_READ_PLACES_H
#define COMMON_IMAGE_READ_PLACES_H

#include <stddef.h>
#include <stdint.h>

#include "common/image/read/fragments.h"

/* How many of the sectors r the chunk stores, from the first one on, without a gap; 0: it
 * does not store the first one.  *at: where they begin in the chunk's data, in bytes. */
uint64_t places_sectors(const struct ndz_header *, struct range r, uint64_t *at);
/* List all fragments of a chunk that has a table: *out has ext.nfragments of them, and the
 * caller frees it.  They refer to the chunk, which must stay where it is.  ERR_NOMEM. */
int places_fragments(struct fragments **, const struct chunk *, struct err *);
/* The one of these n fragments that has this byte of the chunk's data; NULL: none has it. */
const struct fragments *places_fragment(const struct fragments *, size_t n, uint64_t at);

#endif /* COMMON_IMAGE_READ_PLACES_H */
