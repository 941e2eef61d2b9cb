/* kind.c: what files of this suite begin with.
 *
 * Programs call this in their first thread, before they replace a file or read a source.
 */
#include "common/image/format/kind.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/image/format/format.h"
#include "common/image/format/sig.h"

const struct output_kind kind_image = {
	.name = "an ndz image", .head_bytes = 4, .begins = ndz_looks_like_image
};

const struct output_kind kind_signature = { .name = "a signature",
	.head_bytes = SIG_MAGIC_BYTES,
	.begins = sig_begins };

static bool
is_header(const uint8_t *bytes)
{
	struct ndz_header *h = malloc(sizeof *h);
	struct err e;

	if (h == NULL)
		return true; /* the magic at least is that of an image */
	bool is = ndz_header_get(h, bytes, NDZ_HEADER_BYTES, &e) == 0 ||
	          e.kind == ERR_UNSUPPORTED;
	free(h);
	return is;
}

int
kind_is_image(struct disk *d, struct err *e)
{
	uint8_t bytes[NDZ_HEADER_BYTES];

	if (!disk_seekable(d))
		return 0;
	ssize_t n = disk_read_upto(d, bytes, sizeof bytes, 0, e);
	if (n < 0)
		return -1;
	return n == sizeof bytes && ndz_looks_like_image(bytes) && is_header(bytes);
}

void
kind_note_swapped(const char *other, const char *what, struct err *e)
{
	struct err ignored;
	struct stat st;
	struct disk *d;

	if (e->kind != ERR_FORMAT || stat(other, &st) != 0 || !S_ISREG(st.st_mode) ||
	    disk_open(&d, other, DISK_READ, &ignored) != 0)
		return;
	if (kind_is_image(d, &ignored) == 1)
		err_add(e, "%s is an image: the image comes first, and the %s behind it", other,
		    what);
	disk_close(d, &ignored);
}
