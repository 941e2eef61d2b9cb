/* server_voters.c: how much influence each address has.  The server's engine asks this
 * about each NACK, request and complaint, in its only thread. */
#include "frisbeed/server/server_voters.h"

#include <stdlib.h>
#include <string.h>

enum {
	CREDIT_MOST = 256,  /* parity blocks */
	BALLOT_US = 200000, /* a ballot about losses with a queue */
	BALLOT_LOST_US =
	    500000,          /* about losses without one, and about repeated requests */
	ASK_US = 1000000,    /* a count of the addresses that send requests */
	/* A client that has no answer repeats its JOIN after 31, 62 and 125 ms, and later
	 * again; the answer to one of the first four is not lost. */
	BEGINS_US = 250000,
	AGREED_US = 2000000, /* until then, NACKs for what a queue dropped arrive */
	NAMED_AGAIN_US = 60000000,
	ALONE_SMOOTH = 8,
};
static const double
    /* The parity that all addresses together may cause, as a share of what is sent. */
    PARITY_SHARE = 0.35,
    /* An address may send three times as many NACKs as its share; more are not
       believed. */
    REPORTS_SHARE = 3, REPORTS_MOST = 2,
    /* An address that complains alone is set aside at the fourth time, and is heard
     * again when others have often agreed with it. */
    ASIDE = 0.4, HEARD_AGAIN = 0.1;

int
voters_init(
    struct voters *v, uint32_t max, uint64_t seed, const struct server_image *image)
{
	memset(v, 0, sizeof *v);
	v->image = *image;
	v->at = calloc(max, sizeof *v->at);
	v->again = calloc(image->chunks, sizeof *v->again);
	return v->at != NULL && v->again != NULL && lru_init(&v->lru, max, seed) == 0 ? 0 : -1;
}

void
voters_fini(struct voters *v)
{
	lru_fini(&v->lru);
	free(v->at);
	free(v->again);
	v->at = NULL;
	v->again = NULL;
}

static uint64_t
key_of(const uint8_t ip[4])
{
	return (uint64_t)ip[0] << 24 | (uint64_t)ip[1] << 16 | (uint64_t)ip[2] << 8 |
	       ip[3];
}

static uint32_t
find(const struct voters *v, const uint8_t ip[4])
{
	uint32_t i = lru_first(&v->lru, key_of(ip));

	while (i != LRU_NONE && memcmp(v->at[i].ip, ip, 4) != 0)
		i = lru_next(&v->lru, i);
	return i;
}

struct voter *
voters_find(struct voters *v, const uint8_t ip[4])
{
	uint32_t i = find(v, ip);

	return i != LRU_NONE ? &v->at[i] : NULL;
}

static void
discount_ext(struct voters *v, const struct voter *one)
{
	v->ext--;
	v->aside -= one->aside;
}

/* Add an address; if there is no room, the one that was heard longest ago is forgotten.
 */
static struct voter *
add(struct voters *v, const uint8_t ip[4])
{
	bool old;
	uint32_t i = lru_add(&v->lru, key_of(ip), &old);
	struct voter *one = &v->at[i];

	if (old && one->ext > 0)
		discount_ext(v, one);
	v->here -= old && one->clients > 0;
	*one = (struct voter){ .credit = CREDIT_MOST, .first = v->image.blocks,
		.reports = REPORTS_MOST };
	memcpy(one->ip, ip, 4);
	return one;
}

void
voters_come(struct voters *v, const uint8_t ip[4], bool ext)
{
	struct voter *one = voters_find(v, ip);

	if (one == NULL)
		one = add(v, ip);
	lru_touch(&v->lru, (uint32_t)(one - v->at), true);
	v->here += one->clients++ == 0;
	if (ext && one->ext++ == 0) {
		v->ext++;
		v->aside += one->aside;
	}
}

/* The address is remembered, so that a client that comes back is not taken for a new
 * one. */
void
voters_go(struct voters *v, const uint8_t ip[4], bool ext)
{
	struct voter *one = voters_find(v, ip);

	if (one == NULL)
		return;
	if (ext && one->ext > 0 && --one->ext == 0)
		discount_ext(v, one);
	v->here -= one->clients > 0 && --one->clients == 0;
}

bool
voters_begin(struct voters *v, const uint8_t ip[4], uint64_t now_us, bool idle)
{
	struct voter *one = voters_find(v, ip);

	v->beginnings += (idle && v->here == 1) || v->beginnings == 0;
	if (one == NULL)
		return true;
	if (one->begun != v->beginnings) {
		one->begun = v->beginnings;
		one->begun_us = now_us;
		one->first = 0;
	}
	return now_us - one->begun_us < BEGINS_US;
}

uint32_t
voters_may_cause(struct voters *v, struct voter *one, uint64_t now_us, uint64_t sent,
    bool believed)
{
	uint32_t n = v->ext > VOTERS_FEW ? v->ext : VOTERS_FEW;

	/* All have lost what a queue dropped, and one sends the NACK for them. */
	bool all = v->agreed_us != 0 && now_us - v->agreed_us < AGREED_US;

	if (believed && (v->ext < VOTERS_FEW || all))
		return UINT32_MAX;
	one->credit += (double)(sent - one->credit_at) * PARITY_SHARE / n;
	if (one->credit > CREDIT_MOST)
		one->credit = CREDIT_MOST;
	one->credit_at = sent;
	return (uint32_t)one->credit;
}

void
voters_caused(struct voter *one, uint32_t blocks)
{
	one->credit -= one->credit < blocks ? one->credit : blocks;
}

/* What two addresses want of a chunk counts for the first of them. */
bool
voters_want(
    struct voters *v, struct voter *one, uint32_t chunk, uint32_t blocks, uint32_t most)
{
	uint32_t voter = (uint32_t)(one - v->at);

	if (blocks <= one->first) {
		one->first -= blocks;
		return true;
	}
	if (one->again + blocks > most)
		return false;
	if (v->again[chunk].blocks == 0)
		v->again[chunk].voter = voter;
	if (v->again[chunk].voter == voter) {
		v->again[chunk].blocks += blocks;
		one->again += blocks;
	}
	return true;
}

/* The address may have been forgotten, and another one have its place. */
void
voters_gets(struct voters *v, uint32_t chunk)
{
	uint32_t blocks = v->again[chunk].blocks;
	struct voter *one = &v->at[v->again[chunk].voter];

	one->again -= blocks < one->again ? blocks : one->again;
	v->again[chunk].blocks = 0;
}

bool
voters_report(struct voters *v, struct voter *one, uint64_t now_us, double budget)
{
	double share = REPORTS_SHARE * budget / (v->ext > 0 ? v->ext : 1);

	one->reports += (double)(now_us - one->reports_us) / 1e6 * share;
	if (one->reports > REPORTS_MOST)
		one->reports = REPORTS_MOST;
	one->reports_us = now_us;
	if (one->reports < 1)
		return false;
	one->reports--;
	return true;
}

/* --- complaints --- */

static void
set_aside(struct voters *v, struct voter *one, bool aside)
{
	if (one->aside == aside)
		return;
	one->aside = aside;
	v->aside += one->ext > 0 && aside;
	v->aside -= one->ext > 0 && !aside;
}

static void
note_alone(struct voters *v, struct voter *one, bool alone)
{
	one->alone += ((alone ? 1 : 0) - one->alone) / ALONE_SMOOTH;
	if (one->alone < HEARD_AGAIN)
		set_aside(v, one, false);
	else if (one->alone > ASIDE && v->aside < v->ext / VOTERS_FEW)
		set_aside(v, one, true);
}

/* A ballot that is over shows which address complained alone. */
static void
close_ballot(struct voters *v, struct ballot *b)
{
	for (uint32_t i = 0; i < b->n && i < VOTERS_BALLOT; i++)
		note_alone(v, &v->at[b->voter[i]], !b->decided);
}

/* A ballot needs more than a quarter of all addresses, so that a few bad ones cannot
 * decide. */
static uint32_t
needed(const struct voters *v)
{
	uint32_t n = v->ext / VOTERS_FEW + 1;

	return n < VOTERS_BALLOT ? n : VOTERS_BALLOT;
}

static bool
is_over(const struct ballot *b, uint64_t now_us, uint64_t lasts_us)
{
	return b->number == 0 || now_us - b->since_us >= lasts_us;
}

static void
open_ballot(struct ballot *b, uint64_t now_us)
{
	*b = (struct ballot){ .number = b->number + 1, .since_us = now_us };
}

static void
vote(struct voters *v, struct ballot *b, struct voter *one, uint32_t lost, uint32_t of)
{
	bool least = b->n == 0 || (double)lost * b->of < (double)b->lost * of;

	if (b->n < VOTERS_BALLOT)
		b->voter[b->n] = (uint32_t)(one - v->at);
	b->n++;
	if (least) {
		b->lost = lost;
		b->of = of;
	}
	b->decided |= b->n >= needed(v);
}

bool
voters_complain(struct voters *v, struct voter *one, uint64_t now_us, bool queue,
    uint32_t *lost, uint32_t *of)
{
	enum voters_about about = queue ? VOTERS_QUEUE : VOTERS_LOST;
	struct ballot *b = &v->ballots[about];

	one->lost += ((double)*lost / *of - one->lost) / ALONE_SMOOTH;
	if (v->ext < VOTERS_FEW)
		return true;
	if (is_over(b, now_us, queue ? BALLOT_US : BALLOT_LOST_US)) {
		close_ballot(v, b);
		open_ballot(b, now_us);
	}
	if (one->ballot[about] != b->number) {
		one->ballot[about] = b->number;
		if (one->aside)
			note_alone(v, one, !b->decided);
		else
			vote(v, b, one, *lost, *of);
	}
	if (!b->decided || one->aside)
		return false;
	if (queue)
		v->agreed_us = now_us;
	*lost = b->lost;
	*of = b->of;
	return true;
}

bool
voters_in_step(
    struct voters *v, struct voter *one, uint64_t now_us, uint32_t *lost, uint32_t *of)
{
	struct ballot *b = &v->ballots[VOTERS_STEP];
	uint32_t half = v->ext / 2 + 1;

	if (is_over(b, now_us, BALLOT_US))
		open_ballot(b, now_us);
	if (one->ballot[VOTERS_STEP] != b->number && !one->aside) {
		one->ballot[VOTERS_STEP] = b->number;
		vote(v, b, one, *lost, *of);
	}
	if (b->n < (half < VOTERS_BALLOT ? half : VOTERS_BALLOT) || one->aside)
		return false;
	*lost = b->lost;
	*of = b->of;
	return true;
}

bool
voters_ask_again(struct voters *v, struct voter *one, uint64_t now_us)
{
	struct ballot *b = &v->ballots[VOTERS_AGAIN];

	if (v->here < VOTERS_FEW)
		return true;
	if (is_over(b, now_us, BALLOT_LOST_US))
		open_ballot(b, now_us);
	if (one->ballot[VOTERS_AGAIN] != b->number) {
		one->ballot[VOTERS_AGAIN] = b->number;
		b->n++;
	}
	return b->n > 1;
}

void
voters_ask(struct voters *v, struct voter *one, uint64_t now_us)
{
	struct ballot *b = &v->ballots[VOTERS_ASK];

	if (is_over(b, now_us, ASK_US)) {
		uint32_t n = is_over(b, now_us, 2 * ASK_US) ? 0 : b->n;
		open_ballot(b, now_us);
		b->last_n = n;
	}
	if (one->ballot[VOTERS_ASK] == b->number)
		return;
	one->ballot[VOTERS_ASK] = b->number;
	b->n++;
}

uint32_t
voters_to_each_asker(const struct voters *v, uint64_t now_us)
{
	const struct ballot *b = &v->ballots[VOTERS_ASK];
	uint32_t n = b->n > b->last_n ? b->n : b->last_n;

	if (n == 0 || is_over(b, now_us, 2 * ASK_US) || v->here < 2 * n)
		return 1;
	return (v->here - n) / n;
}

bool
voters_is_aside(const struct voters *v, const uint8_t ip[4], double *share_received)
{
	uint32_t i = v->aside > 0 ? find(v, ip) : LRU_NONE;

	if (i == LRU_NONE || v->at[i].ext == 0 || !v->at[i].aside)
		return false;
	*share_received = 1 - v->at[i].lost;
	return true;
}

static bool
is_news(struct voter *one, uint64_t now_us)
{
	if (one->named_us != 0 && now_us - one->named_us < NAMED_AGAIN_US)
		return false;
	one->named_us = now_us;
	return true;
}

bool
voters_name(struct voter *one, uint64_t now_us)
{
	return one->aside && is_news(one, now_us);
}

bool
voters_name_contested(struct voter *one, uint64_t now_us)
{
	return !one->aside && is_news(one, now_us);
}
