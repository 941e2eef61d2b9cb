/* sha256_kernel.h: hashes blocks of several messages at once.  For sha256_many.c alone. */
#ifndef COMMON_BASE_SHA256_KERNEL_H
#define COMMON_BASE_SHA256_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SHA256_BLOCK_BYTES = 64,
	SHA256_WORDS = 8,   /* of a hash */
	SHA256_ROUNDS = 64,
	SHA256_LANES_MAX = 16,
};

/* The constants of the rounds (FIPS 180-4, 4.2.2). */
extern const uint32_t sha256_constants[SHA256_ROUNDS];

struct sha256_kernel {
	size_t lanes; /* so many messages at once */
	size_t worth; /* it is not slower than the next kernel from so many messages on */
	bool (*usable)(void); /* has this processor what it needs? */
	/* Hashes the next nblocks blocks at at[i] into hash[i], for each lane i. */
	void (*blocks)(
	    uint32_t *const hash[], const uint8_t *const at[], size_t nblocks);
};

/* Two messages with the SHA instructions; sixteen with AVX-512. */
extern const struct sha256_kernel sha256_kernel_pair, sha256_kernel_wide;

#endif /* COMMON_BASE_SHA256_KERNEL_H */
