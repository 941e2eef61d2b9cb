/* What the controller asks mfrisbeed for, before one that this test plays: each session that wants a
 * server is asked for once, also after a restart of either; what no session wants is ended; what others
 * hold is left alone; and what is refused, of another version, or no answer, is told to the session. */
#include "controller/sending/servers.h"
#include "controller/sending/link.h"

#include <poll.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/net/accepting.h"
#include "controller/sending/link.h"
#include "tests/unit/scratch.h"

enum { LIMIT_US = 60000000 };

static struct err e;
static struct loop loop;
static struct swap w;
static struct servers *x;
static struct accepting at;
static struct swapdb *db;
static char heard[2000]; /* the last line of the controller */
static int master = -1; /* its side of the connection */
static uint64_t later_us; /* time that has passed for the controller */
static uint32_t wanted; /* the session of which somebody wants the nodes */
static char members[200]; /* what they are told */

static uint64_t ahead_us; /* as much later it is for all clocks here */

/* What clock_us() asks. */
int
clock_gettime(clockid_t clock, struct timespec *t)
{
	int rc = (int)syscall(SYS_clock_gettime, clock, t);

	t->tv_sec += (time_t)(ahead_us / 1000000);
	return rc;
}

static struct swap_now
now_is(void *arg)
{
	(void)arg;
	return (struct swap_now){ clock_us() + later_us, (double)clock_us() / 1e6 };
}

static uint32_t
start(const char *node, struct swap_sending how)
{
	struct swap_wish wish = { .image = "a.ndz", .sending = how, .timeout_s = 600, .tries = 1 };
	uint32_t id;
	bool again;

	strcpy(wish.nodes, node);
	T_CHECK(swap_start(&w, now_is(NULL), &wish, &id, &again, &e) == 0);
	return id;
}

/* Takes the next line of the controller, turning its loop meanwhile.  Returns whether it is this one, or,
 * where that ends in "...", begins so. */
static bool
hears(const char *want)
{
	uint64_t until = clock_us() + LIMIT_US;
	char *line = heard;
	const char *dots = strstr(want, "...");
	size_t len = dots != NULL ? (size_t)(dots - want) : sizeof heard;
	size_t n = 0;

	line[0] = '\0';
	while (clock_us() < until && n < sizeof heard - 1 && (n == 0 || line[n - 1] != '\n')) {
		if (master >= 0 && recv(master, line + n, 1, MSG_DONTWAIT) == 1) {
			n++;
			continue; /* no turn for each byte: a long line must not take the time of an answer */
		}
		loop_once(&loop, 10);
		if (master < 0)
			master = accepting_next(&at, NULL, NULL);
	}
	line[n > 0 ? n - 1 : 0] = '\0';
	bool same = strncmp(line, want, len) == 0;
	if (!same)
		printf("# %s\n", line);
	return same;
}

static void
says(const char *text)
{
	T_CHECK(send(master, text, strlen(text), MSG_NOSIGNAL) == (ssize_t)strlen(text));
	for (int i = 0; i < 5; i++)
		loop_once(&loop, 10);
}

/* Nothing is asked although the loop turns. */
static bool
is_silent(void)
{
	char byte;

	servers_settle(x);
	for (int i = 0; i < 5; i++)
		loop_once(&loop, 10);
	return recv(master, &byte, 1, MSG_DONTWAIT) < 0;
}

static void
hang_up(void)
{
	close(master);
	master = -1;
}

static char images_text[200]; /* what the controller knows of the images */
static uint64_t answered;

static void
on_images(void *arg, uint64_t number, struct jtree *said, const char *why)
{
	const char *name = jtree_text(jtree_get(jtree_at(jtree_get(said, "images"), 0), "name"));
	(void)arg;

	answered = number;
	snprintf(images_text, sizeof images_text, "%s", said == NULL ? why : name != NULL ? name : "none");
	jtree_free(said);
}

static uint32_t
members_wanted(void *arg)
{
	(void)arg;
	return wanted;
}

static void
on_members(void *arg, uint32_t session, struct jtree *said, const char *why)
{
	(void)arg;
	if (wanted != 0)
		snprintf(members, sizeof members, "%u %s", session,
		    said == NULL ? why : jtree_text(jtree_get(jtree_at(jtree_get(said, "members"), 0), "x")));
	wanted = 0;
	jtree_free(said);
}

static bool
greets(void)
{
	if (!hears("version 1"))
		return false;
	says("{\"ok\": true}\n");
	if (!hears("watch"))
		return false;
	says("{\"ok\": true}\n");
	return true;
}

static const char ok[] = "{\"ok\": true}\n";
static const char no_images[] = "{\"ok\": true,\"images\": [],\"more\": false}\n";
static const char others[] = "{\"name\": \"a.ndz\",\"state\": \"serving\",\"group\": \"239.1.1.1\",\"port\": 1,"
			     "\"holders\": [\"x\",\"cafe-\",\"cafe-0\",\"cafe-1x\",\"cafes-1\",\"bead-1\"]}";

static void
list(const char *state, const char *holders)
{
	char text[1000];

	snprintf(text, sizeof text,
	    "{\"sessions\": [%s,{\"name\": \"a.ndz\",\"state\": \"%s\",\"group\": \"239.7.7.7\",\"port\": 7777,"
	    "\"error\": \"no disk\",\"holders\": [%s],\"statistics\": \"/nonexistent\"}]}\n",
	    others, state, holders);
	says(text);
}

static void
test_asks(void)
{
	uint32_t id = start("n1", (struct swap_sending){ 0 });
	struct swap_session *s = swap_find_session(&w, id);

	servers_settle(x);
	T_CHECK(id == 1 && greets());
	says("{\"sessions\": []}\n");
	T_CHECK(hears("begin a.ndz holder=cafe-1 rate=60M"));
	T_CHECK(is_silent()); /* before it is answered */
	says(ok);
	list("starting", "\"cafe-1\"");
	T_CHECK(hears("images"));
	says("{\"ok\": true,\"images\": [{\"name\": \"a.ndz\"}],\"more\": false}\n");
	T_CHECK(answered == 1 && strcmp(images_text, "a.ndz") == 0);
	T_CHECK(is_silent() && s->holds && !s->serves && !swap_has_place(s));
	list("serving", "\"cafe-1\"");
	T_CHECK(s->serves && s->port == 7777 && s->group[0] == 239 && s->group[3] == 7 && is_silent());
	hang_up(); /* it was killed */
	T_CHECK(greets());
	T_CHECK(!s->serves && s->port == 7777 && strstr(s->last, "waits for mfrisbeed") != NULL);
	list("serving", "\"cafe-1\"");
	T_CHECK(hears("images"));
	says(no_images);
	T_CHECK(s->serves && is_silent()); /* it has kept it */
	hang_up();
	T_CHECK(greets());
	says("{\"sessions\": []}\n"); /* its state was lost */
	T_CHECK(hears("images"));
	says(no_images);
	s->server_after_us = 0;
	servers_settle(x);
	T_CHECK(hears("begin a.ndz holder=cafe-1 at=239.7.7.7:7777 rate=60M"));
	says(ok);
	list("serving", "\"cafe-1\"");
	T_CHECK(s->serves);
	T_CHECK(swap_stop(&w, now_is(NULL), id, &e) == 0);
	list("failed", "\"cafe-1\"");
	T_CHECK(hears("end a.ndz holder=cafe-1"));
	says(ok);
	list("serving", "\"bead-2\"");
	T_CHECK(is_silent() && !s->holds && s->state == SWAP_IS_STOPPED);
}

/* What an earlier controller of this state has left. */
static void
test_ends_what_is_left(void)
{
	list("serving", "\"bead-1\",\"cafe-77\"");
	T_CHECK(hears("end a.ndz holder=cafe-77"));
	says("{\"ok\": false,\"error\": \"it is gone\"}\n");
	list("serving", "\"bead-1\"");
	T_CHECK(is_silent());
}

static void
test_refused(void)
{
	struct swap_session *s = swap_find_session(&w, start("n2", (struct swap_sending){ 1000000, 1, 1, "/my orders" }));

	servers_settle(x);
	T_CHECK(hears("begin a.ndz holder=cafe-2 rate=1000000 wait=1 orders=%2fmy%20orders"));
	says("{\"ok\": false,\"error\": \"there is no such image\"}\n");
	T_CHECK(s->server_failures == 1 && strcmp(s->last, "its image is not sent: there is no such image") == 0);
	T_CHECK(is_silent()); /* it is asked again, but not at once */
	s->server_after_us = 0;
	servers_settle(x);
	T_CHECK(hears("begin a.ndz holder=cafe-2 rate=1000000 wait=1 orders=%2fmy%20orders"));
	says(ok);
	list("failed", "\"cafe-2\"");
	list("failed", "\"cafe-2\"");
	T_CHECK(s->server_failures == 2 && strcmp(s->last, "its image is not sent: no disk") == 0);
	hang_up();
	T_CHECK(hears("version 1"));
	says("{\"ok\": false,\"error\": \"this mfrisbeed understands requests of version 2, not 1\"}\n");
	T_CHECK(strstr(s->last, "version 2, not 1") != NULL && s->server_failures == 2 && s->state == SWAP_IS_RUNNING);
	hang_up();
	T_CHECK(greets());
	says("no JSON\n");
	T_CHECK(strstr(s->last, "waits for mfrisbeed: ") != NULL && strstr(s->last, "version") == NULL);
	hang_up();
	T_CHECK(swap_stop(&w, now_is(NULL), s->id, &e) == 0);
}

/* Whoever asks for the images is answered by what was so after that. */
static void
test_images(void)
{
	T_CHECK(greets());
	says("{\"sessions\": []}\n");
	T_CHECK(hears("images")); /* it is away no more */
	uint64_t number = servers_ask_images(x);
	says(no_images);
	T_CHECK(answered == number - 1 && strcmp(images_text, "none") == 0);
	T_CHECK(hears("images"));
	says("{\"ok\": false,\"error\": \"images: cannot be read\"}\n");
	T_CHECK(answered == number && strcmp(images_text, "images: cannot be read") == 0);
	T_CHECK(is_silent());
	number = servers_ask_images(x);
	T_CHECK(hears("images") && answered == number - 1);
	hang_up();
	for (int i = 0; i < 5; i++)
		loop_once(&loop, 10);
	T_CHECK(answered == number && strcmp(images_text, "it has hung up") == 0);
}

/* The first session that the history has not yet; 0: none. */
static uint32_t
unnoted(void)
{
	uint32_t id = 0;

	T_CHECK(swapdb_unnoted(db, 0, &id, &e) == 0);
	return id;
}

/* Asked for the list, it has none, and says that there are no images. */
static void
comes_back(void)
{
	hang_up();
	T_CHECK(greets());
	says("{\"sessions\": []}\n");
	T_CHECK(hears("images"));
	says(no_images);
}

static void
change_state(const char *sql)
{
	sqlite3 *other;

	T_CHECK(sqlite3_open(in_scratch("state/state.db"), &other) == SQLITE_OK);
	T_CHECK(sqlite3_exec(other, sql, NULL, NULL, NULL) == SQLITE_OK);
	sqlite3_close(other);
}

/* The history takes this session. */
static void
takes(const char *note, const char *question)
{
	T_CHECK(hears(note));
	says(ok);
	T_CHECK(hears(question));
	says("{\"ok\": true,\"members\": [{\"x\": \"y\"}]}\n");
}

static const char note1[] = "note {\"holder\": \"cafe-1\",\"image\": \"a.ndz\",\"capture\": false,\"began\": ...",
		  note2[] = "note {\"holder\": \"cafe-2\",...";

/* What has become of nodes is told until the history shows that it has it; then nothing of it is told again. */
static void
test_notes(void)
{
	static const char none[] = "{\"ok\": true,\"members\": []}\n", one[] = "{\"ok\": true,\"members\": [{\"x\": \"y\"}]}\n";

	T_CHECK(swapdb_save(db, &w, &e) == 0);
	T_CHECK(greets());
	says("{\"sessions\": []}\n");
	T_CHECK(hears("images"));
	says(no_images);
	T_CHECK(hears(note1));
	says(ok);
	T_CHECK(hears("members holder=cafe-1"));
	says(none); /* it could not be written */
	T_CHECK(is_silent() && unnoted() == 1);
	later_us += 61000000;
	servers_settle(x);
	T_CHECK(hears(note2)); /* the next one, which is refused, too */
	says("{\"ok\": false,\"error\": \"the history takes nothing now\"}\n");
	T_CHECK(is_silent() && unnoted() == 1);
	later_us += 61000000;
	servers_settle(x);
	T_CHECK(hears(note1));
	says(ok);
	T_CHECK(hears("members holder=cafe-1"));
	comes_back(); /* it was killed before it has answered */
	T_CHECK(unnoted() == 1 && hears(note1));
	wanted = 7; /* who asks for something goes before */
	says(ok);
	T_CHECK(hears("members holder=cafe-7"));
	says(one);
	T_CHECK(strcmp(members, "7 y") == 0);
	T_CHECK(hears("members holder=cafe-1"));
	says(one);
	T_CHECK(unnoted() == 2 && swap_find_session(&w, 1)->noted);
	T_CHECK(hears(note2) && strstr(heard, "\"phase\": \"stopped\"") != NULL);
	says("{\"ok\": false,\"error\": \"line 1: note: there is no such statement\"}\n"); /* an older version */
	T_CHECK(is_silent() && unnoted() == 2);
	later_us += 61000000;
	change_state("UPDATE node SET phase = 2 WHERE session = 2"); /* as an older controller may leave it */
	servers_settle(x);
	T_CHECK(hears(note2) && strstr(heard, "\"phase\": \"failed\"") != NULL && strstr(heard, "while loading: its end was not saved"));
	says(ok);
	T_CHECK(hears("members holder=cafe-2"));
	says(one);
	T_CHECK(unnoted() == 0 && is_silent());
	comes_back();
	T_CHECK(is_silent());
	wanted = 9;
	servers_settle(x);
	T_CHECK(hears("members holder=cafe-9"));
	says("{\"ok\": false,\"error\": \"no history is kept\"}\n");
	T_CHECK(strcmp(members, "9 no history is kept") == 0 && is_silent());
	wanted = 9;
	servers_settle(x);
	T_CHECK(hears("members holder=cafe-9"));
	hang_up();
	for (int i = 0; i < 5; i++)
		loop_once(&loop, 10);
	T_CHECK(strcmp(members, "0 it has hung up") == 0);
}

struct unable {
	char why[100];
	bool for_good;
};

static void
on_unable(void *arg, const char *why, bool for_good)
{
	struct unable *u = arg;

	snprintf(u->why, sizeof u->why, "%s", why);
	u->for_good = for_good;
}

/* An mfrisbeed that says why, and ends with this status.  Is it started no more for what waits? */
static bool
ends_for_good(const char *status)
{
	struct unable u = { .for_good = false };
	const char *const start[] = { "sh", "-c", "echo '{\"error\": \"line 1\"}'; exit $0", status, NULL };
	const struct link_config c = { .socket = in_scratch("none"), .start = start, .unable = on_unable,
		.arg = &u };
	uint64_t until = clock_us() + LIMIT_US;
	struct link *l;

	T_CHECK(link_open(&l, &loop, &c, &e) == 0);
	while (u.why[0] == '\0' && clock_us() < until)
		loop_once(&loop, 10);
	link_close(l, true);
	T_CHECK(strcmp(u.why, "line 1") == 0);
	return u.for_good;
}

/* Status 2 is a wrong command line, 3 a wrong configuration; 1 may be different a moment later. */
static void
test_hopeless(void)
{
	T_CHECK(!ends_for_good("0") && !ends_for_good("1"));
	T_CHECK(ends_for_good("2") && ends_for_good("3"));
}

/* A session whose row is damaged is passed over, until it is mended, and so is one with a damaged node. */
static void
test_damaged(void)
{
	comes_back();
	for (int i = 0; i < 2; i++) {
		change_state(i == 0 ? "UPDATE session SET noted = 0; UPDATE session SET tries = -1 WHERE id = 1"
		                    : "UPDATE session SET noted = 0; UPDATE node SET tries = -1 WHERE session = 1");
		later_us += 61000000;
		servers_settle(x);
		servers_settle(x);
		takes(note2, "members holder=cafe-2");
		T_CHECK(unnoted() == 1 && is_silent());
		change_state("UPDATE session SET tries = 1; UPDATE node SET tries = 1");
		later_us += 61000000;
		servers_settle(x);
		takes(note1, "members holder=cafe-1");
		T_CHECK(unnoted() == 0 && is_silent());
	}
}

/* An mfrisbeed that was started and hangs before it listens: that is said, though it has not ended. */

static char lost_why[200];

static void
on_lost(void *arg, const char *why)
{
	(void)arg;
	snprintf(lost_why, sizeof lost_why, "%s", why);
}

static void
test_does_not_listen(void)
{
	static const char *const hangs[] = { "sleep", "600", NULL };
	struct link_config c = { .socket = in_scratch("nobody"), .start = hangs, .lost = on_lost };
	struct link *l;

	T_CHECK(link_open(&l, &loop, &c, &e) == 0);
	for (int i = 0; i < 5; i++)
		loop_once(&loop, 10);
	T_CHECK(lost_why[0] == '\0');
	ahead_us = 11000000; /* more than an answer takes */
	for (uint64_t until = clock_us() + LIMIT_US; lost_why[0] == '\0' && clock_us() < until;)
		loop_once(&loop, 10);
	T_CHECK(strcmp(lost_why, "it was started, and does not listen") == 0);
	link_close(l, true);
}

int
main(void)
{
	struct servers_config c = { .rate = "60M",
		.now = now_is,
		.images_said = on_images,
		.members_wanted = members_wanted,
		.members_said = on_members };
	struct swap_config of_engine = { .patience_s = 600, .patience_boot_s = 600 };
	uint8_t mac[6] = { 2 };

	scratch_init();
	log_open("test", true, LOG_LEVEL_ERR);
	c.master = in_scratch("sock");
	T_CHECK(accepting_path(&at, c.master, &e) == 0);
	T_CHECK(swapdb_open(&db, in_scratch("state"), of_engine.salt, &e) == 0);
	c.db = db;
	strcpy(of_engine.salt, "cafe");
	swap_init(&w, &of_engine);
	for (mac[5] = 1; mac[5] <= 2; mac[5]++)
		swap_add_node(&w, mac[5] == 1 ? "n1" : "n2", mac, "", &e);
	T_CHECK(loop_open(&loop, &e) == 0 && servers_open(&x, &loop, &w, &c, &e) == 0);
	test_asks();
	test_ends_what_is_left();
	test_refused();
	test_images();
	test_notes();
	test_damaged();
	test_hopeless();
	servers_close(x);
	test_does_not_listen();
	swapdb_close(db);
	swap_free(&w);
	loop_close(&loop);
	close(at.listener);
	return t_done();
}
