/* resume.c: compares some blocks of a target with what they were before a merge, and with what they
 * become by it.  After a reboot, a name such as /dev/sdb can be that of another disk, which must not
 * get the rest of a stream.  merge.c calls this, in one thread. */
#include "dsync/merge/resume.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/zero.h"

/* If the stream writes fewer of the blocks than this, a power cut can leave most of them
 * neither as they were nor as they become. */
enum { ENOUGH = 8 };

/* The blocks as the target has them, and with the stream's data on them. */
struct blocks {
	uint64_t bytes; /* of the target */
	uint8_t is[SAMPLE_BLOCKS * SAMPLE_BLOCK_BYTES];
	uint8_t becomes[SAMPLE_BLOCKS * SAMPLE_BLOCK_BYTES];
	bool written[SAMPLE_BLOCKS]; /* by the stream, at least in part */
};

static struct blocks *
read_blocks(struct disk *target, uint64_t bytes, struct err *e)
{
	struct blocks *b = calloc(1, sizeof *b);

	if (b == NULL) {
		err_nomem(e, "a sample");
		return NULL;
	}
	b->bytes = bytes;
	if (sample_read(target, bytes, b->is, e) == 0) {
		memcpy(b->becomes, b->is, sizeof b->is);
		return b;
	}
	free(b);
	return NULL;
}

int
resume_mark(struct disk *target, uint64_t bytes, struct sample_marks *m, struct err *e)
{
	memset(m, 0, sizeof *m);
	if (disk_size_bytes(target) != bytes)
		return 0;
	struct blocks *b = read_blocks(target, bytes, e);
	if (b == NULL)
		return -1;
	sample_mark(b->is, m);
	free(b);
	return 0;
}

/* Put what a record has of the i-th block onto it. */
static void
put_on(struct blocks *b, unsigned i, const struct stream_record *r)
{
	struct range block = sample_block(b->bytes, i);
	struct range both = range_clip(r->bytes, block.off, range_end(block));

	if (both.len == 0)
		return;
	uint8_t *to = b->becomes + (size_t)i * SAMPLE_BLOCK_BYTES + (both.off - block.off);
	if (r->type == STREAM_DATA)
		memcpy(to, (const uint8_t *)r->data + (both.off - r->bytes.off), (size_t)both.len);
	else
		memset(to, 0, (size_t)both.len);
	b->written[i] = true;
}

static int
put_stream_on(struct blocks *b, struct stream_in *in, struct err *e)
{
	struct stream_record r;
	int rc;

	while ((rc = stream_in_next(in, &r, e)) == 1)
		for (unsigned i = 0; i < SAMPLE_BLOCKS; i++)
			put_on(b, i, &r);
	return rc;
}

/* Whether a block that the stream writes is neither as it was nor as it becomes. */
static bool
is_strange(const struct blocks *b, unsigned i, const struct sample_marks *m)
{
	size_t at = (size_t)i * SAMPLE_BLOCK_BYTES;

	return !sample_has(b->is, i, m) &&
	       memcmp(b->is + at, b->becomes + at, SAMPLE_BLOCK_BYTES) != 0;
}

static bool
is_the_one(const struct blocks *b, const struct sample_marks *m)
{
	unsigned written = 0, strange = 0;

	for (unsigned i = 0; i < SAMPLE_BLOCKS; i++) {
		if (i > 0 && sample_block(b->bytes, i).off == sample_block(b->bytes, i - 1).off)
			continue; /* the same block again: a small target */
		if (!b->written[i] && !sample_has(b->is, i, m))
			return false;
		written += b->written[i];
		strange += b->written[i] && is_strange(b, i, m);
	}
	return written < ENOUGH || strange <= written / 2;
}

int
resume_check(struct disk *target, uint64_t bytes, const struct sample_marks *m,
    struct stream_in *in, struct err *e)
{
	struct blocks *b;

	if (is_zero(m, sizeof *m))
		return 0;
	if (disk_size_bytes(target) < bytes)
		return err_set(e, ERR_REFUSED, "%s: is smaller than when the merge began",
		    disk_name(target));
	b = read_blocks(target, bytes, e);
	if (b == NULL)
		return -1;
	int rc = put_stream_on(b, in, e);
	if (rc == 0 && !is_the_one(b, m))
		rc = err_set(e, ERR_REFUSED,
		    "%s: is another target than the merge was writing to, or was written since",
		    disk_name(target));
	free(b);
	return rc;
}
