/* Names of images as words and as names of files: what comes back, what no encoded name has, what is no
 * encoded name. */
#include "mfrisbeed/master/names.h"

#include <string.h>

#include "tests/t.h"

static struct err e;

static bool
comes_back(const char *name)
{
	char text[NAMES_ENCODED_BYTES];

	names_encode(name, text);
	if (strpbrk(text, " /#\t\n") != NULL || text[0] == '.' || strlen(text) < strlen(name))
		return false;
	return names_decode(text, &e) == 0 && strcmp(text, name) == 0;
}

static void
test_round_trip(void)
{
	char all[256], longest[MASTER_NAME_MAX + 1];

	for (int i = 0; i < 255; i++)
		all[i] = (char)(i + 1);
	all[255] = '\0';
	memset(longest, '/', MASTER_NAME_MAX);
	longest[MASTER_NAME_MAX] = '\0';
	T_CHECK(comes_back(all));
	T_CHECK(comes_back(longest));
	T_CHECK(comes_back("/proj/lab/images/web 7.ndz"));
	T_CHECK(comes_back("..") && comes_back("a.b") && comes_back("%41") && comes_back(""));
}

static void
test_what_is_readable_stays(void)
{
	char text[NAMES_ENCODED_BYTES];

	names_encode("web-7.ndz", text);
	T_CHECK(strcmp(text, "web-7.ndz") == 0);
	names_encode("/a/.b", text);
	T_CHECK(strcmp(text, "%2fa%2f.b") == 0);
	names_encode(".%arriving-1", text);
	T_CHECK(strcmp(text, "%2e%25arriving-1") == 0);
}

static void
test_what_is_none(void)
{
	static const char *const none[] = { "%", "a%4", "%4g", "%g4", "a%arriving-3" };

	for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
		char text[32];
		strcpy(text, none[i]);
		e = (struct err){ 0 };
		T_CHECK(names_decode(text, &e) == -1);
		T_CHECK(e.kind == ERR_USAGE);
	}
}

int
main(void)
{
	test_round_trip();
	test_what_is_readable_stays();
	test_what_is_none();
	return t_done();
}
