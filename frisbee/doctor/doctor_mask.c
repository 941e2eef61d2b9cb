/* doctor_mask.c: hides in the doctor's report whose addresses they are.  doctor_file.c calls it,
 * in the program's only thread. */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "frisbee/doctor/doctor_file.h"

enum { MAC_TEXT = 17, MAC_KEPT = 8, GROUP_FIRST = 224, GROUP_LAST = 239, MASK = 255 };

/* Does "52:54:00:00:00:0a" stand here? */
static bool
is_mac(const char *s)
{
	for (int i = 0; i < MAC_TEXT; i++)
		if (i % 3 == 2 ? s[i] != ':' : !isxdigit((unsigned char)s[i]))
			return false;
	return true;
}

/* The length of the IPv4 address that begins here, of whose numbers the first becomes *first and
 * whose last one begins at *last; 0: there is none. */
static size_t
address_at(const char *s, unsigned *first, size_t *last)
{
	unsigned n[4];
	int at[4], end = 0;

	if (sscanf(s, "%n%3u.%n%3u.%n%3u.%n%3u%n", &at[0], &n[0], &at[1], &n[1], &at[2],
	        &n[2], &at[3], &n[3], &end) != 4)
		return 0;
	for (int i = 0; i < 4; i++)
		if (n[i] > UINT8_MAX || !isdigit((unsigned char)s[at[i]]))
			return 0;
	*first = n[0];
	*last = (size_t)at[3];
	return (size_t)end;
}

/* Copies the address in s[len] to `to`, hidden if it is one machine's; returns the end of the
 * copy, which is not longer. */
static char *
hide_address(char *to, const char *s, size_t len, unsigned first, size_t last)
{
	static const char hidden[] = "*.*.*.";

	if ((first >= GROUP_FIRST && first <= GROUP_LAST) || first == MASK) {
		memmove(to, s, len);
		return to + len;
	}
	memmove(to + sizeof hidden - 1, s + last, len - last);
	memcpy(to, hidden, sizeof hidden - 1);
	return to + sizeof hidden - 1 + len - last;
}

void
doctor_mask(char *text)
{
	char *to = text;
	bool within = false; /* the character before belongs to a word or a number */
	unsigned first;
	size_t last, len;

	for (const char *s = text; *s != '\0';) {
		if (!within && is_mac(s)) {
			memmove(to, s, MAC_KEPT);
			memcpy(to + MAC_KEPT, ":xx:xx:xx", MAC_TEXT - MAC_KEPT);
			to += MAC_TEXT, s += MAC_TEXT;
		} else if (!within && (len = address_at(s, &first, &last)) > 0) {
			to = hide_address(to, s, len, first, last);
			s += len;
		} else {
			within = isalnum((unsigned char)*s) || *s == '.';
			*to++ = *s++;
		}
	}
	*to = '\0';
}
