/* delta.h: finds what differs from an image that has a signature (imagezip -H), and makes
 * the signature of the source (-U). */
#ifndef IMAGEZIP_CAPTURE_DELTA_H
#define IMAGEZIP_CAPTURE_DELTA_H

#include <stdbool.h>

#include "common/disk/disk.h"
#include "common/disk/rangeset.h"
#include "common/image/format/basis.h"
#include "common/image/format/sig.h"
#include "common/layout/layout.h"
#include "common/layout/what.h"

struct delta {
	bool on;            /* the image is a delta */
	enum sig_hash hash; /* of the new signature */
	uint32_t block_sectors;
	struct sig now;        /* of all sectors that a full image would store; owned */
	struct rangeset freed; /* stored by the base, free now; owned */
	struct ext_state state, base;
	struct basis basis;    /* what the delta says of the base's data; owned */
	struct rangeset lost;  /* source sectors that could not be read; owned */
	uint64_t full_sectors; /* sectors that a full image would store */
	uint64_t changed_sectors;
	uint64_t read_sectors; /* that were read and hashed to find this out */
};

/* With -H: read and hash everything that would be stored, and leave in layout->store only
 * what differs, unless that is more than -P allows. Without -H only the defaults are set.
 * ERR_USAGE: the source is a pipe; ERR_REFUSED: the signature has no records; also errors
 * of reading. */
int delta_find(struct delta *, struct disk *, struct layout *, const struct capture_what *,
    struct err *);
void delta_free(struct delta *);
/* The signature to write, from what capture_run() made of the stored part.
 * ERR_IO when the source changed since delta_find() read it. */
int delta_merge(struct delta *, struct sig *stored, struct err *);

#endif /* IMAGEZIP_CAPTURE_DELTA_H */
