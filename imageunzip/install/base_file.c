/* base_file.c: a delta knows of its base what it replaces, and no more.  With the base's
 * image or signature at hand, all that the base stored is compared with the target.  gate.c
 * calls this in the thread that feeds chunks, before anything is written. */
#include "imageunzip/install/base_file.h"

#include <inttypes.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/image/format/sig.h"
#include "common/image/read/sectors.h"
#include "common/image/write/chain.h"
#include "common/image/write/sighash.h"
#include "common/image/write/sigimage.h"
#include "imageunzip/install/target_tail.h"

enum { STATE_TEXT_BYTES = 128 };

/* The base: what it stored, and which of it is not where it was stored. */
struct base {
	struct sig sig;
	struct rangeset moved; /* sectors of relocations */
	struct ext_state state;
};

static void
base_free(struct base *b)
{
	sig_free(&b->sig);
	rangeset_free(&b->moved);
}

static int
note_relocs(struct base *b, struct sectors *image, struct err *e)
{
	size_t n;
	const struct ndz_reloc *r = sectors_relocs(image, &n);

	for (size_t i = 0; i < n; i++)
		if (rangeset_add(&b->moved, reloc_sectors(&r[i]), e) != 0)
			return -1;
	return 0;
}

/* An image is known by its signature where the delta names that, else by its own state. */
static int
read_sectors(struct base *b, struct sectors *image, const struct ext_state *want,
    struct err *e)
{
	bool by_sig = want->kind == EXT_STATE_SIGNATURE;
	enum sig_hash hash = by_sig ? (enum sig_hash)want->hash : SIG_SHA1;
	uint32_t block = by_sig ? want->block_sectors : SIG_BLOCK_SECTORS;

	if (chain_check_whole(image, e) != 0 || note_relocs(b, image, e) != 0 ||
	    sig_of_image(&b->sig, image, hash, block, NULL, NULL, e) != 0)
		return -1;
	if (!by_sig)
		return sectors_state(image, &b->state, e);
	sig_state(&b->sig, &b->state);
	return 0;
}

static int
read_image(struct base *b, const struct target *t, const struct ext_state *want,
    struct err *e)
{
	struct sectors *image;
	struct opener *opener;

	if (opener_new(&opener, &t->cfg->opener, e) != 0)
		return -1;
	int rc = sectors_open_proved(&image, t->cfg->check_base, opener, e);
	if (rc == 0) {
		rc = read_sectors(b, image, want, e);
		sectors_close(image);
	}
	opener_free(opener);
	return rc;
}

static int
read_base(struct base *b, const struct target *t, const struct ext_state *want,
    struct err *e)
{
	const char *path = t->cfg->check_base;
	int is_sig = sig_is_file(path, e);

	if (is_sig < 0)
		return -1;
	int rc = is_sig == 1 ? sig_read(&b->sig, path, e) : read_image(b, t, want, e);
	if (rc == 0 && is_sig == 1)
		sig_state(&b->sig, &b->state);
	rangeset_seal(&b->moved);
	return rc;
}

static int
check_is_base(const struct base *b, const char *path, const struct ext_state *want,
    struct err *e)
{
	char is[STATE_TEXT_BYTES], wanted[STATE_TEXT_BYTES];

	if (ext_state_same(&b->state, want))
		return 0;
	return err_set(e, ERR_REFUSED, "%s: is %s, and the base of the delta is %s", path,
	    ext_state_text(&b->state, is, sizeof is),
	    ext_state_text(want, wanted, sizeof wanted));
}

/* read() of sig_hash_range(): what is behind the target's end differs from anything, unless it
 * is zeros. */
static int
read_target(void *arg, struct range r, void *buf, struct err *e)
{
	struct target *t = arg;
	size_t bytes = r.len * SECTOR_BYTES;
	uint64_t to;

	maps_run(t->maps, r, &to);
	ssize_t n = target_read(t, to, buf, bytes, e);
	if (n < 0)
		return -1;
	memset((uint8_t *)buf + n, 0, bytes - (size_t)n);
	return 0;
}

/* Is the record of sectors that are installed as they are stored? */
static bool
is_comparable(const struct target *t, const struct base *b, const struct tail *tail,
    struct range r)
{
	bool is_tail = !target_tail_in_place(t, tail) && tail_touches(tail, &r, 1);
	uint64_t to;

	return maps_whole(t->maps, r, &to) && !is_tail && !rangeset_touches(&b->moved, r);
}

static int
compare_record(struct target *t, const struct base *b, const struct sig_record *x,
    struct err *e)
{
	struct range r = { x->start, x->count };
	uint8_t hash[SIG_HASH_MAX];

	if (sig_hash_range(b->sig.hash, r, read_target, t, hash, e) != 0)
		return -1;
	if (memcmp(hash, x->hash, sig_hash_bytes(b->sig.hash)) == 0)
		return 0;
	return err_set(e, ERR_REFUSED,
	    "%s: does not hold all of %s: some of the %" PRIu64 " sectors from sector "
	    "%" PRIu64 " on differ; install the base again, or leave out --check-base",
	    disk_name(t->disk), t->cfg->check_base, r.len,
	    r.off - t->only.off + t->slice.off);
}

static int
compare_all(
    struct target *t, const struct base *b, const struct tail *tail, struct err *e)
{
	for (size_t i = 0; i < b->sig.n; i++) {
		const struct sig_record *x = &b->sig.records[i];
		if (cancel_check(e) != 0)
			return -1;
		if (is_comparable(t, b, tail, (struct range){ x->start, x->count }) &&
		    compare_record(t, b, x, e) != 0)
			return -1;
	}
	return 0;
}

int
base_file_check(struct target *t, const struct ext *delta, struct err *e)
{
	struct base b = { 0 };

	rangeset_init(&b.moved);
	int rc = read_base(&b, t, &delta->base, e);
	if (rc == 0)
		rc = check_is_base(&b, t->cfg->check_base, &delta->base, e);
	if (rc == 0)
		rc = compare_all(t, &b, &delta->tail, e);
	base_free(&b);
	return rc;
}
