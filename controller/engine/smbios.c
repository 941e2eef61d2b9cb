/* smbios.c: reads the UUID or the serial number of a machine (smbios.h).  The engine and the
 * reader of the file of nodes call this, in the controller's first thread. */
#include "controller/engine/smbios.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/base/rd.h"

enum { UUID_CHARS = 36, UUID_DIGITS = 32, OPTION_DIGITS = 34 };

/* Their letters and digits, in lower case, one placeholder a line; netboot/server/order reads the
 * same file. */
__asm__(".pushsection .rodata\n"
	"smbios_placeholders: .incbin \"netboot/server/placeholders\"\n"
	".byte 0\n"
	".popsection\n");
extern const char smbios_placeholders[] __attribute__((visibility("hidden")));

static char
lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool
is_letter(char c)
{
	return lower(c) >= 'a' && lower(c) <= 'z';
}

/* Is plain[n], letters and digits in lower case, one character alone, or in the list? */
static bool
is_in_list(const char *plain, size_t n)
{
	if (strspn(plain, (char[]){ plain[0], '\0' }) == n)
		return true;
	for (const char *line = smbios_placeholders; *line != '\0'; line += strcspn(line, "\n") + 1)
		if (strcspn(line, "\n") == n && memcmp(line, plain, n) == 0)
			return true;
	return false;
}

/* Some firmware writes the same placeholder in capitals, or with other signs between. */
static bool
is_placeholder(const char *text)
{
	char plain[SMBIOS_BYTES];
	size_t n = 0;

	for (; *text != '\0'; text++)
		if (is_digit(*text) || is_letter(*text))
			plain[n++] = lower(*text);
	plain[n] = '\0';
	return is_in_list(plain, n);
}

/* Reads exactly `most` hexadecimal digits in lower case; colons between them are left out. */
static bool
take_digits(struct rd *r, char *digits, size_t most)
{
	size_t n = 0;

	while (rd_left(r) > 0) {
		char c = lower((char)rd_u8(r));
		if (c == ':')
			continue;
		if (n == most || !(is_digit(c) || (c >= 'a' && c <= 'f')))
			return false;
		digits[n++] = c;
	}
	return n == most;
}

static void
write_uuid(const char d[UUID_DIGITS], char out[SMBIOS_BYTES])
{
	snprintf(out, SMBIOS_BYTES, "%.8s-%.4s-%.4s-%.4s-%.12s", d, d + 8, d + 12, d + 16, d + 20);
}

/* 8-4-4-4-12 digits */
static bool
read_uuid(const char *text, size_t n, char out[SMBIOS_BYTES])
{
	char digits[UUID_DIGITS];
	size_t k = 0;

	if (n != UUID_CHARS)
		return false;
	for (size_t i = 0; i < n; i++) {
		bool hyphen = i == 8 || i == 13 || i == 18 || i == 23;
		if (hyphen != (text[i] == '-'))
			return false;
		if (!hyphen)
			digits[k++] = text[i];
	}
	struct rd r = rd_from(digits, k);
	char d[UUID_DIGITS];
	if (!take_digits(&r, d, sizeof d))
		return false;
	write_uuid(d, out);
	return true;
}

/* DHCP's option 97 (RFC 4578): a type of 0, and the 16 bytes as SMBIOS stores them, in which the
 * first three fields have their lowest byte first. */
static bool
read_option(const char *text, size_t n, char out[SMBIOS_BYTES])
{
	static const uint8_t from[UUID_DIGITS / 2] = { 3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15 };
	struct rd r = rd_from(text, n);
	char d[OPTION_DIGITS], uuid[UUID_DIGITS];

	if (!take_digits(&r, d, sizeof d) || d[0] != '0' || d[1] != '0')
		return false;
	for (size_t i = 0; i < sizeof from; i++)
		memcpy(uuid + 2 * i, d + 2 + 2 * from[i], 2);
	write_uuid(uuid, out);
	return true;
}

static bool
read_serial(const char *text, size_t n, char out[SMBIOS_BYTES])
{
	static const char prefix[] = "serial:";
	const size_t before = sizeof prefix - 1;

	if (n <= before || n > before + SMBIOS_SERIAL_MAX || memcmp(text, prefix, before) != 0)
		return false;
	for (size_t i = before; i < n; i++)
		if (!is_digit(text[i]) && !is_letter(text[i]) && (text[i] == '\0' || strchr("._-", text[i]) == NULL))
			return false;
	memcpy(out, text, n);
	out[n] = '\0';
	return true;
}

int
smbios_read(const char *text, size_t n, char out[SMBIOS_BYTES], struct err *e)
{
	bool serial = read_serial(text, n, out);

	if (!serial && !read_uuid(text, n, out) && !read_option(text, n, out)) {
		out[0] = '\0';
		return err_set(e, ERR_FORMAT, "\"%.*s\" is neither a UUID nor serial:NUMBER (letters, digits and ._-)",
		    (int)(n < 100 ? n : 100), text);
	}
	if (!is_placeholder(serial ? strchr(out, ':') : out))
		return 0;
	err_set(e, ERR_REFUSED, "%s is a placeholder, which many machines have", out);
	out[0] = '\0';
	return -1;
}
