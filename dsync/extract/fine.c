/* fine.c: what has changed inside of a tracker's blocks.  extract.c calls this, in one thread. */
#include "dsync/extract/fine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/cancel.h"
#include "common/base/replace.h"
#include "common/base/zero.h"
#include "dsync/read/parallel_read.h"

enum {
	BLOCK = HASHES_BLOCK_MIN,
	READS_MAX = 256,        /* pieces that are read together */
	RANGES_MAX = 1 << 22,   /* of what differs, in 64 MiB; behind these, blocks are sent whole */
	SAMPLES = READS_MAX,    /* pages of a sample */
	SAMPLED_BYTES = 4 << 20, /* of what is named: with less, a sample would cost more than it tells */
	PIECE_DIGESTS = HASHES_PIECE_BLOCKS * SHA256_BYTES,
};

static const char digests[] = "digests";

/* --- the digests of the base --- */

/* Carry over the digests that are known in the journal, from byte `off` of the device on. */
static int
carry_piece(struct hashes *to, struct hashes *journal, uint64_t off, size_t n, struct err *e)
{
	uint8_t old[PIECE_DIGESTS], new[PIECE_DIGESTS];

	if (hashes_get(journal, off, n, new, e) != 0)
		return -1;
	if (is_zero(new, n * SHA256_BYTES))
		return 0;
	if (hashes_get(to, off, n, old, e) != 0)
		return -1;
	for (size_t i = 0; i < n * SHA256_BYTES; i += SHA256_BYTES)
		if (!is_zero(new + i, SHA256_BYTES))
			memcpy(old + i, new + i, SHA256_BYTES);
	return hashes_put(to, off, n, old, e);
}

/* The byte of the device whose block has its digest at byte `at` of the file. */
static uint64_t
block_at(uint64_t at)
{
	return at <= HASHES_HEAD_BYTES ? 0 : (at - HASHES_HEAD_BYTES) / SHA256_BYTES * BLOCK;
}

/* Carry over all of the journal that is no hole. */
static int
carry_all(struct hashes *to, struct hashes *journal, struct err *e)
{
	uint64_t size = journal->device_bytes, at = 0, data, hole;
	int rc = 0;

	while (rc == 0 && block_at(at) < size) {
		data = at, hole = disk_size_bytes(journal->file);
		disk_holes(journal->file, at, &data, &hole);
		uint64_t off = block_at(data), end = block_at(hole + SHA256_BYTES);
		if (end > size)
			end = size;
		for (; rc == 0 && off < end; off += HASHES_PIECE_BYTES) {
			uint64_t bytes = end - off < HASHES_PIECE_BYTES ? end - off : HASHES_PIECE_BYTES;
			rc = carry_piece(to, journal, off, (size_t)((bytes + BLOCK - 1) / BLOCK), e);
		}
		if (rc == 0)
			rc = cancel_check(e);
		at = hole;
	}
	return rc;
}

/* Make of the digests of the state before those of the base.  Their head says so while this is done,
 * so that it is done again after a crash. */
static int
carry_over(struct fine *f, struct hashes *journal, const struct stream_id *base, struct err *e)
{
	struct hashes *to = &f->of_base;

	if (hashes_say(to, &to->id, base, e) != 0 || carry_all(to, journal, e) != 0 ||
	    hashes_say(to, base, NULL, e) != 0)
		return -1;
	hashes_drop(f->state_path, base);
	return 0;
}

/* The journal, which stands alone, becomes the file of the digests. */
static int
rename_journal(const struct fine *f, const struct hashes *journal, struct err *e)
{
	char *path = NULL;

	if (asprintf(&path, "%s.%s", f->state_path, digests) < 0)
		return err_nomem(e, "a name");
	int rc = replace_name(disk_name(journal->file), path, 0, e);
	free(path);
	return rc;
}

static int
open_digests(struct fine *f, uint64_t device_bytes, struct err *e)
{
	return hashes_open(&f->of_base, f->state_path, digests, true, BLOCK, device_bytes, e);
}

/* Whether digests in which nothing is under way are those of the state. */
static bool
are_of(const struct hashes *h, const struct stream_id *id)
{
	return h->file != NULL && stream_id_same(&h->id, id) && !stream_id_set(&h->other);
}

/* Bring the digests up to date with the journal of the base.  Those that are of no use are closed. */
static int
bring(struct fine *f, struct hashes *journal, const struct stream_id *base, struct err *e)
{
	struct hashes *h = &f->of_base;
	bool follows = h->file != NULL && stream_id_same(&h->id, &journal->other) &&
	               (!stream_id_set(&h->other) || stream_id_same(&h->other, base));

	if (!stream_id_same(&journal->id, base))
		return 0;
	if (stream_id_set(&journal->other))
		return follows ? carry_over(f, journal, base, e) : 0;
	hashes_close(h);
	return rename_journal(f, journal, e) == 0 ? open_digests(f, journal->device_bytes, e) : -1;
}

/* Open the digests of the base.  Files that are missing or damaged are none. */
static int
open_base(struct fine *f, uint64_t device_bytes, const struct stream_id *base, struct err *e)
{
	char id[STREAM_ID_TEXT];
	struct hashes journal;
	struct err why;

	if (open_digests(f, device_bytes, &why) != 0 && why.kind == ERR_NOMEM) {
		*e = why;
		return -1;
	}
	if (hashes_open(&journal, f->state_path, stream_id_text(base, id), false, BLOCK,
		device_bytes, &why) == 0) {
		int rc = bring(f, &journal, base, e);
		hashes_close(&journal);
		if (rc != 0)
			return -1;
	}
	if (!are_of(&f->of_base, base))
		hashes_close(&f->of_base);
	return 0;
}

int
fine_begin(struct fine *f, const char *state_path, uint64_t device_bytes,
    const struct stream_id *base, struct err *e)
{
	memset(f, 0, sizeof *f);
	f->state_path = state_path;
	if ((base == NULL || open_base(f, device_bytes, base, e) == 0) &&
	    hashes_make(&f->next, state_path, BLOCK, device_bytes, e) == 0)
		return 0;
	fine_end(f);
	return -1;
}

void
fine_end(struct fine *f)
{
	hashes_close(&f->of_base);
	hashes_close(&f->next);
}

int
fine_keep(struct fine *f, const struct stream_id *id, bool full, struct err *e)
{
	bool alone = full || f->of_base.file == NULL;

	return hashes_keep(&f->next, f->state_path, id, alone ? NULL : &f->of_base.id, e);
}

/* --- what has changed --- */

/* Gathers pieces that are read together, and what of them differs. */
struct narrow {
	struct fine *f;
	struct parallel_read *reads;
	struct range pieces[READS_MAX];
	size_t n, bytes;
	struct rangeset differs;
};

/* Add the blocks of a piece that differ. */
static int
compare_piece(struct narrow *w, struct range piece, const uint8_t *data, struct err *e)
{
	struct hashes *base = &w->f->of_base;
	uint8_t now[PIECE_DIGESTS], was[PIECE_DIGESTS];
	size_t n = hashes_of(base, data, (size_t)piece.len, now);
	int rc = hashes_get(base, piece.off, n, was, e);

	for (size_t i = 0; rc == 0 && i < n; i++)
		if (memcmp(now + i * SHA256_BYTES, was + i * SHA256_BYTES, SHA256_BYTES) != 0)
			rc = rangeset_add(&w->differs,
			    range_clip((struct range){ piece.off + i * BLOCK, BLOCK }, 0,
				base->device_bytes),
			    e);
	return rc;
}

static int
compare_all(struct narrow *w, struct err *e)
{
	uint8_t *data[READS_MAX];
	int rc = cancel_check(e);

	if (rc == 0 && w->n > 0)
		rc = parallel_read_get(w->reads, w->pieces, w->n, data, e);
	for (size_t i = 0; rc == 0 && i < w->n; i++)
		rc = compare_piece(w, w->pieces[i], data[i], e);
	w->n = w->bytes = 0;
	return rc;
}

static int
add_piece(struct narrow *w, struct range piece, struct err *e)
{
	if (w->differs.n >= RANGES_MAX)
		return rangeset_add(&w->differs, piece, e);
	if ((w->n == READS_MAX || w->bytes + piece.len > HASHES_PIECE_BYTES) &&
	    compare_all(w, e) != 0)
		return -1;
	w->pieces[w->n++] = piece;
	w->bytes += (size_t)piece.len;
	return 0;
}

static int
narrow_all(struct narrow *w, const struct rangeset *changed, struct err *e)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < rangeset_count(changed); i++) {
		struct range r = rangeset_get(changed, i), piece;
		for (; rc == 0 && r.len > 0; r.off += piece.len, r.len -= piece.len) {
			piece = (struct range){ r.off,
				r.len < HASHES_PIECE_BYTES ? r.len : HASHES_PIECE_BYTES };
			rc = add_piece(w, piece, e);
		}
	}
	return rc == 0 ? compare_all(w, e) : rc;
}

/* Gather pages that are spread over what is named: in each of as many equal parts one, at a place in
 * the part that differs from part to part, because a place in the tracker's blocks may be special. */
static int
gather_sample(struct narrow *w, const struct rangeset *changed, struct err *e)
{
	uint64_t part = rangeset_total(changed) / SAMPLES, before = 0;
	int rc = 0;
	size_t i = 0;

	for (uint64_t k = 0; rc == 0 && k < SAMPLES; k++) {
		uint64_t at = k * part + k * 2654435761u % part;
		for (; at - before >= rangeset_get(changed, i).len; i++)
			before += rangeset_get(changed, i).len;
		uint64_t page = (rangeset_get(changed, i).off + at - before) / BLOCK * BLOCK;
		struct range r = { page, BLOCK };
		rc = add_piece(w, range_clip(r, 0, w->f->of_base.device_bytes), e);
	}
	return rc == 0 ? compare_all(w, e) : rc;
}

/* Whether it is cheaper to compare than to send all that is named, by a sample.  A byte that is sent
 * is written twice and read back on the side of the target, if it is sent nowhere but to another disk
 * of this machine: that is at least three times what it costs to read it once more here.  So it is
 * cheaper if at most three of four pages differ. */
static int
find_cheaper(struct narrow *w, const struct rangeset *changed, bool *cheaper, struct err *e)
{
	*cheaper = true;
	if (rangeset_total(changed) < SAMPLED_BYTES)
		return 0;
	if (gather_sample(w, changed, e) != 0)
		return -1;
	rangeset_seal(&w->differs);
	*cheaper = rangeset_total(&w->differs) <= (uint64_t)SAMPLES * BLOCK / 4 * 3;
	rangeset_free(&w->differs);
	rangeset_init(&w->differs);
	return 0;
}

int
fine_narrow(struct fine *f, struct disk *from, bool always, struct rangeset *changed,
    struct err *e)
{
	bool cheaper = true;
	struct narrow w = { .f = f };
	struct uncached *uncached;

	if (f->of_base.file == NULL)
		return 0;
	if (uncached_new(&uncached, from, e) != 0)
		return -1;
	rangeset_init(&w.differs);
	int rc = parallel_read_new(&w.reads, uncached, READS_MAX, HASHES_PIECE_BYTES, e);
	if (rc == 0 && !always)
		rc = find_cheaper(&w, changed, &cheaper, e);
	if (rc == 0 && cheaper)
		rc = narrow_all(&w, changed, e);
	rangeset_seal(&w.differs);
	parallel_read_free(w.reads);
	uncached_free(uncached);
	if (rc == 0 && cheaper) {
		rangeset_free(changed);
		*changed = w.differs;
		return 1;
	}
	rangeset_free(&w.differs);
	return rc;
}

uint64_t
fine_bytes(uint64_t device_bytes)
{
	return (device_bytes + BLOCK - 1) / BLOCK * SHA256_BYTES;
}
