/* identity.h: what tells a disk from others of its size: the signature of its MBR, the GUID of its
 * GPT, the UUID of its filesystem.  They are in the boot area.  A system that uses the disk, and
 * whoever enlarges partitions, leaves them as they are. */
#ifndef STREAM_DISK_IDENTITY_H
#define STREAM_DISK_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

#include "stream/table/piece.h"

enum { IDENTITY_BOOT_BYTES = 4096 };

/* Compute the digest of what is described above from the first IDENTITY_BOOT_BYTES of a disk, as
 * docs/stream-format.md says.  Returns whether these bytes have a signature, GUID or UUID at all:
 * an empty disk has none. */
bool identity_of(const uint8_t *boot, uint8_t out[TABLE_DISK_BYTES]);

#endif /* STREAM_DISK_IDENTITY_H */
