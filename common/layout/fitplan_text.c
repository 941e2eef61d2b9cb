/* fitplan_text.c: plans for people and as JSON, and the plans of users, which are JSON
 * (fitplan.h).  The installation's feeding thread and imageunzip's first one call this.
 *
 * The reader takes what RFC 8259 calls a JSON text, and passes over all members but those
 * that it knows.  Numbers are whole and below 2^64.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/number.h"
#include "common/base/say.h"
#include "common/base/xxh64.h"
#include "common/layout/fitplan.h"

enum { DEPTH_MAX = 32, NAME_CAP = 24, HUMAN_CAP = 32 };

/* What is left of a document; bad: it is none. */
struct text {
	const char *at, *end;
	bool bad;
	unsigned depth;
};

/* The next character that is no blank; '\0': there is none. */
static char
next(struct text *t)
{
	while (t->at < t->end && strchr(" \t\r\n", *t->at) != NULL && *t->at != '\0')
		t->at++;
	return t->at < t->end ? *t->at : '\0';
}

/* Is this the next character?  It is taken. */
static bool
takes(struct text *t, char c)
{
	bool is = next(t) == c && t->at < t->end;

	t->at += is;
	return is;
}

static void
need(struct text *t, char c)
{
	if (!takes(t, c))
		t->bad = true;
}

/* Take a string; as much of it as fits goes to buf. */
static void
string(struct text *t, char *buf, size_t cap)
{
	size_t n = 0;

	need(t, '"');
	while (!t->bad && t->at < t->end && *t->at != '"') {
		bool escaped = *t->at == '\\';
		t->at += escaped;
		if (t->at == t->end || (unsigned char)*t->at < ' ')
			break;
		if (n + 1 < cap)
			buf[n++] = *t->at;
		t->at++;
	}
	buf[n] = '\0';
	need(t, '"');
}

static uint64_t
whole(struct text *t)
{
	uint64_t v = 0;
	bool any = false;

	for (next(t); t->at < t->end && *t->at >= '0' && *t->at <= '9'; t->at++) {
		unsigned digit = (unsigned)(*t->at - '0');
		t->bad |= v > (UINT64_MAX - digit) / 10;
		v = v * 10 + digit;
		any = true;
	}
	/* Fractions and exponents are no whole numbers. */
	t->bad |= !any || (t->at < t->end && strchr(".eE", *t->at) != NULL);
	return v;
}

/* Take a number, or true, false and null. */
static void
word(struct text *t)
{
	const char *from = t->at;

	while (t->at < t->end && *t->at != '\0' &&
	       strchr("+-.0123456789aeflnrstuE", *t->at) != NULL)
		t->at++;
	t->bad |= t->at == from;
}

typedef void member_fn(void *arg, struct text *, const char *name);

static void members(struct text *, member_fn *, void *arg);
static void elements(struct text *, void (*)(void *, struct text *), void *arg);

static void
skip(void *unused, struct text *t)
{
	char buf[1];

	(void)unused;
	switch (next(t)) {
	case '{':
		members(t, NULL, NULL);
		break;
	case '[':
		elements(t, skip, NULL);
		break;
	case '"':
		string(t, buf, sizeof buf);
		break;
	default:
		word(t);
	}
}

/* Take an object, and call the function with each member's name; NULL: pass over it. */
static void
members(struct text *t, member_fn *fn, void *arg)
{
	char name[NAME_CAP];

	need(t, '{');
	t->bad |= ++t->depth > DEPTH_MAX;
	if (!t->bad && takes(t, '}')) {
		t->depth--;
		return;
	}
	do {
		if (t->bad)
			return;
		string(t, name, sizeof name);
		need(t, ':');
		if (!t->bad && fn != NULL)
			fn(arg, t, name);
		else if (!t->bad)
			skip(NULL, t);
	} while (!t->bad && takes(t, ','));
	need(t, '}');
	t->depth--;
}

static void
elements(struct text *t, void (*fn)(void *, struct text *), void *arg)
{
	need(t, '[');
	t->bad |= ++t->depth > DEPTH_MAX;
	if (!t->bad && takes(t, ']')) {
		t->depth--;
		return;
	}
	do {
		if (t->bad)
			return;
		fn(arg, t);
	} while (!t->bad && takes(t, ','));
	need(t, ']');
	t->depth--;
}

/* The places that a document has. */
struct given {
	struct fitplan *plan;
	bool have[PTABLE_PARTS_MAX];
	unsigned n;
	struct err *e; /* the first error */
	int rc;
};

struct entry {
	uint64_t number, first, sectors;
	unsigned have;
};

enum { HAS_NUMBER = 1, HAS_FIRST = 2, HAS_SECTORS = 4, HAS_ALL = 7 };

static void
entry_member(void *arg, struct text *t, const char *name)
{
	struct entry *n = arg;
	const struct {
		const char *name;
		uint64_t *to;
		unsigned bit;
	} known[] = { { "number", &n->number, HAS_NUMBER },
		{ "first_sector", &n->first, HAS_FIRST },
		{ "sectors", &n->sectors, HAS_SECTORS } };

	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
		if (strcmp(name, known[i].name) == 0) {
			*known[i].to = whole(t);
			t->bad |= (n->have & known[i].bit) != 0;
			n->have |= known[i].bit;
			return;
		}
	skip(NULL, t);
}

static void
refuse(struct given *g, struct err why)
{
	if (g->rc == 0)
		*g->e = why;
	g->rc = -1;
}

static void
take_entry(struct given *g, const struct entry *n)
{
	struct err why;
	unsigned i = 0;

	while (i < g->plan->n && g->plan->parts[i].number != n->number)
		i++;
	if (i == g->plan->n || g->have[i]) {
		err_set(&why, ERR_FORMAT,
		    i == g->plan->n ? "the plan has partition %" PRIu64
				      ", which the image does not have"
				    : "the plan has partition %" PRIu64 " twice",
		    n->number);
		refuse(g, why);
		return;
	}
	g->have[i] = true;
	g->plan->parts[i].is = (struct range){ n->first, n->sectors };
}

static void
take_element(void *arg, struct text *t)
{
	struct entry n = { .have = 0 };

	members(t, entry_member, &n);
	t->bad |= n.have != HAS_ALL;
	if (!t->bad)
		take_entry(arg, &n);
}

static void
document_member(void *arg, struct text *t, const char *name)
{
	struct given *g = arg;

	if (strcmp(name, "partitions") == 0 && g->n++ == 0)
		elements(t, take_element, g);
	else
		skip(NULL, t);
}

/* Does the document have all of them? */
static int
check_all(const struct given *g, struct err *e)
{
	for (unsigned i = 0; i < g->plan->n; i++)
		if (!g->have[i])
			return err_set(e, ERR_FORMAT,
			    "the plan lacks partition %u, which the image has",
			    g->plan->parts[i].number);
	return 0;
}

int
fitplan_take(struct fitplan *p, const char *text, size_t len, const char *name, struct err *e)
{
	struct text t = { .at = text, .end = text + len };
	struct given g = { .plan = p, .e = e };

	members(&t, document_member, &g);
	if (t.bad || next(&t) != '\0' || t.at != t.end || g.n != 1)
		return err_set(e, ERR_FORMAT,
		    "%s: byte %zu: no plan: a JSON object with an array \"partitions\" of "
		    "objects with \"number\", \"first_sector\" and \"sectors\"",
		    name, (size_t)(t.at - text));
	if (g.rc == 0)
		g.rc = check_all(&g, e);
	return g.rc == 0 ? 0 : err_ctx(e, "%s", name);
}

uint64_t
fitplan_hash(const struct fitplan *p)
{
	uint64_t v[PTABLE_PARTS_MAX * 3 + 1] = { p->sectors };

	for (unsigned i = 0; i < p->n; i++) {
		v[3 * i + 1] = p->parts[i].number;
		v[3 * i + 2] = p->parts[i].is.off;
		v[3 * i + 3] = p->parts[i].is.len;
	}
	return xxh64(v, (3 * p->n + 1) * sizeof v[0]);
}

static void
print_part(const struct fitplan_part *a)
{
	char was[HUMAN_CAP], is[HUMAN_CAP];

	say(stdout,
	    "%6u  %-6s %11" PRIu64 " %11" PRIu64 " (%s) -> %11" PRIu64 " %11" PRIu64
	    " (%s)  %s%s\n",
	    a->number, a->fs[0] != '\0' ? a->fs : "-", a->was.off, a->was.len,
	    human_bytes(a->was.len * SECTOR_BYTES, was, sizeof was), a->is.off, a->is.len,
	    human_bytes(a->is.len * SECTOR_BYTES, is, sizeof is), a->why,
	    fitplan_moves(a) ? "; moves" : "");
}

void
fitplan_print(const struct fitplan *p)
{
	char was[HUMAN_CAP], is[HUMAN_CAP], least[HUMAN_CAP];

	say(stdout,
	    "the image's disk has %" PRIu64 " sectors (%s), the target %" PRIu64
	    " (%s); at least %" PRIu64 " (%s) are needed\n",
	    p->from_sectors, human_bytes(p->from_sectors * SECTOR_BYTES, was, sizeof was),
	    p->sectors, human_bytes(p->sectors * SECTOR_BYTES, is, sizeof is), p->least,
	    human_bytes(p->least * SECTOR_BYTES, least, sizeof least));
	say(stdout, "number  holds  first sector and sectors before -> after, and why\n");
	for (unsigned i = 0; i < p->n; i++)
		print_part(&p->parts[i]);
}

static void
json_part(const struct fitplan_part *a, struct json *j)
{
	json_object(j, NULL);
	json_uint(j, "number", a->number);
	json_string(j, "filesystem", a->fs);
	json_object(j, "was");
	json_uint(j, "first_sector", a->was.off);
	json_uint(j, "sectors", a->was.len);
	json_end(j);
	json_uint(j, "first_sector", a->is.off);
	json_uint(j, "sectors", a->is.len);
	json_uint(j, "least_sectors", a->least);
	json_bool(j, "shares", a->shares);
	json_bool(j, "moves", fitplan_moves(a));
	json_string(j, "why", a->why);
	json_end(j);
}

void
fitplan_json(const struct fitplan *p, struct json *j)
{
	json_uint(j, "image_sectors", p->from_sectors);
	json_uint(j, "target_sectors", p->sectors);
	json_uint(j, "least_sectors", p->least);
	json_array(j, "partitions");
	for (unsigned i = 0; i < p->n; i++)
		json_part(&p->parts[i], j);
	json_end(j);
}
