#include "frisbee/sink.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/cli_guard.h"
#include "common/base/grow.h"
#include "common/base/queue.h"
#include "common/disk/disk.h"
#include "common/disk/output.h"
#include "common/ndz/chunk.h"
#include "common/ndz/format.h"
#include "common/ndz/image.h"
#include "common/net/parity.h"
#include "frisbee/partial.h"
#include "frisbee/planner.h"

struct filled {
	uint32_t chunk, bytes;
	bool parity;
	bool planned, partial; /* compared before; not all of it is here */
	uint8_t parity_at[WIRE_CHUNK_BLOCKS];
	struct blockmap bad; /* damaged blocks, */
	struct err why;      /* ... as this says */
};

/* What the first chunk that was accepted is. */
struct kind {
	struct image_identity id;
	bool encrypted, is_signed;
};

struct sink {
	struct sink_config cfg;
	struct mailbox *box;
	struct queue *queue;   /* of &filled[buf] */
	struct filled *filled; /* by buffer */
	struct filled **held;  /* chunks that wait for chunk 0; the thread's */
	uint32_t nheld;
	uint8_t *memory; /* all buffers */
	pthread_t thread;
	bool started;
	struct install *install; /* NULL with -N */
	struct planner *planner; /* or NULL */
	struct rehearsal *rehearsal; /* instead, or NULL */
	struct proof *proof;     /* or NULL; the thread's */
	struct disk *file;       /* -N */
	uint64_t file_bytes;
	bool removable; /* when it does not get whole */
	/* In order: chunks that wait for this one, which came damaged, by number modulo
	 * the buffers.  NULL: in any order. */
	struct filled **waiting;
	uint32_t next;
	bool *damaged;  /* by chunk: it came so before; NULL: not known */
	uint32_t nchunks;
	struct kind kind;        /* the thread's, */
	struct decoder *decoder; /* ... for chunks without a digest; NULL: none came */
	bool only;            /* some partitions are installed, not all */
	bool searching;       /* install_only_source() was told so */
	pthread_mutex_t lock; /* of these: */
	uint32_t *wants;      /* chunks that sink_wants() has not given out */
	size_t nwants, wants_cap;
	bool told; /* that there are some, and it has not taken all yet */
	struct install_stats stats;
	bool failed; /* with err; read after the join */
	struct err err;
};

static size_t
memory_bytes(const struct sink *s)
{
	return (size_t)s->cfg.buffers * NDZ_CHUNK_BYTES;
}

uint8_t *
sink_buffer(struct sink *s, uint32_t buf)
{
	return s->memory + (size_t)buf * NDZ_CHUNK_BYTES;
}

/* Called by install's threads, once for each chunk. */
static void
released(void *arg, const void *chunk)
{
	struct sink *s = arg;

	mailbox_put(
	    s->box, (uint32_t)(((const uint8_t *)chunk - s->memory) / NDZ_CHUNK_BYTES));
}

static int
install_planned(struct sink *s, const struct filled *f, struct err *e)
{
	uint32_t buf = (uint32_t)(f - s->filled);
	struct plan *p = planner_plan(s->planner, buf);
	bool *same = p->same;

	p->same = NULL;
	return install_feed_compared(s->install, f->chunk, sink_buffer(s, buf), same,
	    f->partial, released, s, e);
}

static bool
is_image(const struct sink *s)
{
	return s->install != NULL || s->rehearsal != NULL;
}

/* What the first chunk that was accepted is, all are. */
static int
check_kind(struct sink *s, const struct filled *f, const struct chunk *c, bool encrypted,
    struct err *e)
{
	struct kind *k = &s->kind;

	if (c->ext.present && (uint32_t)c->h.index != f->chunk)
		return err_set(e, ERR_FORMAT,
		    "is not in its place: it says that it is chunk %d", c->h.index);
	if (k->id.known && k->encrypted != encrypted)
		return err_set(e, ERR_FORMAT, "is%s encrypted, unlike the chunks before it",
		    encrypted ? "" : " not");
	if (k->id.known && k->is_signed != c->ext.has_signature)
		return err_set(e, ERR_FORMAT, "is%s signed, unlike the chunks before it",
		    c->ext.has_signature ? "" : " not");
	if (image_identity_check(&k->id, &c->h, &c->ext, e) != 0)
		return -1;
	k->encrypted = encrypted;
	k->is_signed = c->ext.has_signature;
	return 0;
}

/* A chunk that has no digest must decode at least. */
static int
check_stream(struct sink *s, const struct chunk *c, const uint8_t *bytes, struct err *e)
{
	if (s->decoder == NULL)
		s->decoder = decoder_new();
	if (s->decoder == NULL)
		return err_nomem(e, "a decoder");
	return chunk_pieces(c, bytes, s->decoder, NULL, NULL, e);
}

/* Of a chunk that is not all here, each fragment that came has a digest. */
static int
prove_part(struct sink *s, struct filled *f, const struct chunk *c, struct err *e)
{
	uint32_t buf = (uint32_t)(f - s->filled);

	f->bad = partial_damaged_others(
	    c, sink_buffer(s, buf), planner_plan(s->planner, buf)->same);
	if (blockmap_empty(&f->bad))
		return 0;
	return err_set(e, ERR_FORMAT, "the digest of a fragment differs");
}

static int
prove_whole(struct sink *s, struct filled *f, const struct chunk *c, struct err *e)
{
	const uint8_t *bytes = sink_buffer(s, (uint32_t)(f - s->filled));

	if (!c->ext.has_digest)
		return check_stream(s, c, bytes, e);
	if (chunk_check_digest(c, bytes, e) == 0)
		return 0;
	f->bad = partial_damaged(c, bytes);
	return -1;
}

/* The chunk is what the server has, as far as anything can tell, and was decrypted; or it
 * is damaged in the blocks f->bad. */
static int
prove(struct sink *s, struct filled *f, struct err *e)
{
	uint8_t *bytes = sink_buffer(s, (uint32_t)(f - s->filled));
	struct chunk c;

	f->bad = blockmap_range(0, WIRE_CHUNK_BLOCKS);
	if (f->parity && parity_decode(bytes, f->parity_at, e) != 0)
		return -1;
	if (!is_image(s))
		return 0; /* any file: there is nothing to prove it by */
	if (ndz_header_get(&c.h, bytes, NDZ_CHUNK_BYTES, e) != 0)
		return -1;
	/* What authenticates its encryption proves it, and shows the rest. */
	bool encrypted = c.h.encrypted;
	if (encrypted && proof_chunk(s->proof, f->chunk, bytes, e) != 0)
		return -1;
	if (chunk_parse(&c, bytes, e) != 0)
		return -1;
	int rc = f->partial ? prove_part(s, f, &c, e) : prove_whole(s, f, &c, e);
	if (rc == 0 && !encrypted)
		rc = proof_chunk(s->proof, f->chunk, bytes, e);
	if (rc == 0)
		rc = check_kind(s, f, &c, encrypted, e);
	chunk_free(&c);
	return rc;
}

/* All of it comes again; the first time only what is damaged, but no digest covers every
 * block (padding), and parity spreads what is wrong in one. */
static int
send_back(struct sink *s, struct filled *f, struct err *e)
{
	uint32_t buf = (uint32_t)(f - s->filled);
	bool other_reason = e->kind == ERR_NOMEM || e->kind == ERR_IO ||
	                    e->kind == ERR_CANCELLED;

	if (!is_image(s) || other_reason) {
		mailbox_put(s->box, buf);
		return err_ctx(e, "chunk %u", f->chunk);
	}
	bool known = s->damaged != NULL && f->chunk < s->nchunks;
	if (!known || s->damaged[f->chunk])
		f->bad = blockmap_range(0, WIRE_CHUNK_BLOCKS);
	if (known)
		s->damaged[f->chunk] = true;
	f->why = *e;
	mailbox_put(s->box, 2 * s->cfg.buffers + 2 + buf);
	return 0;
}

/* Another chunk than 0 came by chance. */
static int
rehearse(struct sink *s, const struct filled *f, struct err *e)
{
	uint32_t buf = (uint32_t)(f - s->filled);
	const uint8_t *bytes = sink_buffer(s, buf);
	int rc = 0;

	if (f->chunk == 0 && rehearsal_begin(s->rehearsal, bytes, e) != 0)
		rc = -1;
	else if (f->chunk == 0)
		rc = rehearsal_end_early(
		    s->rehearsal, bytes, s->nchunks, s->cfg.dry, e);
	mailbox_put(s->box, buf);
	return rc;
}

/* A chunk that is proved, to where it belongs. */
static int
pass_on(struct sink *s, struct filled *f, struct err *e)
{
	uint32_t buf = (uint32_t)(f - s->filled);

	if (f->planned)
		return install_planned(s, f, e);
	if (s->install != NULL)
		return install_feed(
		    s->install, f->chunk, sink_buffer(s, buf), released, s, e);
	int rc = disk_write(s->file, sink_buffer(s, buf), f->bytes,
	    (uint64_t)f->chunk * NDZ_CHUNK_BYTES, e);
	s->file_bytes += f->bytes;
	mailbox_put(s->box, buf);
	return rc;
}

/* Chunk 0 says whether the others may be written. */
static int
pass_on_in_turn(struct sink *s, struct filled *f, struct err *e)
{
	if (f->chunk != 0 && sink_waits(s)) {
		s->held[s->nheld++] = f;
		return 0;
	}
	int rc = pass_on(s, f, e);
	for (uint32_t i = 0; i < s->nheld && rc == 0; i++)
		rc = pass_on(s, s->held[i], e);
	s->nheld = 0;
	return rc;
}

static int
add_want(struct sink *s, uint32_t chunk, struct err *e)
{
	pthread_mutex_lock(&s->lock);
	int rc = grow(&s->wants, &s->wants_cap, s->nwants, sizeof *s->wants,
	    "the list of chunks", e);
	bool tell = rc == 0 && !s->told;
	if (rc == 0) {
		s->wants[s->nwants++] = chunk;
		s->told = true;
	}
	pthread_mutex_unlock(&s->lock);
	if (tell)
		mailbox_put(s->box, 3 * s->cfg.buffers + 2);
	return rc;
}

/* --only: which chunks does this one lead to? */
static int
learn(struct sink *s, const struct filled *f, struct err *e)
{
	uint32_t chunk;

	if (!s->searching &&
	    install_only_source(s->install, INSTALL_SEARCH, s->nchunks, e) != 0)
		return -1;
	s->searching = true;
	if (install_learn(s->install, f->chunk,
		sink_buffer(s, (uint32_t)(f - s->filled)), e) != 0)
		return -1;
	while (install_wants(s->install, &chunk))
		if (add_want(s, chunk, e) != 0)
			return -1;
	return 0;
}

static int
store(struct sink *s, struct filled *f, struct err *e)
{
	if (prove(s, f, e) != 0)
		return send_back(s, f, e);
	s->next = f->chunk + 1;
	if (s->rehearsal != NULL)
		return rehearse(s, f, e);
	if (s->only && learn(s, f, e) != 0) {
		mailbox_put(s->box, (uint32_t)(f - s->filled));
		return -1;
	}
	return pass_on_in_turn(s, f, e);
}

/* Those behind a chunk that comes again wait for it. */
static int
store_in_order(struct sink *s, struct filled *f, struct err *e)
{
	struct filled **place = &s->waiting[f->chunk % s->cfg.buffers];
	int rc = 0;

	for (*place = f; rc == 0; place = &s->waiting[s->next % s->cfg.buffers]) {
		f = *place;
		if (f == NULL || f->chunk != s->next)
			break;
		*place = NULL;
		rc = store(s, f, e);
		if (s->next == f->chunk)
			break;
	}
	return rc;
}

static int
complete(struct sink *s, struct err *e)
{
	if (s->rehearsal != NULL) {
		rehearsal_free(s->rehearsal);
		s->rehearsal = NULL;
		return 0;
	}
	if (s->install != NULL) {
		struct install *in = s->install;
		s->install = NULL;
		return install_finish(in, &s->stats, e);
	}
	s->stats.bytes_written = s->stats.bytes_covered = s->file_bytes;
	int rc = disk_sync(s->file, e);
	struct err closing;
	if (disk_close(s->file, rc == 0 ? e : &closing) != 0)
		rc = -1;
	s->file = NULL;
	return rc;
}

/* The first error of the install threads is the reason, not that the feeder
 * was cancelled because of it. */
static void
note_failure(struct sink *s, struct err *e)
{
	struct err first;

	planner_stop(s->planner); /* it reads the target */
	if (s->install != NULL && install_failed(s->install)) {
		struct install *in = s->install;
		s->install = NULL;
		if (install_finish(in, &s->stats, &first) != 0)
			*e = first;
	}
	s->err = *e;
	s->failed = true;
}

static void *
sink_main(void *arg)
{
	struct sink *s = arg;
	struct err e;
	void *p;
	enum queue_rc got;
	int rc = 0;

	while (rc == 0 && (got = queue_get(s->queue, &p)) == QUEUE_OK)
		rc = s->waiting != NULL ? store_in_order(s, p, &e) : store(s, p, &e);
	if (rc == 0 && got == QUEUE_END)
		rc = complete(s, &e);
	else if (rc == 0 && s->install != NULL && install_failed(s->install))
		rc = err_set(&e, ERR_CANCELLED, "not complete");
	else if (rc == 0)
		return NULL; /* given up by the caller */
	if (rc != 0)
		note_failure(s, &e);
	mailbox_put(s->box, s->cfg.buffers + (rc == 0));
	return NULL;
}

/* What was written in the background failed: nothing may be on its way here that would
 * find out, for whoever has no room asks for nothing. */
static void
stop_waiting(void *queue)
{
	queue_cancel(queue);
}

static void
planned(void *arg, uint32_t buf)
{
	struct sink *s = arg;

	mailbox_put(s->box, s->cfg.buffers + 2 + buf);
}

static void
planner_gave_up(void *arg)
{
	struct sink *s = arg;

	mailbox_put(s->box, s->cfg.buffers);
}

/* A signature is of the whole chunk, and what is encrypted says nothing by parts. */
static int
open_install(struct sink *s, struct err *e)
{
	struct install_config in = s->cfg.install;

	in.failed = stop_waiting;
	in.failed_arg = s->queue;
	if (install_open(&s->install, &in, s->cfg.target, e) != 0) {
		s->install = NULL;
		return -1;
	}
	s->only = install_is_only(s->install);
	install_trust_digests(s->install);
	if (install_in_order(s->install)) {
		s->waiting = calloc(s->cfg.buffers, sizeof *s->waiting);
		if (s->waiting == NULL)
			return err_nomem(e, "chunk buffers; -C takes fewer");
	}
	if (!in.skip_same || in.state != NULL || s->proof != NULL || s->only)
		return 0;
	struct planner_config pc = { .install = s->install,
		.buffers = s->cfg.buffers,
		.memory = s->memory,
		.planned = planned,
		.failed = planner_gave_up,
		.arg = s };
	return planner_new(&s->planner, &pc, e);
}

static void
tidy(void *new_file)
{
	output_remove(new_file);
}

static int
open_target(struct sink *s, struct err *e)
{
	if (s->cfg.any_file && (s->cfg.install.proof.verify_key != NULL ||
				   s->cfg.install.proof.decrypt != NULL))
		return err_set(e, ERR_USAGE,
		    "-N excludes --verify-key and --decrypt: it loads any file");
	if (proof_new(&s->proof, &s->cfg.install.proof, e) != 0)
		return -1;
	if (s->cfg.dry != NULL)
		return rehearsal_open(&s->rehearsal, &s->cfg.install, s->cfg.target,
		    &(struct rehearsal_source){ 0 }, e);
	if (!s->cfg.any_file)
		return open_install(s, e);
	if (disk_open(&s->file, s->cfg.target,
		DISK_WRITE | DISK_CREATE | DISK_TRUNC |
		    (s->cfg.install.force ? DISK_FORCE : 0),
		e) != 0)
		return -1;
	s->removable = disk_kind(s->file) == DISK_FILE &&
	               strcmp(s->cfg.target, "-") != 0;
	cli_guard_set(s->removable ? tidy : NULL, (void *)(uintptr_t)s->cfg.target);
	return 0;
}

int
sink_new(struct sink **out, const struct sink_config *cfg, struct mailbox *box,
    struct err *e)
{
	struct sink *s = calloc(1, sizeof *s);

	if (s == NULL)
		return err_nomem(e, "the client");
	s->cfg = *cfg;
	s->box = box;
	pthread_mutex_init(&s->lock, NULL);
	s->filled = calloc(cfg->buffers, sizeof *s->filled);
	s->held = calloc(cfg->buffers, sizeof(struct filled *));
	s->queue = queue_new(cfg->buffers);
	s->memory = mmap(NULL, memory_bytes(s), PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (s->memory == MAP_FAILED)
		s->memory = NULL;
	int rc = s->filled == NULL || s->held == NULL || s->queue == NULL ||
	                 s->memory == NULL
	             ? err_nomem(e, "chunk buffers; -C takes fewer")
	             : open_target(s, e);
	if (rc == 0) {
		errno = pthread_create(&s->thread, NULL, sink_main, s);
		rc = errno != 0 ? err_os(e, "cannot start a thread") : 0;
		s->started = rc == 0;
	}
	if (rc != 0) {
		struct err ignored;
		struct install_stats none;
		sink_close(s, &none, &ignored);
		return -1;
	}
	*out = s;
	return 0;
}

bool
sink_has(void *sink, uint32_t chunk)
{
	const struct sink *s = sink;

	if (s->rehearsal != NULL || s->only)
		return chunk != 0;
	return s->install != NULL && install_has(s->install, chunk);
}

bool
sink_resumes(const struct sink *s)
{
	return s->rehearsal != NULL ||
	       (s->install != NULL && (s->only || install_resumes(s->install)));
}

bool
sink_in_order(const struct sink *s)
{
	if (s->rehearsal != NULL)
		return false;
	return s->install != NULL ? install_in_order(s->install)
	                          : disk_kind(s->file) == DISK_STREAM;
}

bool
sink_waits(const struct sink *s)
{
	return s->install != NULL && install_waits(s->install);
}

void
sink_expect(struct sink *s, uint32_t nchunks)
{
	if (!is_image(s))
		return;
	if (s->install != NULL)
		install_expect(s->install, nchunks);
	free(s->damaged);
	s->damaged = calloc(nchunks, sizeof *s->damaged);
	s->nchunks = nchunks;
}

bool
sink_wants(struct sink *s, uint32_t *chunk)
{
	pthread_mutex_lock(&s->lock);
	bool any = s->nwants > 0;
	if (any)
		*chunk = s->wants[--s->nwants];
	s->told = any;
	pthread_mutex_unlock(&s->lock);
	return any;
}

void
sink_put(struct sink *s, uint32_t chunk, uint32_t buf, uint32_t bytes,
    const uint8_t *parity_at)
{
	struct filled *f = &s->filled[buf];

	f->chunk = chunk;
	f->bytes = bytes;
	f->parity = parity_at != NULL;
	f->planned = f->partial = false;
	if (f->parity)
		memcpy(f->parity_at, parity_at, sizeof f->parity_at);
	queue_put(s->queue, &s->filled[buf]);
}

bool
sink_takes_parts(const struct sink *s)
{
	return s->planner != NULL;
}

void
sink_plan(struct sink *s, uint32_t buf, const struct blockmap *here)
{
	planner_put(s->planner, buf, here);
}

const struct blockmap *
sink_planned(const struct sink *s, uint32_t buf, bool *final)
{
	const struct plan *p = planner_plan(s->planner, buf);

	*final = p->final;
	return &p->need;
}

void
sink_put_planned(struct sink *s, uint32_t chunk, uint32_t buf, uint32_t bytes,
    const struct blockmap *here)
{
	const struct plan *p = planner_plan(s->planner, buf);
	struct blockmap lack = blockmap_minus(p->digested, here);
	struct filled *f = &s->filled[buf];

	f->chunk = chunk;
	f->bytes = bytes;
	f->parity = false;
	f->planned = p->final && p->same != NULL;
	f->partial = f->planned && !blockmap_empty(&lack);
	queue_put(s->queue, f);
}

const struct blockmap *
sink_damaged(const struct sink *s, uint32_t buf)
{
	return &s->filled[buf].bad;
}

const struct err *
sink_damage(const struct sink *s, uint32_t buf, uint32_t *chunk)
{
	*chunk = s->filled[buf].chunk;
	return &s->filled[buf].why;
}

void
sink_end(struct sink *s)
{
	queue_close(s->queue);
}

int
sink_close(struct sink *s, struct install_stats *stats, struct err *e)
{
	struct err ignored;

	if (s->started) {
		queue_cancel(s->queue);
		pthread_join(s->thread, NULL);
	}
	planner_stop(s->planner);
	bool unfinished = s->install != NULL || s->file != NULL ||
	                  s->rehearsal != NULL;
	rehearsal_free(s->rehearsal);
	install_abort(s->install);
	disk_close(s->file, &ignored);
	cli_guard_set(NULL, NULL);
	if (unfinished && s->removable && s->started)
		output_remove(s->cfg.target);
	*stats = s->stats;
	int rc = 0;
	if (planner_failed(s->planner, e)) {
		rc = -1;
	} else if (s->failed) {
		*e = s->err;
		rc = -1;
	} else if (unfinished) {
		rc = err_set(e, ERR_CANCELLED, "not complete");
	}
	if (s->memory != NULL)
		munmap(s->memory, memory_bytes(s));
	queue_free(s->queue);
	proof_free(s->proof);
	planner_free(s->planner);
	free(s->damaged);
	free(s->waiting);
	decoder_free(s->decoder);
	pthread_mutex_destroy(&s->lock);
	free(s->wants);
	free(s->filled);
	free(s->held);
	free(s);
	return rc;
}
