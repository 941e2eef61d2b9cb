/* sha256.c: SHA-256 of a buffer, by libcrypto.  Everything that proves or names chunks
 * calls this, in any thread. */
#include "common/base/sha256.h"

#include <openssl/evp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static EVP_MD *algorithm;

/* Looking up the algorithm costs as much as hashing 64 KiB, so it is done once. */
static void
look_up(void)
{
	algorithm = EVP_MD_fetch(NULL, "SHA256", NULL);
}

void
sha256(const void *data, size_t n, uint8_t digest[SHA256_BYTES])
{
	unsigned len = SHA256_BYTES;

	pthread_once(&once, look_up);
	if (algorithm == NULL ||
	    EVP_Digest(data, n, digest, &len, algorithm, NULL) != 1) {
		fputs("SHA-256 is not available\n", stderr);
		abort();
	}
}
