/* capture.h: disk → fragments → chunks → image.
 *
 *	reader → [compressors] → packer
 *
 * The reader fills batches of up to 16 windows with the stored sectors in disk
 * order; compressors turn windows into fragments, in parallel; the packer (the
 * calling thread) takes the batches back in order.  A fixed set of them circulates,
 * so memory does not depend on the disk.
 */
#ifndef IMAGEZIP_CAPTURE_H
#define IMAGEZIP_CAPTURE_H

#include "common/base/progress.h"
#include "common/disk/disk.h"
#include "common/disk/rangeset.h"
#include "imagezip/layout.h"
#include "imagezip/options.h"
#include "imagezip/output.h"

struct capture_stats {
	uint32_t chunks;
	uint64_t data_bytes;		/* stored, uncompressed */
	uint64_t total_sectors;
	struct rangeset lost;		/* source sectors that -X made zeros; owned */
};

/* 0: the image is whole (some sectors perhaps in stats->lost). */
int capture_run(struct disk *, struct layout *, const struct options *, struct output *,
    struct progress *, struct capture_stats *, struct err *);

#endif /* IMAGEZIP_CAPTURE_H */
