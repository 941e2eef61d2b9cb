/* Chunks of raw data: each comes back as it was, none from less than all of it, and no
 * change of a byte is missed. */
#include "dolly/raw/raw.h"

#include <stdlib.h>
#include <string.h>

#include "tests/random.h"
#include "tests/t.h"

static uint8_t sent[RAW_SENT_MAX], bytes[RAW_CHUNK_BYTES], back[RAW_CHUNK_BYTES];

static bool
comes_back(struct raw *r, uint32_t chunk, uint32_t n, uint32_t *length)
{
	struct err e;

	memset(back, 0xee, sizeof back);
	*length = raw_pack(r, chunk, bytes, n, sent);
	if (*length > RAW_HEAD_BYTES + n)
		return false;
	const void *at = raw_unpack(r, chunk, sent, *length, back, n, &e);
	return at != NULL && memcmp(at, bytes, n) == 0;
}

/* Nothing less, nothing more, and no other byte. */
static void
nothing_else(struct raw *r, uint32_t n, uint32_t length)
{
	unsigned taken = 0;
	struct err e;

	for (uint32_t cut = 0; cut < length; cut++)
		taken += raw_unpack(r, 7, sent, cut, back, n, &e) != NULL ||
			 raw_is_right(7, sent, cut);
	for (uint32_t at = 0; at < length; at++) {
		sent[at] ^= 0x20;
		taken += raw_unpack(r, 7, sent, length, back, n, &e) != NULL ||
			 raw_is_right(7, sent, length);
		sent[at] ^= 0x20;
	}
	taken += raw_unpack(r, 8, sent, length, back, n, &e) != NULL ||
		 raw_is_right(8, sent, length);
	taken += raw_unpack(r, 7, sent, length, back, n - 1, &e) != NULL;
	T_CHECK(taken == 0);
	T_CHECK(raw_is_right(7, sent, length));
	T_CHECK(raw_unpack(r, 7, sent, length, back, n, &e) != NULL);
}

static void
test(bool compress)
{
	static const uint32_t lengths[] = { 1, 2, 511, RAW_CHUNK_BYTES - 1,
		RAW_CHUNK_BYTES };
	struct raw *r;
	struct err e;
	uint32_t length;

	if (raw_new(&r, compress, &e) != 0) {
		T_CHECK(e.kind == ERR_UNSUPPORTED);
		return;
	}
	for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
		draw_bytes(bytes, sizeof bytes);
		T_CHECK(comes_back(r, 7, lengths[i], &length));
		T_CHECK(length == RAW_HEAD_BYTES + lengths[i]);
		memset(bytes, 0, sizeof bytes);
		T_CHECK(comes_back(r, UINT32_MAX, lengths[i], &length));
	}
	T_CHECK((length < 1000) == compress); /* a whole chunk of zeros */
	memcpy(bytes, "what is said once, and once, and once, and once again", 54);
	T_CHECK(comes_back(r, 7, 200, &length));
	nothing_else(r, 200, length);
	raw_free(r);
}

int
main(void)
{
	T_CHECK(raw_length(RAW_CHUNK_BYTES + 1, 1) == 1 &&
	        raw_length(RAW_CHUNK_BYTES + 1, 0) == RAW_CHUNK_BYTES);
	test(false);
	test(true);
	return t_done();
}
