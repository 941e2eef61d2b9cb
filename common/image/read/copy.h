/* copy.h: the chunks of an image into a sink, in the image's order. */
#ifndef COMMON_IMAGE_READ_COPY_H
#define COMMON_IMAGE_READ_COPY_H

#include "common/image/read/image.h"
#include "common/image/read/sink.h"

/* How; all zeros: all chunks, as the image gives them out. */
struct copy_config {
	const bool *wanted; /* by chunk: those that are copied (seekable images); NULL: all */
	bool check_digests; /* of chunks that have one, unless the image is proved */
	bool name_image;    /* what the sink says of a chunk is said with the image's name */
	/* So many chunks have been put; now and then, and at the end.  -1: stop, with the
	 * caller's error.  NULL: nobody wants to know. */
	int (*copied)(void *arg, uint32_t chunks, struct err *);
	void *arg;
};

/* Puts all of them; the sink is to be ended then, or closed after -1.  Looks between two chunks
 * whether the thread's owner still wants it.  ERR_FORMAT: a digest is wrong, or as
 * image_next(); else as the sink. */
int image_copy(struct image *, struct sink *, const struct copy_config *, struct err *);

#endif /* COMMON_IMAGE_READ_COPY_H */
