/* resume.c: continues an installation where it stopped (--state). install_open.c,
 * install.c, install_only.c and install_end.c call this in the threads that open, feed and
 * end the installation, install_threads.c in the threads that write. */
#include "imageunzip/install/resume.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/sha256.h"
#include "common/base/wr.h"
#include "common/base/zero.h"
#include "common/image/read/only.h"
#include "imageunzip/install/fit.h"
#include "imageunzip/install/target_tail.h"

/* The state is not placed near either end, where boot loaders and tables lie. */
enum { EDGE_SECTORS = 2048 };

int
resume_open(struct resume *r, const struct install_config *cfg, struct err *e)
{
	r->state = NULL;
	r->in_target = false;
	if (cfg->state == NULL)
		return 0;
	/* A state does not tell whether the chunks on the target were proved. */
	if (cfg->opener.verify_key != NULL || cfg->opener.decrypt != NULL)
		return err_set(e, ERR_USAGE,
		    "--state cannot be combined with --verify-key or --decrypt");
	r->in_target = strcmp(cfg->state, "target") == 0;
	return r->in_target ? 0 : state_open(&r->state, cfg->state, e);
}

int
resume_attach(struct resume *r, struct target *t, struct err *e)
{
	const struct boot_area *h = &t->boot_area;

	r->target = t;
	if (t->cfg->state == NULL)
		return 0;
	if (!disk_seekable(t->disk))
		return err_set(e, ERR_USAGE,
		    "--state needs a disk or a file: an installation into a pipe "
		    "cannot be resumed");
	if (!r->in_target)
		return 0;
	if (state_open_in(&r->state, t->disk, h->was_marked ? h->old.state_at : 0,
		h->was_marked ? h->old.state_bytes : 0, e) != 0)
		return -1;
	return 0;
}

void
resume_close(struct resume *r)
{
	state_close(r->state);
	state_slot_free(&r->slot);
	free(r->digested);
}

bool
resume_pending(const struct resume *r)
{
	return r->state != NULL && state_chunks(r->state) > 0;
}

bool
resume_has(const struct resume *r, uint32_t chunk)
{
	return r->state != NULL && state_has(r->state, chunk);
}

static void
warn(const struct resume *r, const char *why)
{
	char text[WARNING_BYTES];

	snprintf(text, sizeof text,
	    "%s: there is no space for --state=target: %s; after a crash, use "
	    "--skip-same",
	    disk_name(r->target->disk), why);
	if (r->target->cfg->warn != NULL)
		r->target->cfg->warn(text);
}

/* Why the target cannot keep its own state; NULL: it can. */
static const char *
obstacle(const struct resume *r, const struct job *j)
{
	if (!r->target->boot_area.on)
		return "the image does not store the first 4 KiB, where the marker "
		       "would be";
	if (ext_is_delta(&j->c.ext))
		return "what a delta does not store belongs to its base";
	return j->c.ext.present ? NULL : "an image of another program may be a delta";
}

/* Narrow the identity of the image to the partition that is installed alone, so that each
 * partition of an image has an identity of its own; or to the plan of --fit: what another
 * plan has installed lies elsewhere. */
static void
narrow(const struct resume *r, uint8_t uuid[NDZ_UUID_BYTES])
{
	struct range only = r->target->only;
	const struct fit *fit = r->target->fit;
	uint8_t all[NDZ_UUID_BYTES + 16], digest[SHA256_BYTES];
	struct wr w = wr_to(all, sizeof all);

	if (fit != NULL)
		only = (struct range){ fitplan_hash(fit_plan(fit)), UINT64_MAX };
	if (only.len == 0)
		return;
	wr_bytes(&w, uuid, NDZ_UUID_BYTES);
	wr_le64(&w, only.off);
	wr_le64(&w, only.len);
	sha256(all, sizeof all, digest);
	memcpy(uuid, digest, NDZ_UUID_BYTES);
}

/* Get the identity of the image, which is its UUID, or, without one, the digest of its
 * first header. */
static int
identify(
    const struct resume *r, const struct job *j, struct state_of *of, struct err *e)
{
	uint8_t digest[SHA256_BYTES];

	if (j->number == 0 && j->c.ext.has_digest)
		memcpy(of->digest, j->c.ext.digest, sizeof of->digest);
	memcpy(
	    of->uuid, j->c.ext.has_uuid ? j->c.ext.uuid : j->c.h.uuid, NDZ_UUID_BYTES);
	if (!is_zero(of->uuid, NDZ_UUID_BYTES)) {
		narrow(r, of->uuid);
		return 0;
	}
	if (j->number != 0)
		return err_set(e, ERR_UNSUPPORTED,
		    "the image has no UUID: an installation with a state "
		    "begins with its first chunk");
	sha256(j->bytes, NDZ_HEADER_BYTES, digest);
	memcpy(of->uuid, digest, NDZ_UUID_BYTES);
	narrow(r, of->uuid);
	return 0;
}

/* Get the sectors of the target that hold the state, by the incomplete marker; false: what
 * the marker says is impossible. */
static bool
old_slot(const struct target *t, struct range *at)
{
	uint64_t base = t->slice.off * SECTOR_BYTES, from = t->boot_area.old.state_at;

	if (from < base + BOOT_AREA_BYTES || from % BOOT_AREA_BYTES != 0)
		return false;
	*at = (struct range){ (from - base) / SECTOR_BYTES,
		t->boot_area.old.state_bytes / SECTOR_BYTES };
	return at->len != 0 && range_within(*at, t->room);
}

/* Does the old state belong to this installation? If it does not, the caller refuses a
 * state in a file, and ignores one on the target. */
static int
check_old(const struct resume *r, const struct state_of *of, struct err *e)
{
	const struct boot_area *h = &r->target->boot_area;
	struct range at;

	if (state_check(r->state, of, e) != 0)
		return -1;
	if (h->on && (!h->was_marked || memcmp(h->old.id, state_install_id(r->state),
					    BOOT_AREA_ID_BYTES) != 0))
		return err_set(e, ERR_REFUSED,
		    "%s: is not the target that %s belongs to: the marker of that "
		    "installation is missing",
		    disk_name(r->target->disk), r->target->cfg->state);
	if (r->in_target && !old_slot(r->target, &at))
		return err_set(e, ERR_REFUSED, "%s: its marker is damaged",
		    disk_name(r->target->disk));
	return 0;
}

static void
tell(const struct resume *r)
{
	char text[WARNING_BYTES];

	snprintf(text, sizeof text,
	    "%u of the %u chunks are on the target already, from an interrupted run: "
	    "only the others are installed",
	    r->had, r->expected);
	if (r->target->cfg->say != NULL)
		r->target->cfg->say(text);
}

/* Note what an earlier run has written.  Of chunks that have the same sectors only the
 * last is on the disk, and their digests do not say which. */
static void
take_digest(void *arg, uint32_t chunk, const struct ledger_part *p)
{
	struct resume *r = arg;
	uint8_t bit = (uint8_t)(1 << chunk % 8);
	struct err why;

	if (p == NULL && (r->digested[chunk / 8] & bit) == 0) {
		r->digested[chunk / 8] |= bit;
		r->ndigested++;
	} else if (p != NULL && !ledger_take(r->target->ledger, p, &why) &&
		   (r->digested[chunk / 8] & bit) != 0) {
		r->digested[chunk / 8] &= (uint8_t)~bit;
		r->ndigested--;
	}
}

static void
take_digests(struct resume *r)
{
	struct ledger *l = r->target->ledger;

	if (l == NULL || !ledger_is_whole(l))
		return;
	r->digested = calloc(1, (size_t)r->expected / 8 + 1);
	if (r->digested != NULL)
		state_kept(r->state, take_digest, r);
}

uint32_t
resume_undigested(const struct resume *r)
{
	return r->had - r->ndigested;
}

bool
resume_has_undigested(const struct resume *r, uint32_t chunk)
{
	return r->had > 0 && r->state != NULL && state_has(r->state, chunk) &&
	       (r->digested == NULL || (r->digested[chunk / 8] >> chunk % 8 & 1) == 0);
}

static void
go_on(struct resume *r)
{
	struct target *t = r->target;
	struct state_sums s = state_sums(r->state);
	struct range at;

	memcpy(t->boot_area.marker.id, state_install_id(r->state), BOOT_AREA_ID_BYTES);
	t->end_bytes = s.end_bytes;
	t->short_end = s.short_end;
	t->covered_end = s.covered_end;
	t->bytes_covered = s.bytes_covered;
	r->had = state_chunks(r->state);
	tell(r);
	take_digests(r);
	if (!r->in_target || !old_slot(t, &at))
		return;
	t->boot_area.marker.state_at = t->boot_area.old.state_at;
	t->boot_area.marker.state_bytes = t->boot_area.old.state_bytes;
	state_slot_set(&r->slot, at);
	target_reserve(t, at);
}

/* The state is of no use for this image: tell the caller which chunks resume_has() has
 * reported, because they must be fed. */
static void
tell_forgotten(const struct resume *r)
{
	const struct install_config *cfg = r->target->cfg;

	for (uint32_t i = 0; cfg->forgotten != NULL && i < r->expected; i++)
		if (state_has(r->state, i))
			cfg->forgotten(cfg->forgotten_arg, i);
}

/* The image and target that a state of this installation belongs to; the caller fills in
 * the image's UUID and digest. */
static struct state_of
this_installation(const struct resume *r)
{
	const struct target *t = r->target;

	return (struct state_of){ .nchunks = r->expected,
		.target_bytes = t->fresh ? UINT64_MAX : disk_size_bytes(t->disk) };
}

int
resume_meet(struct resume *r, const struct ext *first, struct err *e)
{
	struct err why;

	if (!r->in_target || !resume_pending(r) || !first->has_uuid)
		return 0;
	struct state_of of = this_installation(r);
	memcpy(of.uuid, first->uuid, NDZ_UUID_BYTES);
	narrow(r, of.uuid);
	if (first->has_digest)
		memcpy(of.digest, first->digest, sizeof of.digest);
	if (check_old(r, &of, &why) == 0)
		return 0;
	tell_forgotten(r);
	return state_begin(r->state, &of, r->target->boot_area.marker.id, e);
}

int
resume_settle(struct resume *r, const struct job *j, struct err *e)
{
	struct target *t = r->target;
	struct state_of of = this_installation(r);
	struct err why;

	if (r->state == NULL)
		return 0;
	const char *no = r->in_target ? obstacle(r, j) : NULL;
	if (no != NULL) {
		warn(r, no);
		tell_forgotten(r);
		state_close(r->state);
		r->state = NULL;
		return 0;
	}
	if (identify(r, j, &of, e) != 0)
		return -1;
	bool pending = resume_pending(r);
	if (pending && check_old(r, &of, &why) != 0) {
		if (!r->in_target) {
			*e = why;
			return -1;
		}
		tell_forgotten(r);
		pending = false;
	}
	if (!pending)
		return state_begin(r->state, &of, t->boot_area.marker.id, e);
	go_on(r);
	return 0;
}

int
resume_fed(struct resume *r, const struct job *j, struct err *e)
{
	struct err later;

	if (r->state == NULL)
		return 0;
	if (r->in_target && state_slot_learn(&r->slot, &j->c, j->bytes, e) != 0)
		return -1;
	if (j->number != 0 || !j->c.ext.has_digest ||
	    state_bind(r->state, j->c.ext.digest, e) == 0)
		return 0;
	/* The marker forgets the place of the state; otherwise every later run would end
	 * here. */
	if (r->in_target)
		boot_area_place_state(&r->target->boot_area, 0, 0, &later);
	return -1;
}

int
resume_claim(
    struct resume *r, const struct ndz_header *h, uint32_t number, struct err *e)
{
	struct target *t = r->target;
	/* The headers of --only have been cut to the partition, and count from its beginning. */
	struct maps own = maps_one((struct range){ 0, INT64_MAX });
	struct state_slot_want want = {
		.sectors = state_bytes(r->expected) / SECTOR_BYTES,
		.within = { EDGE_SECTORS, 0 },
		.skew = t->slice.off,
		.maps = t->only.len != 0 ? &own : t->maps,
	};
	struct range at;

	if (r->state == NULL || !r->in_target)
		return 0;
	if (t->room > 2 * (uint64_t)EDGE_SECTORS)
		want.within.len = t->room == UINT64_MAX ? INT64_MAX
		                                        : t->room - 2 * EDGE_SECTORS;
	int rc = state_slot_claim(&r->slot, h, &want, &at, e);
	if (rc <= 0)
		return rc < 0 ? err_ctx(e, "chunk %u", number) : 0;
	uint64_t byte = (t->slice.off + at.off) * SECTOR_BYTES;
	target_reserve(t, at);
	/* The incomplete marker is written first: no other byte may change before it stands
	 * there. */
	if (boot_area_place_state(&t->boot_area, byte, at.len * SECTOR_BYTES, e) != 0 ||
	    disk_sync(t->disk, e) != 0)
		return -1;
	return state_place(r->state, byte, e);
}

static struct state_sums
sums_now(void *arg)
{
	struct target *t = arg;

	return (struct state_sums){ .end_bytes = t->end_bytes,
		.short_end = t->short_end,
		.covered_end = t->covered_end };
}

/* Some chunks are never noted as installed. Data of the boot area is in memory only, and
 * chunk 0 shows that the state is of this image. Free space that waits to be filled would
 * not be filled by the next run, so a chunk that has such space is not noted. A tail that
 * does not go to its place could go elsewhere in the next run. */
int
resume_note(struct resume *r, const struct job *j, struct err *e)
{
	struct target *t = r->target;

	if (r->state == NULL)
		return 0;
	if (j->number != 0 && j->at->firstsect >= BOOT_AREA_SECTORS && !j->owes &&
	    target_tail_in_place(t, &j->c.ext.tail)) {
		if (t->cfg->read_back &&
		    state_keep(r->state, j->number, &j->parts, e) != 0)
			return -1;
		state_note(r->state, j->number,
		    (j->at->lastsect - j->at->firstsect) * SECTOR_BYTES);
	}
	return state_due(r->state, t->cfg->state_s * 1000000)
	           ? state_flush(r->state, t->disk, sums_now, t, e)
	           : 0;
}

bool
resume_lacks_place(struct resume *r)
{
	return r->in_target && r->state != NULL && state_slot_is_open(&r->slot);
}

int
resume_offer(struct resume *r, const void *bytes, uint32_t number, struct err *e)
{
	struct range only = r->target->only;
	struct ndz_header cut;
	struct chunk c;
	struct err none;

	/* An error in the chunk will be reported when the chunk is fed. */
	if (chunk_parse(&c, bytes, &none) != 0)
		return 0;
	int rc = 0;
	if (only.len != 0)
		only_header(&c.h, only, &cut);
	if (c.ext.has_digest && chunk_check_digest(&c, bytes, &none) == 0)
		rc = resume_claim(r, only.len != 0 ? &cut : &c.h, number, e);
	chunk_free(&c);
	return rc;
}

/* Wipe the state of an earlier run, if this run has found another place for its state. */
static int
wipe_remains(const struct resume *r, struct err *e)
{
	const struct target *t = r->target;

	if (t == NULL || !t->boot_area.was_marked || t->boot_area.old.state_bytes == 0 ||
	    t->boot_area.old.state_at == t->boot_area.marker.state_at)
		return 0;
	return state_wipe_remains(t->disk, &t->boot_area.old, e);
}

int
resume_forget(struct resume *r, struct err *e)
{
	struct target *t = r->target;
	struct state_of none = { .nchunks = 0 };

	if (wipe_remains(r, e) != 0)
		return -1;
	if (r->state == NULL)
		return 0;
	if (disk_sync(t->disk, e) != 0)
		return -1;
	if (!r->in_target)
		return state_begin(r->state, &none, t->boot_area.marker.id, e);
	if (!state_placed(r->state)) {
		warn(r, "the image leaves none free");
		return 0;
	}
	return target_release(t, e) == 0 ? disk_sync(t->disk, e) : -1;
}

int
resume_correct(struct resume *r, struct err *e)
{
	return r->state != NULL ? state_drop_kept(r->state, e) : 0;
}

/* The marker of a target that keeps its own state forgets where it is (target_doubt()).
 * */
void
resume_doubt(struct resume *r)
{
	struct state_of none = { .nchunks = 0 };
	struct err later; /* what is wrong is told already */

	if (r->state != NULL && !r->in_target)
		(void)state_begin(
		    r->state, &none, r->target->boot_area.marker.id, &later);
}

int
resume_done(struct resume *r, struct err *e)
{
	return r->state != NULL ? state_remove(r->state, e) : 0;
}
