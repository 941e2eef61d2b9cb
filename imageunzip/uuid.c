/* uuid.c: checks that an image has the UUID that the user named (--uuid). main.c calls
 * this in the first thread, before the target is opened. */
#include "imageunzip/uuid.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/number.h"
#include "common/base/zero.h"
#include "common/image/format/format.h"
#include "common/image/read/chunk.h"

/* Read the UUID of the extension area, where there is one; zeros: the image has none. */
static int
read_uuid(struct image *img, uint8_t uuid[NDZ_UUID_BYTES], struct err *e)
{
	void *buf = malloc(NDZ_CHUNK_BYTES);
	struct ndz_header h;
	struct chunk c;
	struct err later;
	int rc = buf != NULL ? image_header(img, 0, &h, e) : err_nomem(e, "a chunk");

	if (rc == 0)
		rc = image_read(img, 0, buf, e);
	if (rc == 0) {
		memcpy(uuid, h.uuid, NDZ_UUID_BYTES);
		if (chunk_parse(&c, buf, &later) == 0) {
			if (c.ext.has_uuid)
				memcpy(uuid, c.ext.uuid, NDZ_UUID_BYTES);
			chunk_free(&c);
		}
	}
	free(buf);
	return rc;
}

/* Check -u, which is possible only if the first header can be read before anything is
 * written. */
int
uuid_check(const struct run *r, struct err *e)
{
	uint8_t want[NDZ_UUID_BYTES];
	uint8_t is[NDZ_UUID_BYTES];

	if (r->o->uuid == NULL)
		return 0;
	if (number_uuid(r->o->uuid, want, e) != 0)
		return err_ctx(e, "-u");
	if (!image_seekable(r->image))
		return err_set(e, ERR_USAGE, "-u needs an image that is a file");
	if (read_uuid(r->image, is, e) != 0)
		return -1;
	if (is_zero(is, sizeof is))
		return err_set(e, ERR_FORMAT, "%s: has no UUID that -u could compare",
		    image_name(r->image));
	if (memcmp(want, is, sizeof want) != 0)
		return err_set(
		    e, ERR_FORMAT, "%s: has another UUID", image_name(r->image));
	return 0;
}
