/* One rate, shared: members that want all of it, little of it, or nothing. */
#include "frisbeed/serve/budget.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/wire/wire.h"
#include "frisbeed/server/server_pace.h"
#include "tests/unit/scratch.h"

enum { BLOCK_BITS = WIRE_BLOCK_COST_BITS };
enum { TOTAL = 100000000, TICK_US = 100000, MEMBERS = 8 };

/* A sender that would send `wants` bits a second, when it may. */
struct sender {
	int id;
	uint64_t wants, rate, sent;
};

static uint64_t
least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Let them send for so many ticks, asking one after the other: the most that all of
 * them might have sent in a tick, in bits a second. */
static uint64_t
run(struct budget *b, struct sender *s, unsigned n, uint64_t *now, unsigned ticks)
{
	uint64_t most = 0;

	for (unsigned t = 0; t < ticks; t++) {
		*now += TICK_US;
		for (unsigned i = 0; i < n; i++) {
			uint64_t sum = 0;
			s[i].sent += least(s[i].rate, s[i].wants) * TICK_US / 1000000;
			s[i].rate = budget_share(b, s[i].id, *now, s[i].sent);
			for (unsigned k = 0; k < n; k++)
				sum += s[k].rate;
			most = sum > most ? sum : most;
		}
	}
	return most;
}

static bool
near(uint64_t is, uint64_t want)
{
	return is > want * 9 / 10 && is < want * 11 / 10;
}

static void
enter(struct budget *b, struct sender *s, uint64_t wants, uint64_t now)
{
	*s = (struct sender){ .id = budget_enter(b, now), .wants = wants };
	s->rate = budget_share(b, s->id, now, 0);
}

static void
test_alone(void)
{
	struct budget *b = budget_new(TOTAL, MEMBERS);
	struct sender s;
	uint64_t now = 1000;

	enter(b, &s, UINT64_MAX, now);
	T_CHECK(s.rate == TOTAL); /* at once, and without a detour */
	run(b, &s, 1, &now, 5);
	T_CHECK(s.rate == TOTAL);
	s.wants = 0;
	run(b, &s, 1, &now, 5);
	T_CHECK(s.rate == TOTAL);
	budget_free(b);
}

static void
test_fair(void)
{
	struct budget *b = budget_new(TOTAL, MEMBERS);
	struct sender s[3];
	uint64_t now = 0, most;

	enter(b, &s[0], UINT64_MAX, now);
	run(b, s, 1, &now, 5);
	for (int i = 1; i < 3; i++)
		enter(b, &s[i], UINT64_MAX, now);
	T_CHECK(s[1].rate == SHARE_LEAST_BITS); /* the first one has it all */
	most = run(b, s, 3, &now, 10);
	T_CHECK(most <= TOTAL + 2 * SHARE_LEAST_BITS);
	for (int i = 0; i < 3; i++)
		T_CHECK(near(s[i].rate, TOTAL / 3));
	/* One wants less: the others have the rest. */
	s[1].wants = 5000000;
	most = run(b, s, 3, &now, 10);
	T_CHECK(most <= TOTAL);
	T_CHECK(s[1].rate >= 5000000);
	T_CHECK(s[1].rate < 15000000);
	T_CHECK(near(s[0].rate, (TOTAL - s[1].rate) / 2));
	T_CHECK(near(s[2].rate, (TOTAL - s[1].rate) / 2));
	/* One wants nothing: it keeps little. */
	s[1].wants = 0;
	run(b, s, 3, &now, 10);
	T_CHECK(s[1].rate > 0);
	T_CHECK(s[1].rate < TOTAL / 20);
	/* And comes back. */
	s[1].wants = UINT64_MAX;
	run(b, s, 3, &now, 5);
	T_CHECK(near(s[1].rate, TOTAL / 3));
	budget_leave(b, s[1].id);
	s[1] = s[2];
	run(b, s, 2, &now, 5);
	T_CHECK(near(s[0].rate, TOTAL / 2));
	T_CHECK(near(s[1].rate, TOTAL / 2));
	budget_free(b);
}

/* Who has a slow machine is not squeezed more and more. */
static void
test_slow(void)
{
	struct budget *b = budget_new(TOTAL, MEMBERS);
	struct sender s[2];
	uint64_t now = 0;

	enter(b, &s[0], UINT64_MAX, now);
	enter(b, &s[1], UINT64_MAX, now);
	for (int i = 0; i < 50; i++) {
		s[1].wants = s[1].rate * 6 / 10;
		run(b, s, 2, &now, 1);
	}
	T_CHECK(s[1].rate > TOTAL / 3);
	budget_free(b);
}

/* --- beginning --- */

enum { STEP_US = 1000, ASK_US = 50000, IMAGES = 4 };

/* One that is paced, and asks in its own rhythm. */
struct paced {
	int id;
	bool sends;
	struct pace pace;
	uint64_t ask_us, share, sent; /* bits */
};

static void
step(struct budget *b, struct paced *p, uint64_t now)
{
	while (p->sends && pace_deadline_us(&p->pace, now) <= now) {
		pace_spend(&p->pace, now, 1);
		p->sent += BLOCK_BITS;
	}
	if (now < p->ask_us)
		return;
	p->ask_us += ASK_US;
	uint64_t share = budget_share(b, p->id, now, p->sent);
	if (share != p->share)
		pace_limit(&p->pace, (double)share / BLOCK_BITS);
	p->share = share;
}

/* Some images are being sent; another one begins, at whatever moment: after how many
 * microseconds has it its share? */
static uint64_t
beginning_us(unsigned busy, uint64_t begins)
{
	struct budget *b = budget_new(TOTAL, IMAGES);
	struct paced p[IMAGES] = { 0 };
	uint64_t now = 0;

	for (unsigned i = 0; i < IMAGES; i++) {
		p[i].id = budget_enter(b, now);
		p[i].ask_us = i * ASK_US / IMAGES;
		p[i].sends = i < busy;
		pace_init(&p[i].pace, 1, 0);
		pace_limit(&p[i].pace, 2);
	}
	for (; now < begins; now += STEP_US)
		for (unsigned i = 0; i < IMAGES; i++)
			step(b, &p[i], now);
	p[busy].sends = true;
	for (; now < begins + 2000000; now += STEP_US) {
		for (unsigned i = 0; i < IMAGES; i++)
			step(b, &p[i], now);
		if (p[busy].share > TOTAL / (busy + 1) * 9 / 10)
			break;
	}
	uint64_t carried = budget_carried(b, p[busy].id);
	T_CHECK(carried > TOTAL / (busy + 1) / 2);
	T_CHECK(carried < TOTAL / (busy + 1) * 11 / 10);
	budget_free(b);
	return now - begins;
}

static void
test_begins(void)
{
	uint64_t most = 0;

	for (unsigned busy = 1; busy < IMAGES; busy++)
		for (uint64_t at = 3000000; at < 3000000 + 2 * ASK_US; at += 7000) {
			uint64_t us = beginning_us(busy, at);
			most = us > most ? us : most;
		}
	printf("# a share after at most %u ms\n", (unsigned)(most / 1000));
	T_CHECK(most <= 110000);
}

static void
test_room(void)
{
	struct budget *b = budget_new(TOTAL, 2);
	int first = budget_enter(b, 0);

	T_CHECK(first >= 0);
	T_CHECK(budget_enter(b, 0) >= 0);
	T_CHECK(budget_enter(b, 0) == -1);
	budget_leave(b, first);
	T_CHECK(budget_enter(b, 0) == first);
	budget_free(b);
}

/* One that does not ask, because its process is stopped, leaves its part to the others, and has it again when it asks. */
static void
test_silent(void)
{
	struct budget *b = budget_new(TOTAL, MEMBERS);
	struct sender s[2];
	uint64_t now = 1000;

	for (int i = 0; i < 2; i++)
		enter(b, &s[i], TOTAL, now);
	run(b, s, 2, &now, 20);
	T_CHECK(near(s[0].rate, TOTAL / 2) && near(s[1].rate, TOTAL / 2));
	run(b, s, 1, &now, 15);
	T_CHECK(near(s[0].rate, TOTAL / 2)); /* not at once */
	run(b, s, 1, &now, 15);
	T_CHECK(near(s[0].rate, TOTAL));
	run(b, s, 2, &now, 20);
	T_CHECK(near(s[0].rate, TOTAL / 2) && near(s[1].rate, TOTAL / 2));
	budget_free(b);
}

/* A rate in a file, which another process has opened, too.  When that is killed, its part is there
 * for the others as soon as somebody says so. */
static void
test_shared(void)
{
	struct budget *b = NULL, *none = NULL;
	uint64_t now = 0;
	struct sender s;
	struct err e;
	int ready[2];
	char c;

	T_CHECK(budget_make(&b, in_scratch("rate"), TOTAL, MEMBERS, &e) == 0);
	T_CHECK(pipe(ready) == 0);
	pid_t child = fork();
	if (child == 0) {
		struct budget *mine = NULL;
		if (budget_open(&mine, in_scratch("rate"), &e) == 0)
			enter(mine, &s, TOTAL, now);
		_exit(mine == NULL || write(ready[1], "", 1) != 1 || pause() == 0);
	}
	T_CHECK(read(ready[0], &c, 1) == 1);
	enter(b, &s, TOTAL, now);
	run(b, &s, 1, &now, 10);
	T_CHECK(s.rate <= TOTAL / 10); /* the other one has been granted all, and is silent */
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	budget_forget(b, child);
	run(b, &s, 1, &now, 10);
	T_CHECK(near(s.rate, TOTAL));
	budget_free(b);
	T_CHECK(budget_open(&none, in_scratch("absent"), &e) == -1 && e.kind == ERR_IO);
	T_CHECK(sh("head -c 3000 /dev/zero > zeros; head -c 100 rate > cut; : > empty") == 0);
	T_CHECK(budget_open(&none, in_scratch("zeros"), &e) == -1 && e.kind == ERR_FORMAT);
	T_CHECK(budget_open(&none, in_scratch("cut"), &e) == -1 && e.kind == ERR_FORMAT);
	T_CHECK(budget_open(&none, in_scratch("empty"), &e) == -1 && e.kind == ERR_FORMAT);
	T_CHECK(none == NULL);
}

int
main(void)
{
	scratch_init();
	test_shared();
	test_alone();
	test_fair();
	test_slow();
	test_begins();
	test_room();
	test_silent();
	return t_done();
}
