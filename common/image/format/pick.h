/* pick.h: picks the samples of its base that chunk 0 of a delta gets.
 *
 * imagedelta and imagezip -H look at places all over the base, and tell a pick what the delta
 * does to each.  Data that stays is picked first, because an installer finds it whatever part
 * of the delta was installed before; then come samples of replaced and of freed data.  Places
 * of zeros are picked only where there are no others, because zeros are found on any empty
 * disk.
 *
 * In front of all these are samples of hot places, which every use of a filesystem changes
 * (fsmods/fsmod.h): other samples do not tell a disk that was used since from its base.
 */
#ifndef COMMON_IMAGE_FORMAT_PICK_H
#define COMMON_IMAGE_FORMAT_PICK_H

#include <stdbool.h>

#include "common/disk/rangeset.h"
#include "common/image/format/basis.h"
#include "common/image/format/format.h"

/* What the delta does to the data of a place of its base.  UNKNOWN: no sample is made. */
enum fate { FATE_STAYS, FATE_REPLACED, FATE_FREED, FATES, FATE_UNKNOWN = FATES };

/* Begins as { 0 }. */
struct pick {
	struct samples kinds[FATES], zeros[FATES]; /* owned; zeros: of zeros alone */
	struct samples hot;                        /* owned */
};

/* Make the sample of the sectors r: the digests of their data before and after the delta,
 * r.len sectors each.  ERR_UNSUPPORTED: the hash is not available. */
int pick_sample(struct sample *, enum sample_hash, struct range r, const void *before,
    const void *after, struct err *);
/* Offer the sample of a place; zero: the base has only zeros there.  ERR_NOMEM. */
int pick_add(struct pick *, enum fate, const struct sample *, bool zero, struct err *);
/* Add the sample of a hot place, whatever is there.  ERR_NOMEM. */
int pick_add_hot(struct pick *, const struct sample *, struct err *);
/* Put what is picked, at most SAMPLES_HOT_MAX samples of hot places and SAMPLES_SPREAD_MAX
 * others, into a basis that has no samples of the whole disk.  pick_free() follows in any
 * case.  ERR_NOMEM. */
int pick_end(struct pick *, struct basis *, struct err *);
void pick_free(struct pick *);

/* Add the sectors that relocations look at or change to the set, which is left open: no
 * sample may have one of them.  ERR_NOMEM. */
int pick_avoid(struct rangeset *, const struct ndz_reloc *, size_t n, struct err *);

#endif /* COMMON_IMAGE_FORMAT_PICK_H */
