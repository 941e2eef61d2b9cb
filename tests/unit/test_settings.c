/* The configuration of a master server: what it says, who may do what, and what is wrong with it. */
#include "mfrisbeed/master/settings.h"

#include <string.h>

#include "tests/t.h"

static struct err e;

static bool
refused(const char *text, const char *sentence)
{
	struct settings s;
	int rc = settings_parse(&s, text, strlen(text), "text", &e);

	settings_free(&s);
	if (rc == 0 || strstr(e.text, sentence) == NULL)
		fprintf(stderr, "\"%s\"\n", e.text);
	return rc != 0 && strstr(e.text, sentence) != NULL;
}

static void
test_three_lines_are_enough(void)
{
	static const char text[] = "image a /srv/a.ndz\ngroup 239.192.1.1\nallow 10.1.0.0/16\n";
	static const uint8_t host[4] = { 10, 1, 2, 3 }, stranger[4] = { 10, 2, 0, 1 };
	struct settings s;

	T_CHECK(settings_parse(&s, text, sizeof text - 1, "text", &e) == 0);
	T_CHECK(s.nimages == 1);
	T_CHECK(strcmp(s.images[0].place, "/srv/a.ndz") == 0);
	T_CHECK(!s.images[0].in_store);
	T_CHECK(strcmp(s.state, "/var/lib/mfrisbeed") == 0);
	T_CHECK(settings_may_load(&s, host, "a"));
	T_CHECK(!settings_may_load(&s, stranger, "a"));
	T_CHECK(!settings_may_upload(&s, host, "a"));
	settings_free(&s);
}

static void
test_rights(void)
{
	static const char text[] = "store /srv/store\nimage a store:a:3\ngroup 239.1.1.1 count=4 "
				   "port=9000\nallow 10.0.0.1 all\n"
				   "allow 10.0.0.2 upload lab/* x\nallow 10.0.0.3 lab/*\n";
	static const uint8_t one[4] = { 10, 0, 0, 1 }, two[4] = { 10, 0, 0, 2 },
			     three[4] = { 10, 0, 0, 3 };
	struct settings s;

	T_CHECK(settings_parse(&s, text, sizeof text - 1, "text", &e) == 0);
	T_CHECK(s.images[0].in_store);
	T_CHECK(strcmp(s.images[0].place, "a:3") == 0);
	T_CHECK(s.groups == 4);
	T_CHECK(s.port == 9000);
	T_CHECK(settings_may_load(&s, one, "any"));
	T_CHECK(settings_may_upload(&s, one, "any"));
	T_CHECK(settings_may_upload(&s, two, "lab/web"));
	T_CHECK(settings_may_upload(&s, two, "x"));
	T_CHECK(!settings_may_upload(&s, two, "y"));
	T_CHECK(!settings_may_load(&s, two, "lab/web"));
	T_CHECK(settings_may_load(&s, three, "lab/web"));
	T_CHECK(!settings_may_load(&s, three, "web"));
	settings_free(&s);
}

static void
test_what_is_wrong_is_said(void)
{
	T_CHECK(refused("", "no \"group\""));
	T_CHECK(refused("group 239.1.1.1\nimage a b\n", "no \"allow\""));
	T_CHECK(refused("group 239.1.1.1\nallow 10.0.0.1\n", "neither images nor"));
	T_CHECK(refused("group 10.0.0.1\n", "not a multicast address"));
	T_CHECK(refused("image a b\nimage a c\n", "line 2: image a is there twice"));
	T_CHECK(refused("image a store:b\ngroup 239.1.1.1\nallow 10.0.0.1\n",
	    "no \"store\" is named"));
	T_CHECK(refused("allow 10.0.0.0/33\n", "line 1"));
	T_CHECK(refused("uploads u min=3\n", "is not known to \"uploads\""));
	T_CHECK(refused("rate fast\n", "line 1"));
	T_CHECK(refused("serve a\n", "is not a statement"));
}

int
main(void)
{
	test_three_lines_are_enough();
	test_rights();
	test_what_is_wrong_is_said();
	return t_done();
}
