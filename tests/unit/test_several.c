/* Several sources as one, of which none answers: a reader whose work ends does not wait for them, and
 * the threads that do so work for the source, which ends them.  And one of which the first
 * fails: it is asked last for ten seconds. */
#include "stream/sources/several.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "tests/t.h"

enum { CHUNKS = 2 };

static atomic_bool mute, away, works_for_reader;
static atomic_uint asked, ended, failed;
static struct cancel reader;
static _Atomic uint64_t played_us; /* 0: the time is what it is */

uint64_t
clock_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	uint64_t real_us = (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
	uint64_t played = atomic_load(&played_us);
	return played > 0 ? played : real_us;
}

uint64_t
clock_boot_us(void)
{
	return clock_us();
}

static void
sleep_a_little(void)
{
	nanosleep(&(struct timespec){ 0, 5000000 }, NULL);
}

static const char *
name(void *self)
{
	(void)self;
	return "a member";
}

static int
info(void *self, struct source_info *out, struct err *e)
{
	(void)self, (void)e;
	*out = (struct source_info){ .chunks = CHUNKS, .bytes = CHUNKS * SOURCE_CHUNK_BYTES };
	return 0;
}

/* All members have the same in each chunk, until they are mute. */
static int
read_blocks(void *self, uint32_t chunk, const struct blockmap *need, uint32_t first, void *to,
    struct err *e)
{
	(void)self, (void)need, (void)first;
	if (!atomic_load(&mute)) {
		memset(to, 1 + (int)chunk, SOURCE_CHUNK_BYTES);
		return 0;
	}
	if (cancel_owner() == &reader)
		atomic_store(&works_for_reader, true);
	atomic_fetch_add(&asked, 1);
	while (cancel_check(e) == 0)
		sleep_a_little();
	atomic_fetch_add(&ended, 1);
	return -1;
}

static void
close_member(void *self)
{
	(void)self;
}

static const struct source_ops ops = {
	.name = name, .info = info, .read = read_blocks, .close = close_member
};

static int
read_or_fail(void *self, uint32_t chunk, const struct blockmap *need, uint32_t first,
    void *to, struct err *e)
{
	if (!atomic_load(&away))
		return read_blocks(self, chunk, need, first, to, e);
	atomic_fetch_add(&failed, 1);
	return err_set(e, ERR_IO, "is away");
}

static const struct source_ops failing = {
	.name = name, .info = info, .read = read_or_fail, .close = close_member
};

static uint8_t got[SOURCE_CHUNK_BYTES];

static void *
read_in_vain(void *arg)
{
	static struct err why;

	cancel_work_for(&reader);
	return source_read(arg, 0, NULL, got, &why) == -1 && why.kind == ERR_CANCELLED ? &why
	                                                                              : NULL;
}

static void
test_failed_is_last(void)
{
	struct source members[] = { { &failing, NULL }, { &ops, NULL } };
	struct source s = { NULL, NULL };
	const uint64_t second_us = 1000000, start_us = 1000 * second_us;
	struct err e;

	atomic_store(&played_us, start_us);
	T_CHECK(source_of_several(&s, members, 2, &e) == 0);
	atomic_store(&away, true);
	T_CHECK(source_read(&s, 0, NULL, got, &e) == 0);
	T_CHECK(atomic_load(&failed) == 1);
	atomic_store(&played_us, start_us + 9 * second_us);
	T_CHECK(source_read(&s, 1, NULL, got, &e) == 0);
	T_CHECK(atomic_load(&failed) == 1);
	atomic_store(&played_us, start_us + 11 * second_us);
	T_CHECK(source_read(&s, 0, NULL, got, &e) == 0);
	T_CHECK(atomic_load(&failed) == 2);
	source_close(&s);
	atomic_store(&played_us, 0);
}

int
main(void)
{
	struct source members[] = { { &ops, NULL }, { &ops, NULL } }, s = { NULL, NULL };
	void *cancelled = NULL;
	pthread_t t;
	struct err e;

	test_failed_is_last();
	T_CHECK(source_of_several(&s, members, 2, &e) == 0);
	T_CHECK(source_read(&s, 1, NULL, got, &e) == 0);
	T_CHECK(got[0] == 2 && got[sizeof got - 1] == 2);
	atomic_store(&mute, true);
	T_CHECK(pthread_create(&t, NULL, read_in_vain, &s) == 0);
	while (atomic_load(&asked) == 0)
		sleep_a_little();
	reader.signal = SIGTERM;
	T_CHECK(pthread_join(t, &cancelled) == 0);
	T_CHECK(cancelled != NULL);
	T_CHECK(!atomic_load(&works_for_reader));
	T_CHECK(atomic_load(&ended) == 0);
	source_close(&s);
	while (atomic_load(&ended) < atomic_load(&asked))
		sleep_a_little();
	return t_done();
}
