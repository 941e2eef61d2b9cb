/* rewrite.h: an image made of images: what imagedelta and imagerezip share. */
#ifndef COMMON_IMAGE_WRITE_REWRITE_H
#define COMMON_IMAGE_WRITE_REWRITE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/image/format/proof.h"
#include "common/image/read/sectors.h"
#include "common/image/write/maker.h"

/* How the new image is made, and how those that are read are proved. */
struct rewrite_config {
	struct maker_choice how; /* neither -3 nor -5: the version is the source's */
	bool no_sync, force, quiet, json;
	struct proof_config proof; /* of those that are read */
};

extern const struct rewrite_config rewrite_defaults;
/* ERR_USAGE when the options contradict each other. */
int rewrite_check(const struct rewrite_config *, const char *output, struct err *);

/* The new image, and what it is made of. */
struct rewrite_source {
	const char *program;  /* "imagedelta": for messages and the image's tool */
	struct sectors *like; /* version and description come from it; its header's
	                       * UUID where same_image */
	bool same_image;
	uint64_t total; /* sectors of the disk */
	struct ext_state state, base;
	const struct rangeset *freed; /* or NULL */
	struct basis *basis;    /* of a delta, or NULL */
	struct tail tail;       /* of the disk; none: n is 0 */
	struct lostset *lost;   /* looked at when all is done() */
	ssize_t (*next)(void *arg, struct window *, void *buf, struct err *);
	/* After the last window: was everything that was read right? */
	int (*done)(void *arg, struct err *);
	void *arg;
};

/* The zones of the new image, from the partition table of the image that it is like, into
 * *zones, which is empty; none where its windows do not follow the content.  In the thread
 * that has the images, before they are read otherwise; cut_zones_free(). */
int rewrite_zones(struct cut_zones *zones, const struct maker_choice *,
    const struct rewrite_source *, struct err *);
/* For maker_new(); it borrows what the source borrows, and has no zones. */
struct maker_config rewrite_as(
    const struct maker_choice *, const struct rewrite_source *);
/* Make the whole image with a maker of such a config: chunks go to the output, or, where
 * that is NULL, to the config's take().  -1: the chunks are worth nothing. */
int rewrite_image(
    struct maker *, const struct rewrite_source *, struct output *, struct err *);

/* Write it to a file, which gets its name when it is whole, or "-"; say what
 * came out, as the options want it. */
int rewrite(const struct rewrite_config *, const struct rewrite_source *,
    const char *output, struct err *);

#endif /* COMMON_IMAGE_WRITE_REWRITE_H */
