/* plain.c: replaces what is harmful to a terminal. say.c, log.c and json.c call this for
 * all that is printed, and so does code that reads short texts out of images and tables; in
 * any thread, since nothing is kept. */
#include "common/base/plain.h"

#include <string.h>

/* How many bytes a UTF-8 character takes whose first byte is `first`; 0: no character
 * begins with it.  What begins with 0xc0 or 0xc1 could be written shorter, and from 0xf5 on
 * there is no code point. */
static size_t
length_by(uint8_t first)
{
	if (first < 0x80)
		return 1;
	if (first < 0xc2 || first > 0xf4)
		return 0;
	return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/* Is this a code point that takes no fewer than `length` bytes, is no half of a UTF-16
 * pair, and is not beyond the last one? */
static bool
is_code(uint32_t code, size_t length)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };

	return code >= least[length] && code <= 0x10ffff &&
	       !(code >= 0xd800 && code <= 0xdfff);
}

size_t
plain_char(const char *text, size_t len, uint32_t *code)
{
	static const uint8_t mask[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	const uint8_t *s = (const uint8_t *)text;
	size_t n = len > 0 ? length_by(s[0]) : 0;

	if (n == 0 || n > len)
		return 0;
	uint32_t c = s[0] & mask[n];
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (!is_code(c, n))
		return 0;
	*code = c;
	return n;
}

bool
plain_is_harmful(uint32_t code)
{
	static const struct {
		uint32_t first, last;
	} harmful[] = {
		{ 0x0000, 0x001f }, /* C0 */
		{ 0x007f, 0x009f }, /* DEL, C1 */
		{ 0x061c, 0x061c }, /* Arabic letter mark */
		{ 0x200e, 0x200f }, /* marks of direction */
		{ 0x2028, 0x202e }, /* separators; embedding, override */
		{ 0x2066, 0x2069 }, /* isolates */
	};

	for (size_t i = 0; i < sizeof harmful / sizeof harmful[0]; i++)
		if (code >= harmful[i].first && code <= harmful[i].last)
			return true;
	return false;
}

size_t
plain_bytes(char *text, size_t len)
{
	size_t to = 0;
	uint32_t code;

	for (size_t at = 0; at < len;) {
		if (text[at] >= ' ' && text[at] < 0x7f) { /* most text is nothing else */
			text[to++] = text[at++];
			continue;
		}
		size_t n = plain_char(text + at, len - at, &code);
		if (n == 0 || plain_is_harmful(code)) {
			text[to++] = '?';
			at += n > 0 ? n : 1;
			continue;
		}
		memmove(text + to, text + at, n);
		to += n;
		at += n;
	}
	return to;
}

char *
plain_text(char *text)
{
	text[plain_bytes(text, strlen(text))] = '\0';
	return text;
}
