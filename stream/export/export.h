/* export.h: a disk that is read at any byte, by several threads, and which of its bytes are
 * stored: the disk that an image was made of, or that an image and its deltas describe; or
 * a disk that is no image.
 *
 * What an image does not store was free when the image was made, and reads as zeros.  Every
 * fragment is checked before a byte of it is given out (random.h).  Data of a disk that is no
 * image is not checked.
 */
#ifndef STREAM_EXPORT_EXPORT_H
#define STREAM_EXPORT_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/disk.h"
#include "common/disk/rangeset.h"
#include "common/image/format/ext_reach.h"
#include "common/image/format/ext_tail.h"
#include "common/image/format/opener.h"
#include "common/image/read/source.h"

enum {
	EXPORT_CACHE_BYTES = 64 << 20,    /* decoded data, by default */
	EXPORT_CACHE_BYTES_MIN = 1 << 20, /* a chunk that is being decoded */
	EXPORT_ID_BYTES = 32,
};

struct export;

struct export_config {
	uint64_t cache_bytes; /* for decoded data; 0: EXPORT_CACHE_BYTES */
	/* Size of the disk; 0: the size that the image states, or else up to the last sector
	 * that the image describes. */
	uint64_t size_bytes;
	struct opener *opener; /* borrowed; NULL: neither signature nor key is required */
	/* Called with a sentence about a delta that does not name its base, which is used
	 * nevertheless; NULL: such a delta is refused. */
	void (*warn)(const char *sentence);
};

/* Open images as one disk.  images[0] is an image, and each of the others is a delta of the
 * images before it.  Every header is read and checked, and with an opener all of the images.  The
 * sources are taken over, also on failure.  ERR_FORMAT: an image is damaged, or stores more than
 * its disk has; ERR_USAGE: size_bytes is too small; ERR_REFUSED: what chain_check() says
 * (chain.h), such as a delta without its base; ERR_UNSUPPORTED: what sectors.h says. */
int export_open(struct export **, struct source images[], size_t n,
    const struct export_config *, struct err *);
/* Open a disk that is no image.  `stored` are the sectors that are not in holes, sealed; holes
 * are not read.  Disk and set are taken over, also on failure.  ERR_USAGE: size_bytes or an opener
 * is given, neither of which such a disk can have. */
int export_open_disk(struct export **, struct disk *, struct rangeset *stored,
    const struct export_config *, struct err *);
/* Where a source is a running session, begin to fetch the headers and fragment tables of all
 * chunks in the background, as many as fit into half of the cache: a read then waits for its data
 * alone.  Whoever reads comes first.  learnt(), which may be NULL, is called once at the end, in a
 * thread of its own, with the number of chunks and how long it took.  Other sources are left
 * alone.  Threads end with export_close().  ERR_NOMEM, and errors of the source. */
typedef void export_learnt_fn(const char *name, uint64_t chunks, uint64_t took_us);
int export_learn(struct export *, export_learnt_fn *learnt, struct err *);
/* From now on a read that fails is tried again as *patience says, which is borrowed, until NULL is
 * given.  For the thread that opens what is on the export, while no other one reads. */
struct patience;
void export_be_patient(struct export *, struct patience *);
/* Close the export, when no thread reads it any more.  NULL is allowed. */
void export_close(struct export *);

/* The functions from here on may be called in any thread. */
const char *export_name(const struct export *);
/* The size of the disk in bytes. */
uint64_t export_bytes(const struct export *);
/* The sectors of the disk.  The last one may have fewer bytes, as that of a file. */
uint64_t export_sectors(const struct export *);
/* How many bytes of the disk are stored. */
uint64_t export_stored_bytes(const struct export *);
/* How many sectors could not be read when the image was made; these read as zeros. */
uint64_t export_lost_sectors(const struct export *);
/* The sectors that are stored, sealed; valid until export_close(). */
const struct rangeset *export_stored(const struct export *);
/* The tail of the image; n is 0 when it has none. */
const struct tail *export_tail(const struct export *);
/* Take out of the set what belongs to a disk of exactly the image's size alone.  ERR_NOMEM. */
int export_drop_tail(const struct export *, struct rangeset *stored, struct err *);
/* Add to the open set `stored` the sectors that are stored for a disk of this size: some may belong
 * to a disk of exactly the image's size alone, such as a RAID's superblock at its end (ext_tail.h).
 * The set is sealed then.  ERR_NOMEM. */
int export_stored_on(
    const struct export *, uint64_t disk_bytes, struct rangeset *stored, struct err *);
/* A digest that is the same whenever the same images are opened, and another one for other
 * images: of what they say of themselves, and of which sectors they store; for old images and
 * disks that say nothing of themselves, also of the first data that they store.  Errors of
 * reading. */
int export_identity(struct export *, uint8_t id[EXPORT_ID_BYTES], struct err *);
/* How far the partitions and filesystems of the disk reach; NULL: the images do not say
 * it.  Valid until export_close(). */
const struct reach *export_reach(const struct export *);
/* Is it a disk, with a partition table, or does it not say what it is? */
bool export_is_disk(const struct export *);
/* Is the topmost image one of another program, which says nothing of itself? */
bool export_is_foreign(const struct export *);
/* Read bytes [at, at + n) of the disk.  ERR_USAGE: they are not all on the disk; ERR_FORMAT:
 * the image is damaged; errors of the source. */
int export_read(struct export *, void *buf, size_t n, uint64_t at, struct err *);
/* Returns the byte at which the run ends that holds byte `at` of the disk; *stored: whether the
 * run is stored. */
uint64_t export_run(const struct export *, uint64_t at, bool *stored);

/* The export as a disk, for readers of partition tables.  The caller closes the disk, and keeps
 * the export open until then. */
int export_as_disk(struct disk **, struct export *, struct err *);

#endif /* STREAM_EXPORT_EXPORT_H */
