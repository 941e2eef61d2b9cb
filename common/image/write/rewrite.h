/* rewrite.h: an image made of images: what imagedelta and imagerezip share. */
#ifndef COMMON_IMAGE_WRITE_REWRITE_H
#define COMMON_IMAGE_WRITE_REWRITE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/image/format/opener.h"
#include "common/image/read/sectors.h"
#include "common/image/write/maker.h"

/* How the new image is made, and how those that are read are proved. */
struct rewrite_config {
	struct maker_choice how; /* neither -3 nor -5: the version is the source's */
	bool no_sync, force, quiet, json;
	struct opener_config opener; /* of the images that are read */
	/* Called with the bytes of data that are in the new image, and how many there will be (0: not
	 * known), in the thread that makes it.  NULL: nobody wants to know. */
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	void *progress_arg;
};

extern const struct rewrite_config rewrite_defaults;
/* Makes the output of n images. */
typedef int rewrite_make(const void *arg, struct sectors *const images[], size_t n,
    const char *output, struct err *);
/* Open and prove the images inputs[n], none of which may be the output, and call
 * make() with them; they are closed afterwards.  ERR_USAGE when the options contradict
 * each other; errors of output_check_input(), opener_new() and sectors_open_proved(),
 * and those of make(). */
int rewrite_inputs(const struct rewrite_config *, char *const inputs[], size_t n,
    const char *output, rewrite_make *, const void *arg, struct err *);

/* The new image, and what it is made of. */
struct rewrite_source {
	const char *program;  /* "imagedelta": for messages and the image's tool */
	struct sectors *like; /* version and description come from it; its header's
	                       * UUID where same_image */
	bool same_image;
	uint64_t total; /* sectors of the disk */
	uint64_t data_sectors; /* that next() gives out; 0: not known */
	struct ext_state state, base;
	const struct rangeset *freed; /* or NULL */
	struct basis *basis;    /* of a delta, or NULL */
	struct tail tail;       /* of the disk; n is 0 when there is none */
	struct lostset *lost;   /* not looked at before done() was called */
	ssize_t (*next)(void *arg, struct window *, void *buf, struct err *);
	/* Called after the last window: was everything right that was read? */
	int (*done)(void *arg, struct err *);
	void *arg;
};

/* Describe one image that is written again, with the same content: all of *src except
 * `program`.  The layers are those of this image alone.  Errors as sectors_state(). */
struct layers;
int rewrite_same(struct rewrite_source *src, struct sectors *image, struct layers *,
    struct err *);
/* Put the zones of the new image into *zones, which is empty.  They come from the partition
 * table of the image that it is like; there are none where its windows do not follow the
 * content.  To be called in the thread that has the images, before they are read otherwise;
 * the caller frees *zones with cut_zones_free().  Errors as sectors_zones(). */
int rewrite_zones(struct cut_zones *zones, const struct maker_choice *,
    const struct rewrite_source *, struct err *);
/* The config for maker_new().  It borrows what the source borrows, and has no zones. */
struct maker_config rewrite_as(
    const struct maker_choice *, const struct rewrite_source *);
/* Make the whole image with a maker of such a config: chunks go to the output, or, where
 * that is NULL, to the config's take().  -1: the chunks are worth nothing. */
int rewrite_image(
    struct maker *, const struct rewrite_source *, struct output *, struct err *);

/* Make the image and write it to a file, which gets its name when it is whole, or to standard
 * output ("-").  Then report the result as the options want it. */
int rewrite_save(const struct rewrite_config *, const struct rewrite_source *,
    const char *output, struct err *);

#endif /* COMMON_IMAGE_WRITE_REWRITE_H */
