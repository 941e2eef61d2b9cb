/* Options, numbers, JSON, the words for kinds of errors. */
#include "common/base/json.h"
#include "common/base/number.h"
#include "common/cli/cli.h"

#include <stdlib.h>
#include <string.h>

#include "tests/t.h"

struct inner {
	bool zero;
	uint64_t mem;
};

struct opts {
	bool verbose;
	int64_t timeout;
	const char *file;
	struct inner inner;
};

static const struct cli_opt outer_opts[] = {
	{ 'v', "verbose", NULL, "say more", CLI_FLAG, offsetof(struct opts, verbose), 0,
	    0, NULL },
	{ 'T', "timeout", "S", "seconds", CLI_INT, offsetof(struct opts, timeout),
	    (uint64_t)-10, 100, NULL },
	{ 256, "file", "F", "a file", CLI_STR, offsetof(struct opts, file), 0, 0,
	    NULL },
	{ 'e', NULL, "C", "not supported: encryption", CLI_REFUSED, 0, 0, 0, NULL },
	{ 257, "member", "N", "begins as mem does", CLI_STR, offsetof(struct opts, file), 0,
	    0, NULL },
	{ 0 },
};

static const struct cli_opt inner_opts[] = {
	{ 'z', "zero", NULL, "zero it", CLI_FLAG, offsetof(struct inner, zero), 0, 0,
	    NULL },
	{ 'W', "mem", "SIZE", "memory", CLI_SIZE, offsetof(struct inner, mem), 1,
	    1u << 30, NULL },
	{ 0 },
};

static const struct cli_program prog = {
	.name = "test",
	.synopsis = "[options] file",
	.about = "Tests.",
	.tables = { { outer_opts, 0, NULL },
	    { inner_opts, offsetof(struct opts, inner), "Inner" } },
};

static enum cli_rc
parse(struct opts *o, int *operand, struct err *e, const char *line)
{
	static char copy[256];
	static char *argv[16];
	int argc = 0;

	snprintf(copy, sizeof copy, "test %s", line);
	for (char *w = strtok(copy, " "); w != NULL; w = strtok(NULL, " "))
		argv[argc++] = w;
	argv[argc] = NULL;
	*o = (struct opts){ 0 };
	*e = (struct err){ 0 };
	return cli_parse(&prog, argc, argv, o, operand, e);
}

static void
test_parse(void)
{
	struct opts o;
	struct err e;
	int at;

	T_CHECK(parse(&o, &at, &e, "-v -T -5 --file x -zW 64M in out") == CLI_GO);
	T_CHECK(o.verbose);
	T_CHECK(o.timeout == -5);
	T_CHECK(strcmp(o.file, "x") == 0);
	T_CHECK(at == 8);
	T_CHECK(o.inner.zero);
	T_CHECK(o.inner.mem == 64u << 20);
	T_CHECK(parse(&o, &at, &e, "-T 101") == CLI_ERROR);
	T_CHECK(strstr(e.text, "-T: 101 is not in"));
	T_CHECK(parse(&o, &at, &e, "-W 12abc") == CLI_ERROR);
	T_CHECK(strstr(e.text, "-W"));
	T_CHECK(parse(&o, &at, &e, "-W 0") == CLI_ERROR);
	T_CHECK(e.kind == ERR_USAGE);
	T_CHECK(parse(&o, &at, &e, "-W") == CLI_ERROR);
	T_CHECK(strstr(e.text, "-W needs an argument"));
	T_CHECK(parse(&o, &at, &e, "-Q") == CLI_ERROR);
	T_CHECK(strstr(e.text, "-Q is not an option"));
	T_CHECK(parse(&o, &at, &e, "--nope") == CLI_ERROR);
	T_CHECK(strstr(e.text, "--nope"));
	T_CHECK(parse(&o, &at, &e, "-e x") == CLI_ERROR);
	T_CHECK(strstr(e.text, "not supported"));
	T_CHECK(parse(&o, &at, &e, "in -T 101 -W 0 -v --nope out --file f") == CLI_ERROR);
	T_CHECK(strstr(e.text, "-T: 101"));
	T_CHECK(at == 9);
	T_CHECK(o.timeout == 0);
	T_CHECK(o.verbose);
	T_CHECK(strcmp(o.file, "f") == 0);
}

/* What a mistyped option is answered with: the nearest option, or none. */
static void
test_nearest(void)
{
	static const struct {
		const char *typed, *answer;
	} all[] = {
		{ "--timout", "--timout is not an option: did you mean --timeout?" },
		{ "--tmieout=5", "--tmieout=5 is not an option: did you mean --timeout?" },
		{ "--flie", "--flie is not an option: did you mean --file?" },
		{ "--Verbos", "--Verbos is not an option: did you mean --verbose?" },
		{ "--zeroo", "--zeroo is not an option: did you mean --zero?" },
		{ "--filters", "--filters is not an option" },
		{ "--xy", "--xy is not an option" },
		{ "--bile", "--bile is not an option: did you mean --file?" },
		{ "--hero", "--hero is not an option: did you mean --zero?" },
		{ "--fit", "--fit is not an option" },
		{ "--fit=plan", "--fit=plan is not an option" },
		{ "--heroo", "--heroo is not an option" },
		{ "--m=1", "--m=1 is not an option: did you mean --member?" },
		{ "--hlep", "--hlep is not an option: did you mean --help?" },
		{ "--verbose=5", "--verbose takes no argument" },
		{ "--help=5", "--help takes no argument" },
		{ "--verbose -Qv", "-Q is not an option" },
	};
	struct opts o;
	struct err e;
	int at;

	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
		T_CHECK(parse(&o, &at, &e, all[i].typed) == CLI_ERROR);
		T_CHECK(strcmp(e.text, all[i].answer) == 0);
	}
}

/* Of one or two. */
static void
test_operands(void)
{
	char a[] = "image", b[] = "disk", c[] = "more", *operands[] = { a, b, c, NULL };
	struct err e;

	T_CHECK(cli_operands(operands, 0, 1, 2, "an image is needed", &e) == -1);
	T_CHECK(e.misuse && strcmp(e.text, "an image is needed") == 0);
	T_CHECK(cli_operands(operands, 1, 1, 2, "an image is needed", &e) == 0);
	T_CHECK(cli_operands(operands, 2, 1, 2, "an image is needed", &e) == 0);
	T_CHECK(cli_operands(operands, 3, 1, 2, "an image is needed", &e) == -1);
	T_CHECK(e.misuse && strcmp(e.text, "more: is one operand too many: an image is needed") == 0);
}

static void
test_numbers(void)
{
	struct err e;
	uint64_t v = 7;
	int64_t i;

	T_CHECK(number_uint("0x10", 0, 99, &v, &e) == 0);
	T_CHECK(v == 16);
	const char *const bad[] = { "", "-1", "+1", " 1", "1 ", "0x", "1x",
		"99999999999999999999" };
	for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
		T_CHECK(number_uint(bad[k], 0, UINT64_MAX, &v, &e) == -1);
		T_CHECK(v == 16);
	}
	T_CHECK(number_size("3GiB", 0, UINT64_MAX, &v, &e) == 0);
	T_CHECK(v == 3ull << 30);
	T_CHECK(number_size("99999999T", 0, UINT64_MAX, &v, &e) == -1);
	T_CHECK(number_rate("60M", 0, UINT64_MAX, &v, &e) == 0);
	T_CHECK(v == 60000000);
	T_CHECK(number_int("-2", -2, 2, &i, &e) == 0);
	T_CHECK(i == -2);
	T_CHECK(number_int("-3", -2, 2, &i, &e) == -1);
	char buf[32];
	T_CHECK(strcmp(number_hex("\x00\x9a\xff\x10x", 4, buf), "009aff10") == 0);
	T_CHECK(strcmp(number_hex("x", 0, buf), "") == 0);
	T_CHECK(strcmp(human_bytes(999, buf, sizeof buf), "999 B") == 0);
	T_CHECK(strcmp(human_bytes(1500000, buf, sizeof buf), "1.5 MB") == 0);
	T_CHECK(strcmp(human_left(0, buf, sizeof buf), "0:00 left") == 0);
	T_CHECK(strcmp(human_left(3599, buf, sizeof buf), "59:59 left") == 0);
	T_CHECK(strcmp(human_left(3 * 3600 + 61, buf, sizeof buf), "3:01:01 left") == 0);
}

/* Whoever writes a unit that is none here is told those that are. */
static void
test_units(void)
{
	static const struct {
		const char *text;
		uint64_t bytes, bits; /* 0: it is no size, or no rate */
	} all[] = { { "100", 100, 100 }, { "100M", 100 << 20, 100000000 },
		{ "100m", 100 << 20, 100000000 }, { "100 M", 100 << 20, 100000000 },
		{ "100MB", 100 << 20, 0 }, { "100 MB", 100 << 20, 0 }, { "100MiB", 100 << 20, 0 },
		{ "100B", 100, 0 }, { "100Mbit/s", 0, 100000000 }, { "100 Mbit", 0, 100000000 },
		{ "100bps", 0, 100 }, { "1q", 0, 0 }, { "1MBq", 0, 0 }, { "1 ", 1, 1 } };
	uint64_t v;
	struct err e;

	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
		bool size = number_size(all[i].text, 1, UINT64_MAX, &v, &e) == 0;
		T_CHECK(size == (all[i].bytes != 0));
		T_CHECK(size ? v == all[i].bytes : strstr(e.text, "no unit here: sizes are in bytes") != NULL);
		bool rate = number_rate(all[i].text, 1, UINT64_MAX, &v, &e) == 0;
		T_CHECK(rate == (all[i].bits != 0));
		T_CHECK(rate ? v == all[i].bits : strstr(e.text, "1 MB/s are 8M") != NULL);
	}
	T_CHECK(number_rate("100MB", 1, UINT64_MAX, &v, &e) == -1);
	T_CHECK(strncmp(e.text, "\"100MB\": \"MB\" is no unit here:", 30) == 0);
}

/* What is added is there, however long the sentence was. */
static void
test_added(void)
{
	struct err e;
	char long_one[600];

	err_set(&e, ERR_CANCELLED, "interrupted");
	T_CHECK(err_add(&e, "%s was made", "no image") == -1 && e.kind == ERR_CANCELLED);
	T_CHECK(strcmp(e.text, "interrupted; no image was made") == 0);
	memset(long_one, 'x', sizeof long_one - 1);
	long_one[sizeof long_one - 1] = '\0';
	err_set(&e, ERR_IO, "%s", long_one);
	err_add(&e, "the target is incomplete");
	size_t n = strlen(e.text);
	T_CHECK(n == sizeof e.text - 1);
	T_CHECK(strcmp(e.text + n - 27, "x; the target is incomplete") == 0);
	err_add(&e, "%s", long_one);
	T_CHECK(strlen(e.text) == sizeof e.text - 1);
}

static void
test_seconds(void)
{
	static const char *const bad[] = { "", "0", "-1", "1s", "nan", "inf", "86401" };

	unsetenv("TEST_SECONDS");
	T_CHECK(number_seconds("TEST_SECONDS", 7) == 7);
	setenv("TEST_SECONDS", "0.5", 1);
	T_CHECK(number_seconds("TEST_SECONDS", 7) == 0.5);
	for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
		setenv("TEST_SECONDS", bad[k], 1);
		T_CHECK(number_seconds("TEST_SECONDS", 7) == 7);
	}
}

/* A program writes the word of a kind, and another one reads it. */
static void
test_kinds(void)
{
	static const struct {
		enum err_kind kind;
		const char *word;
	} all[] = { { ERR_USAGE, "usage" }, { ERR_IO, "io" }, { ERR_FORMAT, "damaged" },
		{ ERR_UNSUPPORTED, "unsupported" }, { ERR_REFUSED, "refused" },
		{ ERR_NOMEM, "memory" }, { ERR_CANCELLED, "interrupted" }, { ERR_ABSENT, "absent" } };

	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
		T_CHECK(strcmp(err_word(all[i].kind), all[i].word) == 0);
		T_CHECK(err_kind_of(all[i].word) == all[i].kind);
	}
	T_CHECK(strcmp(err_word(ERR_NONE), "io") == 0);
	T_CHECK(err_kind_of("none of these") == ERR_IO && err_kind_of(NULL) == ERR_IO);
}

int
main(void)
{
	test_kinds();
	test_parse();
	test_nearest();
	test_operands();
	test_numbers();
	test_units();
	test_added();
	test_seconds();
	return t_done();
}
