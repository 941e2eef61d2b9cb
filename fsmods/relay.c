/* relay.c: runs a module's scan in a confined child process, and passes what the child's
 * sink is told on to the parent's sink. fsmods.c calls relay_scan(), in the thread that
 * scans. */
#include "fsmods/relay.h"

#include <stdio.h>
#include <string.h>

#include "common/base/confined.h"
#include "common/base/frame.h"
#include "common/base/wr.h"
#include "common/disk/disk_lent.h"
#include "fsmods/sink.h"

enum {
	RANGE_BYTES = 16,
	/* The time limit of a scan. It reads data that grows with the partition: bitmaps,
	 * or one block for each 128 MiB after a seek. The time is enough for a slow disk
	 * that has other work. */
	SECONDS_LEAST = 120,
	SECTORS_PER_SECOND = 8 << 20, /* 4 GiB */
	/* The parent's ranges may take 1 / RANGES_SHARE of the memory that the child may
	 * have. The child still has its memory when the ranges arrive, a set has twice its
	 * size while it grows, and the layout is a second set. */
	RANGES_SHARE = 8,
};

struct relay {
	struct confined *out;
	struct wr batch; /* ranges of one kind, not sent yet */
	enum relay_kind kind;
	bool failed; /* a message could not be sent */
	struct err why;
	uint8_t bytes[FRAME_PAYLOAD_MAX];
};

struct relayed {
	const struct fsmod *mod;
	struct disk *disk;
	struct range part;
	struct skip_sink *sink;
	uint64_t ranges_left;
};

/* Send a message. The first failure is remembered for flush(), because skip_warn() and
 * skip_fs_end() cannot return one. */
static void
tell_parent(struct relay *r, enum relay_kind kind, const void *payload, size_t len)
{
	if (!r->failed &&
	    confined_say(r->out, (uint8_t)kind, payload, len, &r->why) != 0)
		r->failed = true;
}

static int
flush(struct relay *r, struct err *e)
{
	if (wr_len(&r->batch) > 0)
		tell_parent(r, r->kind, r->bytes, wr_len(&r->batch));
	r->batch = wr_to(r->bytes, sizeof r->bytes);
	if (r->failed)
		*e = r->why;
	return r->failed ? -1 : 0;
}

int
relay_range(struct relay *r, enum relay_kind kind, struct range sectors, struct err *e)
{
	bool full = sizeof r->bytes - wr_len(&r->batch) < RANGE_BYTES;

	if ((full || kind != r->kind) && flush(r, e) != 0)
		return -1;
	r->kind = kind;
	wr_le64(&r->batch, sectors.off);
	wr_le64(&r->batch, sectors.len);
	return 0;
}

void
relay_warn(struct relay *r, const char *text)
{
	tell_parent(r, RELAY_WARN, text, strlen(text));
}

void
relay_fs_end(struct relay *r, uint64_t sectors)
{
	uint8_t bytes[8];
	struct wr w = wr_to(bytes, sizeof bytes);

	wr_le64(&w, sectors);
	tell_parent(r, RELAY_FS_END, bytes, sizeof bytes);
}

void
relay_suspended(struct relay *r)
{
	tell_parent(r, RELAY_SUSPENDED, NULL, 0);
}

static int
hear_range(struct skip_sink *sink, uint8_t kind, struct range r, struct err *e)
{
	switch (kind) {
	case RELAY_ZERO:
		return skip_zero(sink, r, e);
	case RELAY_ZONE:
		return skip_zone(sink, r, e);
	case RELAY_HOT:
		return skip_hot(sink, r, e);
	}
	return skip_add(sink, r, e);
}

static int
hear_ranges(struct skip_sink *sink, uint64_t *left, uint8_t kind, struct rd *payload,
    struct err *e)
{
	uint64_t n = rd_left(payload) / RANGE_BYTES;

	if (rd_left(payload) % RANGE_BYTES != 0)
		return err_set(e, ERR_FORMAT, "a message with an incomplete range");
	if (n > *left)
		return err_set(e, ERR_FORMAT,
		    "it reports more ranges than there is memory for");
	*left -= n;
	while (n-- > 0) {
		struct range r = { .off = rd_le64(payload) };
		r.len = rd_le64(payload);
		if (hear_range(sink, kind, r, e) != 0)
			return -1;
	}
	return 0;
}

int
relay_hear(struct skip_sink *sink, uint64_t *left, uint8_t kind, struct rd *payload,
    struct err *e)
{
	uint64_t sectors;
	size_t n = rd_left(payload);

	switch (kind) {
	case RELAY_SKIP:
	case RELAY_ZERO:
	case RELAY_ZONE:
	case RELAY_HOT:
		return hear_ranges(sink, left, kind, payload, e);
	case RELAY_WARN:
		skip_warn(sink, "%.*s", (int)n, (const char *)rd_bytes(payload, n));
		return 0;
	case RELAY_FS_END:
		sectors = rd_le64(payload);
		if (!rd_done(payload))
			break;
		skip_fs_end(sink, sectors);
		return 0;
	case RELAY_SUSPENDED:
		if (n != 0)
			break;
		skip_suspended(sink);
		return 0;
	}
	return err_set(e, ERR_FORMAT, "a message of kind %u and %zu bytes", kind, n);
}

/* Runs in the child: the module's scan(), with a sink that sends what it is told. */
static int
run(void *arg, struct confined *out, struct err *e)
{
	struct relayed *x = arg;
	struct relay r = { .out = out, .kind = RELAY_SKIP };
	struct skip_sink sink = { .scan = x->sink->scan,
		.part_sectors = x->part.len,
		.relay = &r };

	r.batch = wr_to(r.bytes, sizeof r.bytes);
	if (x->mod->scan(x->disk, x->part, &sink, e) != 0)
		return -1;
	return flush(&r, e);
}

static int
heard(void *arg, uint8_t kind, struct rd *payload, struct err *e)
{
	struct relayed *x = arg;

	return relay_hear(x->sink, &x->ranges_left, kind, payload, e);
}

/* Describe in f->confinement how the child was run. */
static void
say_how(struct fs_scan *f, const struct confined_job *j, const char *unfiltered)
{
	snprintf(f->confinement, sizeof f->confinement,
	    "was read by a process of its own, in %u s and with %llu MiB of memory at "
	    "most; its system calls were %s%s",
	    j->seconds, (unsigned long long)(j->memory_bytes >> 20),
	    unfiltered == NULL ? "filtered" : "not filtered: ",
	    unfiltered == NULL ? "" : unfiltered);
}

/* asks_fd: where the child asks the parent to read for it; 0: the child can read the disk
 * itself. */
static int
scan_in_child(const struct fsmod *mod, struct disk *d, int asks_fd, struct range part,
    struct skip_sink *sink, struct err *e)
{
	uint64_t more = part.len / SECTORS_PER_SECOND, memory = confined_memory();
	struct relayed x = { mod, d, part, sink,
		memory / RANGES_SHARE / sizeof(struct range) };
	struct confined_job job = {
		.who = "the process that reads it",
		.run = run,
		.heard = heard,
		.arg = &x,
		.seconds = SECONDS_LEAST + (unsigned)(more < 1 << 20 ? more : 1 << 20),
		.memory_bytes = memory,
		.asks_fd = asks_fd,
	};
	const char *unfiltered;
	int rc = confined_run(&job, &unfiltered, e);

	say_how(sink->scan, &job, unfiltered);
	return rc;
}

int
relay_scan(const struct fsmod *mod, struct disk *d, struct range part,
    struct skip_sink *sink, struct err *e)
{
	struct disk_lent *loan;
	struct disk *borrowed;

	if (disk_child_reads(d))
		return scan_in_child(mod, d, 0, part, sink, e);
	if (disk_lend(&loan, d, &borrowed, e) != 0)
		return -1;
	int rc = scan_in_child(mod, borrowed, disk_lent_fd(loan), part, sink, e);
	disk_lent_end(loan);
	return rc;
}
