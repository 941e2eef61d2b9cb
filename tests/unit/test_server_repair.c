/* A part of the server's engine: how many parity blocks the groups of a chunk need. */
#include <string.h>

#include "frisbeed/server/server_repair.h"
#include "tests/t.h"

enum { CHUNKS = 4, SECOND = 1000000, WINDOW = 100000 };

static struct repair r;
static uint8_t count[WIREXT_GROUPS];
static uint32_t chunk;

static void
begin(void)
{
	T_CHECK(repair_init(&r, CHUNKS, 0, &repair_usual) == 0);
	T_CHECK(repair_due_us(&r, WINDOW) == UINT64_MAX);
}

/* A client lacks so many blocks of each group. */
static uint32_t
report(uint32_t of, uint8_t lacks, uint32_t most, uint64_t now_us)
{
	uint8_t lack[WIREXT_GROUPS];

	memset(lack, lacks, sizeof lack);
	return repair_report(&r, of, lack, most, now_us);
}

/* The largest number that anybody reports is sent, once, after the window. */
static void
test_largest(void)
{
	begin();
	T_CHECK(report(2, 3, UINT32_MAX, 0) == 3 * WIREXT_GROUPS);
	T_CHECK(report(2, 5, UINT32_MAX, 10) == 2 * WIREXT_GROUPS);
	T_CHECK(report(2, 4, UINT32_MAX, 20) == 0);
	T_CHECK(repair_due_us(&r, WINDOW) == WINDOW);
	T_CHECK(repair_due_us(&r, WINDOW / 4) == WINDOW / 4);
	T_CHECK(!repair_next(&r, WINDOW - 1, WINDOW, &chunk, count));
	T_CHECK(repair_next(&r, WINDOW, WINDOW, &chunk, count));
	T_CHECK(chunk == 2);
	T_CHECK(count[0] == 5);
	T_CHECK(repair_busy(&r, 2));
	T_CHECK(report(2, 5, UINT32_MAX, WINDOW) == 0); /* they are on their way */
	for (unsigned g = 0; g < WIREXT_GROUPS; g++)
		for (unsigned i = 0; i < 5; i++)
			T_CHECK(repair_sent(&r, 2, g) == i);
	T_CHECK(!repair_busy(&r, 2));
	T_CHECK(report(2, 1, UINT32_MAX, SECOND) == WIREXT_GROUPS);
	T_CHECK(repair_next(&r, 2 * SECOND, WINDOW, &chunk, count));
	T_CHECK(repair_sent(&r, 2, 0) == 5); /* another one than before */
	repair_fini(&r);
}

/* What is more than an address may cause comes when nobody wants anything else. */
static void
test_late(void)
{
	unsigned sum = 0;

	begin();
	T_CHECK(report(1, 40, 16, 0) <= 16);
	T_CHECK(repair_next(&r, SECOND, WINDOW, &chunk, count));
	T_CHECK(count[0] == 2);
	T_CHECK(r.nlate == 1);
	while (repair_next_late(&r, &chunk, count)) {
		T_CHECK(chunk == 1);
		T_CHECK(count[0] <= repair_usual.late_at_once);
		sum += count[0];
	}
	T_CHECK(sum == 38);
	/* A new pass of the chunk: what was late is forgotten. */
	report(3, 40, 16, 0);
	repair_pass(&r, 3);
	T_CHECK(!repair_next_late(&r, &chunk, count));
	repair_fini(&r);
}

/* A second with too many reports: parity goes proactive, and less of it when all is calm. */
static void
test_unasked(void)
{
	begin();
	for (unsigned i = 0; i < 100; i++)
		repair_count_message(&r);
	repair_add_proactive(&r, 0, SECOND, 80);
	T_CHECK(r.proactive == 1);
	T_CHECK(repair_due_us(&r, WINDOW) <= SECOND);
	T_CHECK(repair_next(&r, SECOND, WINDOW, &chunk, count));
	T_CHECK(chunk == 0);
	T_CHECK(count[3] == 1);
	repair_even_out(&r);
	T_CHECK(r.proactive == 0.5);
	repair_add_proactive(&r, 1, 2 * SECOND, 80);
	T_CHECK(r.proactive > 0);
	T_CHECK(r.proactive < 0.2);
	/* With few clients there is none. */
	for (unsigned i = 0; i < 100; i++)
		repair_count_message(&r);
	repair_add_proactive(&r, 2, 3 * SECOND, 7);
	T_CHECK(r.proactive == 0);
	repair_fini(&r);
}

/* The policy is a value: with another budget, the same reports are not too many. */
static void
test_policy(void)
{
	struct repair_policy patient = repair_usual;

	patient.budget = 1000;
	T_CHECK(repair_init(&r, CHUNKS, 0, &patient) == 0);
	for (unsigned i = 0; i < 100; i++)
		repair_count_message(&r);
	repair_add_proactive(&r, 0, SECOND, 80);
	T_CHECK(r.proactive == 0);
	repair_fini(&r);
}

int
main(void)
{
	test_largest();
	test_late();
	test_unasked();
	test_policy();
	return t_done();
}
