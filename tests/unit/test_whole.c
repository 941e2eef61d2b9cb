/* Answers about a disk that is being filled: whole, not whole, and everything else. */
#include <string.h>

#include "stream/switch/whole.h"
#include "tests/t.h"

int
main(void)
{
	static const char document[] = "{\"disk_bytes\": 5, \"complete\": true}";
	char cut[sizeof document];
	struct err e;
	bool whole;

	T_CHECK(whole_read(document) == 1);
	T_CHECK(whole_read("{\n  \"complete\":false\n}") == 0);
	T_CHECK(whole_read("{\"complete\": \"true\"}") == -1);
	T_CHECK(whole_read("") == -1);
	/* The last two bytes, a brace and the NUL, say nothing. */
	for (size_t n = 0; n < strlen(document) - 1; n++) {
		memcpy(cut, document, n);
		cut[n] = '\0';
		T_CHECK(whole_read(cut) == -1);
	}
	T_CHECK(whole_ask("/no/such/socket", &whole, &e) != 0 && e.kind == ERR_ABSENT);
	char path[200];
	memset(path, 'x', sizeof path);
	path[sizeof path - 1] = '\0';
	T_CHECK(whole_ask(path, &whole, &e) != 0 && e.kind == ERR_USAGE);
	return t_done();
}
