/* only.c: while the chunks of an image are read in order, it is noted which sectors each chunk
 * answers for and which it stores.  What belongs to a partition is added up at the end,
 * because the tables of logical partitions may be in any chunk.  main.c calls this in the
 * first thread. */
#include "tools/imagedump/only.h"

#include <inttypes.h>
#include <stdlib.h>

#include "common/base/grow.h"
#include "common/base/number.h"
#include "common/base/say.h"
#include "common/image/read/imgtable.h"

struct only_view {
	struct only_list list;
	struct imgtable *table;
	struct range *spans; /* the sectors that each chunk answers for; owned */
	size_t nspans, cap;
	struct rangeset stored; /* all sectors that the image stores */
};

/* What belongs to one partition. */
struct share {
	unsigned number;
	struct range sectors;
	char type[64];
	uint64_t stored; /* sectors */
	uint32_t chunks, first, last; /* how many chunks, and the first and last one's number */
};

int
only_view_new(struct only_view **out, const struct only_list *list, struct err *e)
{
	struct only_view *v = calloc(1, sizeof *v);

	if (v == NULL || imgtable_new(&v->table, e) != 0) {
		free(v);
		return err_nomem(e, "the partitions");
	}
	v->list = *list;
	rangeset_init(&v->stored);
	*out = v;
	return 0;
}

void
only_view_free(struct only_view *v)
{
	if (v == NULL)
		return;
	imgtable_free(v->table);
	rangeset_free(&v->stored);
	free(v->spans);
	free(v);
}

int
only_view_take(struct only_view *v, uint32_t number, const struct chunk *c,
    const void *bytes, struct err *e)
{
	if (grow_array(&v->spans, &v->cap, v->nspans, sizeof *v->spans, "the chunks", e) != 0)
		return -1;
	v->spans[v->nspans++] = (struct range){ c->h.firstsect,
		c->h.lastsect - c->h.firstsect };
	for (unsigned i = 0; i < c->h.nregions; i++)
		if (rangeset_add(&v->stored, c->h.regions[i], e) != 0)
			return -1;
	return imgtable_learn(v->table, number, c, bytes, e);
}

/* Read chunk i once more, and learn from it: it was read before it was known that the
 * partition table has a sector in it. */
static int
learn_again(struct only_view *v, struct image *img, uint32_t i, struct err *e)
{
	uint8_t *buf = malloc(NDZ_CHUNK_BYTES);
	struct chunk c;
	int rc = buf != NULL ? image_read(img, i, buf, e) : err_nomem(e, "a chunk");

	if (rc == 0 && (rc = chunk_parse(&c, buf, e)) == 0) {
		rc = imgtable_learn(v->table, i, &c, buf, e);
		chunk_free(&c);
	}
	free(buf);
	return rc;
}

int
only_view_settle(struct only_view *v, struct image *img, struct err *e)
{
	uint64_t sector;
	int rc = 0;

	rangeset_seal(&v->stored);
	while (rc == 0 && imgtable_needs(v->table, &sector)) {
		uint32_t i = 0;
		while (i < v->nspans &&
		       range_clip(v->spans[i], sector, sector + 1).len == 0)
			i++;
		rc = i < v->nspans && image_seekable(img)
		         ? learn_again(v, img, i, e)
		         : imgtable_cannot(v->table, sector, e);
	}
	for (unsigned i = 0; rc == 0 && i < v->list.n; i++)
		if (imgtable_find(v->table, v->list.number[i]) == NULL ||
		    imgtable_left_out(v->table, v->list.number[i]))
			rc = imgtable_refuse(v->table, v->list.number[i], e);
	return rc == 0 ? 0 : err_ctx(e, "%s", image_name(img));
}

/* Find out what belongs to the partition with this number, which the table has. */
static int
add_up(struct only_view *v, unsigned number, struct share *s, struct err *e)
{
	const struct partition *p = imgtable_find(v->table, number);
	struct rangeset stored;

	*s = (struct share){ .number = number, .sectors = p->sectors };
	ptable_type_name(imgtable_table(v->table), p, s->type, sizeof s->type);
	rangeset_init(&stored);
	int rc = rangeset_union(&stored, &v->stored, e);
	rangeset_clip(&stored, p->sectors.off, range_end(p->sectors));
	s->stored = rangeset_total(&stored);
	rangeset_free(&stored);
	for (uint32_t i = 0; i < v->nspans; i++) {
		struct range r = range_clip(
		    v->spans[i], p->sectors.off, range_end(p->sectors));
		if (r.len == 0)
			continue;
		s->first = s->chunks++ == 0 ? i : s->first;
		s->last = i;
	}
	return rc;
}

static void
print_share(const struct share *s)
{
	char size[32], stored[32];

	say_text(stdout, "  partition %u (%s): %s, sectors %" PRIu64 "-%" PRIu64
	    "; %s of data in %u chunks (%u-%u)\n",
	    s->number, s->type,
	    human_bytes(s->sectors.len * SECTOR_BYTES, size, sizeof size),
	    s->sectors.off, range_end(s->sectors) - 1,
	    human_bytes(s->stored * SECTOR_BYTES, stored, sizeof stored),
	    s->chunks, s->first, s->last);
}

int
only_view_show(struct only_view *v, struct json *j, struct err *e)
{
	struct share s;

	json_array(j, "only");
	for (unsigned i = 0; i < v->list.n; i++) {
		if (add_up(v, v->list.number[i], &s, e) != 0)
			return -1;
		if (j == NULL)
			print_share(&s);
		json_object(j, NULL);
		json_uint(j, "partition", s.number);
		json_string(j, "type", s.type);
		json_uint(j, "first_sector", s.sectors.off);
		json_uint(j, "sectors", s.sectors.len);
		json_uint(j, "data_bytes", s.stored * SECTOR_BYTES);
		json_uint(j, "chunks", s.chunks);
		json_uint(j, "first_chunk", s.first);
		json_uint(j, "last_chunk", s.last);
		json_end(j);
	}
	json_end(j);
	return 0;
}
