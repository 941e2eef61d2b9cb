/* An order of reads: any bytes.  One that is read is within its limits, and is written
 * as it was. */
#include <assert.h>
#include <string.h>

#include "common/base/crc32c.h"
#include "common/base/wr.h"
#include "common/image/format/order.h"
#include "stream/record/merge.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

enum { FILE_BYTES = 1 << 14, CHECKED_FROM = 16 };

/* With a right checksum, what is behind it is looked at. */
static void
mend(uint8_t *file, size_t len)
{
	if (len < CHECKED_FROM)
		return;
	struct wr w = wr_to(file + 12, 4);
	wr_le32(&w, crc32c(file + CHECKED_FROM, len - CHECKED_FROM));
}

static void
use(const struct order *o, const uint8_t *file, size_t len)
{
	const char *name = "it";
	struct buf b = { 0 };
	struct order merged;
	struct err e;

	assert(o->n <= ORDER_RUNS_MAX && o->sectors <= ORDER_SECTORS_MAX &&
	       o->machines > 0);
	order_put(o, &b);
	assert(buf_ok(&b) && b.len == len && memcmp(b.base, file, len) == 0);
	buf_free(&b);
	if (merge_records(&merged, o, &name, 1, &e) != 0) {
		assert(e.kind == ERR_USAGE && o->machines != 1);
		return;
	}
	for (size_t i = 0; i < merged.n; i++)
		assert(merged.runs[i].first_sector + merged.runs[i].sectors <=
		       o->disk_sectors);
	order_free(&merged);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static uint8_t file[FILE_BYTES];
	struct order o;
	struct err e;

	len = len < sizeof file ? len : sizeof file;
	if (len > 0)
		memcpy(file, data, len);
	mend(file, len);
	if (order_get(&o, file, len, "it", &e) != 0) {
		assert(e.kind == ERR_FORMAT && o.runs == NULL);
		return 0;
	}
	use(&o, file, len);
	order_free(&o);
	return 0;
}
