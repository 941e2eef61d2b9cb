/* from.h: a whole image, wherever it comes from, onto a disk: what is known of it before its
 * data, which of its chunks are read, and feeding them.
 *
 *	image_open_source()	the image
 *	survey_image()		how large is it, and what does its first chunk say?
 *	sink_to_install()	the target (install_sink.h)
 *	install_from()		check, choose, put all chunks
 *	sink_end()		or sink_close()
 *
 * An image that can be read in any order is looked at before anything is written; of a pipe
 * each chunk is seen once.
 */
#ifndef IMAGEUNZIP_INSTALL_FROM_H
#define IMAGEUNZIP_INSTALL_FROM_H

#include "common/base/err.h"
#include "common/image/read/image.h"
#include "common/image/read/sink.h"
#include "imageunzip/install/install.h"

/* What is known of an image before anything of it is fed; 0 and no tail of a pipe. */
struct survey {
	struct ext first;         /* what chunk 0 says; nothing when it is damaged */
	uint64_t total_sectors;   /* of the installed disk */
	uint64_t needed_sectors;  /* the least number of sectors that a target must have */
};

/* ERR_FORMAT when a header is wrong, or chunks overlap or leave gaps. */
int survey_image(struct survey *, struct image *, struct err *);
/* Frees a survey; one that is all zeros is fine. */
void survey_free(struct survey *);

/* What is called meanwhile, in the caller's thread; NULL slots are not called. */
struct install_from_watch {
	/* Feeding begins; `sectors` are to be installed, 0: not known. */
	void (*begins)(void *arg, uint64_t sectors);
	/* Called with the number of chunks that were fed.  -1: stop, with the callback's
	 * error. */
	int (*fed)(void *arg, uint32_t chunks, struct err *);
	void *arg;
};

/* Refuse an image that is not meant for this target or does not fit, find the partitions of
 * --only, and put all chunks that are needed, checked against their digests, into a sink that
 * sink_to_install() has made, in the thread that calls.  After 0: sink_end(); after -1
 * sink_close(), which may know the error that came first.  Errors name the image. */
int install_from(struct sink *, struct image *, const struct survey *,
    const struct install_from_watch *, struct err *);

#endif /* IMAGEUNZIP_INSTALL_FROM_H */
