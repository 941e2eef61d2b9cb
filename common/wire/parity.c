/* parity.c: parity blocks of a Reed-Solomon code.  ISA-L (libisal) computes them,
 * and restores missing blocks from them.  The server's shell makes parity, and the
 * feeder of a load restores blocks, each in its own thread. */
#include "common/wire/parity.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#ifdef NO_ISAL

bool
parity_available(void)
{
	return false;
}

void
parity_make(
    const uint8_t *chunk, uint32_t group, uint32_t index, uint8_t out[WIRE_BLOCK_BYTES])
{
	(void)chunk, (void)group, (void)index, (void)out;
	abort(); /* parity that is not available is never offered */
}

int
parity_decode(uint8_t *chunk, const uint8_t at[WIRE_CHUNK_BLOCKS], struct err *e)
{
	(void)chunk, (void)at;
	return err_set(e, ERR_UNSUPPORTED, "this program was built without parity");
}

#else

#include <isa-l/erasure_code.h>

enum {
	K = WIREXT_GROUP_BLOCKS,
	TABLE_BYTES = 32, /* of ISA-L's table for each factor */
};

bool
parity_available(void)
{
	return true;
}

/* The factor of block j in parity block `index`.  The factors are a Cauchy matrix, all of whose
 * square parts are regular. */
static uint8_t
factor(uint32_t index, uint32_t j)
{
	return gf_inv((uint8_t)((K + index) ^ j));
}

static uint8_t *
block_at(uint8_t *chunk, uint32_t group, uint32_t j)
{
	return chunk + (size_t)(j * WIREXT_GROUPS + group) * WIRE_BLOCK_BYTES;
}

void
parity_make(
    const uint8_t *chunk, uint32_t group, uint32_t index, uint8_t out[WIRE_BLOCK_BYTES])
{
	uint8_t row[K], tables[K * TABLE_BYTES], *data[K], *to[1] = { out };

	for (uint32_t j = 0; j < K; j++) {
		row[j] = factor(index, j);
		/* ISA-L only reads the blocks. */
		data[j] = block_at((uint8_t *)(uintptr_t)chunk, group, j);
	}
	ec_init_tables(K, 1, row, tables);
	ec_encode_data(WIRE_BLOCK_BYTES, K, 1, tables, data, to);
}

/* The repair of one group: n blocks are missing, and parity blocks lie in their places. */
struct repair {
	uint32_t n;
	uint32_t missing[K];
	uint8_t index[K]; /* of the parity block in the place of missing[i] */
	uint8_t *have[K]; /* the other K - n blocks of the group */
	uint32_t have_j[K]; /* the number of have[i] in the group */
	uint8_t matrix[K * K], inverse[K * K];
	uint8_t tables[(size_t)K * K * TABLE_BYTES];
	uint8_t sums[K][WIRE_BLOCK_BYTES];
	uint8_t solved[K][WIRE_BLOCK_BYTES];
};

static void
find_missing(struct repair *r, uint8_t *chunk, uint32_t group, const uint8_t *at)
{
	uint32_t have = 0;

	r->n = 0;
	for (uint32_t j = 0; j < K; j++) {
		uint8_t parity = at[j * WIREXT_GROUPS + group];
		if (parity == 0) {
			r->have[have] = block_at(chunk, group, j);
			r->have_j[have++] = j;
			continue;
		}
		r->missing[r->n] = j;
		r->index[r->n++] = (uint8_t)(parity - 1);
	}
}

/* Subtract from each parity block what the blocks that are here contribute to it. */
static void
subtract_known(struct repair *r, uint8_t *chunk, uint32_t group)
{
	uint32_t n = r->n, have = K - n;
	uint8_t *to[K];

	for (uint32_t i = 0; i < n; i++) {
		to[i] = r->sums[i];
		for (uint32_t h = 0; h < have; h++)
			r->matrix[i * have + h] = factor(r->index[i], r->have_j[h]);
	}
	if (have == 0)
		memset(r->sums, 0, sizeof r->sums);
	else {
		ec_init_tables((int)have, (int)n, r->matrix, r->tables);
		ec_encode_data(
		    WIRE_BLOCK_BYTES, (int)have, (int)n, r->tables, r->have, to);
	}
	for (uint32_t i = 0; i < n; i++) {
		const uint8_t *parity = block_at(chunk, group, r->missing[i]);
		for (uint32_t b = 0; b < WIRE_BLOCK_BYTES; b++)
			r->sums[i][b] ^= parity[b];
	}
}

static int
solve(struct repair *r, uint8_t *chunk, uint32_t group, struct err *e)
{
	uint32_t n = r->n;
	uint8_t *from[K], *to[K];

	for (uint32_t i = 0; i < n; i++) {
		from[i] = r->sums[i];
		to[i] = r->solved[i];
		for (uint32_t j = 0; j < n; j++)
			r->matrix[i * n + j] = factor(r->index[i], r->missing[j]);
	}
	if (gf_invert_matrix(r->matrix, r->inverse, (int)n) != 0)
		return err_set(e, ERR_FORMAT, "the same parity block came twice");
	ec_init_tables((int)n, (int)n, r->inverse, r->tables);
	ec_encode_data(WIRE_BLOCK_BYTES, (int)n, (int)n, r->tables, from, to);
	for (uint32_t i = 0; i < n; i++)
		memcpy(block_at(chunk, group, r->missing[i]), r->solved[i],
		    WIRE_BLOCK_BYTES);
	return 0;
}

int
parity_decode(uint8_t *chunk, const uint8_t at[WIRE_CHUNK_BLOCKS], struct err *e)
{
	struct repair *r = malloc(sizeof *r);
	int rc = 0;

	if (r == NULL)
		return err_nomem(e, "decoding parity");
	for (uint32_t g = 0; g < WIREXT_GROUPS && rc == 0; g++) {
		find_missing(r, chunk, g, at);
		if (r->n == 0)
			continue;
		subtract_known(r, chunk, g);
		rc = solve(r, chunk, g, e);
	}
	free(r);
	return rc;
}

#endif
