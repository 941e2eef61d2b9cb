/* The view of a target with its head: what is read and written through it, across both
 * of the head's borders; nothing of the head reaches the disk before its time. */
#include "imageunzip/install/whole.h"

#include <string.h>

#include "tests/t.h"
#include "tests/unit/memdisk.h"

enum { AT = HEAD_BYTES, BYTES = 4 * HEAD_BYTES, ROUNDS = 3000, LONG = 6000 };

static uint8_t disk_bytes[BYTES], model[BYTES];

static void
test_both_sides(struct whole *w, struct target *t)
{
	uint8_t buf[LONG];
	unsigned wrong = 0;
	struct err e;

	srand(7);
	for (unsigned i = 0; i < ROUNDS; i++) {
		size_t at = (size_t)rand() % BYTES, n = (size_t)rand() % LONG + 1;
		n = n < BYTES - at ? n : BYTES - at;
		if (rand() % 2 == 0) {
			memset(buf, rand() & 0xff, n);
			memcpy(model + at, buf, n);
			wrong += disk_write(w->disk, buf, n, at, &e) != 0;
		} else {
			wrong += disk_read(w->disk, buf, n, at, &e) != 0 ||
			         memcmp(buf, model + at, n) != 0;
		}
	}
	T_CHECK(wrong == 0);
	T_CHECK(memcmp(disk_bytes, model, AT) == 0);
	T_CHECK(memcmp(t->head.bytes, model + AT, HEAD_BYTES) == 0);
	T_CHECK(memcmp(disk_bytes + AT + HEAD_BYTES, model + AT + HEAD_BYTES,
		BYTES - AT - HEAD_BYTES) == 0);
	for (unsigned i = AT; i < AT + HEAD_BYTES; i++)
		wrong += disk_bytes[i] != 0x55;
	T_CHECK(wrong == 0);
}

int
main(void)
{
	struct mem m = { disk_bytes, BYTES, SIZE_MAX };
	struct install_config cfg = { .read_back = true };
	struct target t = { .cfg = &cfg, .disk = mem_disk(&m, DISK_FILE, 512) };
	struct whole w;
	struct err e, why;
	uint8_t b[16];

	memset(disk_bytes, 0x55, BYTES);
	memset(model, 0x55, BYTES);
	T_CHECK(head_init(&t.head, t.disk, AT, HEAD_BYTES, &e) == 0);
	T_CHECK(t.head.on);
	T_CHECK(whole_open(&w, &t, &e) == 0);
	T_CHECK(disk_size_bytes(w.disk) == BYTES);
	T_CHECK(disk_kind(w.disk) == DISK_FILE);
	test_both_sides(&w, &t);
	T_CHECK(whole_close(&w, 0, &e) == 0);

	/* What the disk says is what is told, however the view's user put it. */
	T_CHECK(whole_open(&w, &t, &e) == 0);
	m.bad = 0;
	T_CHECK(disk_read(w.disk, b, sizeof b, 0, &why) == -1);
	err_set(&e, ERR_FORMAT, "no table there");
	T_CHECK(whole_close(&w, -1, &e) == -1);
	T_CHECK(e.kind == ERR_IO);
	T_CHECK(e.os == EIO);

	/* Without a head all is the disk's. */
	m.bad = SIZE_MAX;
	t.head.on = false;
	T_CHECK(whole_open(&w, &t, &e) == 0);
	T_CHECK(disk_write(w.disk, "x", 1, AT, &e) == 0);
	T_CHECK(disk_bytes[AT] == 'x');
	T_CHECK(whole_close(&w, 0, &e) == 0);
	head_free(&t.head);
	disk_close(t.disk, &e);
	return t_done();
}
