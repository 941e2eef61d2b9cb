/* payload.h: what a server serves: an image, or the bytes of any file or disk. */
#ifndef DOLLY_PAYLOAD_H
#define DOLLY_PAYLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/image/read/image.h"
#include "common/image/read/source.h"
#include "dolly/engine/msg.h"
#include "dolly/raw/raw.h"

/* Begins as all zeros. */
struct payload {
	struct source source; /* of raw data; the source of an image belongs to `image` */
	struct image *image;  /* NULL: raw data */
	struct raw *raw;
	uint8_t *chunk; /* room for a chunk of raw data, before it is packed */
	const char *name;
	enum msg_content content;
	uint32_t chunks;
	uint32_t chunk_bytes; /* the longest chunk, as it is sent */
	uint64_t bytes;       /* size of the image's chunks, or of the raw data */
	uint8_t identity[MSG_IDENTITY_BYTES];
};

/* What is to be served. */
struct payload_how {
	bool raw;   /* any file or disk that can be read in any order, instead of an image */
	bool zstd;  /* compress the chunks of raw data */
	bool force; /* also raw data of a disk whose installation is not complete */
};

/* Opens an image, or raw data.  The path is borrowed.  Also after an error payload_close()
 * is to be called.  ERR_IO; ERR_FORMAT: it is no image, or empty; ERR_UNSUPPORTED: it is a
 * pipe, or too large; ERR_REFUSED: the installation of the disk, or of one of its
 * partitions, is not complete; ERR_NOMEM. */
int payload_open(
    struct payload *, const char *path, const struct payload_how *, struct err *);
/* Closes what was opened. */
void payload_close(struct payload *);
/* Reads a chunk, in the form in which it is sent, into to[chunk_bytes], and sets *length to its
 * bytes.  One thread at a time may call it.  Returns 0, or -1 with the error. */
int payload_read(
    void *payload, uint32_t chunk, void *to, uint32_t *length, struct err *);

#endif /* DOLLY_PAYLOAD_H */
