/* lost.h: sectors of an image that are zeros because the source could not be read
 * there: record 9 of the extension area. */
#ifndef COMMON_IMAGE_FORMAT_LOST_H
#define COMMON_IMAGE_FORMAT_LOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/base/json.h"
#include "common/base/rd.h"
#include "common/base/wr.h"
#include "common/disk/rangeset.h"

enum {
	LOST_HEAD_BYTES = 16,
	LOST_RANGE_BYTES = 16,
	LOST_RANGES_MIN = 16, /* there is always room for this number of ranges */
};

/* nranges 0: nothing was lost. */
struct lost {
	uint64_t sectors; /* all that were lost */
	bool merged;      /* ranges have readable sectors, too: there was no room */
	size_t nranges;
	struct range *ranges; /* image sectors, ascending, apart; owned */
};

/* A list that is being put together: `sectors` sectors of the set are lost.  That is less
 * than all of them when they come from a list that was merged. */
struct lostset {
	struct rangeset set;
	uint64_t sectors;
};

void lostset_init(struct lostset *);
void lostset_free(struct lostset *);
/* Add the part of a list that lies within a set.  No sector of it may have been
 * added before. */
int lostset_add(
    struct lostset *, const struct lost *, const struct rangeset *within, struct err *);

/* Make a list that fits into `bytes`: ranges near each other are merged until it does.
 * There must be room for LOST_RANGES_MIN. */
int lost_make(struct lost *, const struct lostset *, size_t bytes, struct err *);
void lost_free(struct lost *);
/* All ranges into a set, which is left open. */
int lost_ranges(const struct lost *, struct rangeset *, struct err *);
/* "3 sectors ...: 5-6, 9-9", for people; what does not fit is counted. */
const char *lost_text(const struct lost *, char *buf, size_t cap);
/* Members of an object: "lost_sectors", "lost_ranges_merged", "lost_ranges". */
void lost_json(const struct lost *, struct json *);
/* The record's body; ERR_FORMAT when it cannot be. */
int lost_get(struct lost *, struct rd *, struct err *);
void lost_put(const struct lost *, struct wr *);

#endif /* COMMON_IMAGE_FORMAT_LOST_H */
