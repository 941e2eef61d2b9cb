/* windows.h: the stored sectors of a source, window by window, in order. */
#ifndef IMAGEZIP_CAPTURE_WINDOWS_H
#define IMAGEZIP_CAPTURE_WINDOWS_H

#include <stdbool.h>

#include "common/disk/disk.h"
#include "common/image/read/walk.h"
#include "common/image/read/window.h"
#include "common/layout/layout.h"
#include "imagezip/capture/cache.h"
#include "imagezip/capture/rescue.h"

struct windows {
	struct disk *disk;
	struct layout *layout;
	struct cache cache;
	struct rescue rescue;
	size_t reloc;           /* index of the next one of layout->relocs */
	struct walk walk;       /* of layout->store */
	uint64_t stream_sector; /* of a pipe: the next sector */
	uint64_t stream_end;    /* the first sector that is not read; UINT64_MAX: all are */
	bool ended;
	uint32_t short_bytes; /* bytes of a short last sector; 0: it is whole */
};

/* Sectors of the source that cannot be read, and become zeros, are added to *lost. The
 * disk, the layout and *lost must outlive the windows. */
void windows_init(struct windows *, struct disk *, struct layout *,
    const struct capture_what *, struct rangeset *lost);
/* Nothing more will be read. */
void windows_done(struct windows *);
/* Read any sectors of the image, stored or not, as they would be stored. */
int windows_read(struct windows *, struct range, void *buf, struct err *);
/* Read the data of the next window into buf[FRAGMENT_WINDOW_BYTES], its sectors and
 * relocations into *out. Returns the number of bytes, 0 at the end, or -1. */
ssize_t windows_next(struct windows *, struct window *out, void *buf, struct err *);

#endif /* IMAGEZIP_CAPTURE_WINDOWS_H */
