/* image.h: an image that comes from a source (a file, a pipe, a store): its chunks.
 *
 * Checks what belongs to the file and not to one chunk: that it is a whole
 * number of chunks, that all have one version and one UUID, that an image of
 * this suite has its last chunk.  chunk.h checks what a chunk holds.
 */
#ifndef COMMON_IMAGE_READ_IMAGE_H
#define COMMON_IMAGE_READ_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/disk.h"
#include "common/image/format/ext.h"
#include "common/image/format/format.h"
#include "common/image/format/opener.h"

struct image;

/* Open an image; path "-" is stdin.  ERR_FORMAT: a file is empty or is not whole chunks, or
 * it lacks the last chunk, which an image of this suite has. */
int image_open(struct image **, const char *path, struct err *);
/* image_open() for an image that must be signed or encrypted: whole chunks are given out
 * only when they are proved, and decrypted.  Headers alone are not proved.  opener is
 * borrowed, and may be NULL. */
int image_open_proved(struct image **, const char *path, struct opener *, struct err *);
/* image_open_proved() for a source, or a disk that is open; it belongs to the image from
 * now on, also on failure. */
struct source;
int image_open_source(
    struct image **, struct source *, struct opener *, struct err *);
int image_open_disk(struct image **, struct disk *, struct opener *, struct err *);
void image_close(struct image *); /* NULL is fine */
/* The name of the image's source, for messages. */
const char *image_name(const struct image *);
/* Can its chunks be read in any order?  False for a pipe, and other sources in_order. */
bool image_seekable(const struct image *);
/* Is each whole chunk that this image gives out proved to be signed, or encrypted? */
bool image_is_proved(const struct image *);
/* Number of chunks; UINT32_MAX when it is a pipe that has not ended. */
uint32_t image_chunks(const struct image *);
/* Read the next chunk into buf[NDZ_CHUNK_BYTES].  Returns 1, 0 at the end, or -1.  *h is its
 * decoded header; NULL: not wanted.  Errors name the file and the chunk.  The end is refused
 * (ERR_FORMAT, "truncated") when the image says that more must come. */
int image_next(struct image *, void *buf, struct ndz_header *h, struct err *);
/* Let image_next() give out chunk i next (seekable images).  i lies behind the chunks that
 * were given out before. */
void image_go_to(struct image *, uint32_t i);
/* Call each() for every chunk from the next one on.  It gets the parsed chunk, its number i
 * and its NDZ_CHUNK_BYTES, all of them valid during the call.  A chunk that is kept encrypted
 * cannot be parsed, and is passed over when image_next() finds nothing wrong with it.  Returns
 * 0 at the end, or -1 with the error of image_next() or each(), or ERR_CANCELLED. */
struct chunk;
int image_each(struct image *,
    int (*each)(void *arg, struct chunk *, uint32_t i, const void *bytes, struct err *),
    void *arg, struct err *);
/* From now on encrypted chunks are given out as they are, with only their headers checked.
 * Whether the last chunk is there cannot be known of such an image.  For programs that keep
 * images. */
void image_keep_encrypted(struct image *);
/* Read what the first chunk says, before image_next() was called, which still gives it out.
 * Returns 1: *x is filled, and ext_free() is to be called; 0: the chunk is damaged, which
 * image_next() will say; or -1. */
int image_first(struct image *, struct ext *x, struct err *);
/* Read and check only the header of chunk i (seekable images). */
int image_header(struct image *, uint32_t i, struct ndz_header *h, struct err *);
/* Read blocks of chunk i to their places in buf, as they are: neither proved nor decrypted
 * (seekable images). */
struct blockmap;
int image_blocks(struct image *, uint32_t i, const struct blockmap *, void *buf, struct err *);
/* Read the whole chunk i, for any i (seekable images).  The chunk is proved and decrypted
 * where the image must be, and is not checked otherwise. */
int image_read(struct image *, uint32_t i, void *buf, struct err *);

/* What all chunks of one image have in common; also for chunks that come from
 * the network in any order. */
struct image_identity {
	bool known;
	unsigned version, codec;
	uint8_t header_uuid[NDZ_UUID_BYTES];
	bool has_uuid;
	uint8_t uuid[NDZ_UUID_BYTES];
};
/* First call: remember; later calls: ERR_FORMAT when it is another image. */
int image_identity_check(struct image_identity *, const struct ndz_header *,
    const struct ext *, struct err *);

#endif /* COMMON_IMAGE_READ_IMAGE_H */
