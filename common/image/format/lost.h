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
	bool merged;      /* ranges also have readable sectors, since room was short */
	size_t nranges;
	struct range *ranges; /* image sectors, ascending, apart; owned */
};

/* A list that is being put together: `sectors` of the set's sectors are lost.  These are
 * not all sectors of the set when some ranges come from a list that was merged. */
struct lostset {
	struct rangeset set;
	uint64_t sectors;
};

/* Make an empty list; lostset_free() frees what it holds. */
void lostset_init(struct lostset *);
void lostset_free(struct lostset *);
/* Add the part of a list that lies within a set.  No sector of that part may have been added
 * before.  ERR_NOMEM. */
int lostset_add(
    struct lostset *, const struct lost *, const struct rangeset *within, struct err *);

/* Make a list whose record fits into `bytes`: ranges near each other are merged until it
 * does.  `bytes` must be enough for LOST_RANGES_MIN ranges.  ERR_NOMEM. */
int lost_make(struct lost *, const struct lostset *, size_t bytes, struct err *);
void lost_free(struct lost *); /* leaves an empty list */
/* Add all ranges to a set, which is left open.  ERR_NOMEM. */
int lost_ranges(const struct lost *, struct rangeset *, struct err *);
/* Write a list for people, as in "3 sectors ...: 5-6, 9-9", to buf[cap]; ranges that do not
 * fit are counted.  Returns buf. */
const char *lost_text(const struct lost *, char *buf, size_t cap);
/* Write the members "lost_sectors", "lost_ranges_merged" and "lost_ranges" into the object
 * that is open. */
void lost_json(const struct lost *, struct json *);
/* lost_get() reads the record's body, lost_put() writes it.  ERR_FORMAT: the record is
 * damaged, or the second one.  ERR_NOMEM. */
int lost_get(struct lost *, struct rd *, struct err *);
void lost_put(const struct lost *, struct wr *);

#endif /* COMMON_IMAGE_FORMAT_LOST_H */
