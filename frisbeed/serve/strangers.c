/* strangers.c: cookies, samples and credit of addresses that have not shown yet that they
 * receive.  Called by the thread of unicast.c that listens for new clients. */
#include "frisbeed/serve/strangers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/lru.h"
#include "common/base/sha256.h"
#include "common/base/wr.h"
#include "common/wire/wirext.h"

enum {
	STRANGERS_MAX = 1024, /* addresses and ports that are remembered */
	UDP_IP_BYTES = 28,    /* around each packet */
	JOIN_BYTES_MAX = 64,  /* of a JOIN, with what stands behind its body */
	FREE_BLOCKS = 8,      /* what an address may get at once */
	/* how many bytes an address may get for each byte that came from it */
	TIMES = 3,
	ALL_BLOCKS_A_SECOND = 512,
	/* One address, with all its ports, may have this part of what is remembered, and of the
	 * blocks of a second: otherwise one host keeps all others out. */
	ADDRESS_PART = 8,
	ADDRESS_PLACES = 256, /* addresses are told apart by a hash */
	LOCKED_US = 5000000, /* after a wrong guess */
	SAMPLE_BLOCKS = 4,   /* so that FREE_BLOCKS are enough for two samples */
	/* How unlikely it must be that the blocks that came were guessed, in bits.  Fewer bits
	 * are enough for a file of at most SMALL_BLOCKS, because a stream of it does no harm. */
	PROOF_BITS = 32,
	SMALL_PROOF_BITS = 6,
	SMALL_BLOCKS = 64,
};

#define BLOCK_COST ((uint64_t)WIRE_BLOCK_PACKET_BYTES + UDP_IP_BYTES)

struct stranger {
	uint8_t ip[4];
	uint16_t port;
	uint64_t came, went; /* bytes from it and to it, with the headers of IP and UDP */
	uint64_t locked_us;  /* until then its requests are ignored */
	double bits;         /* how unlikely a guess of the blocks that it named so far is */
	bool sampled;
	uint32_t chunk;
	struct blockmap asked, sample;
	uint8_t join_bytes; /* 0: none came */
	uint8_t join[JOIN_BYTES_MAX];
};

struct strangers {
	struct strangers_config cfg;
	uint32_t nblocks;
	uint64_t draws;     /* random numbers that were drawn */
	uint64_t second_us; /* the beginning of the current second */
	uint32_t in_second; /* blocks sent to all strangers in this second */
	uint32_t to_address[ADDRESS_PLACES]; /* of these, to the addresses of each place */
	struct lru order;
	struct stranger at[STRANGERS_MAX];
};

struct strangers *
strangers_new(const struct strangers_config *cfg, uint64_t now_us)
{
	struct strangers *s = calloc(1, sizeof *s);

	if (s == NULL)
		return NULL;
	s->cfg = *cfg;
	s->second_us = now_us;
	s->nblocks = (uint32_t)((cfg->image_bytes - 1) / WIRE_BLOCK_BYTES + 1);
	if (lru_init(&s->order, STRANGERS_MAX, cfg->seed) != 0) {
		free(s);
		return NULL;
	}
	return s;
}

void
strangers_free(struct strangers *s)
{
	if (s == NULL)
		return;
	lru_fini(&s->order);
	free(s);
}

/* SHA-256 of the secret and 8 bytes.  Cookies and draws never have the same input: their last
 * bytes differ. */
static void
keyed(const struct strangers *s, const uint8_t what[8], uint8_t out[SHA256_BYTES])
{
	uint8_t text[sizeof s->cfg.secret + 8];

	memcpy(text, s->cfg.secret, sizeof s->cfg.secret);
	memcpy(text + sizeof s->cfg.secret, what, 8);
	sha256(text, sizeof text, out);
}

static uint64_t
cookie_of(const struct strangers *s, const uint8_t ip[4], uint16_t port)
{
	uint8_t what[8] = { ip[0], ip[1], ip[2], ip[3], (uint8_t)(port >> 8),
		(uint8_t)port, 0, 'c' };
	uint8_t hash[SHA256_BYTES];
	uint64_t cookie;

	keyed(s, what, hash);
	memcpy(&cookie, hash, sizeof cookie);
	return cookie != 0 ? cookie : 1;
}

/* A random number below n.  From some of these numbers no other one can be computed. */
static uint32_t
draw(struct strangers *s, uint32_t n)
{
	uint8_t what[8] = { 0 }, hash[SHA256_BYTES];
	uint64_t number = s->draws++;
	uint32_t drawn;

	for (unsigned i = 0; i < 7; i++)
		what[i] = (uint8_t)(number >> 8 * i);
	what[7] = 'd';
	keyed(s, what, hash);
	memcpy(&drawn, hash, sizeof drawn);
	return drawn % n;
}

static struct blockmap
draw_sample(struct strangers *s, struct blockmap from, uint32_t k)
{
	struct blockmap sample = { { 0 } };

	for (uint32_t n = blockmap_count(&from); k > 0; k--, n--) {
		uint32_t b = blockmap_next(&from, 0);
		for (uint32_t skip = draw(s, n); skip > 0; skip--)
			b = blockmap_next(&from, b + 1);
		blockmap_set(&sample, b);
		blockmap_clear(&from, b);
	}
	return sample;
}

static bool
is_of(const struct stranger *g, const uint8_t ip[4])
{
	return memcmp(g->ip, ip, 4) == 0;
}

/* If too many ports of this address are remembered, forget the one heard longest ago. */
static void
make_room(struct strangers *s, const uint8_t ip[4])
{
	uint32_t n = 0, first = LRU_NONE;

	for (uint32_t i = lru_newest(&s->order, false); i != LRU_NONE;
	     i = lru_older(&s->order, i))
		if (is_of(&s->at[i], ip)) {
			n++;
			first = i;
		}
	if (n >= STRANGERS_MAX / ADDRESS_PART)
		lru_remove(&s->order, first);
}

static struct stranger *
stranger_of(struct strangers *s, const uint8_t ip[4], uint16_t port, uint32_t *entry)
{
	uint64_t key = (uint64_t)ip[0] << 40 | (uint64_t)ip[1] << 32 |
	               (uint64_t)ip[2] << 24 | (uint64_t)ip[3] << 16 | port;
	uint32_t i = lru_first(&s->order, key);
	bool old;

	while (i != LRU_NONE && (s->at[i].port != port || !is_of(&s->at[i], ip)))
		i = lru_next(&s->order, i);
	if (i == LRU_NONE) {
		make_room(s, ip);
		i = lru_add(&s->order, key, &old);
		s->at[i] = (struct stranger){ .port = port };
		memcpy(s->at[i].ip, ip, 4);
	}
	lru_touch(&s->order, i, false);
	*entry = i;
	return &s->at[i];
}

/* May this number of bytes be sent to the address, besides those that were sent? */
static bool
may_send(const struct stranger *g, uint64_t bytes)
{
	uint64_t most = TIMES * g->came;

	if (most < FREE_BLOCKS * BLOCK_COST)
		most = FREE_BLOCKS * BLOCK_COST;
	return g->went + bytes <= most;
}

static uint32_t *
to_address(struct strangers *s, const uint8_t ip[4])
{
	uint64_t mixed = s->cfg.seed;

	for (unsigned i = 0; i < 4; i++)
		mixed = (mixed ^ ip[i]) * UINT64_C(0x9e3779b97f4a7c15);
	return &s->to_address[mixed >> 32 & (ADDRESS_PLACES - 1)];
}

/* Takes from the credit of this address and port, and from that of the address and of all
 * strangers in this second, up to k blocks that are sent to it now.  Returns the number of
 * blocks. */
static uint32_t
blocks_now(struct strangers *s, uint64_t now_us, struct stranger *g, uint32_t k)
{
	uint32_t n = 0, *to = to_address(s, g->ip);

	if (now_us >= s->second_us + 1000000) {
		s->second_us = now_us;
		s->in_second = 0;
		memset(s->to_address, 0, sizeof s->to_address);
	}
	while (n < k && s->in_second < ALL_BLOCKS_A_SECOND &&
	       *to < ALL_BLOCKS_A_SECOND / ADDRESS_PART && may_send(g, BLOCK_COST)) {
		g->went += BLOCK_COST;
		s->in_second++;
		++*to;
		n++;
	}
	return n;
}

static enum strangers_verdict
proved(struct strangers *s, uint32_t entry, struct strangers_answer *a)
{
	const struct stranger *g = &s->at[entry];

	memcpy(a->join, g->join, g->join_bytes);
	a->join_bytes = g->join_bytes;
	lru_remove(&s->order, entry);
	return STRANGERS_PROVED;
}

static void
put_reply(const struct strangers *s, const struct wire_msg *join, struct strangers_answer *a)
{
	struct wire_msg m = { .type = WIRE_REPLY, .subtype = join->subtype };

	memcpy(m.srcip, s->cfg.srcip, 4);
	if (join->subtype == WIRE_JOIN) {
		m.u.join.blocks = s->nblocks;
	} else {
		m.u.join2.clientid = join->u.join2.clientid;
		m.u.join2.blocks = s->nblocks;
		m.u.join2.chunk_blocks = WIRE_CHUNK_BLOCKS;
		m.u.join2.block_bytes = WIRE_BLOCK_BYTES;
		m.u.join2.image_bytes = s->cfg.image_bytes;
	}
	a->reply_bytes = wire_put(&m, a->reply, sizeof a->reply);
}

static enum strangers_verdict
hear_join(struct strangers *s, uint32_t entry, const struct wire_msg *m, const void *pkt,
    size_t len, struct strangers_answer *a)
{
	struct stranger *g = &s->at[entry];
	uint64_t cookie, right = cookie_of(s, g->ip, g->port);
	bool has_cookie = wirext_get_cookie(pkt, len, &cookie);

	if (len > sizeof g->join)
		return STRANGERS_IGNORE;
	memcpy(g->join, pkt, len);
	g->join_bytes = (uint8_t)len;
	if (has_cookie && cookie == right)
		return proved(s, entry, a);
	put_reply(s, m, a);
	if (has_cookie)
		a->reply_bytes = wirext_put_cookie(
		    a->reply, a->reply_bytes, sizeof a->reply, right);
	if (a->reply_bytes == 0 || !may_send(g, a->reply_bytes + UDP_IP_BYTES))
		return STRANGERS_IGNORE;
	g->went += a->reply_bytes + UDP_IP_BYTES;
	return STRANGERS_REPLY;
}

/* Answer the first request, or one for another chunk, with a random part of the chunk,
 * never all of it. */
static enum strangers_verdict
begin_sample(struct strangers *s, uint64_t now_us, struct stranger *g, uint32_t chunk,
    const struct blockmap *asked, struct strangers_answer *a)
{
	uint32_t n = blockmap_count(asked);
	uint32_t k = blocks_now(
	    s, now_us, g, n < 2 * SAMPLE_BLOCKS ? (n + 1) / 2 : SAMPLE_BLOCKS);

	if (k == 0)
		return STRANGERS_IGNORE;
	g->sampled = true;
	g->chunk = a->chunk = chunk;
	g->asked = *asked;
	g->sample = a->blocks = draw_sample(s, *asked, k);
	return STRANGERS_SAMPLE;
}

/* How unlikely it is, in bits, that somebody who has received nothing names r blocks of n
 * that are all among the k of the sample. */
static double
guess_bits(uint32_t n, uint32_t k, uint32_t r)
{
	double bits = 0;

	for (uint32_t i = 0; i < r; i++)
		bits += log2((double)(n - i) / (k - i));
	return bits;
}

/* Hears an address that asks for a chunk of which it got a sample, and judges whether it knows
 * which blocks came. */
static enum strangers_verdict
hear_again(struct strangers *s, uint64_t now_us, uint32_t entry, const struct blockmap *lacks,
    struct strangers_answer *a)
{
	struct stranger *g = &s->at[entry];
	struct blockmap has = blockmap_minus(g->asked, lacks);
	struct blockmap wrong = blockmap_minus(has, &g->sample);
	uint32_t n = blockmap_count(&g->asked), k = blockmap_count(&g->sample),
		 r = blockmap_count(&has);

	if (blockmap_count(&wrong) > 0) {
		g->sampled = false;
		g->bits = 0;
		g->locked_us = now_us + LOCKED_US;
		return STRANGERS_IGNORE;
	}
	g->bits += guess_bits(n, k, r);
	if (g->bits >= (s->nblocks <= SMALL_BLOCKS ? SMALL_PROOF_BITS : PROOF_BITS))
		return proved(s, entry, a);
	/* The proof is not complete yet: the chunk has few blocks, or few of the sample
	 * arrived. */
	return begin_sample(s, now_us, g, g->chunk, lacks, a);
}

static enum strangers_verdict
hear_request(struct strangers *s, uint64_t now_us, uint32_t entry, uint32_t chunk,
    const struct blockmap *asked, struct strangers_answer *a)
{
	struct stranger *g = &s->at[entry];
	uint32_t rest = s->nblocks - chunk * WIRE_CHUNK_BLOCKS;
	struct blockmap there =
	    blockmap_range(0, rest < WIRE_CHUNK_BLOCKS ? rest : WIRE_CHUNK_BLOCKS);

	there = blockmap_and(there, asked);
	if (blockmap_count(&there) == 0 || now_us < g->locked_us)
		return STRANGERS_IGNORE;
	if (g->sampled && g->chunk == chunk)
		return hear_again(s, now_us, entry, &there, a);
	return begin_sample(s, now_us, g, chunk, &there, a);
}

enum strangers_verdict
strangers_hear(struct strangers *s, uint64_t now_us, const void *pkt, size_t len,
    const uint8_t from[4], uint16_t port, struct strangers_answer *a)
{
	struct blockmap asked;
	struct wire_msg m;
	uint32_t entry, chunk;
	struct err e;

	if (len > WIRE_PACKET_MAX || wire_get(&m, pkt, len, &e) != 0 ||
	    !wire_source_is(&m, from) || m.type != WIRE_REQUEST)
		return STRANGERS_IGNORE;
	bool joins = m.subtype == WIRE_JOIN || m.subtype == WIRE_JOIN2;
	if (!joins && m.subtype != WIRE_REQ && m.subtype != WIRE_PREQ)
		return STRANGERS_IGNORE;
	stranger_of(s, from, port, &entry)->came += len + UDP_IP_BYTES;
	if (joins)
		return hear_join(s, entry, &m, pkt, len, a);
	chunk = m.subtype == WIRE_REQ ? m.u.req.chunk : m.u.preq.chunk;
	if (chunk > (s->nblocks - 1) / WIRE_CHUNK_BLOCKS)
		return STRANGERS_IGNORE;
	asked = m.subtype == WIRE_REQ ? blockmap_range(m.u.req.first, m.u.req.count)
	                              : blockmap_get(m.u.preq.map);
	return hear_request(s, now_us, entry, chunk, &asked, a);
}
