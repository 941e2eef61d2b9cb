/* FRISBEE_TEST_TIMES: the times that tests shorten, and all that is wrong with such a text. */
#include <stdlib.h>
#include <string.h>

#include "common/base/test_times.h"
#include "tests/t.h"

static void
set(const char *text)
{
	if (setenv("FRISBEE_TEST_TIMES", text, 1) != 0)
		abort();
}

/* It is refused with a sentence that has these words, and changes nothing. */
static bool
refused(const char *text, const char *words)
{
	struct err e = { 0 };

	set(text);
	return test_times_check(&e) == -1 && e.kind == ERR_USAGE &&
	       strncmp(e.text, "FRISBEE_TEST_TIMES: ", 20) == 0 &&
	       strstr(e.text, words) != NULL && test_time_us("linger", 7) == 7;
}

static bool
is(const char *text, const char *name, uint64_t us)
{
	struct err e;

	set(text);
	return test_times_check(&e) == 0 && test_time_us(name, 7) == us;
}

static void
test_usual(void)
{
	struct err e;

	unsetenv("FRISBEE_TEST_TIMES");
	T_CHECK(test_times_check(&e) == 0);
	T_CHECK(test_time_us("linger", 2000000) == 2000000);
	T_CHECK(is("parent=1", "linger", 7));
}

static void
test_shorter(void)
{
	T_CHECK(is("linger=0.2", "linger", 200000));
	T_CHECK(is("linger=2", "linger", 2000000));
	T_CHECK(is("neighbour=0.05,linger=0.000999,parent=3", "linger", 7) == false);
	T_CHECK(is("neighbour=0.05,linger=0.001,parent=3", "linger", 1000));
	T_CHECK(is("neighbour=0.05,linger=0.001,parent=3", "neighbour", 50000));
	T_CHECK(is("neighbour=0.05,linger=0.001,parent=3", "parent", 3000000));
	T_CHECK(is("statistics=1.000001", "statistics", 1000001));
	T_CHECK(is("unheard=3600", "unheard", 3600000000));
}

static void
test_wrong(void)
{
	T_CHECK(refused("", "not NAME=SECONDS"));
	T_CHECK(refused("linger", "\"linger\" is not NAME=SECONDS"));
	T_CHECK(refused("linger=0.2,", "not NAME=SECONDS"));
	T_CHECK(refused("lingers=0.2", "there is no time \"lingers\""));
	T_CHECK(refused("linger=0.2,linger=0.3", "\"linger\" is there twice"));
	T_CHECK(refused("linger=", "linger: \"\" is not a number"));
	T_CHECK(refused("linger=x", "linger: \"x\" is not a number"));
	T_CHECK(refused("linger=-1", "\"-1\" is not a number"));
	T_CHECK(refused("linger=1s", "\"1s\" is not a number"));
	T_CHECK(refused("linger=1.", ". is not a number"));
	T_CHECK(refused("linger=1.2.3", ".2.3 is not a number"));
	T_CHECK(refused("linger=1.0x5", ".0x5 is not a number"));
	T_CHECK(refused("linger=.5", "linger: \"\" is not a number"));
	T_CHECK(refused("linger=0.1234567", "more than 6 digits"));
	T_CHECK(refused("linger=0", "not in 0.001..3600 seconds"));
	T_CHECK(refused("linger=3600.1", "not in 0.001..3600 seconds"));
	T_CHECK(refused("linger=99999999999999999999999999", "too large"));
	T_CHECK(refused("linger=0000000000000000000000000000000000000000001", "too long"));
	T_CHECK(refused("parent=0.5,linger=0.2,x=1", "there is no time \"x\""));
}

int
main(void)
{
	test_usual();
	test_shorter();
	test_wrong();
	return t_done();
}
