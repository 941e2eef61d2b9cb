/* client_nack.c: the NACKs and WANTs of a client.  The engine notes what others sent
 * and what happened, and asks for messages to send, in its only thread. */
#include "frisbee/client/client_nack.h"

#include <stdlib.h>
#include <string.h>

#include "frisbee/client/client_ext_impl.h"

enum {
	/* A NACK without effect is repeated: late while the server sends other
	 * things, behind which the answer waits; soon when nothing arrives; and
	 * almost at once by a client that is alone, because there are no others that
	 * would repeat theirs, too. */
	REPEAT_US = 1500000,
	REPEAT_IDLE_US = 350000,
	REPEAT_ALONE_US = 50000,
	/* An idle server answers 25 ms after the first NACK, and then announces
	 * again that it is idle.  With the transit times, this takes at most this
	 * time. */
	ANSWERED_US = 75000,
	/* A client that lacks more than this of a group (which has 128 blocks), or
	 * of a chunk, sends WANT for the chunk: plain blocks need no computing, and
	 * clients that joined late can use them. */
	MOST_OF_GROUP = 120,
	MOST_OF_CHUNK = 3 * WIRE_CHUNK_BLOCKS / 4,
	/* It does so for less of a chunk if there are few buffers, which other chunks
	 * need meanwhile, and in unpaced sessions. */
	MOST_OF_CHUNK_FEW = WIRE_CHUNK_BLOCKS / 2,
	/* A client that lacks no more than this of a chunk does not wait for the
	 * server's next round. */
	LITTLE = WIRE_CHUNK_BLOCKS / 16,
	/* If another NACK names more than this many times as much as this client
	 * lacks, and some blocks more, this client sends its own: the server may
	 * serve the other one late. */
	MUCH_MORE = 4,
	MUCH = 8,
	/* A client that is alone waits only to put more into one message. */
	BACKOFF_ALONE_US = 20000,
	/* The most that others were heard to lack is reduced by one part in this
	 * many each second. */
	FORGET = 8,
};

bool
client_nack_begin(struct client_nack *k, uint32_t chunks, bool all_come, bool want_all)
{
	uint32_t bytes = (chunks + 7) / 8;
	uint8_t *coming = malloc(bytes);

	if (coming == NULL)
		return false;
	memset(coming, all_come ? 0xff : 0, bytes);
	*k = (struct client_nack){ .coming = coming,
		.chunks = chunks,
		.look = !all_come,
		.wanted = UINT32_MAX,
		.want_all = want_all };
	return true;
}

void
client_nack_forget(struct client_nack *k)
{
	free(k->coming);
	*k = (struct client_nack){ 0 };
}

void
client_nack_look(struct client_nack *k)
{
	k->look = true;
}

void
client_nack_nothing_comes(struct client_nack *k)
{
	memset(k->coming, 0, (k->chunks + 7) / 8);
	k->look = true;
}

void
client_nack_set_coming(struct client_nack *k, uint32_t chunk, bool coming)
{
	uint8_t bit = (uint8_t)(1 << chunk % 8);

	if (coming)
		k->coming[chunk / 8] |= bit;
	else
		k->coming[chunk / 8] &= (uint8_t)~bit;
}

void
client_nack_pass_begins(struct client_nack *k, uint32_t chunk)
{
	if (chunk == k->wanted)
		k->wanted = UINT32_MAX;
}

static bool
is_lacking(struct client *c, uint32_t chunk)
{
	struct client_buffer *b = client_filling(c, chunk);

	return b != NULL ? b->nlack > 0 : client_chunks_is(&c->chunks, chunk, CHUNK_OPEN);
}

/* STATE may have been sent before the server read the WANT. */
static void
judge_wanters(struct client *c, uint64_t now_us, const struct wirext_map *map)
{
	struct client_nack *k = &c->nack;

	if (k->wanted - map->first >= map->count)
		return;
	if (!wirext_map_test(map, k->wanted) && is_lacking(c, k->wanted)) {
		if (now_us < k->wanted_us + EXT_STALL_US)
			return;
		client_heed_ignore(&c->heed, now_us, k->wanters);
	}
	k->wanted = UINT32_MAX;
}

void
client_nack_hear_state(struct client *c, uint64_t now_us, const struct wirext_map *map)
{
	struct client_nack *k = &c->nack;

	judge_wanters(c, now_us, map);
	k->most_lack -= k->most_lack / FORGET;
	for (uint32_t i = map->first; i - map->first < map->count && i < k->chunks; i++)
		client_nack_set_coming(k, i, wirext_map_test(map, i));
	k->look = true;
}

void
client_nack_server_is_idle(struct client_nack *k)
{
	k->report_at_us = 0;
}

/* For how long a NACK is held back if this client lacks `lack` blocks. */
static uint64_t
hold_us(struct client *c, uint32_t lack)
{
	uint64_t most = c->session.idle ? EXT_BACKOFF_US / 4 : EXT_BACKOFF_US;

	if (c->session.clients <= 1)
		return c->session.idle || c->position.chunk_us < EXT_FAST_CHUNK_US
		           ? BACKOFF_ALONE_US / 10
		           : BACKOFF_ALONE_US;
	return client_backoff_lack_us(
	    &c->backoff, most, c->session.clients, lack, c->nack.most_lack);
}

/* All of these chunks come. */
static void
want(struct client *c, const struct wirext_map *map)
{
	for (uint32_t i = map->first; i - map->first < map->count && i < c->chunks.n;
	     i++) {
		if (!wirext_map_test(map, i))
			continue;
		client_nack_set_coming(&c->nack, i, true);
		struct client_buffer *b = client_filling(c, i);
		if (b != NULL)
			client_damage_asked(&b->damage);
	}
}

/* The first of these chunks that this client lacks, and would have to name in a WANT of
 * its own if no other client did; UINT32_MAX: none. */
static uint32_t
first_spared(struct client *c, const struct wirext_map *map)
{
	for (uint32_t i = map->first; i - map->first < map->count && i < c->chunks.n;
	     i++)
		if (wirext_map_test(map, i) && !client_ext_coming(c, i) &&
		    !client_position_in_pass(&c->position, i) && is_lacking(c, i))
			return i;
	return UINT32_MAX;
}

void
client_nack_hear_want(struct client *c, uint64_t now_us, const struct wirext_msg *m)
{
	const struct wirext_map *map = &m->u.want.map;
	struct client_nack *k = &c->nack;

	if (k->wanted == UINT32_MAX) {
		k->wanted = first_spared(c, map);
		k->wanted_us = now_us;
		k->wanters = 0;
	}
	if (k->wanted - map->first < map->count && wirext_map_test(map, k->wanted))
		k->wanters |= client_address(m->srcip);
	want(c, map);
}

/* Has another client sent a NACK for at least as much as this one lacks? */
static bool
asked_enough(const struct client_buffer *b)
{
	for (unsigned g = 0; g < WIREXT_GROUPS; g++)
		if (b->lack[g] > b->nacked.most[g])
			return false;
	return true;
}

/* Blocks of the chunk have passed since; those that are still missing were lost,
 * too. */
static bool
is_answered(const struct client_buffer *b)
{
	return b->passed_us > b->nacked.at_us;
}

void
client_nacked_forget(struct client_nacked *k)
{
	*k = (struct client_nacked){ 0 };
}

void
client_nacked_unanswered(struct client_nacked *k)
{
	memset(k->most, 0, sizeof k->most);
}

static void
note_time(struct client_nacked *k, uint64_t now_us)
{
	k->at_us = now_us;
}

/* Another client lacks `lack` of each group of a chunk, where this one lacks `ours`. */
static void
hear_lack(struct client_nacked *k, const uint8_t *lack, const uint8_t *ours)
{
	for (unsigned g = 0; g < WIREXT_GROUPS; g++)
		if (k->most[g] < lack[g] && lack[g] <= MUCH_MORE * ours[g] + MUCH)
			k->most[g] = lack[g];
}

static void
note_most(struct client_nack *k, uint32_t lack)
{
	if (k->most_lack < lack)
		k->most_lack = lack;
}

void
client_nack_hear_reports(struct client *c, uint64_t now_us, const struct wirext_msg *m)
{
	uint32_t total = 0;

	for (uint32_t i = 0; i < m->u.nack.n; i++) {
		const struct wirext_nack *k = &m->u.nack.at[i];
		for (unsigned g = 0; g < WIREXT_GROUPS; g++)
			total += k->lack[g];
		struct client_buffer *b = k->chunk < c->chunks.n
		                              ? client_filling(c, k->chunk)
		                              : NULL;
		if (b == NULL)
			continue;
		/* A client that repeats the same NACK does not keep this one from
		 * sending its own when it is due. */
		bool known = asked_enough(b);
		hear_lack(&b->nacked, k->lack, b->lack);
		if (!known)
			note_time(&b->nacked, now_us);
	}
	note_most(&c->nack, total);
}

static bool
covered(const struct client *c, const struct client_buffer *b, uint64_t now_us)
{
	bool quiet = c->session.idle || now_us >= c->credit.seen_us + EXT_STALL_US;
	uint64_t repeat_us = !quiet                   ? REPEAT_US
	                     : c->session.clients > 1 ? REPEAT_IDLE_US
	                                              : REPEAT_ALONE_US;

	if (is_answered(b) && now_us >= b->passed_us + REPEAT_IDLE_US)
		return false;
	/* If the server had received it, it would have answered by now. */
	if (c->session.idle && c->session.state_us >= b->nacked.at_us + ANSWERED_US)
		return false;
	return now_us < b->nacked.at_us + repeat_us && asked_enough(b);
}

/* Does the chunk lack so much that parity would not help? */
static bool
too_much(const struct client *c, const struct client_buffer *b)
{
	bool few = c->session.unpaced || c->cfg.buffers < CLIENT_INTERLEAVE_BUFFERS;
	bool most = b->nlack > (few ? MOST_OF_CHUNK_FEW : MOST_OF_CHUNK);

	for (unsigned g = 0; g < WIREXT_GROUPS; g++)
		most |= b->lack[g] > MOST_OF_GROUP;
	return most;
}

/* Is it worth waiting for the chunk, which will be sent again for clients that lack
 * much of it, perhaps a whole round later?  It is not if a little parity is enough. */
static bool
is_worth_waiting(const struct client *c, const struct client_buffer *b, uint64_t now_us)
{
	return client_ext_coming(c, b->chunk) &&
	       (b->nlack > LITTLE || now_us < b->settled_us + REPEAT_IDLE_US);
}

static bool
may_report(const struct client *c, const struct client_buffer *b, uint64_t now_us)
{
	/* What comes with the server's round is early enough, except chunk 0. */
	bool waits = is_worth_waiting(c, b, now_us) &&
	             !client_awaits_first(c, b->chunk);

	return !client_asks_blocks(b) &&
	       !client_awaits_pass(b, now_us,
		   client_position_in_pass(&c->position, b->chunk)) &&
	       !waits && !covered(c, b, now_us);
}

/* Collect what is missing of all chunks whose time has come.  Returns the number of
 * blocks. */
static uint32_t
collect_reports(struct client *c, uint64_t now_us, struct wirext_msg *m)
{
	uint32_t total = 0;

	m->u.nack.clientid = c->cfg.clientid;
	m->u.nack.n = 0;
	for (uint32_t i = 0; i < c->bufs.nfilling && m->u.nack.n < WIREXT_NACKS; i++) {
		struct client_buffer *b = &c->bufs.at[c->bufs.filling[i]];
		if (!may_report(c, b, now_us) || too_much(c, b))
			continue;
		struct wirext_nack *k = &m->u.nack.at[m->u.nack.n++];
		k->chunk = b->chunk;
		memcpy(k->lack, b->lack, sizeof k->lack);
		total += b->nlack;
	}
	return total;
}

static void
note_reported(struct client *c, uint64_t now_us, const struct wirext_msg *m)
{
	for (uint32_t i = 0; i < m->u.nack.n; i++) {
		struct client_buffer *b = client_filling(c, m->u.nack.at[i].chunk);
		memcpy(b->nacked.most, b->lack, sizeof b->nacked.most);
		note_time(&b->nacked, now_us);
		client_buffer_moved(b);
		client_buffer_sure(b);
	}
}

size_t
client_nack_say_report(struct client *c, uint64_t now_us, void *pkt)
{
	struct client_nack *k = &c->nack;
	struct wirext_msg m;

	if (!c->session.parity)
		return 0;
	client_ext_message(c, &m, WIREXT_NACK);
	uint32_t lack = collect_reports(c, now_us, &m);
	if (lack == 0) {
		k->report_at_us = 0;
		return 0;
	}
	if (k->report_at_us == 0)
		k->report_at_us = now_us + hold_us(c, lack);
	if (now_us < k->report_at_us)
		return 0;
	k->report_at_us = 0;
	note_reported(c, now_us, &m);
	client_counters_report(&c->counters, lack);
	return wirext_put(&m, pkt, WIRE_PACKET_MAX);
}

static bool
add_want(struct wirext_map *map, uint8_t *bits, uint32_t chunk)
{
	if (map->count == 0)
		map->first = chunk / WIREXT_MAP_CHUNKS * WIREXT_MAP_CHUNKS;
	if (chunk < map->first || chunk - map->first >= WIREXT_MAP_CHUNKS)
		return false; /* another time */
	uint32_t i = chunk - map->first;
	bits[i / 8] |= (uint8_t)(1 << i % 8);
	if (map->count <= i)
		map->count = i + 1;
	return true;
}

/* Is there an open chunk that the server has not announced?  Mostly there is none,
 * and then the list of open chunks, which is in no order and may be as long as the
 * image, need not be searched. */
static bool
some_do_not_come(const struct client *c)
{
	for (uint32_t i = 0; i < c->chunks.n; i++) {
		if (i % 8 == 0 && c->nack.coming[i / 8] == 0xff)
			i += 7;
		else if (!client_ext_coming(c, i) &&
			 client_chunks_is(&c->chunks, i, CHUNK_OPEN))
			return true;
	}
	return false;
}

/* Collect the chunks that are needed and will not come, as many as fit; at first all
 * of them, as after a JOIN. */
static uint32_t
collect_wants(struct client *c, uint64_t now_us, struct wirext_map *map, uint8_t *bits)
{
	uint32_t n = c->chunks.n, chunk = n, found = 0;
	uint32_t room = c->nack.want_all ? n : c->bufs.nfree;

	*map = (struct wirext_map){ .bits = bits };
	for (uint32_t i = 0; i < c->bufs.nfilling; i++) {
		struct client_buffer *b = &c->bufs.at[c->bufs.filling[i]];
		if (may_report(c, b, now_us) && too_much(c, b))
			found += add_want(map, bits, b->chunk);
	}
	if (!some_do_not_come(c))
		room = 0;
	while (found < room && (chunk = client_next_open(c, chunk)) != n)
		if (!client_position_in_pass(&c->position, chunk) &&
		    !client_ext_coming(c, chunk) && !client_leaves_out(c, chunk))
			found += add_want(map, bits, chunk);
	return found;
}

static void
note_wanted(struct client *c, const struct wirext_map *map)
{
	for (uint32_t i = 0; i < c->bufs.nfilling; i++) {
		struct client_buffer *b = &c->bufs.at[c->bufs.filling[i]];
		if (b->chunk - map->first < map->count && wirext_map_test(map, b->chunk))
			client_buffer_moved(b);
	}
}

size_t
client_nack_say_want(struct client *c, uint64_t now_us, void *pkt)
{
	uint8_t bits[WIREXT_MAP_CHUNKS / 8] = { 0 };
	struct client_nack *k = &c->nack;
	struct wirext_msg m;

	if (!k->look || (k->want_at_us != 0 && now_us < k->want_at_us))
		return 0;
	client_ext_message(c, &m, WIREXT_WANT);
	m.u.want.clientid = c->cfg.clientid;
	uint32_t found = collect_wants(c, now_us, &m.u.want.map, bits);
	if (found == 0) {
		k->want_at_us = 0;
		k->look = k->want_all = false;
		return 0;
	}
	if (k->want_at_us == 0) {
		k->want_at_us = now_us + hold_us(c, found * WIRE_CHUNK_BLOCKS);
		return 0;
	}
	k->want_at_us = 0;
	want(c, &m.u.want.map);
	note_wanted(c, &m.u.want.map);
	client_counters_message(&c->counters);
	return wirext_put(&m, pkt, WIRE_PACKET_MAX);
}
