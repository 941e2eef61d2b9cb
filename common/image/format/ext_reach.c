/* ext_reach.c: the record of how far partitions and filesystems reach, to bytes and back.
 * ext.c and ext_put.c call it for the record; imagezip makes it, and installers ask it.
 * It keeps nothing, so any thread may call it. */
#include "common/image/format/ext_reach.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/plain.h"

enum { RECORD_HEAD_BYTES = 8 };

static const uint64_t SECTORS_MAX = UINT64_MAX / SECTOR_BYTES;

/* The name is shown to people: what is harmful for a terminal is replaced. */
static void
get_name(struct reach_part *p, struct rd *r)
{
	rd_copy(r, p->fs, REACH_NAME_BYTES);
	p->fs[REACH_NAME_BYTES] = '\0';
	plain_text(p->fs);
}

static bool
get_part(struct reach_part *p, struct rd *r)
{
	p->number = rd_le32(r);
	p->sector_bytes = rd_le32(r);
	p->sectors.off = rd_le64(r);
	p->sectors.len = rd_le64(r);
	p->fs_sectors = rd_le64(r);
	p->flags = rd_u8(r);
	get_name(p, r);
	return p->sectors.len > 0 && range_within(p->sectors, SECTORS_MAX) &&
	       p->fs_sectors <= p->sectors.len;
}

int
reach_get(struct reach **out, struct rd *r, struct err *e)
{
	uint32_t n = rd_le32(r);
	bool good = true;

	rd_skip(r, 4);
	if (*out != NULL)
		return err_set(e, ERR_FORMAT, "two records of how far partitions reach");
	if (n == 0 || n > REACH_PARTS_MAX || !rd_can_hold(r, n, REACH_PART_BYTES))
		return err_set(e, ERR_FORMAT,
		    "the record of how far partitions reach cannot hold %u of them", n);
	*out = calloc(1, sizeof **out);
	if (*out == NULL)
		return err_nomem(e, "a list of partitions");
	for (uint32_t i = 0; i < n; i++)
		good &= get_part(&(*out)->parts[i], r);
	(*out)->n = n;
	return good ? 0
	            : err_set(e, ERR_FORMAT,
			  "the record of how far partitions reach is invalid");
}

void
reach_put(const struct reach *x, struct wr *w)
{
	wr_le32(w, (uint32_t)x->n);
	wr_le32(w, 0);
	for (size_t i = 0; i < x->n; i++) {
		const struct reach_part *p = &x->parts[i];
		wr_le32(w, p->number);
		wr_le32(w, p->sector_bytes);
		wr_le64(w, p->sectors.off);
		wr_le64(w, p->sectors.len);
		wr_le64(w, p->fs_sectors);
		wr_u8(w, p->flags);
		size_t n = strlen(p->fs);
		wr_bytes(w, p->fs, n);
		wr_zero(w, REACH_NAME_BYTES - n);
	}
}

size_t
reach_record_bytes(const struct reach *x)
{
	return x == NULL ? 0
	                 : RECORD_HEAD_BYTES + REACH_HEAD_BYTES +
	                       x->n * (size_t)REACH_PART_BYTES;
}

static bool
same_part(const struct reach_part *a, const struct reach_part *b)
{
	return a->number == b->number && a->sectors.off == b->sectors.off &&
	       a->sectors.len == b->sectors.len && a->fs_sectors == b->fs_sectors &&
	       a->sector_bytes == b->sector_bytes && a->flags == b->flags &&
	       strcmp(a->fs, b->fs) == 0;
}

bool
reach_same(const struct reach *a, const struct reach *b)
{
	bool same = (a == NULL) == (b == NULL) && (a == NULL || a->n == b->n);

	for (size_t i = 0; same && a != NULL && i < a->n; i++)
		same = same_part(&a->parts[i], &b->parts[i]);
	return same;
}

void
reach_add(struct reach *x, const struct reach_part *p)
{
	if (x->n < REACH_PARTS_MAX)
		x->parts[x->n++] = *p;
}

const struct reach_part *
reach_find(const struct reach *x, unsigned number)
{
	for (size_t i = 0; x != NULL && i < x->n; i++)
		if (x->parts[i].number == number)
			return &x->parts[i];
	return NULL;
}

uint64_t
reach_fs_end(const struct reach_part *p)
{
	return p->fs_sectors != 0 ? p->sectors.off + p->fs_sectors : 0;
}

uint64_t
reach_needed(const struct reach *x, bool disk)
{
	uint64_t needed = 0;

	for (size_t i = 0; x != NULL && i < x->n; i++) {
		const struct reach_part *p = &x->parts[i];
		uint64_t end = disk ? range_end(p->sectors) : reach_fs_end(p);
		if ((p->flags & REACH_STORED) != 0 && end > needed)
			needed = end;
	}
	return needed;
}
