/* Any stream of changed blocks: refused, or records that ascend within the device, and as many
 * as its end says. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "dsync/stream/stream.h"
#include "tests/unit/memdisk.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static void
read_records(struct stream_in *in)
{
	uint64_t past = 0, records = 0, sum = 0;
	struct stream_record r;
	struct err e;
	int rc;

	while ((rc = stream_in_next(in, &r, &e)) == 1) {
		assert(r.bytes.len > 0 && r.bytes.off >= past);
		assert(range_within(r.bytes, stream_in_head(in)->device_bytes));
		past = range_end(r.bytes);
		records++;
		if (r.type == STREAM_DATA)
			for (size_t i = 0; i < r.bytes.len; i += 512)
				sum += ((const uint8_t *)r.data)[i];
	}
	if (rc == 0) {
		const struct stream_totals *t = &stream_in_end(in)->totals;
		assert(t->data_records + t->zero_records == records && sum != UINT64_MAX);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct mem m = mem_of((uint8_t *)(uintptr_t)data, len);
	struct disk *d = mem_open(&m, "fuzz", DISK_FILE);
	struct stream_in *in;
	struct err e;

	if (stream_in_open(&in, d, 0, UINT64_MAX, &e) == 0)
		read_records(in);
	stream_in_close(in);
	disk_close(d, &e);
	return 0;
}
