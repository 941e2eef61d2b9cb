/* export.h: a disk that is read anywhere, by several threads, and which of its bytes are
 * stored: the disk that an image was made of, or that an image and its deltas amount to; or
 * a disk that is none of ours.
 *
 * What an image does not store was free when it was made, and reads as zeros.  Every
 * fragment is checked before a byte of it is given out (random.h).  Of a disk that is no
 * image nothing is checked.
 */
#ifndef STREAM_EXPORT_EXPORT_H
#define STREAM_EXPORT_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/disk.h"
#include "common/disk/rangeset.h"
#include "common/image/format/proof.h"
#include "common/image/read/source.h"

enum { EXPORT_CACHE_BYTES = 64 << 20, EXPORT_CACHE_BYTES_MIN = 1 << 20 };

struct export;

struct export_config {
	uint64_t cache_bytes; /* of what was decoded; 0: EXPORT_CACHE_BYTES */
	/* Of the disk; 0: as large as the image says, or else up to the last sector that it
	 * describes. */
	uint64_t size_bytes;
	struct proof *proof; /* borrowed; NULL: nothing is asked */
	/* Told a sentence about a delta that does not say what it belongs to, and is believed
	 * then; NULL: such a delta is refused. */
	void (*warn)(const char *sentence);
};

/* images[0] is an image, and each of the others is a delta of what is before it.  Every header
 * is read and checked, and with a proof all of the images.  The sources are taken over, also
 * on failure.  ERR_FORMAT: damaged, or it stores more than its disk has; ERR_USAGE: size_bytes
 * is too small; ERR_REFUSED: what chain_check() says (chain.h), such as a delta without its
 * base; ERR_UNSUPPORTED: what sectors.h says. */
int export_open(struct export **, struct source images[], size_t n,
    const struct export_config *, struct err *);
/* A disk that is no image, as it is.  `stored` are its sectors that are no holes, sealed; what
 * lies in holes is not read.  Disk and set are taken over, also on failure.  ERR_USAGE:
 * size_bytes or a proof is asked for, which such a disk does not have. */
int export_open_disk(struct export **, struct disk *, struct rangeset *stored,
    const struct export_config *, struct err *);
/* Nobody reads any more.  NULL is fine. */
void export_close(struct export *);

/* From here on, all may be called from any thread. */
const char *export_name(const struct export *);
uint64_t export_bytes(const struct export *);
/* How much of them is stored. */
uint64_t export_stored_bytes(const struct export *);
/* How many sectors could not be read when the image was made; they read as zeros. */
uint64_t export_lost_sectors(const struct export *);
/* Bytes [at, at + n) of the disk.  ERR_FORMAT: damaged; the errors of the source; behind the
 * end: ERR_USAGE. */
int export_read(struct export *, void *buf, size_t n, uint64_t at, struct err *);
/* Where the run that has this byte of the disk ends, and whether it is stored. */
uint64_t export_run(const struct export *, uint64_t at, bool *stored);

/* The same as a disk, for whoever reads partition tables: the export stays the caller's. */
int export_as_disk(struct disk **, struct export *, struct err *);

#endif /* STREAM_EXPORT_EXPORT_H */
