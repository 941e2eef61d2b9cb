/* ignored.c: a sender that means well and does not have the right key is told so.  The loops
 * of server and client call this, and auth_open.c calls it for each packet that is not taken,
 * in the same thread. */
#include "common/net/ignored.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/wire/addr.h"

enum {
	/* The first sentence waits for this time, so that it can count several packets. */
	SOON_US = 1000000,
	AGAIN_US = 60000000, /* the least time between two sentences of one kind */
	ANSWER_US = 1000000, /* the least time between two answers */
};

void
ignored_add(struct ignored *g, enum ignored_why why, const uint8_t from[4], uint16_t port)
{
	struct ignored_count *c = &g->of[why];

	if (c->n++ == 0)
		memcpy(c->first, from, 4);
	c->all++;
	if (why == IGNORED_FORGED ||
	    (g->asks && memcmp(g->asker, g->told, sizeof g->told) != 0))
		return;
	g->asks = true;
	memcpy(g->asker, from, 4);
	g->asker_port = port;
}

/* Parts of sentences such as "5 packets without authentication were ignored, the first from
 * 10.0.0.1". */
static const char *const what[IGNORED_WHYS] = {
	[IGNORED_PLAIN] = "packets without authentication were ignored",
	[IGNORED_KEY] = "packets of another --group-key were ignored",
	[IGNORED_FORGED] = "packets that are forged or damaged were ignored",
	[IGNORED_SEALED] = "authenticated packets were ignored",
};

/* What the ignored packets mean for a client that waits for a server. */
static const char *const meaning[IGNORED_WHYS] = {
	[IGNORED_PLAIN] = "; no session that is heard here has a --group-key",
	[IGNORED_KEY] = "; the --group-key is not the one of the session there",
	[IGNORED_FORGED] = "",
	[IGNORED_SEALED] = "; the session there needs its --group-key",
};

bool
ignored_say(struct ignored *g, uint64_t now_us, bool waits, char text[IGNORED_TEXT_MAX])
{
	char addr[ADDR_TEXT_MAX];

	for (enum ignored_why why = 0; why < IGNORED_WHYS; why++) {
		struct ignored_count *c = &g->of[why];
		if (c->n > 0 && c->at_us == 0)
			c->at_us = now_us + SOON_US;
		if (c->n == 0 || now_us < c->at_us)
			continue;
		snprintf(text, IGNORED_TEXT_MAX, "%" PRIu64 " %s, the first from %s%s", c->n,
		    what[why], addr_text(c->first, addr),
		    waits && !g->ever ? meaning[why] : "");
		c->n = 0;
		c->at_us = now_us + AGAIN_US;
		return true;
	}
	return false;
}

bool
ignored_answer(struct ignored *g, uint64_t now_us)
{
	if (!g->asks || (g->told_us != 0 && now_us < g->told_us + ANSWER_US))
		return false;
	g->asks = false;
	g->told_us = now_us;
	memcpy(g->told, g->asker, sizeof g->told);
	return true;
}

const char *
ignored_reason(const struct ignored *g)
{
	static const enum ignored_why order[] = { IGNORED_SEALED, IGNORED_KEY,
		IGNORED_PLAIN };

	for (unsigned i = 0; i < sizeof order / sizeof order[0] && !g->ever; i++)
		if (g->of[order[i]].all > 0)
			return meaning[order[i]];
	return NULL;
}
