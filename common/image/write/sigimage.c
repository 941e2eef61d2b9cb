/* sigimage.c: the signature of an image is made by reading it.  imagehash calls this in
 * its first thread, and chain.c to check what a delta belongs to. */
#include "common/image/write/sigimage.h"

#include <stdlib.h>

#include "common/base/cancel.h"
#include "common/image/read/walk.h"
#include "common/image/write/sighash.h"

/* Add sectors that may be in more than one chunk. */
static int
add_sectors(struct sigmaker *m, struct sectors *image, struct range r,
    const uint8_t *data, struct err *e)
{
	uint64_t end;

	while (r.len > 0) {
		uint32_t chunk = sectors_chunk_of(image, r.off, &end);
		struct range now = range_clip(r, r.off, end);
		if (sigmaker_add(m, now, data, chunk, e) != 0)
			return err_ctx(e, "%s", sectors_name(image));
		data += now.len * SECTOR_BYTES;
		r.off += now.len;
		r.len -= now.len;
	}
	return 0;
}

int
sig_of_image(struct sig *s, struct sectors *image, enum sig_hash hash,
    uint32_t block_sectors,
    int (*fix)(void *arg, struct range, void *data, struct err *), void *arg,
    struct err *e)
{
	struct walk w = { .set = sectors_stored(image) };
	struct range r[WINDOW_REGIONS_MAX];
	uint8_t *buf = malloc(FRAGMENT_WINDOW_BYTES);
	struct sigmaker *m;
	unsigned n;

	if (buf == NULL)
		return err_nomem(e, "a window");
	int rc = sigmaker_new(&m, hash, block_sectors, e);
	if (rc != 0) {
		free(buf);
		return -1;
	}
	while (rc == 0 && (n = walk_next(&w, r)) > 0) {
		for (unsigned i = 0; i < n && rc == 0; i++) {
			rc = sectors_read(image, r[i], buf, e);
			if (rc == 0 && fix != NULL)
				rc = fix(arg, r[i], buf, e);
			if (rc == 0)
				rc = add_sectors(m, image, r[i], buf, e);
		}
		if (rc == 0)
			rc = cancel_check(e);
	}
	if (rc == 0)
		rc = sectors_done(image, e);
	if (rc == 0)
		rc = sigmaker_finish(m, s, e);
	sigmaker_free(m);
	free(buf);
	return rc;
}
