/* Which samples of its base chunk 0 of a delta gets: hot places first, then data that stays, and
 * zeros only where there is nothing else. */
#include "common/image/format/pick.h"

#include <string.h>

#include "common/base/sha256.h"
#include "tests/t.h"

static struct err e;

static void
add(struct pick *p, enum fate fate, uint64_t sector, bool zero)
{
	struct sample x = { .sectors = { sector, 8 } };

	T_CHECK(pick_add(p, fate, &x, zero, &e) == 0);
}

static void
add_hot(struct pick *p, uint64_t sector, uint64_t sectors)
{
	struct sample x = { .sectors = { sector, sectors } };

	T_CHECK(pick_add_hot(p, &x, &e) == 0);
}

static void
end(struct pick *p, struct basis *b)
{
	basis_init(b, SAMPLE_SHA256);
	T_CHECK(pick_end(p, b, &e) == 0);
	pick_free(p);
}

static void
test_order(void)
{
	static const uint64_t want[] = { 5, 7, 100, 102, 101, 103 };
	struct pick p = { .hot = { .n = 0 } };
	struct basis b;

	add(&p, FATE_FREED, 103, false);
	add(&p, FATE_STAYS, 100, false);
	add(&p, FATE_REPLACED, 101, false);
	add(&p, FATE_STAYS, 102, false);
	add(&p, FATE_UNKNOWN, 104, false);
	add(&p, FATE_STAYS, 105, true);
	add_hot(&p, 5, 1);
	add_hot(&p, 7, 1);
	end(&p, &b);
	T_CHECK(b.spread.n == sizeof want / sizeof want[0]);
	for (size_t i = 0; i < b.spread.n; i++)
		T_CHECK(b.spread.v[i].sectors.off == want[i]);
	basis_free(&b);
}

static void
test_zeros(void)
{
	struct pick p = { .hot = { .n = 0 } };
	struct basis b;

	add(&p, FATE_FREED, 1, true);
	add(&p, FATE_STAYS, 2, true);
	end(&p, &b);
	T_CHECK(b.spread.n == 2);
	T_CHECK(b.spread.v[0].sectors.off == 2);
	basis_free(&b);
}

static void
test_limits(void)
{
	struct pick p = { .hot = { .n = 0 } };
	struct basis b;

	for (uint64_t i = 0; i < 3000; i++) {
		add(&p, i % 2 == 0 ? FATE_STAYS : FATE_REPLACED, 10000 + i, false);
		add_hot(&p, i, 1);
	}
	end(&p, &b);
	T_CHECK(b.spread.n == SAMPLES_HOT_MAX + SAMPLES_SPREAD_MAX);
	T_CHECK(b.spread.v[0].sectors.off == 0);
	T_CHECK(b.spread.v[SAMPLES_HOT_MAX - 1].sectors.off > 2900);
	T_CHECK(b.spread.v[SAMPLES_HOT_MAX].sectors.off == 10000);
	T_CHECK(b.spread.v[SAMPLES_HOT_MAX + 1].sectors.off % 2 == 0);
	basis_free(&b);
}

/* An installer does not read more for them than 64 MiB. */
static void
test_large(void)
{
	struct pick p = { .hot = { .n = 0 } };
	struct basis b;

	for (uint64_t i = 0; i < 100; i++)
		add_hot(&p, i << 20, SAMPLE_SECTORS_MAX);
	end(&p, &b);
	T_CHECK(b.spread.n == (64 << 11) / SAMPLE_SECTORS_MAX);
	basis_free(&b);
}

static void
test_sample(void)
{
	uint8_t before[1024] = { 1 }, after[1024] = { 2 }, sum[SHA256_BYTES];
	struct sample x;

	T_CHECK(pick_sample(
		    &x, SAMPLE_SHA256, (struct range){ 9, 2 }, before, after, &e) == 0);
	T_CHECK(x.sectors.off == 9 && x.sectors.len == 2);
	sha256(before, sizeof before, sum);
	T_CHECK(memcmp(x.before, sum, sizeof x.before) == 0);
	sha256(after, sizeof after, sum);
	T_CHECK(memcmp(x.after, sum, sizeof x.after) == 0);
}

int
main(void)
{
	test_order();
	test_zeros();
	test_limits();
	test_large();
	test_sample();
	return t_done();
}
