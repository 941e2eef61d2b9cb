/* Authenticated packets: what is taken is what a member of the session sent, once. */
#include "common/net/auth.h"

#include <stdlib.h>
#include <string.h>

#include "common/net/replay.h"
#include "tests/random.h"
#include "tests/t.h"

enum { PAYLOAD = 100, PACKET = AUTH_HEADER_BYTES + PAYLOAD };

static const uint8_t here[4] = { 10, 0, 0, 9 };
static const uint8_t group_key[AUTH_KEY_BYTES] = { 1, 2, 3 },
		     other_key[AUTH_KEY_BYTES] = { 1, 2, 4 };

static struct auth *
make_at(bool server, const uint8_t *key, uint64_t id, uint64_t session, uint16_t port)
{
	struct auth_config c = { .server = server,
		.key = key,
		.id = id,
		.session = session,
		.seed = 99,
		.group = { 239, 1, 2, 3 },
		.port = port,
		.senders = 4 };
	struct auth *a = NULL;
	struct err e;

	T_CHECK(auth_new(&a, &c, &e) == 0);
	return a;
}

static struct auth *
make(bool server, const uint8_t *key, uint64_t id, uint64_t session)
{
	return make_at(server, key, id, session, 5007);
}

/* A packet of the first port, whose bytes are all `with`. */
static void
seal_at(struct auth *a, enum auth_port port, uint8_t pkt[PACKET], uint8_t with)
{
	struct gmac_part part[] = { { pkt + AUTH_HEADER_BYTES, 24 },
		{ pkt + AUTH_HEADER_BYTES + 24, PAYLOAD - 24 } };
	struct err e;

	memset(pkt + AUTH_HEADER_BYTES, with, PAYLOAD);
	T_CHECK(auth_seal(a, port, part, 2, pkt, &e) == 0);
}

static void
seal(struct auth *a, uint8_t pkt[PACKET], uint8_t with)
{
	seal_at(a, AUTH_FIRST, pkt, with);
}

/* The bytes that it has, or -1: nothing. */
static int
opens_at(struct auth *a, enum auth_port port, const uint8_t *pkt, size_t len)
{
	size_t n;
	const uint8_t *p = auth_open(a, port, pkt, len, here, 5007, &n);

	if (p == NULL)
		return -1;
	T_CHECK(n == PAYLOAD);
	T_CHECK(memchr(p, p[0] ^ 1, n) == NULL);
	return p[0];
}

static int
opens(struct auth *a, const uint8_t pkt[PACKET])
{
	return opens_at(a, AUTH_FIRST, pkt, PACKET);
}

static bool
nothing(struct auth *a, const uint8_t *pkt, size_t len)
{
	size_t n;

	return auth_open(a, AUTH_FIRST, pkt, len, here, 5007, &n) == NULL;
}

/* What the client says, and the answer to that: is it welcomed? */
static bool
meet(struct auth *client, struct auth *server)
{
	uint8_t pkt[AUTH_PACKET_MAX];
	size_t n = auth_put_hello(client, pkt);

	T_CHECK(n == AUTH_HEADER_BYTES);
	T_CHECK(nothing(server, pkt, n));
	n = auth_put_welcome(server, pkt);
	return n > 0 && nothing(client, pkt, n) && auth_was_welcomed(client);
}

static uint64_t
ignored(struct auth *a, enum ignored_why why)
{
	return auth_ignored(a)->of[why].all;
}

static void
test_round_trip(void)
{
	struct auth *s = make(true, group_key, 1, 77), *c = make(false, group_key, 2, 0),
		    *d = make(false, group_key, 3, 0);
	uint8_t pkt[PACKET];

	T_CHECK(!auth_may_seal(c));
	T_CHECK(auth_wants_hello(c));
	T_CHECK(auth_may_seal(s));
	T_CHECK(!auth_wants_hello(s));
	seal(s, pkt, 7);
	T_CHECK(opens(c, pkt) == -1); /* not welcomed yet */
	T_CHECK(meet(c, s));
	T_CHECK(auth_may_seal(c));
	T_CHECK(!auth_wants_hello(c));
	T_CHECK(meet(d, s));
	seal(s, pkt, 8);
	T_CHECK(opens(c, pkt) == 8);
	T_CHECK(opens(d, pkt) == 8);
	T_CHECK(opens(s, pkt) == -1);
	seal(c, pkt, 9);
	T_CHECK(opens(s, pkt) == 9);
	T_CHECK(opens(d, pkt) == 9);
	T_CHECK(opens(c, pkt) == -1);
	seal(d, pkt, 10);
	T_CHECK(opens(s, pkt) == 10);
	T_CHECK(opens(c, pkt) == 10);
	for (enum ignored_why w = 0; w < IGNORED_WHYS; w++)
		T_CHECK(ignored(s, w) + ignored(c, w) + ignored(d, w) == 0);
	auth_free(s);
	auth_free(c);
	auth_free(d);
}

/* The bytes are those of docs/protocol-wire.md, and what is made of the key does not change. */
static void
test_bytes(void)
{
	static const uint8_t head[] = { 'F', 'B', 'X', 'A', 3, 1, 0x51, 0x42, 8, 7, 6, 5, 4, 3,
		2, 1, 0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21, 0, 0, 0, 0, 0, 0,
		0, 0 };
	/* By another program that knows HKDF and GMAC. */
	static const uint8_t tag[] = { 0xeb, 0x25, 0x51, 0x90, 0x61, 0x72, 0x37, 0xfc,
		0x96, 0x63, 0x94, 0xcd, 0x9d, 0x4b, 0x3d, 0x27 };
	static const uint8_t hello_tag[] = { 0xc3, 0x8b, 0x21, 0xf4, 0x43, 0x1e, 0xb2,
		0xbe, 0xd5, 0x9d, 0x31, 0xda, 0x3a, 0x69, 0xe6, 0xa4 };
	struct auth *s = make(
	    true, group_key, UINT64_C(0x0102030405060708), UINT64_C(0x2122232425262728));
	struct auth *c = make(false, group_key, 2, 0);
	uint8_t pkt[PACKET], hello[AUTH_PACKET_MAX];

	seal_at(s, AUTH_SECOND, pkt, 0x55);
	T_CHECK(memcmp(pkt, head, sizeof head) == 0);
	T_CHECK(memcmp(pkt + 32, tag, sizeof tag) == 0);
	T_CHECK(auth_put_hello(c, hello) == AUTH_HEADER_BYTES);
	T_CHECK(memcmp(hello, "FBXA\1", 6) == 0);
	T_CHECK(hello[8] == 2);
	T_CHECK(memcmp(hello + 32, hello_tag, sizeof hello_tag) == 0);
	auth_free(s);
	auth_free(c);
}

static void
test_truncations_and_flips(void)
{
	struct auth *s = make(true, group_key, 1, 77), *c = make(false, group_key, 2, 0);
	uint8_t pkt[PACKET], *cut;
	unsigned taken = 0;

	T_CHECK(meet(c, s));
	seal(c, pkt, 1);
	for (size_t n = 0; n < PACKET; n++) {
		cut = malloc(n + 1); /* so that who reads on is caught */
		memcpy(cut, pkt, n);
		taken += !nothing(s, cut, n);
		free(cut);
	}
	for (size_t i = 0; i < (size_t)PACKET * 8; i++) {
		pkt[i / 8] ^= (uint8_t)(1 << i % 8);
		taken += !nothing(s, pkt, PACKET);
		pkt[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	T_CHECK(taken == 0);
	T_CHECK(ignored(s, IGNORED_FORGED) > PAYLOAD * 8);
	T_CHECK(opens(s, pkt) == 1); /* nothing of that has taken its place */
	auth_free(s);
	auth_free(c);
}

static void
test_handshake_truncations_and_flips(void)
{
	struct auth *s = make(true, group_key, 1, 77), *c = make(false, group_key, 2, 0);
	uint8_t pkt[AUTH_PACKET_MAX], answer[AUTH_PACKET_MAX];
	size_t n = auth_put_hello(c, pkt);

	for (size_t i = 0; i < n * 8; i++) {
		pkt[i / 8] ^= (uint8_t)(1 << i % 8);
		T_CHECK(nothing(s, pkt, n));
		T_CHECK(auth_put_welcome(s, answer) == 0);
		pkt[i / 8] ^= (uint8_t)(1 << i % 8);
		T_CHECK(nothing(s, pkt, i / 8));
		T_CHECK(auth_put_welcome(s, answer) == 0);
	}
	T_CHECK(nothing(s, pkt, n));
	n = auth_put_welcome(s, answer);
	T_CHECK(n == AUTH_HEADER_BYTES + AUTH_ASKER_BYTES);
	for (size_t i = 0; i < n * 8; i++) {
		answer[i / 8] ^= (uint8_t)(1 << i % 8);
		T_CHECK(nothing(c, answer, n));
		T_CHECK(!auth_was_welcomed(c));
		answer[i / 8] ^= (uint8_t)(1 << i % 8);
		T_CHECK(nothing(c, answer, i / 8));
		T_CHECK(!auth_was_welcomed(c));
	}
	T_CHECK(nothing(c, answer, n));
	T_CHECK(auth_was_welcomed(c));
	auth_free(s);
	auth_free(c);
}

static void
test_replays(void)
{
	struct auth *s = make(true, group_key, 1, 77), *c = make(false, group_key, 2, 0);
	static uint8_t pkt[REPLAY_WINDOW + 100][PACKET];

	T_CHECK(meet(c, s));
	for (unsigned i = 0; i < REPLAY_WINDOW + 100; i++)
		seal(s, pkt[i], (uint8_t)i);
	T_CHECK(opens(c, pkt[5]) == 5);
	T_CHECK(opens(c, pkt[5]) == -1);
	T_CHECK(opens(c, pkt[3]) == 3);
	T_CHECK(opens(c, pkt[3]) == -1);
	/* The oldest that is still known to be new, and the one before it. */
	unsigned last = REPLAY_WINDOW + 20;
	T_CHECK(opens(c, pkt[last]) == (int)(last % 256));
	T_CHECK(opens(c, pkt[last - REPLAY_WINDOW]) == -1);
	T_CHECK(opens(c, pkt[last - REPLAY_WINDOW + 1]) == 21);
	T_CHECK(opens(c, pkt[last - REPLAY_WINDOW + 1]) == -1);
	T_CHECK(opens(c, pkt[last + 1]) == (int)((last + 1) % 256));
	T_CHECK(opens(c, pkt[last - 1]) == (int)((last - 1) % 256));
	T_CHECK(opens(c, pkt[last]) == -1);
	/* The other port has numbers of its own to remember, and other packets. */
	seal_at(s, AUTH_SECOND, pkt[0], 1);
	T_CHECK(opens(c, pkt[0]) == -1);
	T_CHECK(opens_at(c, AUTH_SECOND, pkt[0], PACKET) == 1);
	T_CHECK(opens_at(c, AUTH_SECOND, pkt[0], PACKET) == -1);
	auth_free(s);
	auth_free(c);
}

/* Against a plain list of what was taken. */
static void
test_window(void)
{
	enum { N = 12000 };
	static bool taken[N];
	struct replay r = { 0 };
	uint64_t end = 0;
	unsigned wrong = 0;

	for (unsigned i = 0; i < 60000; i++) {
		uint64_t spread = draw(5) == 0 ? 3 * REPLAY_WINDOW : 200;
		uint64_t base = (uint64_t)i * (N - 8000) / 60000;
		uint64_t n = base + draw(spread);
		bool is_new = n >= end || (end - n <= REPLAY_WINDOW && !taken[n]);
		wrong += replay_is_new(&r, n) != is_new;
		if (!is_new)
			continue;
		replay_take(&r, n);
		taken[n] = true;
		end = n + 1 > end ? n + 1 : end;
	}
	T_CHECK(wrong == 0);
	replay_take(&r, UINT64_MAX - 1);
	T_CHECK(!replay_is_new(&r, UINT64_MAX - 1));
	T_CHECK(replay_is_new(&r, UINT64_MAX - 2));
}

static void
test_others(void)
{
	struct auth *s = make(true, group_key, 1, 77), *s2 = make(true, group_key, 4, 78),
		    *c = make(false, group_key, 2, 0), *w = make(false, other_key, 3, 0),
		    *there = make_at(true, group_key, 5, 77, 5008),
		    *open = make(false, NULL, 6, 0);
	uint8_t pkt[PACKET], hello[AUTH_PACKET_MAX], plain[40] = { 1 };
	size_t n;

	T_CHECK(meet(c, s));
	T_CHECK(!meet(w, s));
	T_CHECK(ignored(s, IGNORED_KEY) == 1);
	seal(s2, pkt, 1);
	T_CHECK(opens(c, pkt) == -1);
	T_CHECK(opens(s, pkt) == -1); /* another session */
	T_CHECK(ignored(c, IGNORED_FORGED) + ignored(s, IGNORED_FORGED) == 0);
	seal(there, pkt, 1);
	T_CHECK(opens(c, pkt) == -1); /* the same number, at another place */
	n = auth_put_hello(c, hello);
	T_CHECK(nothing(there, hello, n));
	T_CHECK(auth_put_welcome(there, hello) == 0);
	seal(c, pkt, 1);
	pkt[4] = 3; /* a client's as if it were the server's */
	T_CHECK(opens(c, pkt) == -1);
	T_CHECK(opens(s, pkt) == -1);
	T_CHECK(nothing(s, plain, sizeof plain));
	T_CHECK(ignored(s, IGNORED_PLAIN) == 1);
	/* Without a key. */
	T_CHECK(!nothing(open, plain, sizeof plain));
	T_CHECK(!nothing(open, plain, 0));
	seal(s, pkt, 1);
	T_CHECK(opens(open, pkt) == -1);
	T_CHECK(ignored(open, IGNORED_SEALED) == 1);
	n = auth_put_notice(open, hello);
	T_CHECK(nothing(s, hello, n));
	T_CHECK(ignored(s, IGNORED_PLAIN) == 2);
	n = auth_put_notice(s, hello);
	T_CHECK(nothing(open, hello, n));
	T_CHECK(nothing(w, hello, n));
	T_CHECK(ignored(w, IGNORED_KEY) == 1);
	T_CHECK(!auth_was_welcomed(w));
	auth_free(s);
	auth_free(s2);
	auth_free(c);
	auth_free(w);
	auth_free(there);
	auth_free(open);
}

/* What was recorded means nothing to who comes later, nor to who was there. */
static void
test_recordings(void)
{
	struct auth *s = make(true, group_key, 1, 77), *c = make(false, group_key, 2, 0),
		    *d = make(false, group_key, 3, 0);
	uint8_t hello[AUTH_PACKET_MAX], welcome[AUTH_PACKET_MAX], said[PACKET], pkt[PACKET];
	size_t n = auth_put_hello(c, hello), m;

	T_CHECK(nothing(s, hello, n));
	m = auth_put_welcome(s, welcome);
	T_CHECK(nothing(c, welcome, m));
	T_CHECK(auth_was_welcomed(c));
	seal(c, said, 5);
	seal(s, pkt, 6);
	auth_free(s);
	/* A client that has not asked so. */
	T_CHECK(auth_put_hello(d, hello) > 0);
	T_CHECK(nothing(d, welcome, m));
	T_CHECK(!auth_was_welcomed(d));
	T_CHECK(opens(d, pkt) == -1);
	/* The server's next run. */
	s = make(true, group_key, 11, 79);
	T_CHECK(opens(s, said) == -1);
	/* The client goes there when nothing comes any more, and not back. */
	for (unsigned i = 1; i < 3; i++) { /* with the first one above */
		T_CHECK(!auth_wants_hello(c));
		T_CHECK(!meet(c, s));
		seal(c, said, 1);
	}
	T_CHECK(auth_wants_hello(c));
	T_CHECK(meet(c, s));
	for (unsigned i = 0; i < 3; i++)
		seal(c, said, 1);
	T_CHECK(nothing(c, welcome, m));
	T_CHECK(!auth_was_welcomed(c));
	T_CHECK(opens(c, pkt) == -1);
	seal(s, pkt, 9);
	T_CHECK(opens(c, pkt) == 9);
	/* A session that answers is not left. */
	struct auth *third = make(true, group_key, 12, 80);
	T_CHECK(!meet(c, third));
	auth_free(third);
	auth_free(s);
	auth_free(c);
	auth_free(d);
}

/* More senders than are remembered: they cost no memory, and a server's place is not theirs. */
static void
test_many_senders(void)
{
	struct auth *s = make(true, group_key, 1, 77), *c[10];
	uint8_t first[PACKET], pkt[PACKET], last[PACKET];

	for (unsigned i = 0; i < 10; i++) {
		c[i] = make(false, group_key, 100 + i, 0);
		T_CHECK(meet(c[i], s));
	}
	seal(s, first, 3);
	T_CHECK(opens(c[0], first) == 3);
	for (unsigned i = 1; i < 10; i++) {
		seal(c[i], last, (uint8_t)i);
		T_CHECK(opens(c[0], last) == (int)i);
		T_CHECK(opens(s, last) == (int)i);
	}
	T_CHECK(opens(c[0], first) == -1);
	T_CHECK(opens(c[0], last) == -1);
	/* Many that ask at once are welcomed by few packets. */
	unsigned welcomes = 0, asked = 0;
	for (unsigned i = 0; i < 100; i++) {
		struct auth *a = make(false, group_key, 1000 + i, 0);
		uint8_t hello[AUTH_PACKET_MAX];
		size_t n = auth_put_hello(a, hello);
		asked += nothing(s, hello, n) && nothing(s, hello, n);
		auth_free(a);
	}
	while (auth_put_welcome(s, (uint8_t[AUTH_PACKET_MAX]){ 0 }) > 0)
		welcomes++;
	T_CHECK(asked == 100);
	T_CHECK(welcomes == 2);
	seal(s, pkt, 4);
	for (unsigned i = 0; i < 10; i++) {
		T_CHECK(opens(c[i], pkt) == 4);
		auth_free(c[i]);
	}
	auth_free(s);
}

/* The stream of one client knows what was taken before it, and what it took is known after. */
static void
test_branches(void)
{
	struct auth *s = make(true, group_key, 1, 77), *c = make(false, group_key, 2, 0),
		    *b = NULL;
	uint8_t before[PACKET], during[PACKET], pkt[PACKET];
	struct err e;

	T_CHECK(meet(c, s));
	seal(c, before, 1);
	T_CHECK(opens(s, before) == 1);
	T_CHECK(auth_branch(&b, s, 20, &e) == 0);
	T_CHECK(opens(b, before) == -1);
	seal(c, during, 2);
	T_CHECK(opens(b, during) == 2);
	seal(b, pkt, 3);
	T_CHECK(opens(c, pkt) == 3);
	T_CHECK(opens(c, pkt) == -1);
	auth_merge(s, b);
	T_CHECK(opens(s, during) == -1);
	seal(c, pkt, 4);
	T_CHECK(opens(s, pkt) == 4);
	auth_free(b);
	auth_free(c);
	auth_free(s);
}

static void
test_sentences(void)
{
	struct ignored g = { 0 };
	char text[IGNORED_TEXT_MAX];

	T_CHECK(!ignored_say(&g, 1, true, text));
	T_CHECK(ignored_reason(&g) == NULL);
	ignored_add(&g, IGNORED_PLAIN, here, 1);
	ignored_add(&g, IGNORED_PLAIN, (uint8_t[4]){ 10, 0, 0, 8 }, 1);
	T_CHECK(!ignored_say(&g, 5, false, text)); /* others may follow */
	T_CHECK(ignored_say(&g, 2000005, false, text));
	T_CHECK(strcmp(text, "2 packets without authentication were ignored, the first "
		"from 10.0.0.9") == 0);
	ignored_add(&g, IGNORED_PLAIN, here, 1);
	T_CHECK(!ignored_say(&g, 61000000, true, text));
	T_CHECK(ignored_say(&g, 63000000, true, text));
	T_CHECK(strstr(text, "; no session that is heard here has a --group-key"));
	T_CHECK(ignored_answer(&g, 1));
	T_CHECK(!ignored_answer(&g, 5000000));
	ignored_add(&g, IGNORED_KEY, here, 1);
	T_CHECK(!ignored_answer(&g, 500000));
	T_CHECK(ignored_answer(&g, 1500000));
	T_CHECK(strstr(ignored_reason(&g), "not the one of the session"));
	g.ever = true;
	T_CHECK(ignored_reason(&g) == NULL);
}

int
main(void)
{
	test_round_trip();
	test_bytes();
	test_truncations_and_flips();
	test_handshake_truncations_and_flips();
	test_replays();
	test_window();
	test_others();
	test_recordings();
	test_many_senders();
	test_branches();
	test_sentences();
	return t_done();
}
