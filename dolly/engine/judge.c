/* judge.c: what both ends of a link say of it, and whom to suspect (judge.h).  server.c
 * calls it, in the engine's thread. */
#include "dolly/engine/judge.h"

#include <string.h>

#include "dolly/engine/roster.h"

enum {
	WAITS_LONG = 66,  /* percent of the time: it has waited for the other end all along, */
	WAITS_OFTEN = 50, /* ... or mostly; the rest is what ticks and messages take */
	WAITS_SOME = 25,
	VOICES = 2,
	/* A parent that is this number of chunks ahead, and goes on, has what its child lacks:
	 * the memory of a server and of a node hold fewer. */
	AHEAD = 64,
	/* A damaged chunk passes through a node before the node has proved it.  All behind the
	 * cause get it, and say so within this time. */
	DAMAGE_US = 500000,
	DAMAGE_EXCUSES_US = 3 * DAMAGE_US,
};

void
judge_new_link(struct judge *j)
{
	j->up = (struct judge_end){ .part_before = 100 };
	j->down = (struct judge_end){ 0 };
	j->since_us = j->unjudged_us = 0;
	j->damaged = 0;
	j->half = j->doubted = false;
}

static void
hear_damage(struct judge *j, uint32_t damaged, uint64_t now_us)
{
	if (damaged > j->damaged) {
		j->damaged_us = now_us;
		if (j->unjudged_us == 0)
			j->unjudged_us = now_us;
	}
	j->damaged = damaged;
}

static uint32_t
have_of(const struct member *m)
{
	return m != NULL ? m->have : 0;
}

static void
begin_time(struct member *m, uint64_t now_us)
{
	m->judge.since_us = now_us;
	m->judge.half = false;
	m->judge.have_then = m->have;
	m->judge.parent_had_then = have_of(m->parent);
}

void
judge_hear(struct member *m, const struct msg_link *l, uint64_t now_us)
{
	struct judge_end *x = l->up ? &m->judge.up : &m->judge.down;

	if (m->judge.since_us == 0)
		begin_time(m, now_us);
	if (l->bytes < x->bytes || l->waited_ms < x->waited_ms)
		x->bytes_then = x->bytes_half = x->waited_then = 0; /* another connection */
	x->bytes = l->bytes;
	x->waited_ms = l->waited_ms;
	if (!x->told || l->wanted < x->wanted_least)
		x->wanted_least = l->wanted;
	if (!x->told || l->wanted > x->wanted_most)
		x->wanted_most = l->wanted;
	x->told = true;
	if (l->up)
		hear_damage(&m->judge, l->damaged, now_us);
}

static unsigned
percent(const struct judge_end *x, uint64_t elapsed_us)
{
	uint64_t waited_us = (uint64_t)(x->waited_ms - x->waited_then) * 1000;

	return elapsed_us > 0 ? (unsigned)(waited_us * 100 / elapsed_us) : 0;
}

/* How long an end has waited, also shortly after the beginning of its time. */
static unsigned
percent_now(const struct member *m, const struct judge_end *x, const struct judge_rule *r)
{
	uint64_t elapsed_us = m->judge.since_us > 0 ? r->now_us - m->judge.since_us : 0;

	return elapsed_us < r->window_us / 2 ? x->part_before : percent(x, elapsed_us);
}

/* Does a child of this member hold it up, as it says? */
static bool
is_held_up(const struct member *m, const struct judge_rule *r)
{
	if (m->judge.held_us != 0 && r->now_us - m->judge.held_us <= r->window_us)
		return true;
	for (const struct member *c = m->child; c != NULL; c = c->next)
		if (!c->judge.suspect &&
		    percent_now(c, &c->judge.down, r) >= WAITS_OFTEN)
			return true;
	return false;
}

/* Does this parent have the excuse that it was offered nothing itself, or was held up?
 * Or does its own parent say that it takes too little?  Then that link is judged. */
static bool
is_excused(const struct member *p, const struct judge_rule *r)
{
	return percent_now(p, &p->judge.up, r) >= WAITS_OFTEN ||
	       percent_now(p, &p->judge.down, r) >= WAITS_SOME || is_held_up(p, r);
}

/* Has the parent got and installed chunks that the child lacks, while nothing came to the
 * child? */
static bool
passes_by(const struct member *m)
{
	const struct judge *j = &m->judge;
	const struct member *p = m->parent;

	return j->up.bytes == j->up.bytes_then && j->parent_had_then > m->have + AHEAD &&
	       p->have > j->parent_had_then + AHEAD;
}

/* The child says that it has waited, and that little has come: is it the parent's
 * business? */
static enum judge_verdict
weigh_blame(
    const struct member *m, uint64_t came, uint64_t need, const struct judge_rule *r)
{
	const struct judge_end *d = &m->judge.down;

	if (d->told && d->bytes_half - d->bytes_then > came + need)
		return JUDGE_BAD; /* both cannot be right */
	if (!d->told || d->wanted_most == 0)
		return JUDGE_BAD; /* the parent does not know of it */
	return passes_by(m) || !is_excused(m->parent, r) ? JUDGE_DOUBT : JUDGE_FINE;
}

static uint64_t
bytes_in(uint64_t us, uint64_t bytes_per_s)
{
	uint64_t n = bytes_per_s / 1000000 * us + bytes_per_s % 1000000 * us / 1000000;

	return n > 0 ? n : 1;
}

static enum judge_verdict
weigh(const struct member *m, uint64_t elapsed_us, const struct judge_rule *r)
{
	const struct judge_end *u = &m->judge.up, *d = &m->judge.down;
	uint64_t need = bytes_in(elapsed_us, r->slow);
	uint64_t came = u->bytes - u->bytes_then;
	bool little = u->told && came < need;

	if (d->told && d->bytes - d->bytes_then < need &&
	    percent(d, elapsed_us) >= WAITS_LONG) {
		if (!little || percent(u, elapsed_us) >= WAITS_OFTEN)
			return JUDGE_BAD;
		return is_held_up(m, r) ? JUDGE_FINE : JUDGE_ADMITS;
	}
	if (m->parent == NULL || !little || u->wanted_least == 0 ||
	    percent(u, elapsed_us) < WAITS_LONG)
		return JUDGE_FINE;
	return weigh_blame(m, came, need, r);
}

/* Judges damaged chunks: who has got some from its own parent, too, is not the cause. */
static bool
damages(struct member *m, uint64_t now_us)
{
	struct judge *j = &m->judge;
	const struct member *p = m->parent;

	if (j->unjudged_us == 0 || now_us - j->unjudged_us < DAMAGE_US)
		return false;
	uint64_t first_us = j->unjudged_us;
	j->unjudged_us = 0;
	return p != NULL && (p->judge.damaged_us == 0 ||
			     p->judge.damaged_us + DAMAGE_EXCUSES_US < first_us);
}

static void
begin_end(struct judge_end *x, uint64_t elapsed_us)
{
	x->part_before = percent(x, elapsed_us);
	x->bytes_then = x->bytes_half = x->bytes;
	x->waited_then = x->waited_ms;
	x->told = false;
}

/* Do both ends say already that enough has passed?  Then the time begins anew, so that a
 * link that stops is bad when it has stopped for this time. */
static bool
passes(const struct judge *j, uint64_t elapsed_us, const struct judge_rule *r)
{
	uint64_t need = bytes_in(r->window_us, r->slow);

	return elapsed_us >= r->window_us / 4 && j->up.bytes - j->up.bytes_then >= need &&
	       j->down.bytes - j->down.bytes_then >= need;
}

enum judge_verdict
judge_link(struct member *m, const struct judge_rule *r)
{
	struct judge *j = &m->judge;
	uint64_t elapsed_us = r->now_us - j->since_us;

	if (damages(m, r->now_us))
		return JUDGE_DAMAGES;
	if (j->since_us == 0)
		return JUDGE_FINE;
	if (!j->half && elapsed_us >= r->window_us / 2) {
		j->half = true;
		j->down.bytes_half = j->down.bytes;
	}
	bool well = passes(j, elapsed_us, r);
	if (elapsed_us < r->window_us && !well)
		return JUDGE_FINE;
	if (well && j->damaged == 0 && m->parent != NULL)
		m->parent->judge.serves = true;
	enum judge_verdict v =
	    elapsed_us < r->window_us ? JUDGE_FINE : weigh(m, elapsed_us, r);
	bool again = v == JUDGE_DOUBT && j->doubted;
	j->doubted = v == JUDGE_DOUBT;
	begin_end(&j->up, elapsed_us);
	begin_end(&j->down, elapsed_us);
	begin_time(m, r->now_us);
	return again ? JUDGE_BAD : v == JUDGE_DOUBT ? JUDGE_FINE : v;
}

bool
judge_serves_others(
    const struct member *children, const struct member *but, const struct judge_rule *r)
{
	for (const struct member *c = children; c != NULL; c = c->next)
		if (c != but && percent_now(c, &c->judge.down, r) < WAITS_OFTEN)
			return true;
	return false;
}

/* Does the word of the node with this id count? */
static bool
counts(const struct roster *r, uint32_t by)
{
	const struct member *m = roster_find(r, by);

	return m == NULL || !m->judge.suspect;
}

void
judge_word(const struct roster *r, struct judge *j, uint32_t by)
{
	unsigned at = 0;

	for (unsigned i = 0; i < j->nwords; i++)
		if (j->words[i] == by)
			return;
	/* When there is no room, a word goes that does not count. */
	while (at < j->nwords && (j->nwords < JUDGE_WORDS || counts(r, j->words[at])))
		at++;
	if (at == JUDGE_WORDS)
		return;
	j->words[at] = by;
	j->nwords += at == j->nwords;
}

void
judge_acquit(struct judge *j)
{
	j->suspect = j->spoils = false;
	j->as_leaf = j->believed = 0;
}

/* Is what this one says of its leaf believed?  Of several leaves that it has at a time it says so
 * at about the same time. */
static bool
is_believed(struct judge *p, const struct judge_rule *r)
{
	if (!p->serves)
		return p->said_us != 0 && r->now_us - p->said_us < r->window_us;
	p->serves = false;
	p->said_us = r->now_us;
	return true;
}

bool
judge_leaf(struct member *m, const struct judge_rule *r)
{
	struct judge *j = &m->judge;
	uint32_t by = m->parent->id + 1, before = j->believed;

	j->as_leaf = by;
	if (!is_believed(&m->parent->judge, r))
		return false;
	j->believed = by;
	return before != 0 && before != by;
}

void
judge_forget(struct judge *j, uint32_t by)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < j->nwords; i++)
		if (j->words[i] != by)
			j->words[kept++] = j->words[i];
	j->nwords = kept;
	if (j->as_leaf == by + 1)
		j->as_leaf = 0;
	if (j->believed == by + 1)
		j->believed = 0;
}

/* How many who are no suspects say that this one is the cause? */
static unsigned
voices(const struct roster *r, const struct member *m)
{
	unsigned count = 0;

	for (unsigned i = 0; i < m->judge.nwords; i++)
		count += counts(r, m->judge.words[i]);
	return count;
}

bool
judge_suspects(const struct roster *r, const struct member *m)
{
	return m->judge.certain || voices(r, m) >= VOICES;
}

bool
judge_doubts(const struct roster *r, const struct member *m)
{
	return voices(r, m) > 0;
}

/* Do others than this one say so: one who is no suspect, or two whoever they are?  Between two
 * bad nodes a healthy one hears it of no more than both. */
static bool
is_said_by_others(const struct roster *r, const struct judge *j, uint32_t but)
{
	unsigned halves = 0;

	for (unsigned i = 0; i < j->nwords; i++)
		if (j->words[i] != but)
			halves += counts(r, j->words[i]) ? 2 : 1;
	return halves >= 2;
}

/* Does somebody who is no suspect say so of this member, of whom nobody else says so? */
static bool
has_accuser(const struct roster *r, const struct member *m)
{
	for (unsigned i = 0; i < m->judge.nwords; i++) {
		const struct member *by = roster_find(r, m->judge.words[i]);
		if (by == NULL || (!by->judge.suspect && !is_said_by_others(r, &by->judge, m->id)))
			return true;
	}
	return false;
}

bool
judge_is_cleared(const struct roster *r, const struct member *m)
{
	return m->judge.suspect && !judge_suspects(r, m) && !has_accuser(r, m);
}
