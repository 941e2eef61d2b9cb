/* identity.h: identifies the image that is served by its content, and notices changes.
 *
 * The identity is a hash over the size and up to sixteen whole chunks, the first and the
 * last among them.  A copy of the file on another host has the same identity, and so has a
 * file of which only the time of change differs.  The identity of an image in a store is a
 * hash of all its bytes.
 *
 * When the size of the open file changes, it counts as another file.  When only its time of
 * change differs, each chunk is looked at again: a chunk that the identity covers by its
 * hash, any other chunk by what the image says of itself (the chunk's number, the image's
 * UUID, the chunk's digest, or, without a digest, that the chunk decodes).  A thread looks
 * at all chunks; no chunk is sent before it was looked at.  An encrypted image, and a file
 * that is no image, say nothing of the kind: if they have more than sixteen chunks, another
 * time of change counts as another content.
 *
 * A struct identity may be used by several threads.
 */
#ifndef FRISBEED_SERVE_IDENTITY_H
#define FRISBEED_SERVE_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/disk/disk.h"
#include "common/image/read/source.h"
#include "common/wire/wirext.h"

struct identity;

/* Make the identity of a source, which must stay open.  file: the file that the source
 * reads, whose size and time are watched; NULL: the source never changes, and says its own
 * identity, or gets one that nothing else has.  is_image: the first chunk can be read as
 * that of an image.  ERR_IO, ERR_FORMAT, ERR_NOMEM. */
int identity_new(struct identity **, struct source *, const struct disk *file, bool is_image,
    struct err *);
/* Waits for the thread, and releases the identity.  NULL is allowed. */
void identity_free(struct identity *);
/* The identity: WIREXT_IDENTITY_BYTES, valid until identity_free(). */
const uint8_t *identity_bytes(const struct identity *);
/* Compares the open file's size and time with those of the last look.  To be called now and then.
 * ERR_IO. */
int identity_look(struct identity *, struct err *);
/* Is it known that the content has changed? */
bool identity_changed(struct identity *);
/* To be called before bytes of this chunk are sent: is the chunk still the same, as far as the
 * last identity_look() tells?  This may read the chunk. */
bool identity_holds(struct identity *, uint32_t chunk);
/* Does the name of the file still lead to the open file? */
bool identity_named(const struct identity *);

#endif /* FRISBEED_SERVE_IDENTITY_H */
