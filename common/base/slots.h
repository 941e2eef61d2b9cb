/* slots.h: a state that is kept twice, in slots that are written in turn, so that one is always
 * whole; of two whole ones that with the higher sequence counts.  A slot begins with
 *
 *	0 magic[8], 8 u32 version, 12 u32 checksum of all that follows, 16 u64 sequence
 *
 * little-endian, and the rest is its owner's. */
#ifndef COMMON_BASE_SLOTS_H
#define COMMON_BASE_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/rd.h"
#include "common/base/wr.h"

struct slots {
	char magic[8];
	uint32_t version;
	uint32_t (*checksum)(const void *, size_t);
};

enum { SLOT_MAGIC_BYTES = 8, SLOT_HEAD_BYTES = 24 };

/* Where the rest of slot[len] is written, before slot_put(). */
static inline struct wr
slot_body(uint8_t *slot, size_t len)
{
	return wr_to(slot + SLOT_HEAD_BYTES, len - SLOT_HEAD_BYTES);
}

/* Completes the slot: what was not written is zeros. */
void slot_put(const struct slots *, uint8_t *slot, size_t len, struct wr *body, uint64_t sequence);
/* Is this a whole slot?  Then *sequence is not 0, and *body reads the rest. */
bool slot_get(const struct slots *, const uint8_t *slot, size_t len, uint64_t *sequence,
    struct rd *body);
/* The byte, from the first slot on, where the slot of this sequence is. */
static inline uint64_t
slot_place(uint64_t sequence, size_t len)
{
	return sequence % 2 * len;
}

#endif /* COMMON_BASE_SLOTS_H */
