/* wish.c: reads and writes what somebody asks of the controller (wish.h).  The controller reads it
 * in its first thread, and swapin writes it. */
#include "controller/http/wish.h"

#include <stddef.h>
#include <string.h>

#include "common/base/jtree.h"

struct member {
	const char *name;
	enum jtree_kind kind;
	size_t at, size; /* of a text: its room; of a number: its largest value */
	bool needed;
};

#define AT(field) offsetof(struct swap_wish, field), sizeof((struct swap_wish *)0)->field
#define NUMBER(field, most) offsetof(struct swap_wish, field), most

static const struct member members[] = {
	{ "nodes", JTREE_TEXT, AT(nodes), true },
	{ "image", JTREE_TEXT, AT(image), true },
	{ "request", JTREE_TEXT, AT(request), false },
	{ "words", JTREE_TEXT, AT(words), false },
	{ "stream", JTREE_BOOL, AT(stream), false },
	{ "capture", JTREE_BOOL, AT(capture), false },
	{ "replace", JTREE_BOOL, AT(replace), false },
	{ "bandwidth_bits_per_s", JTREE_NUMBER, NUMBER(sending.bandwidth_bits_per_s, SWAP_BANDWIDTH_MAX),
	    false },
	{ "wait", JTREE_NUMBER, NUMBER(sending.wait, SWAP_NODES_MAX), false },
	{ "until", JTREE_NUMBER, NUMBER(sending.until, SWAP_NODES_MAX), false },
	{ "orders", JTREE_TEXT, AT(sending.orders), false },
	{ "timeout_s", JTREE_NUMBER, NUMBER(timeout_s, SWAP_TIMEOUT_MAX_S), false },
	{ "tries", JTREE_NUMBER, NUMBER(tries, SWAP_TRIES_MAX), false },
};

enum { MEMBERS = sizeof members / sizeof members[0] };

static int
take_text(const struct member *m, char *out, const struct jtree *v, struct err *e)
{
	const char *text = jtree_text(v);

	if (text == NULL)
		return err_set(e, ERR_USAGE, "\"%s\" has to be a text", m->name);
	if (strlen(text) >= m->size)
		return err_set(e, ERR_USAGE, "\"%s\" has more than %zu characters", m->name, m->size - 1);
	strcpy(out, text);
	return 0;
}

static int
take_number(const struct member *m, uint64_t *out, const struct jtree *v, struct err *e)
{
	double number = jtree_number(v, 0);

	if (!(number >= 1 && number <= (double)m->size) || number != (double)(uint64_t)number)
		return err_set(e, ERR_USAGE, "\"%s\" has to be a number from 1 to %zu", m->name, m->size);
	*out = (uint64_t)number;
	return 0;
}

static int
take(const struct member *m, struct swap_wish *wish, const struct jtree *v, struct err *e)
{
	void *out = (char *)wish + m->at;

	if (m->kind == JTREE_TEXT)
		return take_text(m, out, v, e);
	if (m->kind == JTREE_NUMBER)
		return take_number(m, out, v, e);
	if (jtree_is(v) != JTREE_BOOL)
		return err_set(e, ERR_USAGE, "\"%s\" has to be true or false", m->name);
	*(bool *)out = jtree_true(v);
	return 0;
}

static int
take_all(const struct jtree *o, struct swap_wish *wish, struct err *e)
{
	size_t known = 0;

	for (int i = 0; i < MEMBERS; i++) {
		const struct jtree *v = jtree_get(o, members[i].name);
		if (v == NULL && members[i].needed)
			return err_set(e, ERR_USAGE, "\"%s\" is missing", members[i].name);
		if (v != NULL && take(&members[i], wish, v, e) != 0)
			return -1;
		known += v != NULL;
	}
	return known == jtree_count(o)
	           ? 0
	           : err_set(e, ERR_USAGE, "a member is not known (nodes, image, request, words, stream, capture, replace, bandwidth_bits_per_s, wait, until, orders, timeout_s, tries)");
}

int
wish_read(const char *text, size_t bytes, struct swap_wish *wish, struct err *e)
{
	struct jtree *o;

	*wish = (struct swap_wish){ .timeout_s = SWAP_TIMEOUT_S, .tries = SWAP_TRIES };
	if (bytes > WISH_BYTES_MAX)
		return err_set(e, ERR_USAGE, "more than %d bytes", WISH_BYTES_MAX);
	if (jtree_read(&o, text, bytes, e) != 0) {
		e->kind = ERR_USAGE;
		return -1;
	}
	int rc = jtree_is(o) == JTREE_OBJECT ? take_all(o, wish, e)
	                                   : err_set(e, ERR_USAGE, "the body is not a JSON object");
	jtree_free(o);
	return rc;
}

void
wish_sending(struct json *j, const struct swap_sending *s)
{
	if (s->bandwidth_bits_per_s != 0)
		json_uint(j, "bandwidth_bits_per_s", s->bandwidth_bits_per_s);
	if (s->wait != 0)
		json_uint(j, "wait", s->wait);
	if (s->until != 0)
		json_uint(j, "until", s->until);
	if (s->orders[0] != '\0')
		json_string(j, "orders", s->orders);
}

void
wish_write(struct json *j, const struct swap_wish *wish)
{
	json_object(j, NULL);
	json_string(j, "nodes", wish->nodes);
	json_string(j, "image", wish->image);
	if (wish->request[0] != '\0')
		json_string(j, "request", wish->request);
	if (wish->words[0] != '\0')
		json_string(j, "words", wish->words);
	json_bool(j, "stream", wish->stream);
	json_bool(j, "capture", wish->capture);
	json_bool(j, "replace", wish->replace);
	wish_sending(j, &wish->sending);
	json_uint(j, "timeout_s", wish->timeout_s);
	json_uint(j, "tries", wish->tries);
	json_end(j);
}
