/* Slots: what is put is got; a slot of which any bit is wrong is none, whatever says what it is. */
#include "common/base/slots.h"

#include "common/base/crc32c.h"
#include "tests/t.h"

enum { LEN = 64 };

static const struct slots kind = { "OFTESTS!", 3, crc32c };

static void
make(uint8_t slot[LEN], uint64_t sequence)
{
	struct wr w = slot_body(slot, LEN);

	wr_le32(&w, 77);
	slot_put(&kind, slot, LEN, &w, sequence);
}

static void
test_round_trip(void)
{
	uint8_t slot[LEN];
	uint64_t sequence;
	struct rd body;

	memset(slot, 0xff, sizeof slot);
	make(slot, 5);
	T_CHECK(slot_get(&kind, slot, LEN, &sequence, &body));
	T_CHECK(sequence == 5);
	T_CHECK(rd_le32(&body) == 77);
	T_CHECK(rd_le32(&body) == 0);
	T_CHECK(rd_left(&body) == LEN - SLOT_HEAD_BYTES - 8);
	/* As it was written before this file was there. */
	T_CHECK(memcmp(slot, "OFTESTS!\3\0\0\0", 12) == 0);
	T_CHECK(memcmp(slot + 16, "\5\0\0\0\0\0\0\0M\0\0\0\0", 13) == 0);
	T_CHECK(slot_place(5, LEN) == LEN);
	T_CHECK(slot_place(6, LEN) == 0);
}

static void
test_damage(void)
{
	static const struct slots other = { "OFTESTS!", 4, crc32c };
	uint8_t slot[LEN], was[LEN];
	uint64_t sequence;
	struct rd body;
	unsigned believed = 0;

	make(was, 5);
	for (unsigned bit = 0; bit < LEN * 8; bit++) {
		memcpy(slot, was, LEN);
		slot[bit / 8] ^= (uint8_t)(1 << bit % 8);
		believed += slot_get(&kind, slot, LEN, &sequence, &body);
	}
	T_CHECK(believed == 0);
	for (size_t len = 0; len < LEN; len++)
		believed += slot_get(&kind, was, len, &sequence, &body);
	T_CHECK(believed == 0);
	T_CHECK(!slot_get(&other, was, LEN, &sequence, &body));
	make(slot, 0);
	T_CHECK(!slot_get(&kind, slot, LEN, &sequence, &body));
}

int
main(void)
{
	test_round_trip();
	test_damage();
	return t_done();
}
