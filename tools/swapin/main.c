/* main.c: swapin, which asks the controller to load an image onto nodes, and follows them until all
 * is done.  It runs in the program's first thread, the only one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/number.h"
#include "common/base/random_bytes.h"
#include "common/base/say.h"
#include "common/base/timed.h"
#include "common/cli/cli.h"
#include "common/cli/failure.h"
#include "controller/http/token.h"
#include "controller/http/wish.h"
#include "tools/swapin/ask.h"
#include "tools/swapin/show.h"

/* AWAY_S: a controller that is restarted, or its host, answers again within that time. */
enum { AWAY_S = 120, ASK_AGAIN_US = 1000000, SAY_AGAIN_US = 10000000, PATH_BYTES = 100 };

struct opts {
	const char *server, *token_file, *words, *orders;
	uint64_t timeout_s, tries, bandwidth, wait, until, stop, follow;
	bool stream, capture, replace, list, detach, json, quiet;
};

#define AT(field) offsetof(struct opts, field)

static int
take_bandwidth(void *at, const char *arg, struct err *e)
{
	return number_rate(arg, SWAP_BANDWIDTH_MIN, SWAP_BANDWIDTH_MAX, at, e);
}

static const struct cli_opt own_opts[] = {
	{ 'S', "server", "HOST:PORT", "the controller (127.0.0.1:8484)", CLI_STR, AT(server), 0, 0, NULL },
	{ 300, "token-file", "FILE", "the token (/srv/netboot/controller/token)", CLI_STR, AT(token_file), 0, 0, NULL },
	{ 302, "timeout", "S", "end after S seconds; nodes that are not done have failed (7200)", CLI_UINT, AT(timeout_s), SWAP_TIMEOUT_MIN_S, SWAP_TIMEOUT_MAX_S, NULL },
	{ 303, "tries", "N", "try each node N times at most (2)", CLI_UINT, AT(tries), 1, SWAP_TRIES_MAX, NULL },
	{ 304, "words", "WORDS", "further words of the order, such as \"frisbee.hostname=dhcp\"", CLI_STR, AT(words), 0, 0, NULL },
	{ 'W', "bandwidth", "BITS", "send at this rate at most (60M, 1G bits a second)", CLI_CALL, AT(bandwidth), 0, 0, take_bandwidth },
	{ 313, "wait", "N", "do not send before N nodes receive", CLI_UINT, AT(wait), 1, SWAP_NODES_MAX, NULL },
	{ 314, "until", "N", "end when N nodes are done, and do not wait for those that only boot", CLI_UINT, AT(until), 1, SWAP_NODES_MAX, NULL },
	{ 315, "orders", "DIR", "orders of reads are in this folder of the server", CLI_STR, AT(orders), 0, 0, NULL },
	{ 310, "stream", NULL, "start the systems at once, and fill the disks meanwhile", CLI_FLAG, AT(stream), 0, 0, NULL },
	{ 311, "capture", NULL, "make the image IMAGE of the disk of one node", CLI_FLAG, AT(capture), 0, 0, NULL },
	{ 312, "replace", NULL, "with --capture: an image of this name may be there, and is replaced", CLI_FLAG, AT(replace), 0, 0, NULL },
	{ 305, "detach", NULL, "print the number of the session, and do not follow it", CLI_FLAG, AT(detach), 0, 0, NULL },
	{ 306, "list", NULL, "list the running sessions, and the last 100 that have ended", CLI_FLAG, AT(list), 0, 0, NULL },
	{ 307, "follow", "ID", "follow this session, which is running already", CLI_UINT, AT(follow), 1, UINT32_MAX, NULL },
	{ 308, "stop", "ID", "stop this session", CLI_UINT, AT(stop), 1, UINT32_MAX, NULL },
	{ 309, "json", NULL, "print the session as JSON at the end", CLI_FLAG, AT(json), 0, 0, NULL },
	{ 'q', "quiet", NULL, "print only what went wrong", CLI_FLAG, AT(quiet), 0, 0, NULL },
	{ 0 },
};

static const struct cli_program prog = {
	.name = "swapin",
	.synopsis = "[options] NODES IMAGE",
	.about = "Load an image onto nodes: the controller (controllerd) tells them what to do, wakes them,\n"
		 "and sends the image once for all of them.  It ends when each node is done or\n"
		 "has failed.  With --capture, the disk of a node becomes an image.",
	.examples = "  swapin 'node[01-32,40]' ubuntu24.ndz\n"
		    "  swapin --words=\"frisbee.hostname=dhcp frisbee.personalise=machine-id,ssh-keys\" node07 a.ndz\n"
		    "  swapin --stream 'node[01-32]' ubuntu24.ndz\n"
		    "  swapin --capture node01 ubuntu24.ndz\n"
		    "  swapin --list\n"
		    "  swapin --stop=7\n",
	.tables = { { own_opts, 0, NULL } },
};

/* Make the call, and repeat it for up to AWAY_S while the controller does not answer: it may
 * be restarting.  The controller starts no second session for the same request. */
static int
ask_again(const struct opts *o, const struct ask *a, const char *path, const char *body,
    struct jtree **out, struct err *e)
{
	uint64_t until_us = clock_us() + AWAY_S * UINT64_C(1000000), say_us = 0;

	for (;;) {
		int rc = ask_controller(a, path, body, out, e);
		if (rc == 0 || e->os == 0 || clock_us() >= until_us)
			return rc;
		if (!o->quiet && clock_us() >= say_us) {
			show_away(e->text, (until_us - clock_us()) / 1000000);
			say_us = clock_us() + SAY_AGAIN_US;
		}
		timed_pause(clock_us() + ASK_AGAIN_US);
		if (cancel_check(e) != 0)
			return -1;
	}
}

static bool
runs(const struct jtree *s)
{
	const char *state = jtree_text(jtree_get(s, "state"));

	return state != NULL && strcmp(state, "running") == 0;
}

static int
interrupted(uint32_t id, struct err *e)
{
	cancel_check(e);
	return err_add(e, "session %u goes on: swapin --follow=%u or --stop=%u", id, id, id);
}

/* Follow the session until it has ended; *out is the controller's last report of it. */
static int
follow(const struct opts *o, const struct ask *a, uint32_t id, struct jtree **out, struct err *e)
{
	char path[PATH_BYTES];
	struct jtree *before = NULL, *now = NULL;

	snprintf(path, sizeof path, "/api/v1/sessions/%u", id);
	for (;;) {
		if (ask_again(o, a, path, NULL, &now, e) != 0)
			break;
		if (!o->quiet && !o->json)
			show_news(now, before), show_absent(now, before);
		jtree_free(before);
		before = now;
		if (!runs(now)) {
			*out = now;
			return 0;
		}
		timed_pause(clock_us() + ASK_AGAIN_US);
		if (cancel_signal() != 0)
			break;
	}
	jtree_free(before);
	return cancel_signal() != 0 ? interrupted(id, e) : -1;
}

/* Returns 0 only when each node is done, or as many as the session waits for. */
static int
outcome(const struct jtree *s, struct err *e)
{
	const struct jtree *n = jtree_get(s, "nodes");
	const char *state = jtree_text(jtree_get(s, "state"));
	double done = jtree_number(jtree_get(n, "done"), 0), total = jtree_number(jtree_get(n, "total"), 0);

	if (state != NULL && strcmp(state, "done") == 0)
		return 0;
	return err_set(e, ERR_IO, "session %.0f: %.0f of %.0f nodes are not done", jtree_number(jtree_get(s, "id"), 0), total - done, total);
}

static int
show_whole(const struct opts *o, const struct jtree *s, struct err *e)
{
	int rc = outcome(s, e);

	if (o->json) {
		jtree_print(s, stdout);
		if (rc != 0)
			failure_told(e);
	} else if (!o->quiet) {
		show_end(s);
		fflush(stdout); /* the sentence of a failure comes behind it */
	}
	return rc;
}

static int
follow_to_end(const struct opts *o, const struct ask *a, uint32_t id, struct err *e)
{
	struct jtree *s = NULL;

	if (follow(o, a, id, &s, e) != 0)
		return -1;
	int rc = show_whole(o, s, e);
	jtree_free(s);
	return rc;
}

static char *
body_of(const struct swap_wish *wish)
{
	size_t n;
	struct json *j = json_new();

	wish_write(j, wish);
	return json_text(j, &n);
}

static int
copy(char *to, size_t cap, const char *from, const char *what, struct err *e)
{
	return snprintf(to, cap, "%s", from) < (int)cap ? 0 : err_set(e, ERR_USAGE, "%s: more than %zu characters", what, cap - 1);
}

static int
fill(struct swap_wish *wish, const struct opts *o, char **operands, struct err *e)
{
	uint64_t random;

	wish->timeout_s = o->timeout_s;
	wish->tries = o->tries;
	wish->sending.bandwidth_bits_per_s = o->bandwidth;
	wish->sending.wait = o->wait;
	wish->sending.until = o->until;
	wish->stream = o->stream;
	wish->capture = o->capture;
	wish->replace = o->replace;
	random_bytes(&random, sizeof random);
	snprintf(wish->request, sizeof wish->request, "swapin-%016llx", (unsigned long long)random);
	if (copy(wish->nodes, sizeof wish->nodes, operands[0], "the list of nodes", e) != 0 ||
	    copy(wish->image, sizeof wish->image, operands[1], "the image", e) != 0)
		return -1;
	if (o->words != NULL && copy(wish->words, sizeof wish->words, o->words, "--words", e) != 0)
		return -1;
	return o->orders == NULL ? 0 : copy(wish->sending.orders, sizeof wish->sending.orders, o->orders, "--orders", e);
}

/* Starts a session; *id is its number. */
static int
start(const struct opts *o, const struct ask *a, char **operands, uint32_t *id, struct err *e)
{
	struct swap_wish *wish = calloc(1, sizeof *wish);
	struct jtree *s = NULL;

	if (wish == NULL)
		return err_nomem(e, "a session");
	int rc = fill(wish, o, operands, e);
	char *body = rc == 0 ? body_of(wish) : NULL;
	if (rc == 0 && body == NULL)
		rc = err_nomem(e, "a session");
	if (rc == 0)
		rc = ask_again(o, a, "/api/v1/sessions", body, &s, e);
	if (rc == 0)
		*id = (uint32_t)jtree_number(jtree_get(s, "id"), 0);
	free(wish);
	free(body);
	jtree_free(s);
	return rc;
}

static int
swap_in(const struct opts *o, const struct ask *a, char **operands, struct err *e)
{
	uint32_t id = 0;

	if (start(o, a, operands, &id, e) != 0)
		return -1;
	if (o->detach) {
		say_text(stdout, "%u\n", id);
		return 0;
	}
	return follow_to_end(o, a, id, e);
}

static int
stop(const struct opts *o, const struct ask *a, struct err *e)
{
	char path[PATH_BYTES];
	struct jtree *s = NULL;

	snprintf(path, sizeof path, "/api/v1/sessions/%u/stop", (unsigned)o->stop);
	if (ask_controller(a, path, "{}", &s, e) != 0)
		return -1;
	if (o->json)
		jtree_print(s, stdout);
	else if (!o->quiet)
		show_end(s);
	jtree_free(s);
	return 0;
}

static int
list(const struct opts *o, const struct ask *a, struct err *e)
{
	struct jtree *all;

	if (ask_controller(a, "/api/v1/sessions", NULL, &all, e) != 0)
		return -1;
	if (o->json)
		jtree_print(all, stdout);
	else
		show_list(jtree_get(all, "sessions"));
	jtree_free(all);
	return 0;
}

static int
act(void *opts, char **operands, int n, struct err *e)
{
	const struct opts *o = opts;
	bool no_operands = o->list || o->stop != 0 || o->follow != 0;
	char token[TOKEN_TEXT_BYTES];
	struct ask a = { .server = o->server };

	if (o->list + (o->stop != 0) + (o->follow != 0) > 1 || n != (no_operands ? 0 : 2))
		return err_misuse(e, "nodes and an image are needed, or one of --list, --follow and --stop");
	if (o->replace && !o->capture)
		return err_misuse(e, "--replace is for --capture");
	if (o->capture && (o->stream || no_operands))
		return err_misuse(e, "--capture is for one node and the name of an image");
	if (o->list)
		return list(o, &a, e);
	if (o->follow != 0)
		return follow_to_end(o, &a, (uint32_t)o->follow, e);
	if (token_first(o->token_file, token, e) != 0)
		return err_ctx(e, "the token (--token-file), which controllerd makes when it first runs");
	a.token = token;
	return o->stop != 0 ? stop(o, &a, e) : swap_in(o, &a, operands, e);
}

int
main(int argc, char **argv)
{
	struct opts o = { .server = "127.0.0.1:8484",
		.token_file = "/srv/netboot/controller/token",
		.timeout_s = SWAP_TIMEOUT_S,
		.tries = SWAP_TRIES };

	return cli_main(&prog, argc, argv, &o, act);
}
