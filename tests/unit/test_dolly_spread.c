/* Which child holds up the others: one that takes less than --slow says, at any rate that may be
 * given.  And a chunk that is forgotten amid one of its frames: the child wants it again.  And
 * which chunks give way for others: those for which only leaves and late children wait, and none
 * that are excused.  And when a child that wants a chunk again has got it damaged. */
#include "dolly/engine/spread.h"

#include "tests/t.h"

enum { CHUNK = 100, PIECE = 50, TAKEN = 10 };

static struct err e;

static struct spread *
new_spread(void)
{
	const struct spread_config c = {
		.slots = 2, .chunk_bytes = CHUNK, .piece_bytes = PIECE, .chunks = 4
	};
	struct spread *s = NULL;

	T_CHECK(spread_new(&s, &c, &e) == 0);
	return s;
}

/* Is a child stuck that takes TAKEN bytes in the whole deadline? */
static bool
is_stuck(uint64_t deadline_us, uint64_t slow)
{
	struct spread *s = new_spread();
	const void *at;
	uint32_t waits;

	struct spread_child *child = spread_join(s, 7, NULL);
	T_CHECK(child != NULL);
	uint32_t slot = spread_begin(s, 0, CHUNK);
	T_CHECK(spread_arrived(s, slot, CHUNK));
	T_CHECK(spread_want(s, child, 0));
	T_CHECK(spread_stuck(s, 1, deadline_us, slow, &waits) == 0);
	T_CHECK(waits == 0);
	T_CHECK(spread_output(s, child, &at) > TAKEN);
	spread_sent(s, child, TAKEN);
	uint32_t stuck = spread_stuck(s, 1 + deadline_us, deadline_us, slow, &waits);
	T_CHECK(waits == 7);
	T_CHECK(stuck == 0 || stuck == 7);
	spread_free(s);
	return stuck == 7;
}

/* The frame that was begun is sent to its end, since the child could not read another one in its
 * middle; then the chunk comes again, from its first byte. */
static void
test_forgotten_in_a_frame(void)
{
	struct spread *s = new_spread();
	struct spread_child *torn = spread_join(s, 7, NULL), *idle = spread_join(s, 8, NULL);
	const void *at;

	T_CHECK(torn != NULL && idle != NULL);
	T_CHECK(!spread_want(s, torn, 3));
	uint32_t slot = spread_begin(s, 3, CHUNK);
	T_CHECK(!spread_arrived(s, slot, PIECE));
	T_CHECK(spread_output(s, torn, &at) > TAKEN);
	spread_sent(s, torn, TAKEN);
	T_CHECK(spread_in_frame(torn));
	T_CHECK(spread_next_wanted(s, 0, true) == SPREAD_NONE);
	spread_forget(s, slot);
	T_CHECK(spread_next_wanted(s, 0, true) == 3);
	for (size_t n; spread_in_frame(torn) && (n = spread_output(s, torn, &at)) > 0;)
		spread_sent(s, torn, n);
	T_CHECK(!spread_in_frame(torn));
	slot = spread_begin(s, 3, CHUNK);
	T_CHECK(spread_next_wanted(s, 0, true) == SPREAD_NONE);
	T_CHECK(spread_arrived(s, slot, CHUNK));
	T_CHECK(spread_output(s, torn, &at) > 0);
	T_CHECK(spread_output(s, idle, &at) == 0);
	spread_free(s);
}

/* The chunks 0 and 1, which both children want, fill the memory. */
static struct spread *
fill_for(struct spread_child **a, struct spread_child **b)
{
	struct spread *s = new_spread();

	*a = spread_join(s, 7, NULL);
	*b = spread_join(s, 8, NULL);
	T_CHECK(*a != NULL && *b != NULL);
	for (uint32_t chunk = 0; chunk < 2; chunk++) {
		T_CHECK(!spread_want(s, *a, chunk) && !spread_want(s, *b, chunk));
		T_CHECK(spread_arrived(s, spread_begin(s, chunk, CHUNK), CHUNK));
	}
	return s;
}

/* A chunk that two leaves want gives way for another one, and both want it again; unless
 * one of them is in the middle of it. */
static void
test_room_of_two_leaves(void)
{
	struct spread_child *one, *two;
	struct spread *s = fill_for(&one, &two);
	const void *at;

	spread_set_leaf(one);
	T_CHECK(!spread_make_room(s));
	spread_set_leaf(two);
	T_CHECK(spread_output(s, two, &at) > TAKEN);
	spread_sent(s, two, TAKEN);
	T_CHECK(spread_make_room(s));
	T_CHECK(spread_find(s, 0) != SPREAD_NONE && spread_next_wanted(s, 0, true) == 1);
	T_CHECK(one->queued == 1 && two->queued == 1);
	(void)spread_begin(s, 2, CHUNK);
	T_CHECK(!spread_make_room(s));
	spread_free(s);
}

/* Both children take so many bytes in the first eighth of a deadline of 8 s: does one of
 * their chunks give way? */
static bool
makes_room(uint32_t bytes, uint64_t slow)
{
	struct spread_child *child[2];
	struct spread *s = fill_for(&child[0], &child[1]);
	const uint64_t deadline_us = 8000000;
	const void *at;

	spread_look(s, 1, deadline_us, slow);
	spread_look(s, 2, deadline_us, slow);
	for (int i = 0; i < 2; i++) {
		T_CHECK(spread_output(s, child[i], &at) > bytes);
		spread_sent(s, child[i], bytes);
	}
	T_CHECK(!spread_make_room(s));
	spread_look(s, 1 + deadline_us / 8, deadline_us, slow);
	bool room = spread_make_room(s);
	spread_free(s);
	return room;
}

/* Both children take nothing, and one says in between that its own children hold it up: it is late
 * only after another eighth of the deadline, and the chunks that it shares stay until then. */
static void
test_an_excuse_counts_for_an_eighth(void)
{
	struct spread_child *one, *other;
	struct spread *s = fill_for(&one, &other);
	const uint64_t eighth_us = 1000000;
	const void *at;

	for (uint64_t now_us = 1; now_us <= eighth_us; now_us += eighth_us / 4) {
		spread_look(s, now_us, 8 * eighth_us, 0);
		for (int i = 0; i < 2; i++)
			T_CHECK(spread_output(s, i == 0 ? one : other, &at) > 0);
	}
	spread_excuse(one);
	spread_look(s, 1 + eighth_us, 8 * eighth_us, 0);
	T_CHECK(!spread_make_room(s) && other->late && !one->late);
	spread_look(s, eighth_us / 4 * 7, 8 * eighth_us, 0);
	T_CHECK(!spread_make_room(s));
	spread_look(s, 1 + eighth_us / 4 * 7, 8 * eighth_us, 0);
	T_CHECK(spread_make_room(s));
	spread_excuse(one);
	T_CHECK(!one->late);
	spread_free(s);
}

/* Sends all that waits for a child. */
static void
send_all(struct spread *s, struct spread_child *c)
{
	const void *at;

	for (size_t n; (n = spread_output(s, c, &at)) > 0;)
		spread_sent(s, c, n);
}

/* A child that wants a chunk again has got this copy of it damaged, so the copy is forgotten.
 * Another copy, which another child has asked for, is as good for the first one, which lacks
 * it for its own children; the other child gets it all the same. */
static void
test_wanted_again(void)
{
	struct spread_child *one, *other;
	struct spread *s = fill_for(&one, &other);

	send_all(s, one);
	send_all(s, other);
	T_CHECK(!spread_want(s, one, 0)); /* damaged */
	T_CHECK(spread_find(s, 0) == SPREAD_NONE && spread_next_wanted(s, 0, true) == 0);
	T_CHECK(spread_arrived(s, spread_begin(s, 0, CHUNK), CHUNK));
	send_all(s, one);
	for (uint32_t chunk = 2; chunk < 4; chunk++)
		T_CHECK(spread_arrived(s, spread_begin(s, chunk, CHUNK), CHUNK));
	T_CHECK(!spread_want(s, other, 0));
	T_CHECK(spread_arrived(s, spread_begin(s, 0, CHUNK), CHUNK));
	T_CHECK(spread_want(s, one, 0));
	T_CHECK(one->queued == 1 && other->queued == 1);
	T_CHECK(spread_next_wanted(s, 0, true) == SPREAD_NONE);
	spread_free(s);
}

int
main(void)
{
	const uint64_t second_us = 1000000;

	T_CHECK(!is_stuck(second_us, 0));
	T_CHECK(!is_stuck(second_us, TAKEN));
	T_CHECK(is_stuck(second_us, TAKEN + 1));
	T_CHECK(!is_stuck(10 * second_us, 1));
	T_CHECK(is_stuck(10 * second_us, 2));
	/* The product of both is 2^64. */
	T_CHECK(is_stuck(UINT64_C(1) << 24, UINT64_C(1) << 40));
	test_forgotten_in_a_frame();
	test_room_of_two_leaves();
	test_wanted_again();
	test_an_excuse_counts_for_an_eighth();
	T_CHECK(!makes_room(TAKEN, TAKEN));
	T_CHECK(makes_room(TAKEN, TAKEN + 1));
	T_CHECK(!makes_room(1, 0));
	T_CHECK(makes_room(0, 0));
	return t_done();
}
