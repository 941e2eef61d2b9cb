/* btrfs_sum.c: the checksums of btrfs.  The other files of this module call it for
 * each block that they read, in the thread that scans.  Sources: CRC-32C as in RFC
 * 3720, appendix B.4; BLAKE2b as in RFC 7693, with a digest of 32 bytes, which libcrypto
 * 3.0 cannot make. */
#include "fsmods/btrfs/btrfs_sum.h"

#include <openssl/evp.h>
#include <pthread.h>
#include <string.h>

#include "common/base/rd.h"
#include "common/base/xxh64.h"

enum { CRC_TABLES = 8 };

/* crc_table[k][b]: the CRC of byte b followed by k zeros. */
static uint32_t crc_table[CRC_TABLES][256];
static pthread_once_t crc_once = PTHREAD_ONCE_INIT;

static void
crc_make_tables(void)
{
	for (unsigned b = 0; b < 256; b++) {
		uint32_t c = b;
		for (int i = 0; i < 8; i++)
			c = c >> 1 ^ (c & 1 ? 0x82f63b78 : 0);
		crc_table[0][b] = c;
	}
	for (unsigned k = 1; k < CRC_TABLES; k++)
		for (unsigned b = 0; b < 256; b++) {
			uint32_t c = crc_table[k - 1][b];
			crc_table[k][b] = c >> 8 ^ crc_table[0][c & 0xff];
		}
}

/* Eight bytes at a time: the sum of eight look-ups. */
static uint32_t
crc32c(struct rd r)
{
	uint32_t c = 0xffffffff;

	pthread_once(&crc_once, crc_make_tables);
	while (rd_left(&r) >= 8) {
		uint32_t lo = rd_le32(&r) ^ c, hi = rd_le32(&r);
		c = 0;
		for (unsigned i = 0; i < 4; i++)
			c ^= crc_table[7 - i][lo >> 8 * i & 0xff] ^
			     crc_table[3 - i][hi >> 8 * i & 0xff];
	}
	while (rd_left(&r) > 0)
		c = c >> 8 ^ crc_table[0][(c ^ rd_u8(&r)) & 0xff];
	return ~c;
}

static uint64_t
rotl(uint64_t v, unsigned n)
{
	return v << n | v >> (64 - n);
}

enum { BLAKE_BLOCK = 128, BLAKE_ROUNDS = 12 };

static const uint64_t blake_iv[8] = { 0x6a09e667f3bcc908, 0xbb67ae8584caa73b,
	0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1, 0x510e527fade682d1, 0x9b05688c2b3e6c1f,
	0x1f83d9abfb41bd6b, 0x5be0cd19137e2179 };

static const uint8_t blake_sigma[10][16] = {
	{ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 },
	{ 14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3 },
	{ 11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4 },
	{ 7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8 },
	{ 9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13 },
	{ 2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9 },
	{ 12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11 },
	{ 13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10 },
	{ 6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5 },
	{ 10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0 },
};

static void
blake_mix(uint64_t v[16], const uint8_t at[4], uint64_t x, uint64_t y)
{
	uint64_t a = v[at[0]], b = v[at[1]], c = v[at[2]], d = v[at[3]];

	a += b + x;
	d = rotl(d ^ a, 32);
	c += d;
	b = rotl(b ^ c, 40);
	a += b + y;
	d = rotl(d ^ a, 48);
	c += d;
	b = rotl(b ^ c, 1);
	v[at[0]] = a, v[at[1]] = b, v[at[2]] = c, v[at[3]] = d;
}

static void
blake_block(uint64_t h[8], struct rd block, uint64_t total, bool last)
{
	static const uint8_t at[8][4] = { { 0, 4, 8, 12 }, { 1, 5, 9, 13 },
		{ 2, 6, 10, 14 }, { 3, 7, 11, 15 }, { 0, 5, 10, 15 }, { 1, 6, 11, 12 },
		{ 2, 7, 8, 13 }, { 3, 4, 9, 14 } };
	uint64_t v[16], m[16];

	for (int i = 0; i < 16; i++)
		m[i] = rd_le64(&block);
	memcpy(v, h, 8 * sizeof v[0]);
	memcpy(v + 8, blake_iv, sizeof blake_iv);
	v[12] ^= total;
	v[14] ^= last ? UINT64_MAX : 0;
	for (int i = 0; i < BLAKE_ROUNDS; i++)
		for (int k = 0; k < 8; k++)
			blake_mix(v, at[k], m[blake_sigma[i % 10][2 * k]],
			    m[blake_sigma[i % 10][2 * k + 1]]);
	for (int i = 0; i < 8; i++)
		h[i] ^= v[i] ^ v[i + 8];
}

static void
put_le64(uint8_t *p, uint64_t v)
{
	for (int i = 0; i < 8; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

static void
blake2b_256(struct rd r, uint8_t sum[32])
{
	uint8_t tail[BLAKE_BLOCK] = { 0 };
	uint64_t h[8], total = 0;

	memcpy(h, blake_iv, sizeof h);
	h[0] ^= 0x01010000 ^ 32; /* no key, 32 bytes of digest */
	while (rd_left(&r) > BLAKE_BLOCK) {
		total += BLAKE_BLOCK;
		blake_block(h, rd_sub(&r, BLAKE_BLOCK), total, false);
	}
	total += rd_left(&r);
	rd_copy(&r, tail, rd_left(&r));
	blake_block(h, rd_from(tail, sizeof tail), total, true);
	for (int i = 0; i < 4; i++)
		put_le64(sum + 8 * i, h[i]);
}

bool
btrfs_sum(unsigned type, const void *data, size_t len, uint8_t sum[BTRFS_SUM_BYTES])
{
	struct rd r = rd_from(data, len);

	memset(sum, 0, BTRFS_SUM_BYTES);
	switch (type) {
	case BTRFS_CRC32C:
		for (uint32_t c = crc32c(r), i = 0; i < 4; i++)
			sum[i] = (uint8_t)(c >> 8 * i);
		return true;
	case BTRFS_XXHASH64:
		put_le64(sum, xxh64(data, len));
		return true;
	case BTRFS_SHA256:
		return EVP_Digest(data, len, sum, NULL, EVP_sha256(), NULL) == 1;
	case BTRFS_BLAKE2B:
		blake2b_256(r, sum);
		return true;
	}
	return false;
}

bool
btrfs_sum_right(unsigned type, const uint8_t *block, size_t len)
{
	uint8_t sum[BTRFS_SUM_BYTES];

	return len > sizeof sum &&
	       btrfs_sum(type, block + sizeof sum, len - sizeof sum, sum) &&
	       memcmp(sum, block, sizeof sum) == 0;
}
