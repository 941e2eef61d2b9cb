/* Any stream of changed blocks: refused, or records that ascend within the device, and as many
 * as its end says. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "dsync/stream/stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

struct bytes {
	const uint8_t *base;
	size_t len;
};

static ssize_t
read_bytes(void *ctx, void *buf, size_t len, uint64_t off)
{
	const struct bytes *b = ctx;

	if (off >= b->len)
		return 0;
	if (len > b->len - off)
		len = b->len - (size_t)off;
	memcpy(buf, b->base + off, len);
	return (ssize_t)len;
}

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
	static const struct disk_ops ops = { .pread = read_bytes };
	struct bytes b = { data, len };
	struct stream_in *in;
	struct disk *d;
	struct err e;

	if (disk_open_ops(&d, "fuzz", DISK_FILE, len, &ops, &b, &e) != 0)
		return 0;
	if (stream_in_open(&in, d, 0, UINT64_MAX, &e) == 0)
		read_records(in);
	stream_in_close(in);
	disk_close(d, &e);
	return 0;
}
