/* identity.h: identifies the image that is served by its content, and notices changes.
 *
 * The identity is a hash over the size and up to sixteen whole chunks, the first and the
 * last among them.  A copy of the file on another host has the same identity, and so has a
 * file of which only the time of change differs.  The identity of an image in a store is a
 * hash of all its bytes.
 *
 * When the size of the open file changes, it is another file.  When only its time of
 * change does, each chunk is looked at again: one that belongs to the identity by its
 * hash, any other one by what the image says of itself (its place, the image's UUID, its
 * digest, or, without one, that it decodes).  A thread does it for all chunks; no chunk
 * is read for sending before that.  An encrypted image, and a file that is no image, say
 * nothing of the kind: with more than sixteen chunks, another time means another content.
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
/* NULL is fine.  Waits for its thread. */
void identity_free(struct identity *);
const uint8_t *identity_bytes(const struct identity *); /* WIREXT_IDENTITY_BYTES */
/* Look at the open file's size and time, now and then.  ERR_IO. */
int identity_look(struct identity *, struct err *);
/* Is it known that the content has changed? */
bool identity_changed(struct identity *);
/* Before bytes of this chunk are sent: are they still what they were, as far as the last
 * look tells?  May read the chunk. */
bool identity_holds(struct identity *, uint32_t chunk);
/* Does its name still lead to the open file? */
bool identity_named(const struct identity *);

#endif /* FRISBEED_SERVE_IDENTITY_H */
