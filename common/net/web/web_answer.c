/* web_answer.c: parses the head of an HTTP answer, line by line; nothing that the server
 * sends is believed.  web_try.c calls this, in any thread. */
#include "common/net/web/web_answer.h"

#include <string.h>
#include <strings.h>

/* The rest of a line. */
struct text {
	const char *at, *end;
};

static void
skip_spaces(struct text *t)
{
	while (t->at < t->end && (*t->at == ' ' || *t->at == '\t'))
		t->at++;
}

static bool
take(struct text *t, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(t->end - t->at) < n || strncasecmp(t->at, word, n) != 0)
		return false;
	t->at += n;
	return true;
}

static bool
take_number(struct text *t, uint64_t *out)
{
	const char *from = t->at;
	uint64_t v = 0;

	for (; t->at < t->end && *t->at >= '0' && *t->at <= '9'; t->at++) {
		unsigned digit = (unsigned)(*t->at - '0');
		if (v > (UINT64_MAX - digit) / 10)
			return false;
		v = 10 * v + digit;
	}
	*out = v;
	return t->at > from;
}

/* Parse Content-Range (RFC 9110, 14.4): "bytes 0-4095/10485760", with "*" in place of a
 * length that is not known, or in place of a range that cannot be sent. */
static void
take_content_range(struct web_answer *a, struct text t)
{
	uint64_t first = 0, last = 0, total = 0;

	if (!take(&t, "bytes"))
		return;
	skip_spaces(&t);
	bool range = take_number(&t, &first) && take(&t, "-") && take_number(&t, &last);
	if ((!range && !take(&t, "*")) || !take(&t, "/"))
		return;
	bool known = take_number(&t, &total);
	if ((!known && !take(&t, "*")) || t.at != t.end)
		return;
	if (range && (first > last || (known && last >= total)))
		return;
	a->has_range = range;
	a->first = first;
	a->last = last;
	a->has_total = known;
	a->total = total;
}

/* Copy a text; a text longer than `max` bytes becomes "". */
static void
take_text(char *out, size_t max, struct text t)
{
	size_t n = (size_t)(t.end - t.at);

	out[0] = '\0';
	if (n > max || memchr(t.at, '\0', n) != NULL)
		return;
	memcpy(out, t.at, n);
	out[n] = '\0';
}

static void
begin(struct web_answer *a, struct text t)
{
	uint64_t status = 0;

	*a = (struct web_answer){ .status = 0 };
	while (t.at < t.end && *t.at != ' ')
		t.at++;
	skip_spaces(&t);
	if (take_number(&t, &status) && status <= 999)
		a->status = (unsigned)status;
}

bool
web_answer_line(struct web_answer *a, const char *line, size_t n)
{
	struct text t = { line, line + n };

	while (t.end > t.at && strchr(" \t\r\n", t.end[-1]) != NULL && t.end[-1] != '\0')
		t.end--;
	if (take(&t, "HTTP/")) {
		begin(a, t);
		return true;
	}
	const char *colon = memchr(t.at, ':', (size_t)(t.end - t.at));
	if (colon == NULL)
		return false;
	struct text value = { colon + 1, t.end };
	skip_spaces(&value);
	if (take(&t, "content-range:"))
		take_content_range(a, value);
	else if (take(&t, "etag:"))
		take_text(a->etag, WEB_ETAG_MAX, value);
	else if (take(&t, "last-modified:"))
		take_text(a->modified, WEB_DATE_MAX, value);
	else if (take(&t, "date:"))
		take_text(a->date, WEB_DATE_MAX, value);
	else if (take(&t, "content-encoding:"))
		a->coded = !take(&value, "identity") || value.at != value.end;
	return false;
}

const char *
web_answer_validator(const struct web_answer *a)
{
	return a->etag[0] == '"' ? a->etag : a->modified;
}
