/* capture.h: captures a source: windows.h reads the stored sectors,
 * common/image/write/maker.h makes the image. */
#ifndef IMAGEZIP_CAPTURE_CAPTURE_H
#define IMAGEZIP_CAPTURE_CAPTURE_H

#include "common/disk/disk.h"
#include "common/disk/output.h"
#include "common/disk/rangeset.h"
#include "common/image/format/sig.h"
#include "common/image/write/maker.h"
#include "common/layout/layout.h"
#include "common/layout/what.h"
#include "imagezip/capture/delta.h"

/* Callbacks during a capture, in the thread that captures; each may be NULL. */
struct capture_watch {
	void (*progress)(void *arg, uint64_t data_bytes); /* data_bytes are packed */
	void (*chunk)(void *arg);                         /* one more chunk is written */
	void *arg;
};

/* Where chunks go: to an open output, or one after the other to take(), which is called
 * in the thread that captures; its -1 ends the capture. */
struct capture_to {
	struct output *output; /* NULL: to take() */
	int (*take)(void *taker, const void *chunk, struct err *);
	void *taker;
	int level; /* of deflate, where the user wants none; 0: the usual one */
	/* finds data that was compressed before; NULL: nothing */
	const struct precompressed *known;
};

struct capture_stats {
	struct maker_totals made;
	uint64_t total_sectors;
	struct rangeset lost; /* source sectors that -X made zeros; owned */
	struct sig sig;       /* of what was stored, with -U or -H; owned */
};

/* Capture the source. Returns 0 when the image is complete; sectors that could not be
 * read and were made zeros are in stats->lost. Members of *stats are the caller's to
 * free, also on failure. */
int capture_run(struct disk *, struct layout *, const struct capture_what *, struct delta *,
    const struct capture_to *, const struct capture_watch *, struct capture_stats *,
    struct err *);

#endif /* IMAGEZIP_CAPTURE_CAPTURE_H */
