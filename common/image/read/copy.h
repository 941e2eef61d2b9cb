/* copy.h: puts the chunks of an image into a sink, in the image's order. */
#ifndef COMMON_IMAGE_READ_COPY_H
#define COMMON_IMAGE_READ_COPY_H

#include "common/image/read/image.h"
#include "common/image/read/sink.h"

/* How chunks are copied.  All zeros: all chunks, as the image gives them out. */
struct copy_config {
	const bool *wanted; /* by chunk: those that are copied (seekable images); NULL: all */
	bool check_digests; /* of chunks that have one, unless the image is proved */
	bool name_image;    /* put the image's name in front of errors of the sink */
	/* Called now and then, and at the end, with the number of chunks that were put.
	 * -1: stop, with the callback's error.  NULL: not called. */
	int (*copied)(void *arg, uint32_t chunks, struct err *);
	void *arg;
};

/* Puts all chunks.  The caller then ends the sink, or, after -1, closes it.  cancel_check()
 * is asked after every one or two chunks.  Errors: ERR_FORMAT when a digest is wrong, those
 * of image_next(), of the sink and of the callback, ERR_CANCELLED, ERR_NOMEM. */
int image_copy(struct image *, struct sink *, const struct copy_config *, struct err *);

#endif /* COMMON_IMAGE_READ_COPY_H */
