#include "common/install/install.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/cli_guard.h"
#include "common/base/ordered.h"
#include "common/base/pipeline.h"
#include "common/base/pool.h"
#include "common/disk/output.h"
#include "common/disk/rangeset.h"
#include "common/install/finish.h"
#include "common/install/job.h"
#include "common/install/reloc.h"
#include "common/install/resume.h"
#include "common/install/target.h"
#include "common/ndz/image.h"
#include "common/ndz/tiling.h"

enum {
	BUFFER_BYTES = 16 << 20, /* as much as a chunk of ours holds */
	BUFFER_MIN_BYTES = 1 << 20,
	SPARE_BUFFERS = 3, /* two being written, one waiting */
	WARNING_BYTES = 600,
	GENTLE_NICE = 10,
};

struct install {
	struct install_config cfg;
	struct target target;
	char *unlink_path;       /* a new file, removed when it does not get whole */
	bool holds_data;         /* the file that is to become a new one */
	_Atomic bool must_empty; /* of something else, until the first good chunk */
	struct pipeline *pipe;
	struct ordered *work;
	struct pool *raws;
	size_t raw_bytes; /* of each */
	struct decoder *writer_decoder;
	struct image_identity id;
	bool ours; /* chunks say how many they are: of the feeder's thread */
	bool delta;
	uint32_t fed, passed, promised;
	struct resume resume;
	struct rangeset stored; /* sectors of the image that were fed */
	struct lost lost;       /* of them, when the last one was */
	struct tiling tiling;   /* of the chunks that were fed */
	unsigned sector_bytes;  /* logical, of the image's source; 0: not known */
	unsigned stale_wiped;
	bool warned_type;
	_Atomic uint64_t chunks;
};

/* Give a job's buffer back, and what else it has. */
static void
retire(struct install *in, struct job *j)
{
	if (j->raw != NULL)
		pool_put(in->raws, j->raw);
	job_free(j);
}

static int
launch(struct install *in, struct job *j, struct decoder *dec, struct err *e)
{
	return resume_claim(&in->resume, &j->c.h, j->number, e) == 0
	           ? job_launch(j, &in->target, dec, e)
	           : -1;
}

static int
settle_job(struct install *in, struct job *j, struct decoder *dec, struct err *e)
{
	if (job_settle(j, &in->target, dec, e) != 0)
		return -1;
	in->chunks++;
	return resume_note(&in->resume, j, e);
}

static int
write_job(struct install *in, struct job *j, struct decoder *dec, struct err *e)
{
	return launch(in, j, dec, e) == 0 ? settle_job(in, j, dec, e) : -1;
}

/* On Linux, nice(2) is the calling thread's alone. */
static void
give_way(const struct install *in)
{
	if (in->cfg.gentle && nice(GENTLE_NICE) == -1)
		return; /* then it competes: slower, not wrong */
}

static int
decoder_stage(void *arg, struct err *e)
{
	struct install *in = arg;
	struct decoder *dec = decoder_new();
	void *item;
	size_t ticket;
	int rc = 0;

	give_way(in);
	if (dec == NULL)
		return err_nomem(e, "a decoder");
	while (rc == 0 && ordered_begin(in->work, &item, &ticket) == QUEUE_OK) {
		struct job *j = item;
		rc = job_decode(j, &in->target, dec, e);
		if (rc == 0 && in->cfg.no_writer)
			rc = write_job(in, j, dec, e);
		/* Done also after a failure: the writer takes it to free it. */
		if (rc != 0)
			pipeline_fail(in->pipe, e);
		ordered_done(in->work, ticket);
	}
	decoder_free(dec);
	return rc;
}

/* What is being written, the oldest first: while the disk works on it, the next
 * chunk's writes are on their way. */
struct flying {
	struct job *first, **end;
};

static int
settle_oldest(struct install *in, struct flying *f, struct err *e)
{
	struct job *j = f->first;
	int rc = settle_job(in, j, in->writer_decoder, e);

	if (rc != 0)
		return -1; /* other writes of it may be in flight */
	f->first = j->next;
	if (f->first == NULL)
		f->end = &f->first;
	retire(in, j);
	return 0;
}

/* Of two chunks with the same sectors the later one counts. */
static int
launch_next(struct install *in, struct flying *f, struct job *j, struct err *e)
{
	int rc = 0;

	for (const struct job *k = f->first; rc == 0 && k != NULL;)
		if (job_overlaps(j, k)) {
			rc = settle_oldest(in, f, e);
			k = f->first;
		} else {
			k = k->next;
		}
	j->next = NULL;
	*f->end = j;
	f->end = &j->next;
	if (rc != 0 || launch(in, j, in->writer_decoder, e) != 0)
		return -1;
	return in->target.flight == NULL ? settle_oldest(in, f, e) : 0;
}

/* After a failure: buffers that go away must not be in flight. */
static void
land_all(struct install *in, struct flying *f)
{
	struct err later;

	target_land(&in->target, &later);
	for (struct job *j = f->first, *next; j != NULL; j = next) {
		next = j->next;
		retire(in, j);
	}
}

static int
writer_stage(void *arg, struct err *e)
{
	struct install *in = arg;
	struct flying f = { NULL, &f.first };
	void *item;
	int rc = 0;

	give_way(in);
	while (rc == 0) {
		if (f.first != NULL && !ordered_ready(in->work)) {
			rc = settle_oldest(in, &f, e);
			continue;
		}
		if (ordered_take(in->work, &item) != QUEUE_OK)
			break;
		if (in->cfg.no_writer)
			retire(in, item);
		else
			rc = launch_next(in, &f, item, e);
	}
	land_all(in, &f);
	return rc;
}

static unsigned
decoders(const struct install_config *cfg)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return cfg->jobs != 0 ? (unsigned)cfg->jobs : n > 0 ? (unsigned)n : 1;
}

/* As drop_new_file(), while the threads go on: what a state tells of stays. */
static void
tidy(void *arg)
{
	const struct install *in = arg;

	if (in->unlink_path != NULL && in->cfg.state == NULL && !in->must_empty)
		output_remove(in->unlink_path);
}

static void
install_free(struct install *in)
{
	cli_guard_set(NULL, NULL);
	pipeline_free(in->pipe);
	ordered_free(in->work);
	pool_free(in->raws);
	decoder_free(in->writer_decoder);
	resume_close(&in->resume);
	rangeset_free(&in->stored);
	lost_free(&in->lost);
	tiling_free(&in->tiling);
	free(in->unlink_path);
	free(in);
}

static int
start(struct install *in, struct err *e)
{
	unsigned n = decoders(&in->cfg), buffers = n + SPARE_BUFFERS;

	in->raw_bytes = BUFFER_BYTES;
	if (in->cfg.write_mb != 0)
		in->raw_bytes = (in->cfg.write_mb << 20) / buffers;
	while (in->raw_bytes < BUFFER_MIN_BYTES && buffers > 1)
		in->raw_bytes = (in->cfg.write_mb << 20) / --buffers;
	in->raws = pool_new(buffers, in->raw_bytes);
	in->work = ordered_new(buffers);
	in->pipe = pipeline_new();
	in->writer_decoder = decoder_new();
	if (in->raws == NULL || in->work == NULL || in->pipe == NULL ||
	    in->writer_decoder == NULL)
		return err_nomem(e, "install buffers; -W takes less");
	pipeline_attach_ordered(in->pipe, in->work);
	pipeline_attach_pool(in->pipe, in->raws);
	if (in->cfg.failed != NULL)
		pipeline_attach(in->pipe, in->cfg.failed, in->cfg.failed_arg);
	int rc = pipeline_start(in->pipe, writer_stage, in);
	for (unsigned i = 0; i < n && rc == 0; i++)
		rc = pipeline_start(in->pipe, decoder_stage, in);
	return rc == 0 ? 0 : pipeline_join(in->pipe, e);
}

int
install_open_disk(struct install **out, const struct install_config *cfg,
    struct disk *d, bool fresh, struct err *e)
{
	struct install *in = calloc(1, sizeof *in);
	struct err ignored;

	if (in == NULL) {
		disk_close(d, &ignored);
		return err_nomem(e, "an installation");
	}
	in->cfg = *cfg;
	in->resume.target = &in->target;
	place_init(&in->resume.place);
	rangeset_init(&in->stored);
	tiling_init(&in->tiling);
	/* A stream must be written in order. */
	if (disk_kind(d) == DISK_STREAM)
		in->cfg.no_writer = false;
	if (target_init(&in->target, d, &in->cfg, fresh, e) != 0) {
		install_free(in);
		return -1;
	}
	if (start(in, e) != 0) {
		target_close(&in->target, &ignored);
		install_free(in);
		return -1;
	}
	*out = in;
	return 0;
}

static unsigned
open_flags(const struct install_config *cfg, bool whole)
{
	unsigned flags = DISK_READ | DISK_WRITE;

	if (whole)
		flags |= DISK_CREATE;
	return cfg->force ? flags | DISK_FORCE : flags;
}

static int
open_target(struct install **out, const struct install_config *cfg, const char *path,
    struct err *e)
{
	bool whole = cfg->slice == 0 && !cfg->in_place && !cfg->skip_same;
	bool to_stdout = strcmp(path, "-") == 0;
	unsigned flags = open_flags(cfg, whole);
	struct disk *d;

	if (disk_open(&d, path, to_stdout ? flags & ~(unsigned)DISK_READ : flags, e) !=
	    0)
		return -1;
	bool fresh = whole && disk_kind(d) == DISK_FILE;
	bool holds_data = fresh && disk_size_bytes(d) > 0;
	char *unlink_path = fresh && !to_stdout ? strdup(path) : NULL;
	if (install_open_disk(out, cfg, d, fresh, e) != 0) {
		if (unlink_path != NULL && !holds_data)
			output_remove(unlink_path);
		free(unlink_path);
		return -1;
	}
	(*out)->unlink_path = unlink_path;
	(*out)->holds_data = holds_data;
	return 0;
}

/* A state is a file of its own. */
static int
check_state_file(const struct install_config *cfg, const char *target, struct err *e)
{
	struct stat a, b;

	if (cfg->state == NULL || strcmp(cfg->state, "target") == 0)
		return 0;
	if (cfg->state[0] == '\0')
		return err_set(e, ERR_USAGE, "--state needs the name of a file");
	if (strcmp(cfg->state, target) != 0 &&
	    (stat(cfg->state, &a) != 0 || stat(target, &b) != 0 ||
		a.st_dev != b.st_dev || a.st_ino != b.st_ino))
		return 0;
	return err_set(e, ERR_USAGE,
	    "%s: is the target, and cannot be the file of --state; --state=target "
	    "keeps it in free space",
	    cfg->state);
}

/* A whole image makes a new file of a regular one; everything else is left as
 * long as it is. */
int
install_open(struct install **out, const struct install_config *cfg, const char *path,
    struct err *e)
{
	struct resume r;

	if (check_state_file(cfg, path, e) != 0 || resume_open(&r, cfg, e) != 0)
		return -1;
	if (open_target(out, cfg, path, e) != 0) {
		state_close(r.state);
		return -1;
	}
	struct install *in = *out;
	in->resume.state = r.state;
	in->resume.in_target = r.in_target;
	/* Not to be removed as a new file that did not get whole. */
	in->must_empty = in->holds_data;
	if (resume_attach(&in->resume, &in->target, e) != 0) {
		install_abort(in);
		return -1;
	}
	in->must_empty = in->holds_data && !resume_pending(&in->resume);
	cli_guard_set(tidy, in);
	return 0;
}

/* What the file held is given up only when there is something to put there: a
 * delta is refused because of what it may have held. */
static int
empty_file(struct install *in, struct err *e)
{
	struct head *h = &in->target.head;

	if (!in->must_empty)
		return 0;
	if (disk_truncate(in->target.disk, 0, e) != 0)
		return -1;
	memset(h->bytes, 0, sizeof h->bytes);
	h->was_marked = false;
	in->must_empty = false;
	return 0;
}

int
install_check_fit(struct install *in, uint64_t sectors, struct err *e)
{
	return target_check_fit(&in->target, sectors, e);
}

static int
check_relocs(struct install *in, const struct ndz_header *h, struct err *e)
{
	for (unsigned i = 0; i < h->nrelocs; i++) {
		const struct ndz_reloc *r = &h->relocs[i];
		bool known = reloc_known(r);
		if (!known && !in->warned_type && in->cfg.warn != NULL) {
			char text[WARNING_BYTES];
			snprintf(text, sizeof text,
			    "relocations of type %u are not known and left out",
			    r->type);
			in->cfg.warn(text);
			in->warned_type = true;
		}
		if (known && r->type != NDZ_RELOC_NONE &&
		    r->type != NDZ_RELOC_GPT_FIX && reloc_at(h, r) == UINT64_MAX)
			return err_set(e, ERR_FORMAT,
			    "a relocation at sector %" PRIu64 ", whose data is "
			    "not in the chunk",
			    r->sector);
	}
	return 0;
}

/* What a delta does not store is its base's, on the disk already. */
static int
check_delta(const struct install *in, const struct ext *x, struct err *e)
{
	const struct target *t = &in->target;

	if (!ext_is_delta(x))
		return 0;
	if (in->cfg.zero || in->cfg.has_pattern || in->cfg.discard)
		return err_set(e, ERR_REFUSED,
		    "is of a delta image: filling or discarding what it does "
		    "not store would wipe out its base");
	if (t->fresh || disk_kind(t->disk) == DISK_STREAM)
		return err_set(e, ERR_REFUSED,
		    "is of a delta image, which goes only onto what its base "
		    "was installed to; imagedelta --onto makes a whole image of both");
	return 0;
}

/* A partition table counts in sectors of its disk. */
static int
check_sectors(struct install *in, const struct ext_image *i, struct err *e)
{
	struct disk *d = in->target.disk;

	in->sector_bytes = i->kind == EXT_KIND_DISK ? i->sector_bytes : 0;
	if (i->kind != EXT_KIND_DISK || in->target.slice.len != 0 || in->cfg.convert ||
	    disk_kind(d) != DISK_BLOCK || i->sector_bytes == disk_sector_bytes(d))
		return 0;
	return err_set(e, ERR_REFUSED,
	    "%s: has sectors of %u bytes, and the disk of the image of %u: "
	    "--convert rewrites its partition table",
	    disk_name(d), disk_sector_bytes(d), i->sector_bytes);
}

/* Everything that can be known of a chunk before its data is. */
static int
check_job(struct install *in, struct job *j, struct err *e)
{
	const struct ndz_header *h = &j->c.h;

	if (image_identity_check(&in->id, h, &j->c.ext, e) != 0 ||
	    check_delta(in, &j->c.ext, e) != 0 || check_relocs(in, h, e) != 0)
		return -1;
	if (j->c.ext.has_image && check_sectors(in, &j->c.ext.image, e) != 0)
		return -1;
	if (!j->partial &&
	    finish_check(&in->target, &j->c, j->bytes, in->sector_bytes, e) != 0)
		return -1;
	return target_check_fit(&in->target, range_end(h->regions[h->nregions - 1]), e);
}

static int
note_stored(struct install *in, const struct ndz_header *h, struct err *e)
{
	for (unsigned i = 0; !in->cfg.keep_stale && i < h->nregions; i++)
		if (rangeset_add(&in->stored, h->regions[i], e) != 0)
			return -1;
	return 0;
}

/* What is asked of all chunks together. */
static int
note_chunk(struct install *in, uint32_t number, struct chunk *c, struct err *e)
{
	if (note_stored(in, &c->h, e) != 0 ||
	    tiling_add(&in->tiling, number, &c->h, e) != 0)
		return -1;
	in->ours |= c->ext.present;
	in->delta |= ext_is_delta(&c->ext);
	/* Looked at when all threads are gone. */
	in->target.holds_file |= c->ext.has_image && c->ext.image.kind == EXT_KIND_FILE;
	if (c->ext.last)
		in->promised = c->ext.nchunks;
	if (c->ext.lost.nranges > 0 && in->lost.nranges == 0) {
		in->lost = c->ext.lost;
		c->ext.lost = (struct lost){ 0 };
	}
	return 0;
}

/* Before anything is written.  An image that leaves part of the head as it is
 * keeps what stands there. */
static int
settle(struct install *in, const struct job *j, struct err *e)
{
	const struct ndz_header *h = &j->c.h;
	struct head *head = &in->target.head;

	memcpy(head->mark.uuid, j->c.ext.has_uuid ? j->c.ext.uuid : h->uuid,
	    NDZ_UUID_BYTES);
	bool stores_head = h->regions[0].off == 0 && h->regions[0].len >= HEAD_SECTORS;
	bool delta = ext_is_delta(&j->c.ext);
	/* The mark of this delta's own interrupted installation is none of its base. */
	if (delta && head->was_marked &&
	    memcmp(head->old.uuid, head->mark.uuid, NDZ_UUID_BYTES) != 0)
		return err_set(e, ERR_REFUSED,
		    "%s: an installation was not completed there, so a delta "
		    "has no base",
		    disk_name(in->target.disk));
	/* Only its base could bring back the head, were a delta interrupted. */
	if (!stores_head && (h->firstsect == 0 || delta))
		head->on = false;
	if (resume_settle(&in->resume, j, e) != 0)
		return -1;
	/* What is in a file turned out to be of something else. */
	in->must_empty = in->holds_data && in->resume.had == 0;
	return empty_file(in, e);
}

void
install_expect(struct install *in, uint32_t nchunks)
{
	in->resume.expected = nchunks;
}

void
install_trust_digests(struct install *in)
{
	in->cfg.digests_checked = true;
}

bool
install_has(const struct install *in, uint32_t chunk)
{
	return resume_has(&in->resume, chunk);
}

bool
install_lacks_place(struct install *in)
{
	return resume_lacks_place(&in->resume);
}

int
install_offer(struct install *in, uint32_t number, const void *bytes, struct err *e)
{
	return resume_offer(&in->resume, bytes, number, e);
}

bool
install_resumes(const struct install *in)
{
	return resume_pending(&in->resume);
}

bool
install_in_order(const struct install *in)
{
	return disk_kind(in->target.disk) == DISK_STREAM;
}

static int
submit(struct install *in, struct job *j, struct err *e)
{
	if (pool_get(in->raws, &j->raw) != QUEUE_OK) {
		j->raw = NULL;
		retire(in, j);
		return err_set(e, ERR_CANCELLED, "cancelled");
	}
	if (ordered_submit(in->work, j) != QUEUE_OK) {
		retire(in, j);
		return err_set(e, ERR_CANCELLED, "cancelled");
	}
	return 0;
}

int
install_compare(struct install *in, const struct chunk *c, bool **same, struct err *e)
{
	const struct ndz_header *h = &c->h;
	struct err too_small; /* whole, it will be refused */

	*same = NULL;
	if (!job_can_skip(c, &in->target, in->raw_bytes) ||
	    target_check_fit(
		&in->target, range_end(h->regions[h->nregions - 1]), &too_small) != 0)
		return 0;
	return job_compare(c, &in->target, same, e) == 0 ? 1 : -1;
}

int
install_feed(struct install *in, uint32_t number, const void *bytes,
    void (*released)(void *arg, const void *chunk), void *arg, struct err *e)
{
	return install_feed_compared(in, number, bytes, NULL, false, released, arg, e);
}

int
install_feed_compared(struct install *in, uint32_t number, const void *bytes,
    bool *same, bool partial, void (*released)(void *arg, const void *chunk), void *arg,
    struct err *e)
{
	struct job *j;

	if (job_new(&j, number, bytes, &in->target, in->raw_bytes, released, arg, e) !=
	    0) {
		free(same);
		return err_ctx(e, "chunk %u", number);
	}
	j->same = same;
	j->partial = partial;
	if (check_job(in, j, e) != 0 || (in->fed == 0 && settle(in, j, e) != 0) ||
	    resume_fed(&in->resume, j, e) != 0) {
		retire(in, j);
		return err_ctx(e, "chunk %u", number);
	}
	in->fed++;
	if (note_chunk(in, number, &j->c, e) != 0) {
		retire(in, j);
		return -1;
	}
	return submit(in, j, e);
}

int
install_pass(struct install *in, uint32_t number, const void *bytes, struct err *e)
{
	struct chunk c;

	if (chunk_parse(&c, bytes, e) != 0)
		return err_ctx(e, "chunk %u", number);
	int rc = image_identity_check(&in->id, &c.h, &c.ext, e);
	if (rc == 0)
		rc = note_chunk(in, number, &c, e);
	in->passed += rc == 0;
	chunk_free(&c);
	return rc == 0 ? 0 : err_ctx(e, "chunk %u", number);
}

/* Zeros on the disk that were not zeros on its source: the user is told. */
static void
tell_lost(struct install *in, struct install_stats *s)
{
	char text[WARNING_BYTES];

	if (in->lost.nranges > 0 && in->cfg.warn != NULL)
		in->cfg.warn(lost_text(&in->lost, text, sizeof text));
	s->lost = in->lost;
	in->lost = (struct lost){ 0 };
}

/* With a state, what is there is to be gone on with. */
static void
drop_new_file(const struct install *in)
{
	if (in->unlink_path != NULL && !resume_pending(&in->resume) && !in->must_empty)
		output_remove(in->unlink_path);
}

/* Wait for the threads, and free what a failure left in the pipeline. */
static int
stop(struct install *in, struct err *e)
{
	void *item;

	ordered_close(in->work);
	int rc = pipeline_join(in->pipe, e);
	while (ordered_drain(in->work, &item))
		retire(in, item);
	return rc;
}

/* Of chunks that were there before, and were not passed, nobody knows what they
 * stored and answered for. */
static bool
all_known(const struct install *in)
{
	return in->resume.had == in->passed;
}

static int
complete(struct install *in, struct err *e)
{
	/* What a delta does not store is its base's, and images of other tools may be
	 * deltas. */
	bool known = all_known(in) && in->ours && !in->delta;
	struct rangeset *stored = known ? &in->stored : NULL;

	/* Until the target is sealed the mark stands there; until the state forgets it
	 * can be gone on with. */
	if (target_fill_up(&in->target, e) != 0 ||
	    finish_target(&in->target, stored, in->sector_bytes, &in->stale_wiped, e) !=
		0 ||
	    resume_forget(&in->resume, e) != 0 || target_seal(&in->target, e) != 0)
		return -1;
	finish_tell_kernel(&in->target);
	return 0;
}

static int
check_all_came(const struct install *in, struct err *e)
{
	uint32_t there = in->fed + in->resume.had;

	/* The last one can be one of those that were there already. */
	if (in->resume.had > 0 ? there == in->resume.expected
			       : !in->ours || there == in->promised)
		return 0;
	return err_set(e, ERR_FORMAT,
	    "truncated: %u chunks came, and the image's last one %s", in->fed,
	    in->promised == 0 ? "is missing" : "counts others");
}

static int
check_tiling(struct install *in, struct err *e)
{
	char text[WARNING_BYTES];
	struct range gap;

	if (!all_known(in))
		return 0;
	if (tiling_check(&in->tiling, &gap, e) != 0)
		return -1;
	if (gap.len == 0 || in->cfg.warn == NULL)
		return 0;
	snprintf(text, sizeof text,
	    "no chunk of the image answers for the sectors %" PRIu64 " to %" PRIu64
	    ": they are as they were",
	    gap.off, range_end(gap) - 1);
	in->cfg.warn(text);
	return 0;
}

int
install_finish(struct install *in, struct install_stats *s, struct err *e)
{
	struct err closing;

	int rc = stop(in, e);
	if (rc == 0)
		rc = check_all_came(in, e);
	if (rc == 0)
		rc = check_tiling(in, e);
	if (rc == 0)
		rc = complete(in, e);
	if (rc == 0)
		rc = resume_done(&in->resume, e);
	*s = (struct install_stats){ .chunks = in->chunks,
		.bytes_written = in->target.bytes_written,
		.bytes_same = in->target.bytes_same,
		.bytes_filled = in->target.bytes_filled,
		.bytes_covered = in->target.bytes_covered,
		.stale_wiped = in->stale_wiped };
	if (target_close(&in->target, &closing) != 0 && rc == 0) {
		*e = closing;
		rc = -1;
	}
	if (rc != 0)
		drop_new_file(in);
	else
		tell_lost(in, s);
	install_free(in);
	return rc;
}

void
install_abort(struct install *in)
{
	struct err e = { .kind = ERR_CANCELLED, .text = "cancelled" };

	if (in == NULL)
		return;
	pipeline_fail(in->pipe, &e);
	stop(in, &e);
	target_close(&in->target, &e);
	drop_new_file(in);
	install_free(in);
}

bool
install_failed(struct install *in)
{
	return pipeline_failed(in->pipe);
}

uint64_t
install_bytes_covered(struct install *in)
{
	return in->target.bytes_covered;
}
