/* Lists of machines: what they stand for, and what is refused. */
#include <string.h>

#include "common/base/hostlist.h"
#include "tests/t.h"

static bool
stands_for(const char *text, const char *names)
{
	struct hostlist l = { 0 };
	struct err e;
	char all[1024] = "";
	int rc = hostlist_add(&l, text, &e);

	for (size_t i = 0; i < l.n; i++) {
		strcat(all, i > 0 ? " " : "");
		strcat(all, l.names[i]);
	}
	hostlist_free(&l);
	return rc == 0 && strcmp(all, names) == 0;
}

static bool
refused(const char *text)
{
	struct hostlist l = { 0 };
	struct err e = { 0 };
	int rc = hostlist_add(&l, text, &e);

	hostlist_free(&l);
	return rc != 0 && e.kind == ERR_USAGE && e.text[0] != '\0';
}

int
main(void)
{
	T_CHECK(stands_for("", ""));
	T_CHECK(stands_for("a", "a"));
	T_CHECK(stands_for("a,b c\nd", "a b c d"));
	T_CHECK(stands_for("node[01-03,7]", "node01 node02 node03 node7"));
	T_CHECK(stands_for("n[8-11]", "n8 n9 n10 n11"));
	T_CHECK(stands_for("n[08-11]", "n08 n09 n10 n11"));
	T_CHECK(stands_for("r[1-2].lab.example", "r1.lab.example r2.lab.example"));
	T_CHECK(stands_for("10.0.0.[1-2]", "10.0.0.1 10.0.0.2"));
	T_CHECK(refused("n[3-1]"));
	T_CHECK(refused("n[1-2"));
	T_CHECK(refused("n]"));
	T_CHECK(refused("n[]"));
	T_CHECK(refused("n[a]"));
	T_CHECK(refused("n[1;2]"));
	T_CHECK(refused("n[1-2]x[1-2]"));
	T_CHECK(refused("[1-2]$(reboot)"));
	T_CHECK(refused("a;b"));
	T_CHECK(refused("n[0-4294967295]"));
	T_CHECK(refused("n[0-99999999]"));
	T_CHECK(refused("n[1111111111]"));
	return t_done();
}
