/* A disklabel, or a piece of LILO, to be relocated, at the place that the first bytes
 * say; and a label made relative. */
#include "common/base/rd.h"
#include "common/image/format/reloc.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct rd rd = rd_from(data, len);
	struct ndz_reloc r = { .type = rd_u8(&rd) % 10 };
	struct range slice = { rd_le32(&rd), rd_le32(&rd) };
	struct err e;

	r.size = rd_le16(&rd);
	size_t n = rd_left(&rd);
	uint8_t *copy = malloc(n + 1);
	if (copy == NULL)
		abort();
	rd_copy(&rd, copy, n);
	if (reloc_known(&r) && n >= reloc_bytes(&r))
		reloc_apply(&r, slice, copy, n, &e);
	if (n >= SECTOR_BYTES)
		reloc_label_relative(
		    copy, r.type % 2 + NDZ_RELOC_FREEBSD_LABEL, slice, &e);
	if (n >= SECTOR_BYTES)
		reloc_label_follow(copy, r.type % 2 + NDZ_RELOC_FREEBSD_LABEL, slice,
		    (struct range){ slice.len, slice.off }, &e);
	free(copy);
	return 0;
}
