/* number.c: reads and writes numbers as people write them; any thread calls this. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/number.h"

/* Reads digits, decimal or after 0x; *rest is what follows them. */
static int
parse_digits(const char *s, uint64_t *out, char **rest, struct err *e)
{
	if (!isdigit((unsigned char)s[0]))
		return err_set(e, ERR_USAGE, "\"%s\" is not a number", s);
	errno = 0;
	bool hex = s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
	if (hex && !isxdigit((unsigned char)s[2]))
		return err_set(e, ERR_USAGE, "\"%s\" is not a number", s);
	*out = strtoull(s, rest, hex ? 16 : 10);
	if (errno != 0)
		return err_set(e, ERR_USAGE, "\"%s\" is too large", s);
	return 0;
}

static int
check_bounds(const char *s, uint64_t v, uint64_t min, uint64_t max, struct err *e)
{
	if (v < min || v > max)
		return err_set(
		    e, ERR_USAGE, "%s is not in %" PRIu64 "..%" PRIu64, s, min, max);
	return 0;
}

int
number_uint(const char *s, uint64_t min, uint64_t max, uint64_t *out, struct err *e)
{
	uint64_t v;
	char *rest;

	if (parse_digits(s, &v, &rest, e) != 0)
		return -1;
	if (*rest != '\0')
		return err_set(e, ERR_USAGE, "\"%s\" is not a number", s);
	if (check_bounds(s, v, min, max, e) != 0)
		return -1;
	*out = v;
	return 0;
}

int
number_int(const char *s, int64_t min, int64_t max, int64_t *out, struct err *e)
{
	uint64_t v;
	bool minus = s[0] == '-';

	if (number_uint(s + minus, 0, INT64_MAX, &v, e) != 0)
		return -1;
	int64_t value = minus ? -(int64_t)v : (int64_t)v;
	if (value < min || value > max)
		return err_set(
		    e, ERR_USAGE, "%s is not in %" PRId64 "..%" PRId64, s, min, max);
	*out = value;
	return 0;
}

/* The units of a size, or of a rate. */
struct units {
	uint64_t base;              /* k, M, G and T are its powers */
	const char *const *endings; /* what may stand behind them, or alone; NULL ends them */
	const char *known;          /* the units, for whoever writes another one */
};

/* Reads a number with an optional k, M, G or T, and then one of the endings; blanks may stand
 * in front of both. */
static int
parse_scaled(const char *s, const struct units *u, uint64_t *out, struct err *e)
{
	static const char letters[] = "kmgt";
	char *rest;

	if (parse_digits(s, out, &rest, e) != 0)
		return -1;
	const char *unit = rest += strspn(rest, " ");
	const char *letter = *rest != '\0' ? strchr(letters, tolower((unsigned char)*rest)) : NULL;
	for (const char *l = letters; letter != NULL && l <= letter; l++)
		if (__builtin_mul_overflow(*out, u->base, out))
			return err_set(e, ERR_USAGE, "\"%s\" is too large", s);
	if (letter != NULL)
		rest++;
	for (const char *const *end = u->endings; *end != NULL; end++)
		if (strcmp(rest, *end) == 0)
			return 0;
	return err_set(e, ERR_USAGE, "\"%s\": \"%s\" is no unit here: %s", s, unit, u->known);
}

int
number_size(const char *s, uint64_t min, uint64_t max, uint64_t *out, struct err *e)
{
	static const char *const endings[] = { "", "B", "iB", NULL };
	static const struct units bytes = { 1024, endings,
		"sizes are in bytes, or in k, M, G or T (powers of 1024), which may end in B or "
		"iB" };
	uint64_t v;

	if (parse_scaled(s, &bytes, &v, e) != 0 ||
	    check_bounds(s, v, min, max, e) != 0)
		return -1;
	*out = v;
	return 0;
}

int
number_rate(const char *s, uint64_t min, uint64_t max, uint64_t *out, struct err *e)
{
	static const char *const endings[] = { "", "bit", "bit/s", "bps", NULL };
	static const struct units bits_per_s = { 1000, endings,
		"rates are in bits a second, or in k, M, G or T of them (powers of 1000), which "
		"may end in bit, bit/s or bps; 1 MB/s are 8M" };
	uint64_t v;

	if (parse_scaled(s, &bits_per_s, &v, e) != 0 ||
	    check_bounds(s, v, min, max, e) != 0)
		return -1;
	*out = v;
	return 0;
}

double
number_seconds(const char *variable, double usual)
{
	const char *text = getenv(variable);
	char *end;

	if (text == NULL)
		return usual;
	double s = strtod(text, &end);
	return s > 0 && s <= 86400 && *end == '\0' ? s : usual;
}

const char *
human_bytes(uint64_t bytes, char *buf, size_t cap)
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB", "PB", "EB" };
	size_t u = 0;
	double v = (double)bytes;

	for (; v >= 1000 && u + 1 < sizeof units / sizeof units[0]; u++)
		v /= 1000;
	snprintf(buf, cap, u == 0 || v >= 100 ? "%.0f %s" : "%.1f %s", v, units[u]);
	return buf;
}

int
number_uuid(const char *s, uint8_t uuid[16], struct err *e)
{
	static const char digits[] = "0123456789abcdef";
	const char *arg = s;
	size_t n = 0;

	for (; *s != '\0' && n < 32; s++) {
		const char *p = strchr(digits, *s | 0x20);
		if (*s == '-')
			continue;
		if (p == NULL)
			break;
		uint8_t v = (uint8_t)(p - digits);
		uuid[n / 2] = (uint8_t)(n % 2 == 0 ? v << 4 : uuid[n / 2] | v);
		n++;
	}
	if (*s != '\0' || n != 32)
		return err_set(e, ERR_USAGE, "\"%s\": a UUID is 32 hex digits", arg);
	return 0;
}

const char *
number_hex(const void *bytes, size_t n, char *text)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *b = bytes;

	for (size_t i = 0; i < n; i++) {
		text[2 * i] = digits[b[i] >> 4];
		text[2 * i + 1] = digits[b[i] & 15];
	}
	text[2 * n] = '\0';
	return text;
}

bool
number_from_hex(const char *hex, void *out, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	uint8_t *to = out;

	for (size_t i = 0; i < 2 * n; i++) {
		const char *p = hex[i] != '\0' ? strchr(digits, hex[i]) : NULL;
		if (p == NULL)
			return false;
		to[i / 2] = (uint8_t)(i % 2 == 0 ? (p - digits) << 4 : to[i / 2] | (p - digits));
	}
	return true;
}

const char *
human_time(uint64_t seconds, char *buf, size_t cap)
{
	time_t when = (time_t)seconds;
	struct tm tm;

	if (gmtime_r(&when, &tm) == NULL ||
	    strftime(buf, cap, "%F %T UTC", &tm) == 0)
		snprintf(buf, cap, "?");
	return buf;
}

const char *
human_left(uint64_t seconds, char *buf, size_t cap)
{
	uint64_t hours = seconds / 3600;
	unsigned minutes = (unsigned)(seconds / 60 % 60), s = (unsigned)(seconds % 60);

	if (hours > 0)
		snprintf(buf, cap, "%" PRIu64 ":%02u:%02u left", hours, minutes, s);
	else
		snprintf(buf, cap, "%u:%02u left", minutes, s);
	return buf;
}
