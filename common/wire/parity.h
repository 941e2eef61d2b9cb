/* parity.h: Reed-Solomon parity of a chunk's groups, over GF(2^8).
 *
 * A group is 128 blocks, every eighth of a chunk.  Any m of its 127 parity blocks
 * stand for any m of its blocks.  Built with ISA-L, or not at all.
 */
#ifndef COMMON_WIRE_PARITY_H
#define COMMON_WIRE_PARITY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/wire/wirext.h"

/* Was it built in? */
bool parity_available(void);
/* Parity block `index` of a group of chunk[WIRE_CHUNK_BLOCKS * WIRE_BLOCK_BYTES]. */
void parity_make(const uint8_t *chunk, uint32_t group, uint32_t index,
    uint8_t out[WIRE_BLOCK_BYTES]);
/* Turn parity into the blocks that it stands for: at[p] is 1 + the index of the
 * parity block that lies at place p, 0 where the chunk's own block is. */
int parity_decode(uint8_t *chunk, const uint8_t at[WIRE_CHUNK_BLOCKS], struct err *);

#endif /* COMMON_WIRE_PARITY_H */
