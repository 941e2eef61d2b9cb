/* Which stream may be merged into which target. */
#include "dsync/merge/gate.h"

#include <string.h>

#include "tests/t.h"

static struct stream_id
id(int n)
{
	struct stream_id i;

	memset(&i, n, sizeof i);
	return i;
}

enum { REFUSED = -1 };

static int
says(const struct target_state *t, const struct stream_head *h)
{
	enum gate_says s;
	struct err e;

	if (gate_decide(t, h, &s, &e) == 0)
		return (int)s;
	T_CHECK(e.kind == ERR_REFUSED);
	return REFUSED;
}

/* A target that has state 5 of lineage 9. */
static struct target_state
target(void)
{
	return (struct target_state){ .id = id(5), .lineage = id(9) };
}

static struct stream_head
since(int base, int to)
{
	return (struct stream_head){ .id = id(to), .lineage = id(9), .nbases = 1,
		.bases = { id(base) } };
}

static void
test_base(void)
{
	struct target_state t = target(), none = { 0 };
	struct stream_head right = since(5, 6), wrong = since(4, 6), same = since(4, 5);
	struct stream_head second = since(4, 6), unknown = { .id = id(6) };

	second.nbases = 2, second.bases[1] = id(5);
	T_CHECK(says(&t, &right) == GATE_MERGE);
	T_CHECK(says(&t, &wrong) == REFUSED);
	T_CHECK(says(&t, &second) == GATE_MERGE);
	T_CHECK(says(&t, &same) == GATE_SAME);
	T_CHECK(says(&none, &right) == REFUSED);
	T_CHECK(says(&none, &unknown) == GATE_MERGE);
	T_CHECK(says(&t, &unknown) == GATE_MERGE);
}

static void
test_full(void)
{
	struct target_state t = target(), none = { 0 };
	struct stream_head full = since(1, 6);

	full.flags = STREAM_FULL;
	T_CHECK(says(&t, &full) == GATE_MERGE);
	T_CHECK(says(&none, &full) == GATE_MERGE);
	full.lineage = id(8); /* the copy of another source */
	T_CHECK(says(&t, &full) == REFUSED);
	T_CHECK(says(&none, &full) == GATE_MERGE);
}

/* State 6 was being written over state 5. */
static void
test_incomplete(void)
{
	struct target_state t = target();
	struct stream_head same = since(5, 6), other = since(5, 7), back = since(4, 5);
	struct stream_head unknown = { .id = id(7) };

	t.flags = TARGET_INCOMPLETE;
	t.next = id(6), t.next_lineage = id(9);
	T_CHECK(says(&t, &same) == GATE_MERGE);
	T_CHECK(says(&t, &other) == REFUSED);
	T_CHECK(says(&t, &back) == REFUSED);
	T_CHECK(says(&t, &unknown) == REFUSED);
	other.flags = STREAM_CUMULATIVE;
	t.next_made_at = 100, other.made_at = 100; /* perhaps extracted before */
	T_CHECK(says(&t, &other) == REFUSED);
	other.made_at = 101;
	T_CHECK(says(&t, &other) == GATE_MERGE);
	t.next_lineage = id(8); /* a part of what another source had */
	T_CHECK(says(&t, &other) == REFUSED);
	memset(&other.lineage, 0, sizeof other.lineage); /* perhaps two disks that began alike */
	memset(&t.next_lineage, 0, sizeof t.next_lineage);
	T_CHECK(says(&t, &other) == REFUSED);
	other.lineage = t.next_lineage = id(9);
	other.bases[0] = id(4);
	T_CHECK(says(&t, &other) == REFUSED);
	other.flags = STREAM_FULL;
	T_CHECK(says(&t, &other) == GATE_MERGE);
}

/* State 6 was being written over state 5, and perhaps another one before. */
static void
test_leads_from_both(void)
{
	struct target_state t = target();
	struct stream_head both = since(5, 8), next = since(6, 8);

	t.flags = TARGET_INCOMPLETE;
	t.next = id(6), t.next_lineage = id(9);
	both.nbases = 2, both.bases[1] = id(6);
	T_CHECK(says(&t, &both) == GATE_MERGE);
	T_CHECK(says(&t, &next) == REFUSED);
	t.flags |= TARGET_MIXED;
	T_CHECK(says(&t, &both) == REFUSED);
	both.flags = STREAM_CUMULATIVE, both.made_at = 1;
	T_CHECK(says(&t, &both) == GATE_MERGE);
}

/* After a part of which streams the target's state still tells which blocks must change. */
static void
test_leads_on(void)
{
	struct target_state t = target();
	struct stream_head on = since(5, 6), other = since(4, 6), full = since(4, 6);

	t.made_at = 100;
	full.flags = STREAM_FULL, full.made_at = 101;
	T_CHECK(gate_leads_on(&t, &on));
	T_CHECK(!gate_leads_on(&t, &other));
	T_CHECK(gate_leads_on(&t, &full));
	full.made_at = 100; /* older than the target's state */
	T_CHECK(!gate_leads_on(&t, &full));
	full.made_at = 101, full.lineage = id(8);
	T_CHECK(!gate_leads_on(&t, &full));
	memset(&full.lineage, 0, sizeof full.lineage);
	memset(&t.lineage, 0, sizeof t.lineage);
	T_CHECK(!gate_leads_on(&t, &full));
	t.flags = TARGET_INCOMPLETE, t.next = id(6);
	T_CHECK(gate_leads_on(&t, &other)); /* the same stream again */
}

int
main(void)
{
	test_base();
	test_full();
	test_incomplete();
	test_leads_from_both();
	test_leads_on();
	return t_done();
}
