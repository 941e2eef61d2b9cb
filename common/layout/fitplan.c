/* fitplan.c: finds the places of partitions on a disk of another size (fitplan.h), and checks
 * places.  The installation's feeding thread, imageunzip's first one, and the one that opens a
 * streaming disk call this. */
#include "common/layout/fitplan.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/base/number.h"

enum { HUMAN_CAP = 32 };

static uint64_t
up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

static uint64_t
down(uint64_t n)
{
	return n / PLAN_ALIGN_SECTORS * PLAN_ALIGN_SECTORS;
}

bool
fitplan_moves(const struct fitplan_part *p)
{
	return p->is.off != p->was.off;
}

bool
fitplan_changes(const struct fitplan *p)
{
	bool changes = p->from_sectors != p->sectors;

	for (unsigned i = 0; i < p->n; i++)
		changes |= fitplan_moves(&p->parts[i]) ||
		           p->parts[i].is.len != p->parts[i].was.len;
	return changes;
}

/* Put the partitions, whose lengths are set, one behind the other: those in front of the
 * first change stay where they are, unless they are moved together to close gaps
 * (compact), and so does one that is pinned, if it can.  Returns where the last one ends. */
static uint64_t
place(struct fitplan *p)
{
	uint64_t end = 0;
	bool changed = false;

	for (unsigned i = 0; i < p->n; i++) {
		struct fitplan_part *a = &p->parts[i];
		uint64_t from = up(end, PLAN_ALIGN_SECTORS) +
		                (a->logical ? PLAN_EBR_SECTORS : 0);
		bool near = i == 0 || !p->compact || a->was.off <= from;
		bool stays = (!changed && near) || (a->pinned && end <= a->was.off);
		a->is.off = stays ? a->was.off : from;
		changed |= fitplan_moves(a) || a->is.len != a->was.len;
		end = range_end(a->is);
	}
	return end;
}

static void
set_least(struct fitplan *p)
{
	for (unsigned i = 0; i < p->n; i++)
		p->parts[i].is.len = p->parts[i].least;
}

/* The sum of what the partitions that share had. */
static uint64_t
sharing(const struct fitplan *p)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < p->n; i++)
		sum += p->parts[i].shares ? p->parts[i].was.len : 0;
	return sum;
}

static struct fitplan_part *
last_sharing(struct fitplan *p)
{
	for (unsigned i = p->n; i-- > 0;)
		if (p->parts[i].shares)
			return &p->parts[i];
	return NULL;
}

/* `part` of `whole` parts of n; part <= whole, whole > 0. */
static uint64_t
share(uint64_t n, uint64_t part, uint64_t whole)
{
	return (uint64_t)((unsigned __int128)n * part / whole);
}

/* Give up to `room` more sectors, in whole MiB, to the last partition that shares. */
static void
give_rest(struct fitplan *p)
{
	struct fitplan_part *last = last_sharing(p);
	uint64_t end = place(p);

	if (last == NULL || end >= p->end)
		return;
	if (last == &p->parts[p->n - 1]) {
		uint64_t to = down(p->end);
		if (to > end)
			last->is.len = to - last->is.off;
	} else {
		last->is.len += down(p->end - end);
	}
	/* A partition that begins at another sector than a multiple of 1 MiB, and grows,
	 * makes those behind it begin later. */
	while (place(p) > p->end)
		last->is.len -= PLAN_ALIGN_SECTORS;
}

/* The partitions have room as they were: share what is left. */
static void
enlarge(struct fitplan *p, uint64_t end)
{
	uint64_t more = p->end - end, sum = sharing(p);

	for (unsigned i = 0; i < p->n; i++) {
		struct fitplan_part *a = &p->parts[i];
		if (a->shares)
			a->is.len += down(share(more, a->was.len, sum));
	}
	/* Borders that were no multiples of 1 MiB may cost some of it. */
	for (unsigned i = p->n; i-- > 0 && place(p) > p->end;) {
		struct fitplan_part *a = &p->parts[i];
		while (a->is.len >= a->was.len + PLAN_ALIGN_SECTORS && place(p) > p->end)
			a->is.len -= PLAN_ALIGN_SECTORS;
	}
	give_rest(p);
}

/* Take as much as is too much from the partitions that share, from the last one on. */
static void
take_back(struct fitplan *p)
{
	for (unsigned i = p->n; i-- > 0;) {
		struct fitplan_part *a = &p->parts[i];
		uint64_t end = place(p), spare = a->is.len - a->least;
		if (end <= p->end || !a->shares)
			continue;
		uint64_t over = up(end - p->end, PLAN_ALIGN_SECTORS);
		a->is.len -= over < spare ? over : spare;
	}
}

/* Shorten the partitions that share to what they get of `room` sectors.  One that would
 * get less than it needs gets that, and the others share the rest. */
static void
divide(struct fitplan *p, uint64_t room)
{
	bool full[PTABLE_PARTS_MAX] = { false }, more = true;

	while (more) {
		uint64_t left = room, sum = 0;
		more = false;
		for (unsigned i = 0; i < p->n; i++) {
			const struct fitplan_part *a = &p->parts[i];
			if (a->shares && full[i])
				left -= a->least < left ? a->least : left;
			else if (a->shares)
				sum += a->was.len;
		}
		for (unsigned i = 0; i < p->n; i++) {
			struct fitplan_part *a = &p->parts[i];
			if (!a->shares || full[i])
				continue;
			a->is.len = down(share(left, a->was.len, sum));
			if (a->is.len < a->least) {
				a->is.len = a->least;
				full[i] = more = true;
			}
		}
	}
}

/* They have none: `end` is where they would end. */
static void
shorten(struct fitplan *p, uint64_t end)
{
	uint64_t over = end - p->end, sum = sharing(p);

	divide(p, sum > over ? sum - over : 0);
	for (uint64_t before = UINT64_MAX, is; (is = place(p)) > p->end && is < before;
	    before = is)
		take_back(p);
	if (place(p) > p->end)
		set_least(p);
	give_rest(p);
}

static int
refuse_small(const struct fitplan *p, struct err *e)
{
	char has[HUMAN_CAP], needs[HUMAN_CAP];

	return err_set(e, ERR_REFUSED,
	    "the partitions do not fit: the target has %" PRIu64
	    " sectors of 512 bytes (%s), and they need at least %" PRIu64
	    " (%s); imagezip --shrink makes an image whose filesystems are as small as "
	    "their files allow",
	    p->sectors, human_bytes(p->sectors * SECTOR_BYTES, has, sizeof has), p->least,
	    human_bytes(p->least * SECTOR_BYTES, needs, sizeof needs));
}

/* The least disk: its end is where the table's copy ends behind the last partition. */
static void
find_least(struct fitplan *p)
{
	set_least(p);
	p->least = up(place(p), p->unit) + p->table_end;
}

int
fitplan_make(struct fitplan *p, struct err *e)
{
	p->compact = true;
	find_least(p);
	if (p->least > p->sectors || range_end(p->parts[p->n - 1].is) > p->end)
		return refuse_small(p, e);
	for (unsigned i = 0; i < p->n; i++)
		p->parts[i].is.len = up(p->parts[i].was.len, p->unit);
	p->compact = false;
	p->compact = place(p) > p->end;
	uint64_t end = place(p);
	if (end > p->end)
		shorten(p, end);
	else if (last_sharing(p) != NULL)
		enlarge(p, end);
	place(p);
	return fitplan_check(p, false, e);
}

static int
check_part(const struct fitplan *p, const struct fitplan_part *a, bool force, struct err *e)
{
	if (a->is.len == 0 || a->is.off >= p->end || a->is.len > p->end - a->is.off)
		return err_set(e, ERR_REFUSED,
		    "the plan: partition %u (sector %" PRIu64 ", %" PRIu64
		    " sectors) does not lie in the sectors up to %" PRIu64
		    ", which are those for partitions",
		    a->number, a->is.off, a->is.len, p->end);
	if (a->is.off % p->unit != 0 || a->is.len % p->unit != 0)
		return err_set(e, ERR_REFUSED,
		    "the plan: partition %u does not begin and end with a sector of "
		    "%" PRIu64 " bytes",
		    a->number, p->unit * SECTOR_BYTES);
	if (a->is.len < a->least)
		return err_set(e, ERR_REFUSED,
		    "the plan: partition %u gets %" PRIu64
		    " sectors, and what is in it needs %" PRIu64
		    ": installing makes no filesystem smaller, imagezip --shrink does",
		    a->number, a->is.len, a->least);
	if (a->pinned && fitplan_moves(a) && !force)
		return err_set(e, ERR_REFUSED,
		    "the plan moves partition %u, of Windows, which is started from its "
		    "first sector in the MBR (--force moves it)",
		    a->number);
	return 0;
}

/* Is there room for the record of a logical partition in front of it?  One that stays has
 * its own, if what is in front did not become longer. */
static bool
has_record(const struct fitplan_part *a, const struct fitplan_part *before)
{
	uint64_t end = before != NULL ? range_end(before->is) : 1;
	bool as_it_was = before == NULL || end <= range_end(before->was);

	return !a->logical || (!fitplan_moves(a) && as_it_was) ||
	       (a->is.off >= PLAN_EBR_SECTORS && a->is.off - PLAN_EBR_SECTORS >= end);
}

static int
check_order(const struct fitplan_part *a, const struct fitplan_part *before, struct err *e)
{
	if (before == NULL && a->is.off < a->was.off)
		return err_set(e, ERR_REFUSED,
		    "the plan: partition %u begins before sector %" PRIu64
		    ": what lies in front of the first partition has its place there",
		    a->number, a->was.off);
	if (before != NULL && a->is.off < range_end(before->is))
		return err_set(e, ERR_REFUSED,
		    "the plan: partition %u begins before the end of partition %u: the "
		    "order of partitions stays, and none shares sectors with another",
		    a->number, before->number);
	return has_record(a, before)
	           ? 0
	           : err_set(e, ERR_REFUSED,
			 "the plan: partition %u is a logical one, and needs %u sectors "
			 "in front of it for its record",
			 a->number, PLAN_EBR_SECTORS);
}

int
fitplan_check(const struct fitplan *p, bool force, struct err *e)
{
	for (unsigned i = 0; i < p->n; i++)
		if (check_part(p, &p->parts[i], force, e) != 0 ||
		    check_order(&p->parts[i], i > 0 ? &p->parts[i - 1] : NULL, e) != 0)
			return -1;
	return 0;
}
