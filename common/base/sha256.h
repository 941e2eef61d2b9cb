/* sha256.h: SHA-256 of bytes in memory, by libcrypto, or of several messages at once. */
#ifndef COMMON_BASE_SHA256_H
#define COMMON_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { SHA256_BYTES = 32 };

/* Computes the digest of data[n], in any thread.  Ends the program when libcrypto cannot do
 * it. */
void sha256(const void *data, size_t n, uint8_t digest[SHA256_BYTES]);
/* The digests of two messages.  Where the processor has SHA instructions, both take little
 * more time than the longer one alone. */
void sha256_pair(const void *a, size_t a_bytes, const void *b, size_t b_bytes,
    uint8_t digest_a[SHA256_BYTES], uint8_t digest_b[SHA256_BYTES]);

/* A message, and its digest once sha256_many() has computed it. */
struct sha256_message {
	const void *data;
	size_t bytes;
	uint8_t digest[SHA256_BYTES]; /* result of sha256_many() */
};
/* Computes the digests of n messages of any lengths: sixteen at a time where the processor has
 * AVX-512, else two. */
void sha256_many(struct sha256_message *, size_t n);

#endif /* COMMON_BASE_SHA256_H */
