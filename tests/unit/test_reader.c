/* The server's reader: what of a chunk it finds empty. */
#include <poll.h>

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
	struct mem m = { .b = image, .len = sizeof image, .bad = SIZE_MAX };
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

int
main(void)
{
	test_reader();
	return t_done();
}
