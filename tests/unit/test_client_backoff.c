/* How long clients hold messages back: few of many draw a short time. */
#include "frisbee/client/client_backoff.h"
#include "tests/t.h"

enum { MOST_US = 100000, CLIENTS = 500, ROUNDS = 200 };

/* The mean over many rounds of how many of the clients speak before the first one is heard,
 * which takes a hundredth of the longest time. */
static double
speakers(uint32_t told)
{
	uint64_t sum = 0;

	for (uint64_t round = 0; round < ROUNDS; round++) {
		uint64_t drawn[CLIENTS], least = MOST_US;
		for (uint32_t i = 0; i < CLIENTS; i++) {
			struct client_backoff h;
			client_backoff_begin(&h, round * CLIENTS + i);
			drawn[i] = client_backoff_draw_us(&h, MOST_US, told);
			least = drawn[i] < least ? drawn[i] : least;
		}
		for (uint32_t i = 0; i < CLIENTS; i++)
			sum += drawn[i] <= least + MOST_US / 100;
	}
	return (double)sum / ROUNDS;
}

static void
test_few_speak(void)
{
	double few = speakers(CLIENTS), many = speakers(1);

	printf("# %.1f of %d speak; had they not known how many they are, %.1f\n", few,
	    CLIENTS, many);
	T_CHECK(few < 5);
	T_CHECK(many > 2 * few);
}

static void
test_bounds(void)
{
	struct client_backoff h;

	client_backoff_begin(&h, 3);
	for (unsigned i = 0; i < 1000; i++) {
		T_CHECK(client_backoff_draw_us(&h, MOST_US, 1 + i) <= MOST_US);
		T_CHECK(client_backoff_random(&h, 1 + i) <= i);
	}
	T_CHECK(client_backoff_draw_us(&h, 0, 10) == 0);
	T_CHECK(client_backoff_random(&h, 1) == 0);
}

/* Whoever lacks most never waits longer than half; whoever lacks nothing waits at least half. */
static void
test_who_lacks_most(void)
{
	struct client_backoff h;

	client_backoff_begin(&h, 4);
	for (unsigned i = 0; i < 100; i++) {
		T_CHECK(
		    client_backoff_lack_us(&h, MOST_US, 50, 80, 80) <= MOST_US / 2 + 1);
		T_CHECK(client_backoff_lack_us(&h, MOST_US, 50, 0, 80) > MOST_US / 2);
	}
}

/* Of many clients, about eight are voices, and few others come before they have spoken. */
static void
test_voices(void)
{
	uint32_t voices = 0, early = 0, late = 0;

	for (uint32_t i = 0; i < CLIENTS * ROUNDS; i++) {
		struct client_backoff h;
		bool voice;
		client_backoff_begin(&h, i);
		uint64_t held = client_backoff_voice_us(&h, MOST_US, CLIENTS, 8, 3, &voice);
		voices += voice;
		early += !voice && held <= MOST_US;
		late += held > (voice ? MOST_US : 3 * MOST_US);
	}
	printf("# %.1f voices, %.1f others before the last of them\n",
	    (double)voices / ROUNDS, (double)early / ROUNDS);
	T_CHECK(voices > 7 * ROUNDS);
	T_CHECK(voices < 9 * ROUNDS);
	T_CHECK(early < 10 * ROUNDS);
	T_CHECK(late == 0);
	for (uint32_t clients = 1; clients < 8; clients++) {
		struct client_backoff h;
		bool voice = false;
		client_backoff_begin(&h, clients);
		T_CHECK(client_backoff_voice_us(&h, MOST_US, clients, 8, 3, &voice) <= MOST_US);
		T_CHECK(voice);
	}
}

static void
test_seed(void)
{
	struct client_backoff a, b, other;

	client_backoff_begin(&a, 1);
	client_backoff_begin(&b, 1);
	client_backoff_begin(&other, 2);
	uint64_t drawn = client_backoff_random(&a, UINT64_MAX);
	T_CHECK(drawn == client_backoff_random(&b, UINT64_MAX));
	T_CHECK(drawn != client_backoff_random(&other, UINT64_MAX));
}

int
main(void)
{
	test_few_speak();
	test_bounds();
	test_who_lacks_most();
	test_voices();
	test_seed();
	return t_done();
}
