/* The walk over fragments finds what a look-up finds, in whatever order it is asked; a
 * signal ends what takes long. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cli/cli.h"
#include "emustore/store/index.h"
#include "tests/t.h"
#include "tests/tmp.h"

enum { LAST = 2000, QUESTIONS = 5000 };

/* With gaps of many lengths. */
static bool
is_there(uint64_t number)
{
	return number % 3 != 0 && number % 100 < 80 && number <= LAST;
}

static bool
add_all(struct index *x)
{
	struct err e;

	for (uint64_t n = 1; n <= LAST; n++) {
		struct index_fragment f = { .number = n,
			.pack = (uint32_t)(n % 7),
			.at = n * 1000,
			.bytes = (uint32_t)n + 5 };
		memcpy(f.head.sha256, &n, sizeof n);
		if (is_there(n) && index_add_fragment(x, &f, &e) != 0)
			return false;
	}
	return true;
}

static bool
answer_is_right(struct index_walk *w, uint64_t number)
{
	struct index_place p = { 0 };
	struct err e;
	int rc = index_walk_to(w, number, &p, &e);

	if (!is_there(number))
		return rc == 0;
	return rc == 1 && p.pack == number % 7 && p.at == number * 1000 &&
	       p.bytes == number + 5;
}

/* Mostly a little further, sometimes anywhere. */
static void
test_walk(struct index *x)
{
	struct index_walk w = index_walk_of(x);
	uint64_t at = 1, random = 5;
	unsigned right = 0;

	for (unsigned i = 0; i < QUESTIONS; i++) {
		random = random * UINT64_C(6364136223846793005) + 1;
		uint64_t r = random >> 33;
		at = r % 16 == 0 ? 1 + r / 16 % (LAST + 50) : at + r % 12;
		right += answer_is_right(&w, at);
		if (r % 97 == 0)
			index_walk_end(&w);
	}
	T_CHECK(right == QUESTIONS);
	T_CHECK(answer_is_right(&w, LAST + 1));
	T_CHECK(answer_is_right(&w, 1));
	T_CHECK(answer_is_right(&w, 1));
	T_CHECK(answer_is_right(&w, 2));
	index_walk_end(&w);
}

/* After its end others may write. */
static void
test_end(struct index *x)
{
	struct index_walk w = index_walk_of(x);
	struct err e;

	T_CHECK(answer_is_right(&w, 1));
	index_walk_end(&w);
	T_CHECK(index_begin(x, true, &e) == 0);
	T_CHECK(index_delete_fragment(x, 1, &e) == 0);
	T_CHECK(index_commit(x, &e) == 0);
	struct index_place p;
	T_CHECK(index_walk_to(&w, 1, &p, &e) == 0);
	index_walk_end(&w);
}

/* What takes SQLite long ends by a signal; undoing goes on. */
static void
test_signal_ends_query(struct index *x)
{
	struct index_fragment f;
	struct err e;

	cli_catch_signals(true);
	T_CHECK(index_begin(x, true, &e) == 0);
	T_CHECK(index_delete_fragment(x, 2, &e) == 0);
	T_CHECK(index_check(x, &e) == 0);
	raise(SIGTERM);
	T_CHECK(index_check(x, &e) == -1);
	T_CHECK(e.kind == ERR_CANCELLED);
	T_CHECK(strstr(e.text, "SIGTERM") != NULL);
	index_rollback(x);
	T_CHECK(index_get_fragment(x, 2, &f, &e) == 1);
	T_CHECK(index_check(x, &e) == 0);
}

int
main(void)
{
	char folder[200], path[220];
	struct index *x;
	struct err e;

	if (!tmp_folder(folder, sizeof folder, "index"))
		return 1;
	snprintf(path, sizeof path, "%s/index.db", folder);
	T_CHECK(index_open(&x, path, INDEX_CREATE, &e) == 0);
	T_CHECK(index_begin(x, true, &e) == 0);
	T_CHECK(add_all(x));
	T_CHECK(index_commit(x, &e) == 0);
	test_walk(x);
	test_end(x);
	test_signal_ends_query(x);
	index_close(x);
	T_CHECK(unlink(path) == 0);
	T_CHECK(rmdir(folder) == 0);
	return t_done();
}
