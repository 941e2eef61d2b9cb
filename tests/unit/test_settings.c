/* The configuration of a master server: what it says, who may do what, and what is wrong with it. */
#include "mfrisbeed/master/settings.h"

#include <string.h>

#include "common/base/keyfile.h"
#include "tests/t.h"
#include "tests/unit/scratch.h"

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

static bool
may(const struct settings *s, bool upload, const uint8_t host[4], const char *name)
{
	const struct settings_wish w = { .upload = upload, .host = host, .name = name };

	return settings_may(s, &w) == SETTINGS_YES;
}

static bool
proved(const void *arg, const uint8_t token[MASTER_TOKEN_BYTES])
{
	return memcmp(arg, token, MASTER_TOKEN_BYTES) == 0;
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
	T_CHECK(may(&s, false, host, "a"));
	T_CHECK(!may(&s, false, stranger, "a"));
	T_CHECK(!may(&s, true, host, "a"));
	settings_free(&s);
}

/* No session gets a group that is none. */
static void
test_last_groups(void)
{
	static const char text[] = "image a /srv/a.ndz\ngroup 239.255.255.250\nallow 10.1.0.0/16\n";
	static const char all[] = "image a /srv/a.ndz\ngroup 239.255.255.250 count=6\nallow 10.1.0.0/16\n";
	struct settings s;

	T_CHECK(settings_parse(&s, text, sizeof text - 1, "text", &e) == 0);
	T_CHECK(s.groups == 6);
	settings_free(&s);
	T_CHECK(settings_parse(&s, all, sizeof all - 1, "text", &e) == 0);
	T_CHECK(s.groups == 6);
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
	T_CHECK(may(&s, false, one, "any"));
	T_CHECK(may(&s, true, one, "any"));
	T_CHECK(may(&s, true, two, "lab/web"));
	T_CHECK(may(&s, true, two, "x"));
	T_CHECK(!may(&s, true, two, "y"));
	T_CHECK(!may(&s, false, two, "lab/web"));
	T_CHECK(may(&s, false, three, "lab/web"));
	T_CHECK(!may(&s, false, three, "web"));
	settings_free(&s);
}

/* Tokens are those that are in their files at the time. */
static void
test_tokens(void)
{
	static const uint8_t host[4] = { 10, 0, 0, 1 }, other[4] = { 10, 0, 0, 2 };
	uint8_t right[MASTER_TOKEN_BYTES], wrong[MASTER_TOKEN_BYTES] = { 9 };
	struct settings_wish w = { .upload = true, .host = host, .name = "web7" };
	struct settings s;
	char text[512];

	scratch_init();
	T_CHECK(keyfile_make_secret(in_scratch("t"), KEYFILE_TOKEN, &e) == 0);
	T_CHECK(keyfile_read_secret(in_scratch("t"), KEYFILE_TOKEN, right, &e) == 0);
	int n = snprintf(text, sizeof text,
	    "images /i\ngroup 239.1.1.1\nallow 10.0.0.1 upload token=%s web* db\n"
	    "allow 10.0.0.1 token=/u\n",
	    in_scratch("t"));
	T_CHECK(settings_parse(&s, text, (size_t)n, "text", &e) == 0);
	T_CHECK(strcmp(s.rules[0].token_file, in_scratch("t")) == 0);
	T_CHECK(s.rules[0].nnames == 2);
	T_CHECK(settings_may(&s, &w) == SETTINGS_WITH_TOKEN);
	w.proved = proved;
	w.arg = wrong;
	T_CHECK(settings_may(&s, &w) == SETTINGS_WITH_TOKEN);
	w.arg = right;
	T_CHECK(settings_may(&s, &w) == SETTINGS_YES);
	FILE *f = fopen(in_scratch("t"), "r+"); /* another token comes before it */
	char line[100];
	T_CHECK(f != NULL && fgets(line, sizeof line, f) != NULL && fseek(f, 0, SEEK_SET) == 0);
	T_CHECK(fprintf(f, "# a new one\nFRISBEE-TOKEN-1 %064d\n%s", 0, line) > 0 && fclose(f) == 0);
	T_CHECK(settings_may(&s, &w) == SETTINGS_YES);
	w.replace = true; /* the rule allows uploads, and not to replace what is there */
	T_CHECK(settings_may(&s, &w) == SETTINGS_NO);
	w.replace = false;
	w.upload = false; /* the other rule has another token */
	T_CHECK(settings_may(&s, &w) == SETTINGS_WITH_TOKEN);
	w.upload = true;
	T_CHECK(unlink(in_scratch("t")) == 0);
	T_CHECK(settings_may(&s, &w) == SETTINGS_WITH_TOKEN);
	T_CHECK(keyfile_make_secret(in_scratch("t"), KEYFILE_TOKEN, &e) == 0);
	T_CHECK(settings_may(&s, &w) == SETTINGS_WITH_TOKEN); /* it is another one */
	w.name = "mail";
	T_CHECK(settings_may(&s, &w) == SETTINGS_NO);
	w.name = "db";
	w.host = other;
	T_CHECK(settings_may(&s, &w) == SETTINGS_NO);
	settings_free(&s);
}

/* Who may replace what is there writes to the folder of images, and so does the server. */
static void
test_replace(void)
{
	static const char text[] = "images /i\ngroup 239.1.1.1\nuploads /u\nallow 10.0.0.1 replace a*\n"
				   "allow 10.0.0.2 all\n";
	static const uint8_t host[4] = { 10, 0, 0, 1 }, other[4] = { 10, 0, 0, 2 };
	struct settings_wish w = { .upload = true, .replace = true, .host = host, .name = "a" };
	const char *paths[SETTINGS_WRITTEN_MAX];
	struct settings s;

	T_CHECK(settings_parse(&s, text, sizeof text - 1, "text", &e) == 0);
	T_CHECK(settings_may(&s, &w) == SETTINGS_YES);
	w.replace = false;
	T_CHECK(settings_may(&s, &w) == SETTINGS_YES);
	w.upload = false;
	T_CHECK(settings_may(&s, &w) == SETTINGS_NO);
	w = (struct settings_wish){ .upload = true, .replace = true, .host = other, .name = "a" };
	T_CHECK(settings_may(&s, &w) == SETTINGS_NO);
	settings_written(&s, paths);
	T_CHECK(paths[3] != NULL && strcmp(paths[3], "/i") == 0);
	settings_free(&s);
}

static void
test_parent(void)
{
	static const char text[] = "parent boss:700 /kept interface=eth1 token=/t\ngroup 239.1.1.1\n"
				   "allow 10.0.0.1\n";
	struct settings s;

	T_CHECK(settings_parse(&s, text, sizeof text - 1, "text", &e) == 0);
	T_CHECK(strcmp(s.parent.host, "boss:700") == 0);
	T_CHECK(strcmp(s.parent.iface, "eth1") == 0);
	T_CHECK(strcmp(s.parent_folder, "/kept") == 0);
	T_CHECK(strcmp(s.parent.token_file, "/t") == 0);
	settings_free(&s);
}

static void
test_token_files(void)
{
	char text[512];
	struct settings s;

	T_CHECK(keyfile_make_secret(in_scratch("token"), KEYFILE_TOKEN, &e) == 0);
	FILE *f = fopen(in_scratch("conf"), "w");
	snprintf(text, sizeof text, "images /i\ngroup 239.1.1.1\nallow 10.0.0.1 token=%s\n",
	    in_scratch("token"));
	T_CHECK(fputs(text, f) >= 0);
	T_CHECK(fclose(f) == 0);
	T_CHECK(settings_read(&s, in_scratch("conf"), &e) == 0 && settings_tokens(&s, &e) == 0);
	T_CHECK(unlink(in_scratch("token")) == 0);
	T_CHECK(settings_tokens(&s, &e) == -1 && strstr(e.text, "token") != NULL);
	free(s.rules[0].token_file);
	s.rules[0].token_file = NULL;
	T_CHECK(settings_tokens(&s, &e) == 0);
	strcpy(s.parent.token_file, in_scratch("token"));
	T_CHECK(settings_tokens(&s, &e) == -1 && strstr(e.text, "token") != NULL);
	settings_free(&s);
}

static void
test_what_is_wrong_is_said(void)
{
	T_CHECK(refused("", "no \"group\""));
	T_CHECK(refused("group 239.1.1.1\nimage a b\n", "no \"allow\""));
	T_CHECK(refused("group 239.1.1.1\nallow 10.0.0.1\n", "neither images nor"));
	T_CHECK(refused("group 10.0.0.1\n", "not a multicast address"));
	T_CHECK(refused("group 239.255.255.250 count=7\n", "from 239.255.255.250 on there are only 6"));
	T_CHECK(refused("image a b\nimage a c\n", "line 2: image a is named twice"));
	T_CHECK(refused("image a store:b\ngroup 239.1.1.1\nallow 10.0.0.1\n",
	    "no \"store\" is named"));
	T_CHECK(refused("allow 10.0.0.0/33\n", "line 1"));
	T_CHECK(refused("uploads u min=3\n", "is not known to \"uploads\""));
	T_CHECK(refused("rate fast\n", "line 1"));
	T_CHECK(refused("parent boss\n", "too few words"));
	T_CHECK(refused("parent boss /f mirror\n", "is not known to \"parent\""));
	T_CHECK(refused("interface "
			"0123456789012345678901234567890123456789012345678901234567890123456789\n",
	    "is too long"));
	T_CHECK(refused("serve a\n", "is not a statement"));
}

int
main(void)
{
	test_three_lines_are_enough();
	test_last_groups();
	test_rights();
	test_tokens();
	test_replace();
	test_parent();
	test_token_files();
	test_what_is_wrong_is_said();
	return t_done();
}
