/* The list of lost sectors: to bytes and back, cut short, wrong, and when there is
 * not enough room for all of it. */
#include "common/image/format/lost.h"

#include <string.h>

#include "tests/t.h"

enum { LEAST = LOST_HEAD_BYTES + LOST_RANGES_MIN * LOST_RANGE_BYTES };

static void
make(struct lost *l, const struct range *r, size_t n, size_t bytes)
{
	struct lostset s;
	struct err e;

	lostset_init(&s);
	for (size_t i = 0; i < n; i++)
		T_CHECK(rangeset_add(&s.set, r[i], &e) == 0);
	rangeset_seal(&s.set);
	s.sectors = rangeset_total(&s.set);
	T_CHECK(lost_make(l, &s, bytes, &e) == 0);
	lostset_free(&s);
}

static int
read_back(struct lost *l, const void *bytes, size_t n)
{
	struct rd r = rd_from(bytes, n);
	struct err e;

	*l = (struct lost){ 0 };
	int rc = lost_get(l, &r, &e);
	if (rc != 0)
		lost_free(l);
	return rc == 0 && rd_ok(&r) ? 0 : -1;
}

static void
test_round_trip(void)
{
	static const struct range in[] = { { 0, 1 }, { 5, 2 }, { 1ull << 40, 9 } };
	uint8_t buf[LEAST];
	struct wr w = wr_to(buf, sizeof buf);
	struct lost l, back;

	make(&l, in, 3, LEAST);
	T_CHECK(l.nranges == 3);
	T_CHECK(l.sectors == 12);
	T_CHECK(!l.merged);
	lost_put(&l, &w);
	T_CHECK(wr_ok(&w));
	T_CHECK(wr_len(&w) == LOST_HEAD_BYTES + 3 * LOST_RANGE_BYTES);
	T_CHECK(read_back(&back, buf, wr_len(&w)) == 0);
	T_CHECK(back.nranges == 3);
	T_CHECK(back.sectors == 12);
	T_CHECK(memcmp(back.ranges, in, sizeof in) == 0);
	lost_free(&back);
	bool good = true;
	for (size_t n = 0; n < wr_len(&w); n++)
		good &= read_back(&back, buf, n) != 0;
	T_CHECK(good);
	/* Counted wrong, of no ranges, empty, touching, descending. */
	buf[0] = 13;
	T_CHECK(read_back(&back, buf, wr_len(&w)) != 0);
	buf[0] = 12;
	buf[8] = 0;
	T_CHECK(read_back(&back, buf, wr_len(&w)) != 0);
	buf[8] = 3;
	buf[LOST_HEAD_BYTES + 8] = 0;
	T_CHECK(read_back(&back, buf, wr_len(&w)) != 0);
	buf[LOST_HEAD_BYTES + 8] = 1;
	buf[LOST_HEAD_BYTES + LOST_RANGE_BYTES] = 1;
	T_CHECK(read_back(&back, buf, wr_len(&w)) != 0);
	lost_free(&l);
}

/* Every lost sector is in some range, however few there may be. */
static void
test_merged(void)
{
	enum { N = 1000 };
	static struct range in[N];
	uint8_t buf[LEAST];
	struct wr w = wr_to(buf, sizeof buf);
	struct lost l, back;

	for (size_t i = 0; i < N; i++)
		in[i] = (struct range){ i * 100 + i % 50, 1 + i % 3 };
	make(&l, in, N, LEAST);
	T_CHECK(l.merged);
	T_CHECK(l.nranges > 0);
	T_CHECK(l.nranges <= LOST_RANGES_MIN);
	bool good = true;
	for (size_t i = 0; i < N; i++) {
		bool inside = false;
		for (size_t k = 0; k < l.nranges; k++)
			inside |= in[i].off >= l.ranges[k].off &&
			          range_end(in[i]) <= range_end(l.ranges[k]);
		good &= inside;
	}
	T_CHECK(good);
	lost_put(&l, &w);
	T_CHECK(wr_ok(&w));
	T_CHECK(read_back(&back, buf, wr_len(&w)) == 0);
	T_CHECK(back.merged);
	T_CHECK(back.sectors == l.sectors);
	lost_free(&back);
	lost_free(&l);
	make(&l, in, N, LOST_HEAD_BYTES + N * LOST_RANGE_BYTES);
	T_CHECK(!l.merged);
	T_CHECK(l.nranges == N);
	lost_free(&l);
	make(&l, NULL, 0, 0);
	T_CHECK(l.nranges == 0);
	T_CHECK(l.ranges == NULL);
}

/* Parts of two lists, one of which was merged, become one. */
static void
test_sets(void)
{
	static const struct range exact[] = { { 10, 5 }, { 100, 10 } };
	struct range all = { 200, 100 };
	struct lost a,
	    b = { .sectors = 3, .merged = true, .nranges = 1, .ranges = &all };
	struct rangeset low, high;
	struct lostset s;
	struct lost l;
	char text[200];
	struct err e;

	make(&a, exact, 2, LEAST);
	rangeset_init(&low);
	rangeset_init(&high);
	lostset_init(&s);
	T_CHECK(rangeset_add(&low, (struct range){ 12, 90 }, &e) == 0);
	T_CHECK(rangeset_add(&high, (struct range){ 298, 50 }, &e) == 0);
	rangeset_seal(&low);
	rangeset_seal(&high);
	T_CHECK(lostset_add(&s, &a, &low, &e) == 0);
	T_CHECK(s.sectors == 5);
	T_CHECK(lost_make(&l, &s, LEAST, &e) == 0);
	T_CHECK(!l.merged);
	T_CHECK(l.nranges == 2);
	T_CHECK(strstr(lost_text(&l, text, sizeof text), "zeros: 12-14, 100-101"));
	lost_free(&l);
	T_CHECK(lostset_add(&s, &b, &high, &e) == 0);
	T_CHECK(s.sectors == 7);
	T_CHECK(rangeset_add(&high, (struct range){ 250, 9 }, &e) == 0);
	rangeset_seal(&high);
	lostset_free(&s);
	T_CHECK(lostset_add(&s, &b, &high, &e) == 0);
	T_CHECK(s.sectors == 3);
	T_CHECK(lost_make(&l, &s, LEAST, &e) == 0);
	T_CHECK(l.merged);
	T_CHECK(l.sectors == 3);
	T_CHECK(l.nranges == 2);
	T_CHECK(strstr(lost_text(&l, text, sizeof text), "among: 250-258, 298-299"));
	lost_free(&l);
	for (uint64_t i = 0; i < 100; i++)
		T_CHECK(
		    rangeset_add(&s.set, (struct range){ 1000 + 2 * i, 1 }, &e) == 0);
	rangeset_seal(&s.set);
	T_CHECK(lost_make(&l, &s, 10 * LEAST, &e) == 0);
	T_CHECK(l.nranges == 102);
	T_CHECK(strstr(lost_text(&l, text, sizeof text), " more"));
	lost_free(&l);
	lost_free(&a);
	lostset_free(&s);
	rangeset_free(&low);
	rangeset_free(&high);
}

int
main(void)
{
	test_sets();
	test_round_trip();
	test_merged();
	return t_done();
}
