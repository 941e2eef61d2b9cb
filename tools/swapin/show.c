/* show.c: prints sessions for people (show.h).  main.c calls this, in the program's first
 * thread. */
#include "tools/swapin/show.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/base/number.h"
#include "common/base/say.h"
#include "common/base/test_times.h"
#include "common/cli/progress.h"

/* Nodes that do not boot are named after BOOT_S seconds, and each BOOT_AGAIN_S from then on. */
enum { BOOT_S = 30, BOOT_AGAIN_S = 60, NAMES_MAX = 8, NODES_BYTES = 300 };

static const char *const phases[] = { "booting", "loading", "personalising", "capturing", "verifying", "streaming", "usable", "rebooting", NULL };

static const char *
text(const struct jtree *o, const char *key)
{
	const char *t = jtree_text(jtree_get(o, key));

	return t != NULL ? t : "";
}

static double
number(const struct jtree *o, const char *key)
{
	return jtree_number(jtree_get(o, key), 0);
}

/* The node as it was at the call before, or NULL.  Members are in the same order each time. */
static const struct jtree *
same_before(const struct jtree *members, size_t i, const struct jtree *node)
{
	const struct jtree *was = jtree_at(members, i);

	return was != NULL && strcmp(text(was, "name"), text(node, "name")) == 0 ? was : NULL;
}

/* Is the text something else than how far the node is, "41 % of sda is read"? */
static bool
is_news(const char *words)
{
	return words[strspn(words, "0123456789")] != ' ';
}

/* Has the node begun a phase or a try?  One that is captured may have something to say meanwhile,
 * such as that nobody takes its image. */
static bool
has_moved(const struct jtree *session, const struct jtree *node, const struct jtree *was)
{
	const char *words = text(node, "last_words");

	return was == NULL || strcmp(text(node, "phase"), text(was, "phase")) != 0 ||
	       number(node, "try") != number(was, "try") ||
	       (jtree_true(jtree_get(session, "capture")) && is_news(words) &&
		   strcmp(words, text(was, "last_words")) != 0);
}

/* ", 0:41 left", or nothing while that is not known. */
static const char *
left_text(const struct jtree *s, char *buf, size_t cap)
{
	char left[32];
	double seconds = jtree_number(jtree_get(s, "seconds_left"), -1);

	buf[0] = '\0';
	if (seconds >= 0 && seconds < INT32_MAX)
		snprintf(buf, cap, ", %s", human_left((uint64_t)seconds, left, sizeof left));
	return buf;
}

/* What the progress line says of the nodes. */
static void
nodes_text(const struct jtree *s, char *buf, size_t cap)
{
	const struct jtree *n = jtree_get(s, "nodes"), *node = jtree_at(jtree_get(s, "members"), 0);

	if (jtree_true(jtree_get(s, "capture")))
		snprintf(buf, cap, "%s: %s", text(node, "name"), text(node, "phase"));
	else if (jtree_true(jtree_get(s, "stream")))
		snprintf(buf, cap, "%.0f usable, %.0f of %.0f nodes done",
		    number(n, "usable") + number(n, "done"), number(n, "done"), number(n, "total"));
	else
		snprintf(buf, cap, "%.0f of %.0f nodes done", number(n, "done"), number(n, "total"));
}

/* A session that captures has no server; its rate is that of its node. */
static void
show_progress(const struct jtree *s)
{
	bool captures = jtree_true(jtree_get(s, "capture"));
	double bits = number(captures ? s : jtree_get(s, "server"), "rate_bits_per_s");
	char nodes[NODES_BYTES], left[40];

	nodes_text(s, nodes, sizeof nodes);
	progress_line("swapin: %3.0f %%  %s, %.1f Mbit/s%s", floor(number(s, "progress") * 100),
	    nodes, bits / 1e6, left_text(s, left, sizeof left));
}

void
show_news(const struct jtree *s, const struct jtree *before)
{
	const struct jtree *members = jtree_get(s, "members"), *old = jtree_get(before, "members");

	for (size_t i = 0; i < jtree_count(members); i++) {
		const struct jtree *node = jtree_at(members, i);
		if (!has_moved(s, node, same_before(old, i, node)))
			continue;
		const char *words = text(node, "last_words");
		say_text(stderr, "%6.0f s  %s: %s%s%s\n", number(s, "seconds"), text(node,
		    "name"), text(node, "phase"),
		    words[0] != '\0' ? ": " : "", words);
	}
	show_progress(s);
}

void
show_away(const char *why, uint64_t seconds)
{
	say_text(stderr, "%s; it is asked again for %" PRIu64 " s\n", why, seconds);
}

/* How often nodes that do not boot were to be named, this long after the session began. */
static int
times_due(const struct jtree *s)
{
	double first_s = (double)test_time_us("absent", BOOT_S * UINT64_C(1000000)) / 1e6;
	double seconds = number(s, "seconds");

	return seconds < first_s ? 0 : 1 + (int)((seconds - first_s) / BOOT_AGAIN_S);
}

static size_t
name_absent(const struct jtree *members, char *names, size_t cap)
{
	size_t n = 0, used = 0;

	names[0] = '\0';
	for (size_t i = 0; i < jtree_count(members); i++) {
		const struct jtree *node = jtree_at(members, i);
		if (strcmp(text(node, "phase"), "booting") != 0 || n++ >= NAMES_MAX || used >= cap)
			continue;
		int len = snprintf(names + used, cap - used, "%s%s", used > 0 ? ", " : "", text(node, "name"));
		used += len > 0 ? (size_t)len : 0;
	}
	return n;
}

void
show_absent(const struct jtree *s, const struct jtree *before)
{
	char names[NAMES_MAX * 300], more[40] = "";

	if (before == NULL || times_due(s) == times_due(before))
		return;
	size_t n = name_absent(jtree_get(s, "members"), names, sizeof names);
	if (n == 0)
		return;
	if (n > NAMES_MAX)
		snprintf(more, sizeof more, " and %zu more", n - NAMES_MAX);
	say_text(stderr,
	    "%6.0f s  %s%s %s not booted from the network yet: switched on, and set to start from it first? "
		    "docs/controller.md says what to look at\n",
	    number(s, "seconds"), names, more, n == 1 ? "has" : "have");
}

static void
show_failures(const struct jtree *s)
{
	const struct jtree *members = jtree_get(s, "members");

	if (text(s, "away")[0] != '\0')
		say_text(stdout, "%s\n", text(s, "away"));
	for (size_t i = 0; i < jtree_count(members); i++) {
		const struct jtree *node = jtree_at(members, i);
		if (strcmp(text(node, "phase"), "done") != 0)
			say_text(stdout, "%s: %s %s\n", text(node, "name"), text(node,
			    "phase"), text(node, "last_words"));
	}
}

/* Print a line of the table at the end; m is NULL if no node has this time. */
static void
show_measure(const char *name, const struct jtree *m)
{
	if (m != NULL)
		say_text(stdout,
		    "  %-14s median %7.1f s, worst %7.1f s (%s), %.0f node%s\n", name, number(m, "median_s"),
		    number(m, "worst_s"), text(m, "worst"), number(m, "nodes"), number(m, "nodes") == 1 ? "" : "s");
}

void
show_end(const struct jtree *s)
{
	const struct jtree *n = jtree_get(s, "nodes"), *p = jtree_get(s, "phases");

	show_failures(s);
	if (jtree_true(jtree_get(s, "capture")))
		say_text(stdout, "session %.0f: %s: %s of the disk of %s in %.1f s\n",
		    number(s, "id"), text(s, "state"),
		    text(s, "image"), text(s, "nodes_text"), number(s, "seconds"));
	else
		say_text(stdout,
		    "session %.0f: %s: %.0f of %.0f nodes deployed (%.1f %%) in %.1f s\n", number(s, "id"), text(s, "state"),
		    number(n, "done"), number(n, "total"), number(s, "share_deployed") * 100, number(s, "seconds"));
	for (int i = 0; phases[i] != NULL; i++)
		show_measure(phases[i], jtree_get(p, phases[i]));
	show_measure("usable after", jtree_get(s, "usable_after"));
	show_measure("done after", jtree_get(s, "done_after"));
}

void
show_list(const struct jtree *sessions)
{
	say_text(stdout, "%6s  %-8s  %6s  %6s  %6s  %-24s  %s\n", "id", "state", "nodes",
	    "done", "failed", "image", "nodes");
	for (size_t i = 0; i < jtree_count(sessions); i++) {
		const struct jtree *s = jtree_at(sessions, i), *n = jtree_get(s, "nodes");
		say_text(stdout, "%6.0f  %-8s  %6.0f  %6.0f  %6.0f  %-24s  %s\n",
		    number(s, "id"), text(s, "state"), number(n, "total"),
		    number(n, "done"), number(n, "failed"), text(s, "image"), text(s, "nodes_text"));
	}
}
