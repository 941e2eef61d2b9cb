/* Requests of programs of the master's host: what each says; a line that is cut anywhere says less, or
 * is refused; what is wrong is refused with a sentence. */
#include "mfrisbeed/master/local.h"

#include <string.h>

#include "tests/t.h"

static const char whole[] =
    "begin lab/%25win%20dows.ndz holder=controller-1 at=239.1.2.3:77 rate=900M wait=3 until=4 "
    "group-key=%2fetc%2flab.group orders=%2fsrv%2forders";
static const char told[] =
    "note {\"holder\": \"cafe-7\",\"image\": \"lab/a b.ndz\",\"capture\": false,\"began\": 1000.5,\"seconds\": 60.25,"
    "\"node\": {\"name\": \"n1\",\"address\": \"10.9.0.11\",\"phase\": \"failed\",\"try\": 2,\"last_words\": \"no disk\"}}";
static struct err e;

static int
look(const char *text, size_t n, struct local_request *q)
{
	return local_read(q, text, n, &e);
}

static void
test_whole(void)
{
	struct local_request q;

	T_CHECK(look(whole, sizeof whole - 1, &q) == 0);
	T_CHECK(q.what == LOCAL_BEGIN && strcmp(q.name, "lab/%win dows.ndz") == 0);
	T_CHECK(strcmp(q.holder, "controller-1") == 0 && q.group[0] == 239 && q.group[3] == 3 && q.port == 77);
	T_CHECK(q.options.rate == 900000000 && q.options.wait == 3 && q.options.until == 4);
	T_CHECK(strcmp(q.options.group_key, "/etc/lab.group") == 0);
	T_CHECK(strcmp(q.options.orders, "/srv/orders") == 0);
	T_CHECK(look("end x holder=a", 14, &q) == 0 && q.what == LOCAL_END);
	T_CHECK(strcmp(q.name, "x") == 0 && strcmp(q.holder, "a") == 0);
	T_CHECK(look("watch", 5, &q) == 0 && q.what == LOCAL_WATCH);
	T_CHECK(look("images", 6, &q) == 0 && q.what == LOCAL_IMAGES);
	T_CHECK(look("version 7", 9, &q) == 0 && q.what == LOCAL_VERSION_IS && q.version == 7);
}

static void
test_note(void)
{
	char text[sizeof told];
	struct local_request q;

	T_CHECK(look(told, sizeof told - 1, &q) == 0 && q.what == LOCAL_NOTE);
	const struct history_event *v = &q.note;
	T_CHECK(v->kind == HISTORY_LOAD && v->outcome == HISTORY_FAILED && strcmp(v->image, "lab/a b.ndz") == 0);
	T_CHECK(strcmp(v->holder, "cafe-7") == 0 && strcmp(v->node, "n1") == 0 && strcmp(v->why, "no disk") == 0);
	T_CHECK(v->host[0] == 10 && v->host[3] == 11 && v->began_us == 1000500000 && v->seconds == 60.25 && v->tries == 2);
	T_CHECK(v->told == told + 5 && v->told_bytes == sizeof told - 6);
	for (size_t n = 0; n < sizeof told - 1; n++)
		T_CHECK(look(told, n, &q) != 0 && e.text[0] != '\0');
	strcpy(text, told);
	memcpy(strstr(text, "\"failed\""), "\"done\"  ", 8);
	T_CHECK(look(text, strlen(text), &q) == 0 && q.note.outcome == HISTORY_DONE && q.note.why[0] == '\0');
	T_CHECK(look("members holder=cafe-7", 21, &q) == 0 && q.what == LOCAL_MEMBERS && strcmp(q.holder, "cafe-7") == 0);
}

/* What cannot be so is refused, whatever of it is replaced. */
static void
test_wrong_note(void)
{
	static const char *const wrong[][2] = { { "cafe-7", "cafe/7" }, { "\"lab/a b.ndz\"", "\"\"" }, { "1000.5", "1e100" },
		{ "1000.5", "\"x\"" }, { "60.25", "-1" }, { "\"n1\"", "7" }, { "10.9.0.11", "10.9.0" }, { "failed", "loading" },
		{ "\"node\"", "\"other\"" }, { "holder", "hold" }, { "note {", "note [" }, { "}}", "}} x" } };
	char text[2 * sizeof told];
	struct local_request q;

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		const char *at = strstr(told, wrong[i][0]);
		snprintf(text, sizeof text, "%.*s%s%s", (int)(at - told), told, wrong[i][1], at + strlen(wrong[i][0]));
		e = (struct err){ 0 };
		bool refused = look(text, strlen(text), &q) == -1;
		T_CHECK(refused && e.text[0] != '\0');
		if (!refused)
			printf("# %s\n", text);
	}
}

/* Before the holder is there nothing is taken; behind it, each cut leaves out an option, or a part
 * of it. */
static void
test_cut(void)
{
	const size_t held = (size_t)(strstr(whole, "holder=") - whole) + strlen("holder=");
	unsigned early = 0, taken = 0;
	struct local_request q;

	for (size_t n = 0; n < sizeof whole - 1; n++) {
		bool ok = look(whole, n, &q) == 0;
		early += ok && n <= held;
		taken += ok && n > held;
		T_CHECK(!ok || (q.what == LOCAL_BEGIN && q.holder[0] == 'c'));
	}
	T_CHECK(early == 0 && taken > 0);
}

static void
test_wrong(void)
{
	static const char *const lines[] = { "", " ", "# a remark", " # another", "version", "version x",
		"version 0", "version 1 2", "watch it", "images x", "begin", "begin x", "begin x wait=3",
		"begin x holder=",
		"begin x holder=a/b", "begin x holder=a b", "begin x holder=a rate=1",
		"begin x holder=a wait=0", "begin x holder=a until=x", "begin x holder=a color=red",
		"begin x holder=a group-key=", "begin x holder=a at=239.1.2.3", "begin x holder=a at=a:7",
		"begin x holder=a at=239.1.2.3:0", "end x holder=a at=239.1.2.3:7", "begin %zz holder=a", "end x", "end x holder=a rate=1M",
		"end x holder=a holder=b", "watch\nwatch", "note", "note x", "members", "members x", "members holder=", "members holder=a holder=b",
		"begin x holder=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" };
	struct local_request q;

	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		e = (struct err){ 0 };
		bool refused = look(lines[i], strlen(lines[i]), &q) == -1;
		T_CHECK(refused && e.text[0] != '\0');
		if (!refused)
			printf("# %s\n", lines[i]);
	}
}

int
main(void)
{
	test_whole();
	test_cut();
	test_wrong();
	test_note();
	test_wrong_note();
	return t_done();
}
