/* delta_samples.h: finds, in the signature of a delta's base, what the delta says of the
 * base's data (imagezip -H). */
#ifndef IMAGEZIP_CAPTURE_DELTA_SAMPLES_H
#define IMAGEZIP_CAPTURE_DELTA_SAMPLES_H

#include "common/disk/rangeset.h"
#include "common/image/format/basis.h"
#include "common/image/format/sig.h"
#include "common/layout/layout.h"

struct delta_samples {
	const struct sig *old, *now; /* signatures of the base, and of all that would be stored */
	/* `same`: sectors of old records whose data has not changed. `stored`: all that a
	 * full image would store. */
	const struct rangeset *same, *stored;
	/* New hashes of old records that the new signature has no record of, as it begins or
	 * ends elsewhere. */
	const struct sig *cut;
	const struct layout *layout;
	bool any_length; /* -f: the last sector of either file may be short */
};

/* The new hash of what an old record describes; NULL: it was not read, because the source ends
 * in front of it. */
const struct sig_record *delta_samples_now(
    const struct delta_samples *, const struct sig_record *old);
/* Fill in the basis's samples of the whole disk; it has none.  ERR_NOMEM. */
int delta_samples(struct basis *, const struct delta_samples *, struct err *);

#endif /* IMAGEZIP_CAPTURE_DELTA_SAMPLES_H */
