/* test_times.c: reads FRISBEE_TEST_TIMES (test_times.h).  cli_main() checks it in the program's
 * first thread; the loops and servers that have one of these times ask for it, in any thread. */
#include "common/base/test_times.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/number.h"

/* What happens after each time, and how long it usually is. */
static const char *const names[] = {
	"absent", /* 30 s: swapin names the nodes that have not booted */
	"grace",  /* 3 s: a program that is to end by a signal, and waits, ends at once */
	"hold",   /* 5 s: a disk or file is refused that another program locks or has open */
	/* 2 s (1 s for the stream of one client): frisbeed -T -1 and --until end after the
	 * last client.  Short only where one client comes alone: others may come late. */
	"linger",
	/* 0.25 s: frisbeed begins; another server on the group would have answered.  Not
	 * short where a test has two servers. */
	"neighbour",
	"parent",     /* 5 s: mfrisbeed asks its parent again for an image */
	"save",       /* 1 s: controllerd tries again to save its state */
	"statistics", /* 1 s: --stats is written again */
	"unheard",    /* 5 s: frisbee says that nothing was heard */
};

enum { NAMES = sizeof names / sizeof names[0], US_DIGITS = 6, ENTRY_BYTES = 40 };
#define US UINT64_C(1000000)
#define LEAST_US UINT64_C(1000)
#define MOST_US (3600 * US)

/* The times of the variable, in microseconds; 0: it does not have this one. */
struct times {
	uint64_t us[NAMES];
};

static unsigned
number_of(const char *name)
{
	unsigned i = 0;

	while (i < NAMES && strcmp(names[i], name) != 0)
		i++;
	return i;
}

/* Reads what is behind the point, "25" as 250000. */
static int
read_fraction(const char *s, uint64_t *us, struct err *e)
{
	size_t n = strspn(s, "0123456789");

	if (n == 0 || s[n] != '\0')
		return err_set(e, ERR_USAGE, ".%s is not a number", s);
	if (n > US_DIGITS)
		return err_set(e, ERR_USAGE, ".%s has more than %d digits", s, US_DIGITS);
	*us = 0;
	for (size_t i = 0; i < US_DIGITS; i++)
		*us = *us * 10 + (i < n ? (uint64_t)(s[i] - '0') : 0);
	return 0;
}

/* Reads seconds, "5" or "0.25". */
static int
read_seconds(char *s, uint64_t *us, struct err *e)
{
	uint64_t whole, fraction = 0;
	char *point = strchr(s, '.');

	if (point != NULL)
		*point++ = '\0';
	if (number_uint(s, 0, MOST_US / US, &whole, e) != 0 ||
	    (point != NULL && read_fraction(point, &fraction, e) != 0))
		return -1;
	*us = whole * US + fraction;
	return *us >= LEAST_US && *us <= MOST_US
	           ? 0
	           : err_set(e, ERR_USAGE, "not in 0.001..3600 seconds");
}

/* Reads one "NAME=SECONDS" into its place. */
static int
read_one(struct times *t, char *entry, struct err *e)
{
	char *seconds = strchr(entry, '=');

	if (seconds == NULL)
		return err_set(e, ERR_USAGE, "\"%s\" is not NAME=SECONDS", entry);
	*seconds++ = '\0';
	unsigned i = number_of(entry);
	if (i == NAMES)
		return err_set(e, ERR_USAGE, "there is no time \"%s\"", entry);
	if (t->us[i] != 0)
		return err_set(e, ERR_USAGE, "\"%s\" is there twice", entry);
	return read_seconds(seconds, &t->us[i], e) == 0 ? 0 : err_ctx(e, "%s", entry);
}

static int
read_all(struct times *t, const char *text, struct err *e)
{
	char entry[ENTRY_BYTES];

	for (const char *s = text;; s++) {
		size_t n = strcspn(s, ",");
		if (n >= sizeof entry)
			return err_set(e, ERR_USAGE, "\"%.*s...\" is too long",
			    ENTRY_BYTES, s);
		memcpy(entry, s, n);
		entry[n] = '\0';
		if (read_one(t, entry, e) != 0)
			return -1;
		s += n;
		if (*s == '\0')
			return 0;
	}
}

static int
read_times(struct times *t, struct err *e)
{
	const char *text = getenv("FRISBEE_TEST_TIMES");

	*t = (struct times){ { 0 } };
	if (text == NULL || read_all(t, text, e) == 0)
		return 0;
	return err_ctx(e, "FRISBEE_TEST_TIMES");
}

int
test_times_check(struct err *e)
{
	struct times t;

	return read_times(&t, e);
}

uint64_t
test_time_us(const char *name, uint64_t usual_us)
{
	unsigned i = number_of(name);
	struct times t;
	struct err ignored;

	assert(i < NAMES);
	return read_times(&t, &ignored) == 0 && t.us[i] != 0 ? t.us[i] : usual_us;
}
