/* The records of an extension area, behind a checksum that is always right.
 * What is accepted must keep its promises and survive being written again. */
#include "common/image/format/ext.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/base/wr.h"
#include "common/image/codec/deflate.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

/* Sectors 0..299 and 1000..1009: four windows. */
static const struct ndz_header header = { .version = 3,
	.size = 8 + 100 + 30,
	.lastsect = 2000,
	.nregions = 2,
	.regions = { { 0, 300 }, { 1000, 10 } } };
enum { AREA_AT = (NDZ_HEADER_BYTES + 138 + 7) / 8 * 8, MAX_RECORDS = 64 * 1024 };

static void
check(const struct ext *x)
{
	size_t bytes = STREAM_HEAD_BYTES + STREAM_TAIL_BYTES;
	uint64_t windows = 0, sectors = 0;

	for (size_t i = 0; i < x->nfragments; i++) {
		const struct ext_fragment *f = &x->fragments[i];
		bytes += f->bytes;
		windows += f->windows;
		sectors += f->sectors;
		if (f->sectors == 0 ||
		    (!f->zero && f->sectors * SECTOR_BYTES > EXT_FRAGMENT_RAW_MAX))
			abort();
	}
	if ((x->fragments != NULL) != (x->table != EXT_TABLE_NONE))
		abort();
	if (x->fragments != NULL && (bytes != header.size || sectors != 310 ||
					windows != (x->table == EXT_TABLE_WINDOWS ? 4 : 0)))
		abort();
	if (x->samples.n > SAMPLES_MAX || (x->samples.n > 0 && !x->has_samples))
		abort();
	for (size_t i = 0; i < x->samples.n; i++)
		if (x->samples.v[i].sectors.len == 0 ||
		    x->samples.v[i].sectors.len > SAMPLE_SECTORS_MAX)
			abort();
	if (x->shared.n > SAMPLES_SHARED_MAX)
		abort();
	for (size_t i = 0; i < x->shared.n; i++) {
		struct range r = x->shared.v[i].sectors;
		if (r.off >= header.lastsect || range_within(r, header.lastsect))
			abort();
	}
	if (strlen(x->image.tool) >= sizeof x->image.tool ||
	    strlen(x->image.filesystems) >= sizeof x->image.filesystems)
		abort();
	for (size_t i = 0; i < x->tail.n; i++)
		if (!range_within(x->tail.pieces[i].sectors, x->tail.disk_sectors))
			abort();
	for (size_t i = 0; x->reach != NULL && i < x->reach->n; i++) {
		const struct reach_part *p = &x->reach->parts[i];
		if (p->sectors.len == 0 || p->fs_sectors > p->sectors.len ||
		    !range_within(p->sectors, UINT64_MAX / SECTOR_BYTES) ||
		    strlen(p->fs) > REACH_NAME_BYTES)
			abort();
	}
	if (tail_rest_end(&x->tail, header.regions, header.nregions) > header.lastsect)
		abort();
}

static void
write_again(const struct ext *x, uint8_t *chunk)
{
	struct ext back;
	struct err e;

	memset(chunk + AREA_AT, 0, NDZ_CHUNK_BYTES - AREA_AT);
	if (ext_put(x, &header, chunk, &e) != 0 ||
	    ext_get(&back, &header, chunk, &e) != 0)
		abort();
	if (back.nfragments != x->nfragments || back.table != x->table ||
	    (x->nfragments > 0 && memcmp(back.fragments, x->fragments,
				      x->nfragments * sizeof *x->fragments) != 0) ||
	    back.last != x->last ||
	    back.nfreed != x->nfreed || back.has_state != x->has_state ||
	    ext_is_delta(&back) != ext_is_delta(x) || back.has_uuid != x->has_uuid ||
	    back.has_digest != x->has_digest ||
	    back.has_header_digest != x->has_header_digest ||
	    back.image.flags != x->image.flags ||
	    back.has_samples != x->has_samples || back.samples.n != x->samples.n ||
	    back.shared.n != x->shared.n ||
	    !tail_same(&back.tail, &x->tail) || !reach_same(back.reach, x->reach) ||
	    strcmp(back.image.tool, x->image.tool) != 0)
		abort();
	ext_free(&back);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static uint8_t chunk[NDZ_CHUNK_BYTES];
	struct wr w = wr_to(chunk + AREA_AT, NDZ_CHUNK_BYTES - AREA_AT);
	struct ext x;
	struct err e;

	len = len < MAX_RECORDS ? len : MAX_RECORDS;
	memset(chunk + AREA_AT, 0, NDZ_CHUNK_BYTES - AREA_AT);
	wr_bytes(&w, "NDZ-EXT1", 8);
	wr_le32(&w, (uint32_t)(16 + len));
	wr_le32(&w, (uint32_t)crc32_z(0, data, len));
	wr_bytes(&w, data, len);
	if (ext_get(&x, &header, chunk, &e) != 0)
		return 0;
	check(&x);
	write_again(&x, chunk);
	ext_free(&x);
	return 0;
}
