/* lost.h: sectors of an image that are zeros because the source could not be read
 * there: record 9 of the extension area. */
#ifndef COMMON_NDZ_LOST_H
#define COMMON_NDZ_LOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/base/rd.h"
#include "common/base/wr.h"
#include "common/disk/rangeset.h"

enum {
	LOST_HEAD_BYTES = 16,
	LOST_RANGE_BYTES = 16,
	LOST_RANGES_MIN = 16, /* room for so many is always kept */
};

/* nranges 0: nothing was lost. */
struct lost {
	uint64_t sectors; /* all that were lost */
	bool merged;      /* ranges have readable sectors, too: there was no room */
	size_t nranges;
	struct range *ranges; /* image sectors, ascending, apart; owned */
};

/* What of the set fits in so many bytes: ranges near each other become one until
 * it does.  At least LOST_RANGES_MIN must. */
int lost_make(struct lost *, struct rangeset *, size_t bytes, struct err *);
void lost_free(struct lost *);
/* The record's body; ERR_FORMAT when it cannot be. */
int lost_get(struct lost *, struct rd *, struct err *);
void lost_put(const struct lost *, struct wr *);

#endif /* COMMON_NDZ_LOST_H */
