/* estimate.c: estimates the size of an image from samples of the source. main.c calls
 * this in the first thread, instead of a capture. */
#include "imagezip/capture/estimate.h"

#include "common/image/write/compress.h"
#include "common/image/write/packer.h"

enum { SAMPLES = 64, OVERHEAD_PERCENT = 1 };

struct sampler {
	struct disk *disk;
	uint64_t base;
	struct compressor z;
	uint8_t in[FRAGMENT_WINDOW_BYTES], out[FRAGMENT_WINDOW_BYTES + WINDOW_SLACK_BYTES];
};

/* Compress up to a window of the set from its n-th sector on, and add to *in and *out. A
 * sample that cannot be read is left out. */
static void
sample(struct sampler *s, const struct rangeset *set, uint64_t n, uint64_t *in,
    uint64_t *out)
{
	struct err ignored;
	size_t i = 0;

	for (; n >= rangeset_get(set, i).len; i++)
		n -= rangeset_get(set, i).len;
	struct range r = rangeset_get(set, i);
	uint64_t len = r.len - n < WINDOW_SECTORS ? r.len - n : WINDOW_SECTORS;
	size_t bytes = len * SECTOR_BYTES;
	if (disk_read(s->disk, s->in, bytes, (s->base + r.off + n) * SECTOR_BYTES,
		&ignored) != 0)
		return;
	*in += bytes;
	*out += s->z.codec->window(
	    s->z.encoder, bytes, s->in, bytes, s->out, sizeof s->out);
}

static uint64_t
estimate_set(struct sampler *s, const struct rangeset *set)
{
	uint64_t total = rangeset_total(set), in = 0, out = 0,
		 step = total / SAMPLES + 1;

	for (uint64_t n = 0; n < total; n += step)
		sample(s, set, n, &in, &out);
	if (in == 0)
		return total * SECTOR_BYTES;
	return (uint64_t)((double)total * SECTOR_BYTES * (double)out / (double)in *
			  (100 + OVERHEAD_PERCENT) / 100);
}

/* Find the stored sectors in [lo, hi), without those that are stored as zeros. */
static int
stored_in(
    const struct layout *l, uint64_t lo, uint64_t hi, struct rangeset *out,
    struct err *e)
{
	rangeset_init(out);
	for (size_t i = rangeset_find(&l->store, lo); i < rangeset_count(&l->store);
	     i++) {
		struct range r = range_clip(rangeset_get(&l->store, i), lo, hi);
		if (r.len == 0)
			break;
		if (rangeset_add(out, r, e) != 0)
			return -1;
	}
	return rangeset_minus(out, &l->zero, e);
}

/* Add a part to the sum, without what it shares with others that were added (not in
 * *rest). */
static int
add_part(struct sampler *s, struct layout *l, const struct layout_part *p,
    struct rangeset *in, struct rangeset *rest, struct err *e)
{
	uint64_t all = rangeset_total(in);

	if (rangeset_intersect(in, rest, e) != 0)
		return -1;
	bool shares = rangeset_total(in) != all;
	l->image_bytes += shares ? estimate_set(s, in) : p->image_bytes;
	return rangeset_minus(rest, in, e);
}

static int
estimate_parts(
    struct sampler *s, struct layout *l, struct rangeset *rest, struct err *e)
{
	for (unsigned i = 0; i < l->nparts; i++) {
		struct layout_part *p = &l->parts[i];
		struct rangeset in;
		uint64_t lo = p->sectors.off - l->base, hi = lo + p->sectors.len;
		int rc = stored_in(l, lo, hi, &in, e);
		if (rc == 0) {
			p->image_bytes = estimate_set(s, &in);
			rc = add_part(s, l, p, &in, rest, e);
		}
		rangeset_free(&in);
		if (rc != 0)
			return -1;
	}
	l->image_bytes += estimate_set(s, rest);
	return 0;
}

int
estimate_layout(struct layout *l, struct disk *d, const struct capture_what *o, struct err *e)
{
	static struct sampler s;
	struct rangeset rest;

	if (!disk_seekable(d))
		return err_set(e, ERR_USAGE,
		    "%s: -i needs a source that can be read twice", disk_name(d));
	s.disk = d;
	s.base = l->base;
	l->image_bytes = 0;
	if (compressor_init(&s.z, &o->how.codec, e) != 0)
		return -1;
	int rc = stored_in(l, 0, l->total, &rest, e);
	if (rc == 0)
		rc = estimate_parts(&s, l, &rest, e);
	rangeset_free(&rest);
	compressor_free(&s.z);
	l->image_bytes = (l->image_bytes / NDZ_CHUNK_BYTES + 1) * NDZ_CHUNK_BYTES;
	return rc;
}
