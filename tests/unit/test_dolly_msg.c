/* Messages of dolly: each comes back as it was, none is read from less than all of it,
 * and what is too large is not believed. */
#include "dolly/engine/msg.h"
#include "dolly/engine/peer.h"

#include "tests/t.h"
#include "tests/unit/frozen.h"

static struct msg
sample(enum msg_type type)
{
	struct msg m = { .type = type,
		.version_lo = 1,
		.version_hi = 3,
		.port = 9998,
		.address = { 10, 9, 0, 1 },
		.key = "0123456789abcde",
		.id = 77,
		.chunks = 5,
		.bytes = 5 << 20,
		.content = MSG_RAW,
		.identity = "fedcba987654321",
		.deadline_ms = 1000,
		.slow = 12345,
		.have = 3,
		.stuck = 4,
		.waits = 5,
		.nranges = 2,
		.ranges = { { 1, 2 }, { 4, 1 } },
		.nlinks = 2,
		.links = { { 6, true, 1ull << 40, 1234, 7, 1 }, { 8, false, 9, 10, 11, 0 } },
		.chunk = 9,
		.ndigests = 2,
		.digests = { "fedcba987654321", "0123456789abcde" },
		.text = "a sentence" };

	return m;
}

static bool
equal(const struct buf *a, const struct buf *b)
{
	return a->len == b->len && memcmp(a->base, b->base, a->len) == 0;
}

static void
round_trip(enum msg_type type, struct frozen *z)
{
	struct buf out = { 0 }, back = { 0 };
	struct msg m = sample(type), r;
	struct err e;

	msg_write(&out, &m);
	T_CHECK(frozen_next(z, out.base, out.len));
	const struct rd body = rd_from(
	    out.base + MSG_FRAME_BYTES, out.len - MSG_FRAME_BYTES);
	T_CHECK(buf_ok(&out) && msg_read(&r, (uint8_t)type, body, &e) == 0);
	msg_write(&back, &r);
	T_CHECK(equal(&out, &back));
	bool refused = true;
	for (size_t n = 0; n < body.len; n++)
		refused = refused &&
		          msg_read(&r, (uint8_t)type, rd_from(body.base, n), &e) != 0;
	T_CHECK(refused);
	buf_bytes(&out, "x", 1);
	T_CHECK(msg_read(&r, (uint8_t)type,
		    rd_from(out.base + MSG_FRAME_BYTES, out.len - MSG_FRAME_BYTES),
		    &e) != 0);
	buf_free(&out);
	buf_free(&back);
}

static struct peer *
parent_with(const uint8_t *frame, size_t n)
{
	static const uint8_t address[4] = { 10, 0, 0, 1 };
	struct peer *p = peer_new(PEER_PARENT, address);
	struct err e;

	T_CHECK(p != NULL && peer_put(p, frame, n, &e) == 0);
	return p;
}

/* The fields come before the piece, and the piece in whatever parts it arrives. */
static void
data(void)
{
	enum { HEAD = MSG_FRAME_BYTES + MSG_DATA_BYTES };
	uint8_t frame[HEAD + 3] = { 0 };
	const void *at;
	struct msg m;
	struct err e;

	msg_data_header(frame, 9, 65536, 70000, 3);
	memcpy(frame + HEAD, "abc", 3);
	T_CHECK(frame[0] == MSG_DATA_BYTES + 3 && frame[4] == MSG_DATA);
	for (size_t n = 0; n <= sizeof frame; n++) {
		struct peer *p = parent_with(frame, n);
		T_CHECK(peer_full(p) == (n >= HEAD));
		T_CHECK(n > HEAD || peer_room(p) == HEAD - n);
		T_CHECK(peer_next(p, &m, &e) == (n >= HEAD));
		if (n < HEAD) {
			peer_free(p);
			continue;
		}
		T_CHECK(m.chunk == 9 && m.offset == 65536 && m.length == 70000);
		T_CHECK(m.piece_bytes == 3);
		T_CHECK(peer_piece(p, &at) == n - HEAD);
		T_CHECK(memcmp(at, "abc", n - HEAD) == 0);
		T_CHECK(peer_room(p) == (n < sizeof frame ? sizeof frame - n : HEAD));
		T_CHECK(peer_direct(p, 10) == sizeof frame - n && p->piece_left == 0);
		peer_free(p);
	}
}

static bool
piece_refused(uint8_t type, uint32_t piece)
{
	uint8_t frame[MSG_FRAME_BYTES + MSG_DATA_BYTES];
	struct msg m;
	struct err e;

	msg_data_header(frame, 0, 0, 1, piece);
	frame[4] = type;
	struct peer *p = parent_with(frame, sizeof frame);
	bool refused = peer_next(p, &m, &e) < 0;
	peer_free(p);
	return refused;
}

static void
pieces(void)
{
	T_CHECK(!piece_refused(MSG_DATA, 1) && !piece_refused(MSG_DATA, MSG_PIECE_MAX));
	T_CHECK(piece_refused(MSG_DATA, 0) && piece_refused(MSG_DATA, MSG_PIECE_MAX + 1));
	T_CHECK(piece_refused(MSG_WANT, 1));
}

static bool
welcome_refused(uint32_t chunks, uint32_t id, uint32_t deadline_ms)
{
	struct msg m = sample(MSG_WELCOME), r;
	struct buf b = { 0 };
	struct err e;

	m.chunks = chunks;
	m.id = id;
	m.deadline_ms = deadline_ms;
	msg_write(&b, &m);
	bool no = msg_read(&r, MSG_WELCOME,
		      rd_from(b.base + MSG_FRAME_BYTES, b.len - MSG_FRAME_BYTES),
		      &e) != 0;
	buf_free(&b);
	return no;
}

static void
nonsense(void)
{
	struct msg m;
	struct err e;

	T_CHECK(welcome_refused(0, 1, 1));
	T_CHECK(welcome_refused(MSG_CHUNKS_MAX + 1, 1, 1));
	T_CHECK(welcome_refused(5, 0, 1));
	T_CHECK(welcome_refused(5, 1, 0));
	T_CHECK(!welcome_refused(5, 1, 1));
	T_CHECK(msg_read(&m, 0, rd_from("", 0), &e) != 0);
	T_CHECK(msg_read(&m, MSG_DIGESTS + 1, rd_from("", 0), &e) != 0);
	T_CHECK(msg_read(&m, MSG_DIGESTS, rd_from("\0\0\0\0\0", 5), &e) != 0);
	T_CHECK(msg_read(&m, MSG_WANT, rd_from("\xff\xff", 2), &e) != 0);
	T_CHECK(msg_read(&m, MSG_JOIN, rd_from("GET / HTTP/1.1\r\n", 16), &e) != 0);
}

int
main(void)
{
	struct frozen z = frozen_open("dolly");

	for (unsigned t = MSG_JOIN; t < MSG_DATA; t++)
		round_trip(t, &z);
	round_trip(MSG_REPORT, &z);
	round_trip(MSG_LEAF, &z);
	round_trip(MSG_DIGESTS, &z);
	T_CHECK(frozen_close(&z));
	data();
	pieces();
	nonsense();
	return t_done();
}
