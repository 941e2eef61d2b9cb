/* decode.c: measures what decoding alone costs: all chunks of an image are decoded from memory by
 * several threads of its own, and the data is dropped.  bench/ runs this program.
 *	decode IMAGE THREADS
 * Prints the seconds that it took. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/disk/disk.h"
#include "common/image/read/chunk.h"
#include "common/image/read/fragments.h"

enum { THREADS_MAX = 64 };

static uint8_t *image;
static uint32_t nchunks;
static _Atomic uint32_t next;

static void *
decode_all(void *arg)
{
	uint8_t *raw = malloc(17 << 20);
	struct decoder *d = decoder_new();
	struct chunk c;
	struct err e;

	for (uint32_t i; raw != NULL && d != NULL && (i = next++) < nchunks;) {
		const uint8_t *bytes = image + (size_t)i * NDZ_CHUNK_BYTES;
		if (chunk_parse(&c, bytes, &e) != 0 || c.ext.fragments == NULL ||
		    chunk_decode_packed(&c, bytes, d, raw, &e) != 0) {
			fprintf(stderr, "chunk %u cannot be decoded\n", i);
			exit(1);
		}
		chunk_free(&c);
	}
	free(raw);
	decoder_free(d);
	return arg;
}

int
main(int argc, char **argv)
{
	pthread_t thread[THREADS_MAX];
	int n = argc == 3 ? atoi(argv[2]) : 0;
	struct disk *d;
	struct err e;

	if (n < 1 || n > THREADS_MAX) {
		fprintf(stderr, "usage: decode IMAGE THREADS\n");
		return 2;
	}
	if (disk_open(&d, argv[1], DISK_READ, &e) != 0)
		return 1;
	size_t bytes = disk_size_bytes(d);
	nchunks = (uint32_t)(bytes / NDZ_CHUNK_BYTES);
	image = malloc(bytes);
	if (image == NULL || disk_read(d, image, bytes, 0, &e) != 0)
		return 1;
	uint64_t start = clock_us();
	for (int i = 0; i < n; i++)
		if (pthread_create(&thread[i], NULL, decode_all, NULL) != 0)
			return 1;
	for (int i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	printf("%.3f\n", (double)(clock_us() - start) / 1e6);
	free(image);
	return disk_close(d, &e) != 0;
}
