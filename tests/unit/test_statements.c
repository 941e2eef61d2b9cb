/* Statements that programs write: they are read as they were, and what would be read otherwise is
 * not written. */
#include "common/base/statements.h"

#include <stdbool.h>
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

struct kept {
	char word[6];
	uint64_t number;
	uint8_t id[16];
	bool yes, no;
};

static const struct statement_field fields[] = {
	{ "word", FIELD_WORD, offsetof(struct kept, word), 1, 6 },
	{ "number", FIELD_NUMBER, offsetof(struct kept, number), 3, UINT64_MAX },
	{ "id", FIELD_ID, offsetof(struct kept, id), 0, 0 },
	{ "yes", FIELD_YES, offsetof(struct kept, yes), 0, 0 },
	{ "no", FIELD_YES, offsetof(struct kept, no), 0, 0 },
	{ 0 },
};

static int
take_field(void *arg, const struct statement *s, struct err *why)
{
	return statement_take(fields, arg, s, why);
}

static int
parse(struct kept *k, const char *text)
{
	static const struct statement_kind kinds[] = { { "", 2, 2, take_field }, { 0 } };

	*k = (struct kept){ .no = true };
	return statements_parse(kinds, k, text, strlen(text), "text", &e);
}

static void
test_fields(void)
{
	static const char text[] = "word a-b-c\nnumber 18446744073709551615\n"
				   "id 00112233445566778899aabbccddeeff\nyes yes\nno no\n";
	static const char *const bad[] = { "word a-b-c-\n", "number 2\n", "id 0\n", "yes maybe\n",
		"other 1\n", "word\n", "number 3 4\n" };
	struct buf again = { 0 };
	struct kept k;

	T_CHECK(parse(&k, text) == 0);
	T_CHECK(strcmp(k.word, "a-b-c") == 0);
	T_CHECK(k.number == UINT64_MAX);
	T_CHECK(k.id[0] == 0 && k.id[1] == 0x11 && k.id[15] == 0xff);
	T_CHECK(k.yes && !k.no);
	T_CHECK(statements_write_fields(&again, fields, &k, &e) == 0);
	T_CHECK(again.len == sizeof text - 1 && memcmp(again.base, text, again.len) == 0);
	buf_free(&again);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		T_CHECK(parse(&k, bad[i]) == -1 && e.kind == ERR_FORMAT);
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
	test_fields();
	test_not_written();
	return t_done();
}
