/* Sessions of mfrisbeed.  One is begun again at its group, because its clients wait there, while the
 * parent that has its image is away: it stays in the list for a restart, and where nothing can be
 * started it counts as failed.  One that is killed is begun again where it was, and another one is
 * not disturbed; one that is killed again and again is given up.  One that has failed leaves its
 * group to others; one whose port is taken keeps its group where no other group is free, and passes the
 * groups of another server in a few tries.  One whose image was replaced since it was found serves neither
 * file.  Each holder ends only what it holds. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "mfrisbeed/master/fetched.h"
#include "mfrisbeed/master/slots.h"
#include "tests/unit/scratch.h"

enum { LIMIT_US = 60000000, TURN_MS = 20 };

static const char line[] = "session web.ndz 239.192.70.1 5555\n";
static struct settings settings;
static char program[512];
static struct err e;

static struct sessions *
open_sessions(const struct settings *s)
{
	struct sessions_config c = { .quiet = true };
	struct sessions *x = NULL;

	T_CHECK(starter_new(&c.starter, program, in_scratch("state/starter"), &e) == 0);
	T_CHECK(sessions_new(&x, s, &c, &e) == 0);
	return x;
}

/* One turn of the master's loop. */
static void
turn(struct sessions *x)
{
	struct pollfd p = { .fd = sessions_fd(x), .events = POLLIN };

	poll(&p, 1, TURN_MS);
	sessions_collect(x);
}

/* Turns until the session of this image is in that state, or in none of the table. */
static bool
becomes(struct sessions *x, const struct sessions_wish *w, enum sessions_state want)
{
	uint64_t until = clock_us() + LIMIT_US;
	struct sessions_place p;

	while (clock_us() < until) {
		if (!sessions_find(x, w, &p))
			return false;
		if (p.state == want)
			return true;
		turn(x);
	}
	return false;
}

static void
make_settings(void)
{
	char text[1024];

	T_CHECK(sh("mkdir kept state images") == 0);
	T_CHECK(sh("printf 'session web.ndz 239.192.70.1 5555\\n' > state/sessions") == 0);
	/* Nobody listens at port 1. */
	int n = snprintf(text, sizeof text,
	    "parent 127.0.0.1:1 %s/kept\ngroup 239.192.70.1\nallow 127.0.0.0/8\n"
	    "state %s/state\ninterface lo\nimages %s/images\n",
	    scratch_dir, scratch_dir, scratch_dir);
	T_CHECK(settings_parse(&settings, text, (size_t)n, "settings", &e) == 0);
}

static bool
is_in_the_list(void)
{
	char text[sizeof line + 1] = "";
	FILE *f = fopen(in_scratch("state/sessions"), "r");
	size_t n = f != NULL ? fread(text, 1, sizeof text, f) : 0;

	if (f != NULL)
		fclose(f);
	return n == sizeof line - 1 && memcmp(text, line, n) == 0;
}

static enum sessions_state
state_of_it(struct sessions *x)
{
	const struct catalog_entry entry = { .at_parent = true };
	const struct sessions_wish w = { .name = "web.ndz", .entry = &entry };
	struct sessions_place p = { .state = SESSIONS_RUNNING };

	T_CHECK(sessions_find(x, &w, &p));
	return p.state;
}

static void
test_begun_again(void)
{
	struct sessions *x = open_sessions(&settings);
	uint64_t until = clock_us() + LIMIT_US;

	T_CHECK(sessions_resume(x, &e) == 0);
	T_CHECK(state_of_it(x) == SESSIONS_STARTING);
	T_CHECK(state_save(x, &e) == 0);
	T_CHECK(is_in_the_list());
	while (x->slots[0].tries < 2 && clock_us() < until)
		turn(x); /* it fails, and is begun again */
	T_CHECK(x->slots[0].tries == 2);
	T_CHECK(state_of_it(x) == SESSIONS_STARTING);
	starter_free(x->config.starter);
	x->config.starter = NULL;
	T_CHECK(starter_new(&x->config.starter, "/nonexistent", in_scratch("state/starter"), &e) ==
	        0);
	x->slots[0].tries = 8;
	while (state_of_it(x) == SESSIONS_STARTING && clock_us() < until)
		turn(x);
	T_CHECK(state_of_it(x) == SESSIONS_FAILED);
	sessions_free(x);
}

/* Two sessions run, and one of them is killed. */
static void
test_killed(void)
{
	struct catalog_entry one = { 0 }, two = { 0 };
	struct sessions_place was, other, is;
	struct sessions *x;

	T_CHECK(sh("rm -f state/sessions") == 0);
	T_CHECK(sh("head -c 5000 /dev/zero > images/one.ndz; cp images/one.ndz images/two.ndz") == 0);
	T_CHECK(catalog_find(&one, &settings, "one.ndz", &e) == 0);
	T_CHECK(catalog_find(&two, &settings, "two.ndz", &e) == 0);
	const struct sessions_wish w1 = { .name = "one.ndz", .entry = &one },
				   w2 = { .name = "two.ndz", .entry = &two };
	x = open_sessions(&settings);
	T_CHECK(sessions_ask(x, &w1, &was, &e) == 0 && sessions_ask(x, &w2, &other, &e) == 0);
	T_CHECK(becomes(x, &w1, SESSIONS_RUNNING) && becomes(x, &w2, SESSIONS_RUNNING));
	T_CHECK(sessions_find(x, &w1, &was) && sessions_find(x, &w2, &other));
	pid_t first = x->slots[0].pid, second = x->slots[1].pid;
	T_CHECK(first > 0 && second > 0 && first != second);
	T_CHECK(kill(first, SIGKILL) == 0);
	T_CHECK(becomes(x, &w1, SESSIONS_STARTING));
	T_CHECK(becomes(x, &w1, SESSIONS_RUNNING));
	T_CHECK(x->slots[0].pid > 0 && x->slots[0].pid != first);
	T_CHECK(sessions_find(x, &w1, &is) && is.port == was.port &&
	        memcmp(is.addr, was.addr, sizeof is.addr) == 0);
	T_CHECK(x->slots[1].pid == second);
	T_CHECK(sessions_find(x, &w2, &is) && is.state == SESSIONS_RUNNING &&
	        is.port == other.port);
	x->slots[0].tries = 8;
	T_CHECK(kill(x->slots[0].pid, SIGKILL) == 0);
	T_CHECK(!becomes(x, &w1, SESSIONS_FAILED)); /* it is not in the table any more */
	T_CHECK(sessions_find(x, &w2, &is) && is.state == SESSIONS_RUNNING);
	sessions_free(x);
	T_CHECK(kill(second, 0) == -1 && errno == ESRCH);
	T_CHECK(sh("ls state/session-*") != 0);
	catalog_entry_free(&one);
	catalog_entry_free(&two);
}

/* Settings for this number of groups, beginning with the group of the saved session. */
static void
parse_groups(struct settings *s, unsigned groups)
{
	char text[1024];
	int n = snprintf(text, sizeof text,
	    "parent 127.0.0.1:1 %s/kept\ngroup 239.192.70.1 count=%u\nallow 127.0.0.0/8\n"
	    "state %s/state\ninterface lo\nimages %s/images\n",
	    scratch_dir, groups, scratch_dir, scratch_dir);

	T_CHECK(settings_parse(s, text, (size_t)n, "settings", &e) == 0);
}

/* Puts a failed session into each free place of the table. */
static void
fill_with_failed(struct sessions *x)
{
	for (unsigned i = 0; i < SLOTS_MAX; i++) {
		if (x->slots[i].name != NULL)
			continue;
		x->slots[i].name = strdup("gone.ndz");
		x->slots[i].state = SESSIONS_FAILED;
	}
}

/* Nobody asks again for images whose sessions have failed, of which the table is full; the only group
 * serves another image, and its address is that of the interface. */
static void
test_failed_keeps_no_group(void)
{
	struct catalog_entry empty = { 0 }, one = { 0 };
	const struct sessions_wish bad = { .name = "empty.ndz", .entry = &empty };
	const struct sessions_wish good = { .name = "one.ndz", .entry = &one };
	struct sessions_place p;
	struct sessions *x;
	struct settings s;

	parse_groups(&s, 1);
	T_CHECK(sh("rm -f state/sessions; : > images/empty.ndz") == 0);
	T_CHECK(sh("head -c 5000 /dev/zero > images/one.ndz") == 0);
	T_CHECK(catalog_find(&empty, &s, "empty.ndz", &e) == 0);
	T_CHECK(catalog_find(&one, &s, "one.ndz", &e) == 0);
	x = open_sessions(&s);
	T_CHECK(sessions_ask(x, &bad, &p, &e) == 0);
	T_CHECK(becomes(x, &bad, SESSIONS_FAILED));
	fill_with_failed(x);
	T_CHECK(sessions_ask(x, &good, &p, &e) == 0);
	T_CHECK(p.state == SESSIONS_STARTING);
	T_CHECK(becomes(x, &good, SESSIONS_RUNNING) && sessions_find(x, &good, &p));
	T_CHECK(memcmp(p.server, "\x7f\0\0\1", sizeof p.server) == 0);
	sessions_free(x);
	catalog_entry_free(&empty);
	catalog_entry_free(&one);
	settings_free(&s);
}

/* The name of an image that was found leads elsewhere when its session opens it: by a link out of the
 * folder, which the finding does not follow, or to a newer file, which the next request finds. */
static void
test_replaced(const char *how)
{
	struct catalog_entry found = { 0 };
	const struct sessions_wish w = { .name = "two.ndz", .entry = &found };
	struct sessions_place p;
	struct sessions *x;

	T_CHECK(sh("rm -f state/sessions images/two.ndz; head -c 5000 /dev/zero > images/two.ndz") == 0);
	T_CHECK(sh("head -c 5000 /dev/zero > elsewhere") == 0);
	T_CHECK(catalog_find(&found, &settings, "two.ndz", &e) == 0);
	T_CHECK(sh("%s", how) == 0);
	x = open_sessions(&settings);
	T_CHECK(sessions_ask(x, &w, &p, &e) == 0 && p.state == SESSIONS_STARTING);
	T_CHECK(becomes(x, &w, SESSIONS_FAILED) && sessions_find(x, &w, &p));
	T_CHECK(p.err.kind == ERR_REFUSED && strstr(p.err.text, "was replaced") != NULL);
	sessions_free(x);
	catalog_entry_free(&found);
}

/* Takes a port that is free at the group of the saved session.  Returns the socket that has it. */
static int
take_port(uint16_t *port)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t len = sizeof at;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	T_CHECK(inet_pton(AF_INET, "239.192.70.1", &at.sin_addr) == 1);
	T_CHECK(bind(fd, (struct sockaddr *)&at, sizeof at) == 0);
	T_CHECK(getsockname(fd, (struct sockaddr *)&at, &len) == 0);
	*port = ntohs(at.sin_port);
	return fd;
}

/* Saves, for a restart, a session at the first group and this port. */
static void
save_session(uint16_t port)
{
	FILE *f = fopen(in_scratch("state/sessions"), "w");

	T_CHECK(f != NULL);
	fprintf(f, "session web.ndz 239.192.70.1 %u\n", port);
	T_CHECK(fclose(f) == 0);
}

/* Another program has the port of a session with clients, and another session the other group. */
static void
test_keeps_its_group(void)
{
	static const uint8_t group[4] = { 239, 192, 70, 1 };
	struct catalog_entry kept, one = { 0 };
	struct sessions *x;
	struct sessions_place p;
	struct settings s;
	uint16_t port;

	parse_groups(&s, 2);
	int fd = take_port(&port);
	save_session(port);
	T_CHECK(sh("head -c 5000 /dev/zero > kept/web.ndz") == 0);
	T_CHECK(fetched_find(&kept, s.parent_folder, "web.ndz"));
	T_CHECK(catalog_find(&one, &s, "one.ndz", &e) == 0);
	const struct sessions_wish w = { .name = "web.ndz", .entry = &kept },
				   other = { .name = "one.ndz", .entry = &one };
	x = open_sessions(&s);
	uint64_t until = clock_us() + LIMIT_US;
	T_CHECK(sessions_resume(x, &e) == 0);
	T_CHECK(sessions_ask(x, &other, &p, &e) == 0);
	T_CHECK(p.addr[3] == 2);
	while (x->slots[0].tries < 2 && clock_us() < until)
		turn(x);
	T_CHECK(x->slots[0].tries == 2);
	T_CHECK(sessions_find(x, &w, &p) && p.state == SESSIONS_STARTING);
	T_CHECK(memcmp(p.addr, group, sizeof group) == 0);
	sessions_free(x);
	close(fd);
	catalog_entry_free(&kept);
	catalog_entry_free(&one);
	settings_free(&s);
}

/* Another server has the first 200 groups.  A session passes them in a few tries, and the next one begins
 * beside it. */
static void
test_passes_others(void)
{
	enum { OTHERS = 200, FEW = 10 };
	struct catalog_entry one = { 0 }, two = { 0 };
	struct sessions *x;
	struct settings s;
	uint16_t port;
	int fds[OTHERS];
	char text[1024];

	T_CHECK(sh("rm -f state/sessions; cp images/one.ndz images/two.ndz") == 0);
	fds[0] = take_port(&port);
	for (int i = 1; i < OTHERS; i++) {
		struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(port),
			.sin_addr.s_addr = htonl(UINT32_C(0xefc04601) + (uint32_t)i) };
		fds[i] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		if (bind(fds[i], (struct sockaddr *)&at, sizeof at) != 0)
			T_CHECK(!"bind");
	}
	int n = snprintf(text, sizeof text,
	    "group 239.192.70.1 port=%u\nallow 127.0.0.0/8\nstate %s/state\ninterface lo\n"
	    "images %s/images\n", port, scratch_dir, scratch_dir);
	T_CHECK(settings_parse(&s, text, (size_t)n, "settings", &e) == 0);
	T_CHECK(catalog_find(&one, &s, "one.ndz", &e) == 0);
	T_CHECK(catalog_find(&two, &s, "two.ndz", &e) == 0);
	const struct sessions_wish w1 = { .name = "one.ndz", .entry = &one },
				   w2 = { .name = "two.ndz", .entry = &two };
	struct sessions_place p1, p2;
	x = open_sessions(&s);
	T_CHECK(sessions_ask(x, &w1, &p1, &e) == 0 && becomes(x, &w1, SESSIONS_RUNNING));
	T_CHECK(x->slots[0].elsewhere > 0 && x->slots[0].elsewhere < FEW);
	T_CHECK(sessions_find(x, &w1, &p1) && p1.addr[3] > OTHERS && p1.port == port);
	T_CHECK(sessions_ask(x, &w2, &p2, &e) == 0 && becomes(x, &w2, SESSIONS_RUNNING));
	T_CHECK(sessions_find(x, &w2, &p2) && p2.addr[3] == p1.addr[3] + 1);
	T_CHECK(x->slots[1].elsewhere == 0);
	sessions_free(x);
	for (int i = 0; i < OTHERS; i++)
		close(fds[i]);
	catalog_entry_free(&one);
	catalog_entry_free(&two);
	settings_free(&s);
}

/* How many sessions does this holder have? */
static unsigned
held_by(const struct sessions *x, const char *holder)
{
	unsigned n = 0;

	for (unsigned i = 0; i < SLOTS_MAX; i++)
		for (int k = 0; k < SESSIONS_HOLDERS; k++)
			n += x->slots[i].name != NULL && !x->slots[i].ends &&
			     strcmp(x->slots[i].holder[k], holder) == 0;
	return n;
}

/* Turns until there are so many sessions. */
static bool
remains(struct sessions *x, unsigned n)
{
	uint64_t until = clock_us() + LIMIT_US;

	while (sessions_count(x) != n && clock_us() < until)
		turn(x);
	return sessions_count(x) == n;
}

/* Two hold one image, and each lets go of it; a third one has other options; a holder keeps what it has
 * when the image is replaced, and a new one gets the new one.  The next session has another group. */
static void
test_held(void)
{
	const struct sessions_options none = { 0 }, slow = { .rate = 1000000 };
	struct catalog_entry old = { 0 }, new = { 0 };
	struct sessions_wish w = { .name = "one.ndz", .entry = &old, .options = &none, .holder = "a-1" };
	struct sessions *x;

	T_CHECK(sh("rm -f state/sessions; head -c 5000 /dev/zero > images/one.ndz") == 0);
	T_CHECK(catalog_find(&old, &settings, "one.ndz", &e) == 0);
	x = open_sessions(&settings);
	T_CHECK(sessions_hold(x, &w, &e) == 0 && becomes(x, &w, SESSIONS_RUNNING));
	uint8_t first = x->slots[0].group[3];
	w.holder = "b-1";
	T_CHECK(sessions_hold(x, &w, &e) == 0 && sessions_count(x) == 1);
	w.options = &slow;
	T_CHECK(sessions_hold(x, &w, &e) != 0 && e.kind == ERR_USAGE); /* it has it with others */
	w.holder = "c-1";
	T_CHECK(sessions_hold(x, &w, &e) == 0 && sessions_count(x) == 2);
	w.options = &none;
	T_CHECK(sh("head -c 6000 /dev/zero > new; mv new images/one.ndz") == 0);
	T_CHECK(catalog_find(&new, &settings, "one.ndz", &e) == 0);
	w.entry = &new;
	w.holder = "a-1";
	T_CHECK(sessions_hold(x, &w, &e) == 0 && sessions_count(x) == 2 && held_by(x, "a-1") == 1);
	w.holder = "a-2";
	T_CHECK(sessions_hold(x, &w, &e) == 0 && sessions_count(x) == 3);
	T_CHECK(sessions_release(x, "one.ndz", "a-1", &e) == 0 && held_by(x, "a-1") == 0);
	T_CHECK(held_by(x, "b-1") == 1 && sessions_count(x) == 3);
	T_CHECK(sessions_release(x, "one.ndz", "a-1", &e) != 0 && e.kind == ERR_ABSENT);
	T_CHECK(sessions_release(x, "one.ndz", "b-1", &e) == 0 && remains(x, 2));
	T_CHECK(sessions_release(x, "one.ndz", "c-1", &e) == 0);
	T_CHECK(sessions_release(x, "one.ndz", "a-2", &e) == 0 && remains(x, 0));
	w.holder = "a-3";
	T_CHECK(sessions_hold(x, &w, &e) == 0 && x->slots[0].group[3] == first + 3);
	T_CHECK(becomes(x, &w, SESSIONS_RUNNING) && sessions_release(x, "one.ndz", "a-3", &e) == 0 && remains(x, 0));
	sessions_free(x);
	/* Another one goes on behind it; what was somewhere is there again, unless another session is. */
	x = open_sessions(&settings);
	T_CHECK(sessions_resume(x, &e) == 0 && sessions_hold(x, &w, &e) == 0 && x->slots[0].group[3] == first + 4);
	memcpy(w.group, x->slots[0].group, 4);
	w.group[3] += 7;
	w.port = 5557;
	w.holder = "a-4";
	w.options = &slow;
	T_CHECK(sessions_hold(x, &w, &e) == 0 && x->slots[1].group[3] == first + 11 && x->slots[1].port == 5557);
	const struct sessions_options slower = { .rate = 500000 };
	w.options = &slower;
	w.holder = "a-5";
	T_CHECK(sessions_hold(x, &w, &e) == 0 && x->slots[2].group[3] == first + 12);
	w.group[0] = 10;
	const struct sessions_options slowest = { .rate = 50000 };
	w.options = &slowest;
	T_CHECK(sessions_release(x, "one.ndz", "a-5", &e) == 0);
	T_CHECK(sessions_hold(x, &w, &e) == 0 && x->slots[3].group[3] == first + 13);
	sessions_free(x);
	catalog_entry_free(&old);
	catalog_entry_free(&new);
}

/* As many as can hold one session do, and all of them are there after a restart.  A restart while a
 * session ends, which nobody holds any more, does not begin it again. */
static void
test_many_holders(void)
{
	struct sessions_options key = { .rate = 1000000 };
	struct catalog_entry one = { 0 };
	struct sessions_wish w = { .name = "one.ndz", .entry = &one, .options = &key };
	char label[SESSIONS_HOLDER_BYTES];
	struct sessions *x;

	memset(key.group_key, '%', MASTER_NAME_MAX); /* takes three bytes for each */
	T_CHECK(catalog_find(&one, &settings, "one.ndz", &e) == 0);
	x = open_sessions(&settings);
	w.holder = label;
	for (unsigned i = 0; i <= SESSIONS_HOLDERS; i++) {
		snprintf(label, sizeof label, "0123456789abcdef-%06u", i);
		T_CHECK(sessions_hold(x, &w, &e) == (i < SESSIONS_HOLDERS ? 0 : -1));
	}
	T_CHECK(e.kind == ERR_REFUSED);
	x->slots[0].port = 5555;
	T_CHECK(state_save(x, &e) == 0);
	sessions_free(x);
	x = open_sessions(&settings);
	T_CHECK(sessions_resume(x, &e) == 0 && sessions_count(x) == 1);
	for (unsigned i = 0; i < SESSIONS_HOLDERS; i++) {
		snprintf(label, sizeof label, "0123456789abcdef-%06u", i);
		T_CHECK(held_by(x, label) == 1);
	}
	T_CHECK(strlen(x->slots[0].options.group_key) == MASTER_NAME_MAX && !x->slots[0].asked);
	for (unsigned i = 0; i < SESSIONS_HOLDERS; i++) {
		snprintf(label, sizeof label, "0123456789abcdef-%06u", i);
		T_CHECK(sessions_release(x, "one.ndz", label, &e) == 0);
	}
	T_CHECK(sessions_count(x) == 1);
	sessions_free(x);
	x = open_sessions(&settings);
	T_CHECK(sessions_resume(x, &e) == 0 && sessions_count(x) == 0);
	sessions_free(x);
	T_CHECK(sh("rm -f state/sessions") == 0);
	catalog_entry_free(&one);
}

/* The catalogue of images needs openat2(2), which Linux before 5.6 and QEMU's emulation before 9 lack. */
static bool
has_openat2(void)
{
	return syscall(SYS_openat2, -1, NULL, NULL, 0) == 0 || errno != ENOSYS;
}

/* Is the program that serves a session here? */
static bool
has_frisbeed(void)
{
	const char *bin = getenv("BIN");

	snprintf(program, sizeof program, "%s/frisbeed", bin != NULL ? bin : "build/bin");
	return access(program, X_OK) == 0;
}

int
main(void)
{
	if (!has_openat2() || !has_frisbeed()) {
		puts("there is no openat2(2) or no frisbeed here");
		return 77;
	}
	scratch_init();
	log_open("test", true, LOG_LEVEL_ERR);
	make_settings();
	test_begun_again();
	test_killed();
	test_failed_keeps_no_group();
	test_held();
	test_many_holders();
	test_keeps_its_group();
	test_passes_others();
	test_replaced("ln -sf ../elsewhere images/two.ndz");
	test_replaced("mv elsewhere images/two.ndz");
	settings_free(&settings);
	return t_done();
}
