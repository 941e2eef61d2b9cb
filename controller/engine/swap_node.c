/* swap_node.c: what happens to one node of a session: its phases, its tries, and what is seen of
 * it.  swap.c and swap_session.c call this, and the controller's loop, in the program's first
 * thread. */
#include <stdio.h>
#include <string.h>

#include "controller/engine/swap_impl.h"

void
swap_show_node(struct swap *w, struct swap_node *n)
{
	n->changed = ++w->changed;
}

void
swap_touch_node(struct swap *w, struct swap_node *n)
{
	n->unsaved = true;
	swap_show_node(w, n);
}

void
swap_enter(struct swap *w, struct swap_now now, struct swap_node *n, enum swap_phase next,
    const char *words)
{
	struct swap_session *s = swap_find_session(w, n->session);

	if (s != NULL && s->nodes != NULL)
		swap_count(w, s, n->phase, next);
	if (swap_is_active(n->phase) && next != SWAP_BOOTING && next != SWAP_FAILED &&
	    next != SWAP_STOPPED) {
		/* A machine that is reset begins its phases anew. */
		double before = n->took_s[n->phase] > 0 ? n->took_s[n->phase] : 0;
		n->took_s[n->phase] = before + (double)(now.us - n->since_us) / 1e6;
	}
	n->phase = next;
	n->since_us = n->sign_us = now.us;
	n->since_s = now.wall_s;
	n->viewed = false;
	n->filled = -1;
	if (next != SWAP_BOOTING)
		n->power = false;
	if (words != NULL && words != n->words)
		snprintf(n->words, sizeof n->words, "%s", words);
	swap_touch_node(w, n);
}

static void
begin_try(struct swap *w, struct swap_now now, struct swap_node *n, const char *words)
{
	n->tries++;
	memset(n->seen, 0, sizeof n->seen);
	swap_enter(w, now, n, SWAP_BOOTING, words);
	n->power = true;
	for (int p = 0; p < SWAP_PHASES; p++)
		n->took_s[p] = -1;
}

void
swap_join(struct swap *w, struct swap_now now, struct swap_node *n, struct swap_session *s)
{
	n->session = s->id;
	n->phase = SWAP_IDLE;
	s->count[SWAP_IDLE]++;
	n->tries = 0;
	begin_try(w, now, n, "");
}

void
swap_fail_node(struct swap *w, struct swap_now now, struct swap_node *n, const char *why)
{
	struct swap_session *s = swap_find_session(w, n->session);
	enum swap_phase was = n->phase;
	char text[SWAP_TEXT_BYTES];

	snprintf(text, sizeof text, "while %s: %.220s", swap_phase_name(was), why);
	/* Somebody may work on a usable node: it is not switched off. */
	if (s != NULL && n->tries < s->tries && was != SWAP_USABLE) {
		w->retries++;
		swap_say(w, s, "%.60s is tried again, it failed %s", n->name, text);
		begin_try(w, now, n, text);
		return;
	}
	swap_enter(w, now, n, SWAP_FAILED, text);
	if (s != NULL)
		swap_say(w, s, "%.60s failed %s", n->name, text);
}

/* Firmware says nothing for minutes, and neither does a system that starts. */
static unsigned
patience_s(const struct swap *w, const struct swap_node *n)
{
	return n->phase == SWAP_BOOTING || swap_awaits_up(n) ? w->config.patience_boot_s : w->config.patience_s;
}

/* Does it wait until as many nodes receive as its session waits for? */
static bool
waits_for_others(const struct swap *w, const struct swap_node *n)
{
	const struct swap_session *s = swap_find_session(w, n->session);

	return s != NULL && s->sending.wait != 0 && s->server.blocks_sent == 0 && swap_receives(n->phase);
}

void
swap_tick_node(struct swap *w, struct swap_now now, struct swap_node *n)
{
	unsigned limit_s = patience_s(w, n);
	char why[100];

	/* A node that is not switched on yet has done nothing wrong: its turn comes after that of
	 * others. */
	if (!swap_is_active(n->phase) || n->power)
		return;
	if (waits_for_others(w, n))
		n->sign_us = now.us;
	if (now.us < n->sign_us || now.us - n->sign_us < (uint64_t)limit_s * 1000000)
		return;
	snprintf(why, sizeof why, "no sign of progress for %u s", limit_s);
	swap_fail_node(w, now, n, why);
}

double
swap_node_progress(const struct swap_node *n)
{
	switch (n->phase) {
	case SWAP_LOADING:
	case SWAP_STREAMING:
	case SWAP_CAPTURING:
		return n->viewed ? n->view.progress : 0;
	case SWAP_USABLE:
		return n->filled >= 0 ? n->filled : n->viewed ? n->view.progress : 0;
	case SWAP_PERSONALISING:
	case SWAP_VERIFYING:
	case SWAP_REBOOTING:
	case SWAP_DONE:
		return 1;
	default:
		return 0;
	}
}

double
swap_after_s(const struct swap_node *n, enum swap_phase phase)
{
	double sum_s = 0;

	if (n->phase != phase && n->took_s[phase] < 0)
		return -1;
	for (int p = SWAP_BOOTING; p < (int)phase; p++)
		sum_s += n->took_s[p] > 0 ? n->took_s[p] : 0;
	return sum_s;
}

void
swap_viewed(struct swap *w, struct swap_now now, struct swap_session *s, const uint8_t ip[4],
    const struct swap_view *v)
{
	struct swap_node *n = NULL;

	while ((n = swap_index_find(w, SWAP_BY_IP, ip, n)) != NULL) {
		if (s->nodes == NULL || n->session != s->id || !swap_receives(n->phase))
			continue;
		if (!n->viewed || v->progress > n->view.progress)
			n->sign_us = now.us;
		bool same = n->viewed && memcmp(&n->view, v, sizeof *v) == 0;
		n->viewed = true;
		n->view = *v;
		if (!same)
			swap_show_node(w, n);
	}
}

void
swap_powered(struct swap *w, struct swap_now now, struct swap_node *n, const char *why)
{
	if (!n->power)
		return;
	n->power = false;
	n->sign_us = now.us;
	if (why != NULL && n->phase == SWAP_BOOTING) {
		swap_fail_node(w, now, n, why);
		struct swap_session *s = swap_find_session(w, n->session);
		if (s != NULL)
			swap_settle(w, now, s);
		return;
	}
	swap_touch_node(w, n);
}

void
swap_up(struct swap *w, struct swap_now now, struct swap_node *n)
{
	struct swap_session *s = swap_find_session(w, n->session);

	if (!swap_awaits_up(n))
		return;
	swap_enter(w, now, n, n->phase == SWAP_STREAMING ? SWAP_USABLE : SWAP_DONE, NULL);
	if (s != NULL)
		swap_settle(w, now, s);
}
