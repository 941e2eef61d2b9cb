/* What a client knows of every chunk: the order, and the server's queue. */
#include <stdlib.h>

#include "frisbee/client/client_chunks.h"
#include "tests/t.h"

static const uint64_t MS = 1000, REDO = 3000000, GUARD = 3000;

static bool
is_permutation(const struct client_chunks *k, bool sequential)
{
	uint8_t *seen = calloc(k->n, 1);
	uint32_t count = 0, inorder = 0, c = k->n;
	bool ok = true;

	while ((c = client_chunks_next(k, c)) != k->n) {
		ok = ok && c < k->n && seen[c] == 0;
		seen[c] = 1;
		inorder += c == count++;
	}
	free(seen);
	return ok && count == k->n && (inorder == count) == sequential;
}

static void
test_order(void)
{
	struct client_chunks a, b;

	for (uint32_t n = 1; n < 200; n += 33) {
		T_CHECK(client_chunks_init(&a, n, true, 1, 0) == 0);
		T_CHECK(is_permutation(&a, true));
		client_chunks_fini(&a);
	}
	T_CHECK(client_chunks_init(&a, 1000000, false, 1, 0) == 0);
	T_CHECK(client_chunks_init(&b, 1000000, false, 2, 0) == 0);
	T_CHECK(is_permutation(&a, false));
	T_CHECK(is_permutation(&b, false));
	T_CHECK(client_chunks_next(&a, a.n) != client_chunks_next(&b, b.n));
	client_chunks_prefer(&b, 77);
	T_CHECK(is_permutation(&b, false));
	T_CHECK(client_chunks_next(&b, b.n) == 77);
	client_chunks_prefer(&b, 77);
	T_CHECK(is_permutation(&b, false));
	T_CHECK(client_chunks_next(&b, b.n) == 77);
	uint32_t first = client_chunks_next(&a, a.n);
	uint32_t second = client_chunks_next(&a, first);
	client_chunks_take(&a, first, 7);
	T_CHECK(client_chunks_next(&a, a.n) == second);
	T_CHECK(client_chunks_buf(&a, first) == 7);
	client_chunks_take(&a, second, 8);
	client_chunks_reopen(&a, first);
	T_CHECK(client_chunks_next(&a, a.n) == first);
	client_chunks_fini(&a);
	client_chunks_fini(&b);
}

static void
test_queue(void)
{
	struct client_chunks k;
	uint64_t now = 0;
	bool right = true;

	T_CHECK(client_chunks_init(&k, 500, true, 1, 0) == 0);
	for (uint32_t c = 0; c < 500; c++, now += 6 * MS)
		client_chunks_ask(&k, c, true, now, REDO);
	T_CHECK(k.open_covered == 500);
	/* Asked again: it keeps its place while it waits. */
	T_CHECK(!client_chunks_pass_begins(&k, 0));
	client_chunks_ask(&k, 10, true, now, REDO);
	/* The server is at 100: those well before are lost, after the guard. */
	client_chunks_pass_ends(&k, 0, client_chunks_stamp(&k, now));
	T_CHECK(client_chunks_pass_begins(&k, 100));
	T_CHECK(!client_chunks_pass_begins(&k, 100));
	T_CHECK(client_chunks_settle(&k, now, GUARD) == now + GUARD);
	T_CHECK(client_chunks_waits(&k, 98, now, REDO));
	client_chunks_settle(&k, now + GUARD, GUARD);
	for (uint32_t c = 0; c < 500; c++)
		right = right && client_chunks_waits(&k, c, now, REDO) == (c >= 100);
	T_CHECK(right);
	T_CHECK(k.open_covered == 400);
	/* However old, what is behind the one being served waits. */
	T_CHECK(client_chunks_waits(&k, 400, now + 1000 * REDO, REDO));
	T_CHECK(!client_chunks_waits(&k, 100, now + 1000 * REDO, REDO));
	client_chunks_forget(&k, now);
	T_CHECK(k.open_covered == 0);
	T_CHECK(!client_chunks_waits(&k, 400, now, REDO));
	client_chunks_fini(&k);
}

/* Asked and served over and over: the ring neither grows nor loses anything. */
static void
test_ring(void)
{
	struct client_chunks k;
	uint64_t now = 0;
	bool right = true;

	T_CHECK(client_chunks_init(&k, 100, true, 1, 0) == 0);
	for (uint32_t i = 0; i < 100000; i++, now += MS) {
		client_chunks_ask(&k, i % 100, true, now, REDO);
		client_chunks_ask(&k, (i + 50) % 100, true, now, REDO);
		uint32_t begun = client_chunks_stamp(&k, now);
		client_chunks_pass_begins(&k, i % 100);
		client_chunks_pass_ends(&k, i % 100, begun);
		client_chunks_settle(&k, now, GUARD);
		right = right && !client_chunks_waits(&k, i % 100, now, REDO) &&
		        client_chunks_waits(&k, (i + 50) % 100, now, REDO);
	}
	printf("# %u entries of %u\n", k.queue_used, k.queue_room);
	T_CHECK(right);
	T_CHECK(k.queue_room <= 256);
	client_chunks_fini(&k);
}

/* Stamps are compared modulo 2^32: a session may last. */
static void
test_long_session(void)
{
	struct client_chunks k;
	uint64_t week = UINT64_C(7) * 86400 * 1000 * MS;

	T_CHECK(client_chunks_init(&k, 3, true, 1, 0) == 0);
	for (uint64_t now = 0; now < week; now += 3600ull * 1000 * MS) {
		client_chunks_forget(&k, now);
		client_chunks_ask(&k, 0, true, now, REDO);
		client_chunks_ask(&k, 1, true, now + 10 * MS, REDO);
		client_chunks_pass_begins(&k, 1);
		client_chunks_settle(&k, now + 20 * MS, 0);
		client_chunks_settle(&k, now + 20 * MS, 0);
		if (client_chunks_waits(&k, 0, now + 20 * MS, REDO) ||
		    !client_chunks_waits(&k, 1, now + 20 * MS, REDO)) {
			T_CHECK(false);
			break;
		}
	}
	client_chunks_fini(&k);
}

int
main(void)
{
	test_order();
	test_queue();
	test_ring();
	test_long_session();
	return t_done();
}
