/* No byte that a terminal obeys comes through, and no other text is changed. */
#include "common/base/plain.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/say.h"
#include "tests/t.h"

/* Up to three bytes for U+FFFF; returns how many. */
static size_t
put_utf8(uint32_t c, char *out)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

static bool
becomes(const char *text, size_t len, const char *want)
{
	char *exactly = malloc(len + (len == 0)); /* so that an overrun is seen */

	memcpy(exactly, text, len);
	size_t n = plain_bytes(exactly, len);
	bool same = n == strlen(want) && memcmp(exactly, want, n) == 0;
	free(exactly);
	return same;
}

#define BECOMES(text, want) becomes(text, sizeof(text) - 1, want)

static void
test_every_byte(void)
{
	bool ok = true;

	for (unsigned b = 0; b < 256; b++) {
		char alone = (char)b, inside[] = { 'a', (char)b, 'z' };
		char want[2] = { b >= ' ' && b < 0x7f ? (char)b : '?', '\0' };
		char want_inside[] = { 'a', want[0], 'z', '\0' };
		ok = ok && becomes(&alone, 1, want) &&
		     becomes(inside, sizeof inside, want_inside);
	}
	T_CHECK(ok && "every byte alone and between letters");
}

static bool
is_listed(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e ||
	       c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2066 && c <= 0x2069);
}

/* C1 and all the others: what is listed goes, as one '?', and all else stays. */
static void
test_every_character(void)
{
	bool ok = true;

	for (uint32_t c = 0; c <= 0x10ffff; c++) {
		char text[5] = "";
		uint32_t code = 0;
		size_t n = put_utf8(c, text);
		if (c >= 0xd800 && c < 0xe000) { /* a half pair is three bytes of nothing */
			ok = ok && becomes(text, n, "???");
			continue;
		}
		ok = ok && plain_char(text, n, &code) == n && code == c &&
		     plain_is_harmful(c) == is_listed(c) &&
		     becomes(text, n, is_listed(c) ? "?" : text);
	}
	T_CHECK(ok && "every character");
}

static void
test_readable_text_stays(void)
{
	static const char text[] = "Grüße, 磁盘映像, диск, \xf0\x9f\x92\xbe";

	T_CHECK(BECOMES(text, text));
	T_CHECK(BECOMES("", ""));
}

static void
test_not_utf8(void)
{
	T_CHECK(BECOMES("\xc2\x9b" "31m", "?31m"));
	T_CHECK(BECOMES("\x9b" "31m", "?31m"));
	/* Longer than need be: the same character in too many bytes. */
	T_CHECK(BECOMES("\xc0\x9b", "??"));
	T_CHECK(BECOMES("\xc1\xbf", "??"));
	T_CHECK(BECOMES("\xe0\x80\x9b", "???"));
	T_CHECK(BECOMES("\xe0\x9f\xbf", "???"));
	T_CHECK(BECOMES("\xf0\x80\x80\x9b", "????"));
	T_CHECK(BECOMES("\xf0\x8f\xbf\xbf", "????"));
	/* Beyond the last one, and forms that were given up. */
	T_CHECK(BECOMES("\xf4\x90\x80\x80", "????"));
	T_CHECK(BECOMES("\xf8\x88\x80\x80\x80", "?????"));
	T_CHECK(BECOMES("\xfe\xff", "??"));
	/* What ends a broken character is looked at by itself. */
	T_CHECK(BECOMES("\xe2\x80" "a", "??a"));
	T_CHECK(BECOMES("\xe2\x1b[31m", "??[31m"));
	T_CHECK(BECOMES("\xf0\x9f\xc3\xbc", "??ü"));
}

static void
test_every_truncation(void)
{
	static const char *const text[] = { "ü", "磁", "\xf0\x9f\x92\xbe", "\xe2\x80\xae" };
	bool ok = true;
	uint32_t code;

	for (size_t t = 0; t < sizeof text / sizeof text[0]; t++)
		for (size_t n = 0; n < strlen(text[t]); n++) {
			char want[5] = "????";
			want[n] = '\0';
			ok = ok && becomes(text[t], n, want) &&
			     plain_char(text[t], n, &code) == 0;
		}
	T_CHECK(ok && "no byte is read behind the end");
}

/* What say_text() puts on a stream. */
#define SAYS(want, ...) \
	do { \
		char *out; \
		size_t len; \
		FILE *f = open_memstream(&out, &len); \
		say_text(f, __VA_ARGS__); \
		fclose(f); \
		T_CHECK(len == strlen(want)); \
		T_CHECK(strcmp(out, want) == 0); \
		free(out); \
	} while (0)

static void
test_say(void)
{
	char name[3000];

	memset(name, 'x', sizeof name);
	name[sizeof name - 1] = '\0';
	memcpy(name + 1500, "\xe2\x80\xae\n\x1b", 5);
	SAYS("a?b: no\n", "%s: no\n", "a\nb");
	SAYS("a?[31m?", "%s", "a\x1b[31m\n");
	SAYS("part ", "%s ", "part");
	SAYS("\n", "%s\n", "");
	SAYS("", "%s", "");
	SAYS("Grüße 7\n", "%s %d\n", "Grüße", 7);
	char *out;
	size_t len;
	FILE *f = open_memstream(&out, &len);
	say_text(f, "%s\n", name);
	fclose(f);
	T_CHECK(len == sizeof name - 1 - 2 + 1);
	T_CHECK(memcmp(out + 1499, "x???x", 5) == 0);
	T_CHECK(out[len - 1] == '\n');
	free(out);
}

static bool
json_has(const char *value, const char *want)
{
	struct json *j = json_new();
	struct err e;
	char *out;
	size_t len;
	FILE *f = open_memstream(&out, &len);

	json_string(j, NULL, value);
	bool ok = json_show_on(j, f, &e) == 0;
	fclose(f);
	ok = ok && len == strlen(want) + 1 && memcmp(out, want, len - 1) == 0;
	free(out);
	return ok;
}

static void
test_json(void)
{
	T_CHECK(json_has("Grüße 磁盘", "\"Grüße 磁盘\""));
	T_CHECK(json_has("\xc2\x9b" "31m", "\"\\u009b31m\""));
	T_CHECK(json_has("\x9b" "31m", "\"\\ufffd31m\""));
	T_CHECK(json_has("a\xe2\x80\xae" "b", "\"a\\u202eb\""));
	T_CHECK(json_has("\xd8\x9c\xe2\x80\xa8\xe2\x81\xa9", "\"\\u061c\\u2028\\u2069\""));
	T_CHECK(json_has("\x1b\n\x7f\"\\", "\"\\u001b\\u000a\\u007f\\\"\\\\\""));
}

int
main(void)
{
	test_every_byte();
	test_every_character();
	test_readable_text_stays();
	test_not_utf8();
	test_every_truncation();
	test_say();
	test_json();
	return t_done();
}
