/* The server's reader: what of a chunk it finds empty, and that urgent runs are read first. */
#include <poll.h>
#include <semaphore.h>
#include <string.h>

#include "frisbeed/serve/reader.h"
#include "tests/t.h"
#include "tests/unit/memdisk.h"

enum { MIB = 1 << 20 };

static uint32_t
content_of(struct source *s, struct server_run run)
{
	struct mailbox *box = NULL;
	struct reader *r = NULL;
	struct err e;
	struct event ev;
	uint32_t chunk, blocks = 0;

	T_CHECK(mailbox_new(&box, 64, &e) == 0);
	T_CHECK(reader_new(&r, s, 4, 1024, true, NULL, box, &e) == 0);
	reader_ask(r, &run);
	struct pollfd fd = { .fd = mailbox_fd(box), .events = POLLIN };
	while (!mailbox_take(box, &ev))
		poll(&fd, 1, 1000);
	T_CHECK(ev.what == READER_READ);
	T_CHECK(ev.n == run.buf);
	T_CHECK(reader_content(r, ev.n, &chunk, &blocks));
	T_CHECK(chunk == run.chunk);
	reader_free(r);
	mailbox_free(box);
	return blocks;
}

static void
test_reader(void)
{
	static uint8_t image[2 * MIB];
	struct mem m = mem_of(image, sizeof image);
	struct server_run first = { .buf = 1, .chunk = 1, .first = 0, .count = 32 };
	struct server_run whole = { .buf = 0, .chunk = 1, .first = 0, .count = 1024 };
	struct server_run last = { .buf = 2, .chunk = 1, .first = 1000, .count = 24 };
	const size_t at[] = { 0, 1023, 1024, 40 * 1024 + 5, 999 * 1024, 1000 * 1024,
		1008 * 1024 - 1, 1008 * 1024, MIB - 1 };
	struct disk *d = mem_disk(&m, DISK_FILE, 512);
	struct source s;
	struct err e;

	T_CHECK(d != NULL);
	T_CHECK(source_of_disk(&s, d, &e) == 0);
	T_CHECK(content_of(&s, first) == 1);
	T_CHECK(content_of(&s, last) == 1);
	for (unsigned i = 0; i < sizeof at / sizeof at[0]; i++) {
		uint32_t want = (uint32_t)(at[i] / 1024 + 1);
		image[MIB + at[i]] = 1;
		T_CHECK(content_of(&s, first) == want);
		T_CHECK(content_of(&s, whole) == want);
		T_CHECK(content_of(&s, last) == want);
		image[MIB + at[i]] = 0;
	}
	source_close(&s);
}

/* A slow disk: each read begins when the test allows it, and notes its chunk. */
struct slow {
	sem_t begins;
	uint32_t order[5], n;
};

static int
slow_info(void *self, struct source_info *out, struct err *e)
{
	(void)self;
	(void)e;
	*out = (struct source_info){ .chunks = 8, .bytes = 8 * MIB };
	return 0;
}

static int
slow_read(void *self, uint32_t chunk, const struct blockmap *need, uint32_t first,
    void *to, struct err *e)
{
	struct slow *d = self;

	(void)need;
	(void)first;
	(void)to;
	(void)e;
	d->order[d->n++] = chunk;
	sem_wait(&d->begins);
	return 0;
}

/* The thread has begun with chunk 0 when the others are asked for, or has slept until then. */
static void
test_urgent_first(void)
{
	enum { AHEAD = 4, URGENT = AHEAD + SERVER_PARITY_BUFFERS, RUNS = 5 };
	static const struct source_ops ops = { .info = slow_info, .read = slow_read };
	const uint32_t buf[RUNS] = { 0, 1, AHEAD, 2, URGENT };
	const uint32_t order[2][RUNS] = { { 0, 4, 1, 2, 3 }, { 4, 0, 1, 2, 3 } };
	struct slow d = { .n = 0 };
	struct source s = { &ops, &d };
	struct mailbox *box = NULL;
	struct reader *r = NULL;
	struct event ev;
	struct err e;

	sem_init(&d.begins, 0, 0);
	T_CHECK(mailbox_new(&box, 64, &e) == 0);
	T_CHECK(reader_new(&r, &s, AHEAD, 32, false, NULL, box, &e) == 0);
	for (uint32_t i = 0; i < RUNS; i++)
		reader_ask(r, &(struct server_run){ .buf = buf[i], .chunk = i, .count = 1 });
	for (unsigned i = 0; i < RUNS; i++)
		sem_post(&d.begins);
	struct pollfd fd = { .fd = mailbox_fd(box), .events = POLLIN };
	for (unsigned n = 0; n < RUNS; n += mailbox_take(box, &ev))
		poll(&fd, 1, 1000);
	T_CHECK(memcmp(d.order, order[d.order[0] == 4], sizeof order[0]) == 0);
	reader_free(r);
	mailbox_free(box);
	sem_destroy(&d.begins);
}

int
main(void)
{
	test_reader();
	test_urgent_first();
	return t_done();
}
