/* kept.c: takes over records of the base's signature for blocks that have not changed.  delta.c
 * calls this in the first thread. */
#include "imagezip/capture/kept.h"

#include <string.h>

#include "common/image/write/sighash.h"

struct finder {
	const struct sig *base;
	const struct layout *layout;
	const struct rangeset *changed;
	uint32_t zeros_count; /* sectors that `zeros` is the hash of; 0: none yet */
	uint8_t zeros[SIG_HASH_MAX];
};

/* Would the new signature have a record of exactly these sectors? */
static bool
is_run(const struct finder *f, struct range r)
{
	const struct rangeset *store = &f->layout->store;
	uint64_t block = f->base->block_sectors, end = range_end(r);

	return rangeset_total_in(store, r) == r.len &&
	       (r.off % block == 0 || !rangeset_contains(store, r.off - 1)) &&
	       (end % block == 0 || !rangeset_contains(store, end));
}

static int
read_zeros(void *arg, struct range r, void *buf, struct err *e)
{
	(void)arg, (void)e;
	memset(buf, 0, (size_t)r.len * SECTOR_BYTES);
	return 0;
}

/* Does the record have the hash of zeros?  The base may have stored zeros in place of other
 * data of the disk.  Returns 1, 0, or -1. */
static int
is_zeros(struct finder *f, const struct sig_record *r, struct err *e)
{
	if (f->zeros_count != r->count) {
		struct range n = { 0, r->count };
		if (sig_hash_range(f->base->hash, n, read_zeros, NULL, f->zeros, e) != 0)
			return -1;
		f->zeros_count = r->count;
	}
	return memcmp(f->zeros, r->hash, sig_hash_bytes(f->base->hash)) == 0;
}

int
kept_find(struct sig *kept, const struct sig *base, const struct layout *l,
    const struct rangeset *changed, struct err *e)
{
	struct finder f = { .base = base, .layout = l, .changed = changed };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < base->n; i++) {
		struct sig_record r = base->records[i];
		struct range sectors = { r.start, r.count };
		if (!is_run(&f, sectors) || rangeset_touches(changed, sectors) ||
		    rangeset_touches(&l->zero, sectors))
			continue;
		int zeros = is_zeros(&f, &r, e);
		r.chunk = 0;
		r.continues = false;
		rc = zeros < 0 ? -1 : zeros == 0 ? sig_add(kept, &r, e) : 0;
	}
	return rc;
}

int
kept_merge(struct sig *to, struct sig *from, struct err *e)
{
	struct sig both = *to;
	size_t i = 0, k = 0;
	int rc = 0;

	both.records = NULL;
	both.n = both.cap = 0;
	while (rc == 0 && (i < to->n || k < from->n)) {
		bool first = k == from->n ||
		             (i < to->n && to->records[i].start < from->records[k].start);
		rc = sig_add(&both, first ? &to->records[i++] : &from->records[k++], e);
	}
	sig_free(to);
	sig_free(from);
	*to = both;
	return rc;
}
