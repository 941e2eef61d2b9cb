/* few_sectors.h: a few sectors out of the data of a chunk, which is decoded no further
 * than to their end. */
#ifndef COMMON_TARGET_FEW_SECTORS_H
#define COMMON_TARGET_FEW_SECTORS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/range.h"
#include "common/image/read/chunk.h"

/* Writes the sectors of `wanted` that the chunk stores to `to`, which has room for all
 * of them, and notes in has[] which these are (NULL: nobody asks).  Other sectors
 * there stay as they are.  -1: errors of chunk_check_digest() and chunk_pieces();
 * ERR_NOMEM. */
int few_sectors(const struct chunk *, const void *bytes, struct range wanted, uint8_t *to,
    bool *has, struct err *);

#endif /* COMMON_TARGET_FEW_SECTORS_H */
