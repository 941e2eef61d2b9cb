/* fitplan_text.c: plans for people and as JSON, and the plans of users, which are JSON
 * (fitplan.h).  The installation's feeding thread and imageunzip's first one call this.
 */
#include <inttypes.h>
#include <stdio.h>

#include "common/base/jtree.h"
#include "common/base/number.h"
#include "common/base/say.h"
#include "common/base/xxh64.h"
#include "common/layout/fitplan.h"

enum { HUMAN_CAP = 32 };

/* Take the place of one partition. */
static int
take_place(struct fitplan *p, bool have[], const struct jtree *t, struct err *e)
{
	uint64_t number;
	struct range is;
	unsigned i = 0;

	if (!jtree_whole(jtree_get(t, "number"), &number) ||
	    !jtree_whole(jtree_get(t, "first_sector"), &is.off) ||
	    !jtree_whole(jtree_get(t, "sectors"), &is.len))
		return err_set(e, ERR_FORMAT,
		    "this is no plan: \"number\", \"first_sector\" and \"sectors\" of each "
		    "partition must be whole numbers");
	while (i < p->n && p->parts[i].number != number)
		i++;
	if (i == p->n || have[i])
		return err_set(e, ERR_FORMAT,
		    i == p->n ? "the plan has partition %" PRIu64
				", which the image does not have"
			      : "the plan has partition %" PRIu64 " twice",
		    number);
	have[i] = true;
	p->parts[i].is = is;
	return 0;
}

static int
take_places(struct fitplan *p, const struct jtree *places, struct err *e)
{
	bool have[PTABLE_PARTS_MAX] = { false };

	if (jtree_is(places) != JTREE_ARRAY)
		return err_set(e, ERR_FORMAT,
		    "this is no plan: it must be a JSON object with an array \"partitions\"");
	for (size_t i = 0; i < jtree_count(places); i++)
		if (take_place(p, have, jtree_at(places, i), e) != 0)
			return -1;
	for (unsigned i = 0; i < p->n; i++)
		if (!have[i])
			return err_set(e, ERR_FORMAT,
			    "the plan lacks partition %u, which the image has",
			    p->parts[i].number);
	return 0;
}

int
fitplan_take(struct fitplan *p, const char *text, size_t len, const char *name, struct err *e)
{
	struct jtree *t;
	int rc = jtree_read(&t, text, len, e);

	if (rc == 0)
		rc = take_places(p, jtree_get(t, "partitions"), e);
	jtree_free(t);
	return rc == 0 ? 0 : err_ctx(e, "%s", name);
}

uint64_t
fitplan_hash(const struct fitplan *p)
{
	uint64_t v[PTABLE_PARTS_MAX * 3 + 1] = { p->sectors };

	for (unsigned i = 0; i < p->n; i++) {
		v[3 * i + 1] = p->parts[i].number;
		v[3 * i + 2] = p->parts[i].is.off;
		v[3 * i + 3] = p->parts[i].is.len;
	}
	return xxh64(v, (3 * p->n + 1) * sizeof v[0]);
}

static void
print_part(const struct fitplan_part *a)
{
	char was[HUMAN_CAP], is[HUMAN_CAP];

	say_text(stdout,
	    "%6u  %-6s %11" PRIu64 " %11" PRIu64 " (%s) -> %11" PRIu64 " %11" PRIu64
	    " (%s)  %s%s\n",
	    a->number, a->fs[0] != '\0' ? a->fs : "-", a->was.off, a->was.len,
	    human_bytes(a->was.len * SECTOR_BYTES, was, sizeof was), a->is.off, a->is.len,
	    human_bytes(a->is.len * SECTOR_BYTES, is, sizeof is), a->why,
	    fitplan_moves(a) ? "; moves" : "");
}

void
fitplan_print(const struct fitplan *p)
{
	char was[HUMAN_CAP], is[HUMAN_CAP], least[HUMAN_CAP];

	say_text(stdout,
	    "the image's disk has %" PRIu64 " sectors (%s), the target %" PRIu64
	    " (%s); at least %" PRIu64 " (%s) are needed\n",
	    p->from_sectors, human_bytes(p->from_sectors * SECTOR_BYTES, was, sizeof was),
	    p->sectors, human_bytes(p->sectors * SECTOR_BYTES, is, sizeof is), p->least,
	    human_bytes(p->least * SECTOR_BYTES, least, sizeof least));
	say_text(stdout, "number  holds  first sector and sectors before -> after, and why\n");
	for (unsigned i = 0; i < p->n; i++)
		print_part(&p->parts[i]);
}

static void
json_part(const struct fitplan_part *a, struct json *j)
{
	json_object(j, NULL);
	json_uint(j, "number", a->number);
	json_string(j, "filesystem", a->fs);
	json_object(j, "was");
	json_uint(j, "first_sector", a->was.off);
	json_uint(j, "sectors", a->was.len);
	json_end(j);
	json_uint(j, "first_sector", a->is.off);
	json_uint(j, "sectors", a->is.len);
	json_uint(j, "least_sectors", a->least);
	json_bool(j, "shares", a->shares);
	json_bool(j, "moves", fitplan_moves(a));
	json_string(j, "why", a->why);
	json_end(j);
}

void
fitplan_json(const struct fitplan *p, struct json *j)
{
	json_uint(j, "image_sectors", p->from_sectors);
	json_uint(j, "target_sectors", p->sectors);
	json_uint(j, "least_sectors", p->least);
	json_array(j, "partitions");
	for (unsigned i = 0; i < p->n; i++)
		json_part(&p->parts[i], j);
	json_end(j);
}
