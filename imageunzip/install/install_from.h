/* install_from.h: installs a whole image, wherever it comes from, on a target: it surveys the
 * image before its data is read, chooses the chunks to read, and feeds them.
 *
 *	image_open_source()	the image
 *	survey_image()		how large is it, and what does its first chunk say?
 *	sink_to_install()	the target (install_sink.h)
 *	install_from()		check, choose, put all chunks
 *	sink_end()		or sink_close()
 *
 * An image that can be read in any order is surveyed before anything is written. Of an
 * image from a pipe, each chunk is seen once.
 */
#ifndef IMAGEUNZIP_INSTALL_INSTALL_FROM_H
#define IMAGEUNZIP_INSTALL_INSTALL_FROM_H

#include "common/base/err.h"
#include "common/image/read/image.h"
#include "common/image/read/sink.h"
#include "imageunzip/install/install.h"

/* What is known of an image before anything of it is fed. For a pipe, the sizes are 0. */
struct survey {
	struct ext first;         /* what chunk 0 says; nothing when it is damaged */
	uint64_t total_sectors;   /* of the installed disk */
	uint64_t needed_sectors;  /* the least number of sectors that a target must have */
};

/* Survey an image before its data is read. ERR_FORMAT when a header is wrong, or chunks
 * overlap or leave gaps; also errors of reading. */
int survey_image(struct survey *, struct image *, struct err *);
/* Frees a survey; a survey of zeros may be freed, too. */
void survey_free(struct survey *);

/* Let an installation read an image whose chunks can be read in any order. */
void install_read_from(struct install *, struct image *);

/* Callbacks of install_from(), in the caller's thread; a NULL member is not called. */
struct install_from_watch {
	/* Feeding begins; `sectors` are to be installed, 0: not known. */
	void (*begins)(void *arg, uint64_t sectors);
	/* Called with the number of chunks that were fed.  -1: stop, with the callback's
	 * error. */
	int (*fed)(void *arg, uint32_t chunks, struct err *);
	void *arg;
};

/* Refuse an image that is not meant for this target or does not fit, find the partitions
 * of --only, and put all chunks that are needed, checked against their digests, into a
 * sink that sink_to_install() has made. After 0: sink_end(); after -1 sink_close(), which
 * may know the error that came first. Errors name the image. */
int install_from(struct sink *, struct image *, const struct survey *,
    const struct install_from_watch *, struct err *);

#endif /* IMAGEUNZIP_INSTALL_INSTALL_FROM_H */
