/* parity.h: Reed-Solomon parity of a chunk's groups, over GF(2^8).
 *
 * A group is 128 blocks: every eighth block of a chunk.  Any m of its 127 parity blocks
 * can replace any m of its blocks.  Without ISA-L, parity is not available.
 */
#ifndef COMMON_WIRE_PARITY_H
#define COMMON_WIRE_PARITY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/wire/wirext.h"

/* Was the program built with ISA-L? */
bool parity_available(void);
/* Compute parity block `index` (below WIREXT_PARITY_MAX) of a group (below WIREXT_GROUPS) of
 * chunk[WIRE_CHUNK_BLOCKS * WIRE_BLOCK_BYTES].  Only if parity_available(). */
void parity_make(const uint8_t *chunk, uint32_t group, uint32_t index,
    uint8_t out[WIRE_BLOCK_BYTES]);
/* Turn the parity blocks in a chunk into the blocks that are missing: at[p] is 1 + the index of
 * the parity block that lies in place of block p, or 0 if block p itself is there.  ERR_FORMAT:
 * a parity block came twice; ERR_NOMEM; ERR_UNSUPPORTED: there is no ISA-L. */
int parity_decode(uint8_t *chunk, const uint8_t at[WIRE_CHUNK_BLOCKS], struct err *);

#endif /* COMMON_WIRE_PARITY_H */
