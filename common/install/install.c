#include "common/install/install.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/ordered.h"
#include "common/base/pipeline.h"
#include "common/base/pool.h"
#include "common/disk/ptable.h"
#include "common/install/reloc.h"
#include "common/install/target.h"
#include "common/ndz/chunk.h"
#include "common/ndz/fragments.h"
#include "common/ndz/image.h"

enum {
	BUFFER_BYTES = 16 << 20,	/* as much as a chunk of ours holds */
	BUFFER_MIN_BYTES = 1 << 20,
	SPARE_BUFFERS = 2,		/* one being written, one waiting */
	WARNING_BYTES = 600,
	GENTLE_NICE = 10,
};

/* One chunk on its way.  `raw` comes from the pool. */
struct job {
	struct chunk c;
	uint32_t number;
	const void *bytes;
	void (*released)(void *arg, const void *chunk);
	void *arg;
	void *raw;
	enum {
		WHOLE,		/* raw holds all data */
		PACKED,		/* all but the zero fragments */
		STREAMED,	/* too large for raw: decoded again while writing */
	} how;
};

struct install {
	struct install_config cfg;
	struct target target;
	char *unlink_path;	/* a new file, removed when it does not get whole */
	bool must_empty;	/* it holds something else, until the first good chunk */
	struct pipeline *pipe;
	struct ordered *work;
	struct pool *raws;
	size_t raw_bytes;	/* of each */
	struct inflater *writer_inflater;
	struct image_identity id;
	bool ours;		/* chunks say how many they are: of the feeder's thread */
	uint32_t fed, promised;
	bool warned_type;
	_Atomic uint64_t chunks;
};

static void
job_release(struct job *j)
{
	if (j->released != NULL)
		j->released(j->arg, j->bytes);
	j->released = NULL;
}

static void
job_free(struct install *in, struct job *j)
{
	job_release(j);
	if (j->raw != NULL)
		pool_put(in->raws, j->raw);
	chunk_free(&j->c);
	free(j);
}

/* Where the data of a chunk goes, piece by piece, in order. */
struct cursor {
	struct install *in;
	const struct job *job;
	unsigned region;
	uint64_t region_at;	/* bytes of it that are written */
	uint64_t raw_at;	/* bytes of the chunk's data that are written */
	uint64_t sector;	/* the free space that begins here is not yet seen to */
};

/* Bytes of the chunk's data in front of a sector; UINT64_MAX if it has none. */
static uint64_t
raw_offset(const struct ndz_header *h, uint64_t sector)
{
	uint64_t at = 0;

	for (unsigned i = 0; i < h->nregions; i++) {
		struct range r = h->regions[i];
		if (sector >= r.off && sector - r.off < r.len)
			return at + (sector - r.off) * SECTOR_BYTES;
		at += r.len * SECTOR_BYTES;
	}
	return UINT64_MAX;
}

/* Apply the relocations that lie in data[n], which begins at c->raw_at. */
static int
relocate(struct cursor *c, uint8_t *data, size_t n, struct err *e)
{
	const struct ndz_header *h = &c->job->c.h;
	struct range slice = c->in->target.slice;

	for (unsigned i = 0; i < h->nrelocs; i++) {
		const struct ndz_reloc *r = &h->relocs[i];
		if (!reloc_changes(r, slice))
			continue;
		uint64_t at = raw_offset(h, r->sector) + r->offset;
		if (at < c->raw_at || at - c->raw_at >= n)
			continue;
		size_t off = (size_t)(at - c->raw_at);
		if (r->size > n - off)
			return err_set(e, ERR_FORMAT, "the relocation at sector %" PRIu64
			    " is cut in two", r->sector);
		if (reloc_apply(r, slice, data + off, n - off, e) != 0)
			return -1;
	}
	return 0;
}

/* Of a short last sector only the valid bytes are written; a new file ends there. */
static uint64_t
trim_short(struct cursor *c, uint64_t sector, uint64_t bytes)
{
	struct target *t = &c->in->target;
	const struct ndz_header *h = &c->job->c.h;

	for (unsigned i = 0; i < h->nrelocs; i++) {
		const struct ndz_reloc *r = &h->relocs[i];
		uint64_t last = sector + bytes / SECTOR_BYTES - 1;
		if (r->type != NDZ_RELOC_SHORT_SECTOR || r->sector != last ||
		    r->size >= SECTOR_BYTES)
			continue;
		t->short_end = last * SECTOR_BYTES + r->size;
		return bytes - SECTOR_BYTES + r->size;
	}
	return bytes;
}

/* The next n bytes of the chunk's data; p NULL: they are zeros. */
static int
write_data(struct cursor *c, const uint8_t *p, uint64_t n, struct err *e)
{
	struct target *t = &c->in->target;
	const struct ndz_header *h = &c->job->c.h;

	c->raw_at += n;
	while (n > 0) {
		struct range r = h->regions[c->region];
		uint64_t left = r.len * SECTOR_BYTES - c->region_at;
		uint64_t now = n < left ? n : left;
		uint64_t sector = r.off + c->region_at / SECTOR_BYTES;
		uint64_t valid = trim_short(c, sector, now);
		if (c->region_at == 0 && target_free_space(t, c->sector, r.off, e) != 0)
			return -1;
		if (p != NULL ? target_write(t, sector, p, valid, e) != 0 :
		    target_write_zeros(t, sector, valid, e) != 0)
			return -1;
		c->region_at += now;
		p = p != NULL ? p + now : NULL;
		n -= now;
		if (c->region_at == r.len * SECTOR_BYTES) {
			c->sector = range_end(r);
			c->region++;
			c->region_at = 0;
		}
	}
	return 0;
}

static int
write_piece(void *arg, void *data, size_t n, struct err *e)
{
	return relocate(arg, data, n, e) != 0 ? -1 : write_data(arg, data, n, e);
}

/* Neighbouring fragments are written at once. */
static int
write_packed(struct cursor *c, struct err *e)
{
	struct fragments f = fragments_of(&c->job->c);
	const uint8_t *p = c->job->raw;
	uint64_t n = 0;

	while (fragments_next(&f)) {
		if (!f.entry->zero) {
			n += f.raw_bytes;
			continue;
		}
		if (write_data(c, p, n, e) != 0 || write_data(c, NULL, f.raw_bytes, e) != 0)
			return -1;
		p += n;
		n = 0;
	}
	return write_data(c, p, n, e);
}

static int
write_job(struct install *in, struct job *j, struct inflater *inf, struct err *e)
{
	const struct ndz_header *h = &j->c.h;
	struct target *t = &in->target;
	struct cursor c = { .in = in, .job = j, .sector = h->firstsect };
	int rc;

	if (j->how == PACKED)
		rc = write_packed(&c, e);
	else if (j->how == WHOLE)
		rc = write_piece(&c, j->raw, j->c.raw_bytes, e);
	else
		rc = chunk_pieces(&j->c, j->bytes, inf, write_piece, &c, e);
	if (rc == 0)
		rc = target_free_space(t, c.sector, h->lastsect, e);
	if (rc != 0)
		return err_ctx(e, "chunk %u", j->number);
	uint64_t end = t->covered_end;
	while (h->lastsect > end && !atomic_compare_exchange_weak(&t->covered_end, &end, h->lastsect))
		;
	t->bytes_covered += (h->lastsect - h->firstsect) * SECTOR_BYTES;
	in->chunks++;
	return 0;
}

/* A streamed chunk is only checked here; its bytes are needed once more.
 * Adler-32 knows nothing of the header: that is the digest's part. */
static int
decode_job(struct job *j, struct inflater *inf, struct err *e)
{
	int rc = chunk_check_digest(&j->c, j->bytes, e);

	if (rc == 0 && j->how == PACKED)
		rc = chunk_decode_packed(&j->c, j->bytes, inf, j->raw, e);
	else if (rc == 0 && j->how == WHOLE)
		rc = chunk_decode(&j->c, j->bytes, inf, j->raw, e);
	else if (rc == 0)
		rc = chunk_pieces(&j->c, j->bytes, inf, NULL, NULL, e);
	if (rc != 0)
		return err_ctx(e, "chunk %u", j->number);
	if (j->how != STREAMED)
		job_release(j);
	return 0;
}

/* On Linux, nice(2) is the calling thread's alone. */
static void
give_way(const struct install *in)
{
	if (in->cfg.gentle && nice(GENTLE_NICE) == -1)
		return;		/* then it competes: slower, not wrong */
}

static int
decoder_stage(void *arg, struct err *e)
{
	struct install *in = arg;
	struct inflater *inf = inflater_new();
	void *item;
	size_t ticket;
	int rc = 0;

	give_way(in);
	if (inf == NULL)
		return err_nomem(e, "a decoder");
	while (rc == 0 && ordered_begin(in->work, &item, &ticket) == QUEUE_OK) {
		struct job *j = item;
		rc = decode_job(j, inf, e);
		if (rc == 0 && in->cfg.no_writer)
			rc = write_job(in, j, inf, e);
		/* Done also after a failure: the writer takes it to free it. */
		if (rc != 0)
			pipeline_fail(in->pipe, e);
		ordered_done(in->work, ticket);
	}
	inflater_free(inf);
	return rc;
}

static int
writer_stage(void *arg, struct err *e)
{
	struct install *in = arg;
	void *item;
	int rc = 0;

	give_way(in);
	while (rc == 0 && ordered_take(in->work, &item) == QUEUE_OK) {
		if (!in->cfg.no_writer)
			rc = write_job(in, item, in->writer_inflater, e);
		job_free(in, item);
	}
	return rc;
}

static unsigned
decoders(const struct install_config *cfg)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return cfg->jobs != 0 ? (unsigned)cfg->jobs : n > 0 ? (unsigned)n : 1;
}

static void
install_free(struct install *in)
{
	pipeline_free(in->pipe);
	ordered_free(in->work);
	pool_free(in->raws);
	inflater_free(in->writer_inflater);
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
	in->writer_inflater = inflater_new();
	if (in->raws == NULL || in->work == NULL || in->pipe == NULL ||
	    in->writer_inflater == NULL)
		return err_nomem(e, "install buffers; -W takes less");
	pipeline_attach_ordered(in->pipe, in->work);
	pipeline_attach_pool(in->pipe, in->raws);
	int rc = pipeline_start(in->pipe, writer_stage, in);
	for (unsigned i = 0; i < n && rc == 0; i++)
		rc = pipeline_start(in->pipe, decoder_stage, in);
	return rc == 0 ? 0 : pipeline_join(in->pipe, e);
}

int
install_open_disk(struct install **out, const struct install_config *cfg, struct disk *d,
    bool fresh, struct err *e)
{
	struct install *in = calloc(1, sizeof *in);
	struct err ignored;

	if (in == NULL) {
		disk_close(d, &ignored);
		return err_nomem(e, "an installation");
	}
	in->cfg = *cfg;
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

/* A whole image makes a new file of a regular one; everything else is left as
 * long as it is. */
int
install_open(struct install **out, const struct install_config *cfg, const char *path,
    struct err *e)
{
	bool whole = cfg->slice == 0 && !cfg->in_place;
	unsigned flags = DISK_READ | DISK_WRITE | (whole ? DISK_CREATE : 0) |
	    (cfg->force ? DISK_FORCE : 0);
	bool to_stdout = strcmp(path, "-") == 0;
	struct disk *d;

	if (to_stdout)
		flags &= ~(unsigned)DISK_READ;
	if (disk_open(&d, path, flags, e) != 0)
		return -1;
	bool fresh = whole && disk_kind(d) == DISK_FILE;
	bool must_empty = fresh && disk_size_bytes(d) > 0;
	char *unlink_path = fresh && !to_stdout ? strdup(path) : NULL;
	if (install_open_disk(out, cfg, d, fresh, e) != 0) {
		if (unlink_path != NULL && !must_empty)
			unlink(unlink_path);
		free(unlink_path);
		return -1;
	}
	(*out)->unlink_path = unlink_path;
	(*out)->must_empty = must_empty;
	return 0;
}

/* What the file held is given up only when there is something to put there: a
 * delta is refused because of what it may have held. */
static int
empty_file(struct install *in, struct err *e)
{
	if (!in->must_empty)
		return 0;
	if (disk_truncate(in->target.disk, 0, e) != 0)
		return -1;
	in->must_empty = false;
	return 0;
}

static void
remove_part(const struct install *in)
{
	if (in->unlink_path != NULL && !in->must_empty)
		unlink(in->unlink_path);
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
		int rc = reloc_check(r, in->target.slice, e);
		if (rc < 0)
			return -1;
		if (rc > 0 && !in->warned_type && in->cfg.warn != NULL) {
			char text[WARNING_BYTES];
			snprintf(text, sizeof text, "relocations of type %u are not known and left out",
			    r->type);
			in->cfg.warn(text);
			in->warned_type = true;
		}
		if (rc == 0 && r->type != NDZ_RELOC_NONE && r->type != NDZ_RELOC_GPT_FIX &&
		    raw_offset(h, r->sector) == UINT64_MAX)
			return err_set(e, ERR_FORMAT, "a relocation at sector %" PRIu64 ", whose data is "
			    "not in the chunk", r->sector);
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
	if (in->cfg.zero || in->cfg.has_pattern)
		return err_set(e, ERR_REFUSED, "is of a delta image: filling what it does not store "
		    "would wipe out its base");
	if (t->fresh || disk_kind(t->disk) == DISK_STREAM)
		return err_set(e, ERR_REFUSED, "is of a delta image, which goes only onto what its base "
		    "was installed to; imagedelta --onto makes a whole image of both");
	return 0;
}

/* Everything that can be known of a chunk before its data is. */
static int
check_job(struct install *in, struct job *j, struct err *e)
{
	const struct ndz_header *h = &j->c.h;

	if (image_identity_check(&in->id, h, &j->c.ext, e) != 0 ||
	    check_delta(in, &j->c.ext, e) != 0 || check_relocs(in, h, e) != 0)
		return -1;
	return target_check_fit(&in->target, range_end(h->regions[h->nregions - 1]), e);
}

static bool
relocates(const struct install *in, const struct ndz_header *h)
{
	for (unsigned i = 0; i < h->nrelocs; i++)
		if (reloc_changes(&h->relocs[i], in->target.slice))
			return true;
	return false;
}

/* Zero fragments are neither inflated nor written, unless a relocation changes
 * them.  Their streams are believed for the sake of the chunk's digest. */
static void
choose_how(struct install *in, struct job *j)
{
	const struct chunk *c = &j->c;

	if (c->ext.fragments != NULL && c->ext.has_digest && !relocates(in, &c->h) &&
	    chunk_packed_bytes(c) <= in->raw_bytes)
		j->how = PACKED;
	else
		j->how = c->raw_bytes <= in->raw_bytes ? WHOLE : STREAMED;
}

int
install_feed(struct install *in, uint32_t number, const void *bytes,
    void (*released)(void *arg, const void *chunk), void *arg, struct err *e)
{
	struct job *j = calloc(1, sizeof *j);

	if (j == NULL) {
		if (released != NULL)
			released(arg, bytes);
		return err_nomem(e, "a chunk");
	}
	*j = (struct job){ .number = number, .bytes = bytes, .released = released, .arg = arg };
	if (chunk_parse(&j->c, bytes, e) != 0) {
		job_release(j);
		free(j);
		return err_ctx(e, "chunk %u", number);
	}
	if (check_job(in, j, e) != 0 || empty_file(in, e) != 0) {
		job_free(in, j);
		return err_ctx(e, "chunk %u", number);
	}
	in->fed++;
	in->ours |= j->c.ext.present;
	/* Looked at when all threads are gone. */
	in->target.holds_file |= j->c.ext.has_image && j->c.ext.image.kind == EXT_KIND_FILE;
	if (j->c.ext.last)
		in->promised = j->c.ext.nchunks;
	choose_how(in, j);
	if (pool_get(in->raws, &j->raw) != QUEUE_OK) {
		j->raw = NULL;
		job_free(in, j);
		return err_set(e, ERR_CANCELLED, "cancelled");
	}
	if (ordered_submit(in->work, j) != QUEUE_OK) {
		job_free(in, j);
		return err_set(e, ERR_CANCELLED, "cancelled");
	}
	return 0;
}

/* Wait for the threads, and free what a failure left in the pipeline. */
static int
stop(struct install *in, struct err *e)
{
	void *item;

	ordered_close(in->work);
	int rc = pipeline_join(in->pipe, e);
	while (ordered_drain(in->work, &item))
		job_free(in, item);
	return rc;
}

static int
complete(struct install *in, struct err *e)
{
	struct disk *d = in->target.disk;
	struct err note;

	if (target_complete(&in->target, e) != 0)
		return -1;
	if (in->cfg.part_type != 0 &&
	    ptable_set_type(d, (unsigned)in->cfg.slice, (unsigned)in->cfg.part_type, e) != 0)
		return -1;
	if (disk_sync(d, e) != 0)
		return -1;
	if (in->cfg.slice == 0 && disk_reread_partitions(d, &note) != 0 &&
	    in->cfg.warn != NULL)
		in->cfg.warn(note.text);
	return 0;
}

int
install_finish(struct install *in, struct install_stats *s, struct err *e)
{
	struct err closing;

	int rc = stop(in, e);
	if (rc == 0 && in->ours && in->fed != in->promised)
		rc = err_set(e, ERR_FORMAT, "truncated: %u chunks came, and the image's last one %s",
		    in->fed, in->promised == 0 ? "is missing" : "counts others");
	if (rc == 0)
		rc = complete(in, e);
	*s = (struct install_stats){ .chunks = in->chunks,
		.bytes_written = in->target.bytes_written,
		.bytes_filled = in->target.bytes_filled,
		.bytes_covered = in->target.bytes_covered };
	if (target_close(&in->target, &closing) != 0 && rc == 0) {
		*e = closing;
		rc = -1;
	}
	if (rc != 0)
		remove_part(in);
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
	remove_part(in);
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
