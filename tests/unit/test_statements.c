/* Statements that programs write: they are read as they were, and what would be read otherwise is
 * not written. */
#include "common/base/statements.h"

#include <string.h>

#include "tests/t.h"

static struct err e;

static int
take(void *arg, const struct statement *s, struct err *ignored)
{
	(void)ignored;
	buf_bytes(arg, s->words[1], strlen(s->words[1]));
	return 0;
}

static void
test_read_again(void)
{
	static const struct statement_kind kinds[] = { { "one", 2, 2, take }, { "two", 3, 3, take }, { 0 } };
	struct buf text = { 0 }, words = { 0 };

	T_CHECK(statements_write(&text, &e, "one %s", "word") == 0);
	T_CHECK(statements_write(&text, &e, "two %d %s", 2, "x") == 0);
	T_CHECK(text.len == 17 && memcmp(text.base, "one word\ntwo 2 x\n", 17) == 0);
	T_CHECK(statements_parse(kinds, &words, (char *)text.base, text.len, "text", &e) == 0);
	T_CHECK(words.len == 5 && memcmp(words.base, "word2", 5) == 0);
	buf_free(&text);
	buf_free(&words);
}

static void
test_not_written(void)
{
	static const char *const bad[] = { "a#b", "a\nb", "a\rb" };
	struct buf text = { 0 };
	char is_long[STATEMENT_BYTES_MAX + 10];

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		T_CHECK(statements_write(&text, &e, "one %s", bad[i]) == -1);
		T_CHECK(e.kind == ERR_USAGE);
	}
	memset(is_long, 'x', sizeof is_long);
	T_CHECK(statements_write(&text, &e, "%.*s", STATEMENT_BYTES_MAX - 1, is_long) == 0);
	T_CHECK(statements_write(&text, &e, "%.*s", STATEMENT_BYTES_MAX, is_long) == -1);
	T_CHECK(e.kind == ERR_USAGE);
	T_CHECK(text.len == STATEMENT_BYTES_MAX);
	buf_free(&text);
}

int
main(void)
{
	test_read_again();
	test_not_written();
	return t_done();
}
