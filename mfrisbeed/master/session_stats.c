/* session_stats.c: reads what a session's frisbeed says of itself (session_stats.h).  slots.c calls
 * this in the master's first thread, and servers.c in the controller's. */
#include "mfrisbeed/master/session_stats.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/child.h"
#include "common/base/jtree.h"
#include "common/wire/addr.h"

enum { STATS_BYTES_MAX = 16 << 20 };

/* A number that is not negative, or 0. */
static double
number(const struct jtree *o, const char *key)
{
	double v = jtree_number(jtree_get(o, key), 0);

	return v > 0 && v < 1e15 ? v : 0;
}

static double
share(const struct jtree *o, const char *key)
{
	double v = number(o, key);

	return v < 1 ? v : 1;
}

static bool
is(const struct jtree *o, const char *key, const char *text)
{
	const char *has = jtree_text(jtree_get(o, key));

	return has != NULL && strcmp(has, text) == 0;
}

static enum history_outcome
outcome(const struct jtree *load)
{
	enum history_outcome o = HISTORY_DONE;

	while (o < HISTORY_GONE && !is(load, "outcome", history_outcome_name(o)))
		o++;
	return o; /* any other word is that of a client that is gone */
}

/* False: it has no address. */
static bool
read_client(const struct jtree *c, struct session_stats_client *out)
{
	const char *address = jtree_text(jtree_get(c, "address"));
	const struct jtree *last = jtree_get(c, "last_load");
	struct err ignored;

	*out = (struct session_stats_client){ .ending = (uint32_t)number(last, "number"),
		.how = outcome(last),
		.began_us = (uint64_t)number(last, "began_us"),
		.ended_us = (uint64_t)number(last, "ended_us"),
		.seconds = (uint32_t)number(last, "seconds"),
		.bytes_written = (uint64_t)number(last, "bytes_written"),
		.loading = number(c, "joins") > 0 && !jtree_true(jtree_get(c, "has_left")) &&
		           !is(c, "state", "gone"),
		.loading_since_us = (uint64_t)number(c, "began_us"),
		.heard_us = (uint64_t)number(c, "heard_us"),
		.progresses = jtree_is(jtree_get(c, "progress")) == JTREE_NUMBER,
		.progress = share(c, "progress"),
		.rate = number(c, "rate_bits_per_s"),
		.share_lost = share(c, "share_lost"),
		.seconds_left = number(c, "seconds_left"),
		.silence_s = number(c, "silence_s"),
		.slow_link = is(c, "state", "slow link") || is(c, "state", "set aside"),
		.slow_disk = is(c, "state", "slow disk") };
	return address != NULL && addr_parse(address, out->ip, &ignored) == 0;
}

/* Tells of each client. */
static void
read_clients(const struct jtree *clients, struct session_stats *out,
    void (*client)(void *arg, const struct session_stats_client *), void *arg)
{
	struct session_stats_client c;
	double lost = 0;
	unsigned n = 0;

	for (size_t i = 0; i < jtree_count(clients); i++) {
		if (!read_client(jtree_at(clients, i), &c))
			continue;
		lost += c.progresses ? c.share_lost : 0;
		n += c.progresses;
		client(arg, &c);
	}
	out->share_lost = n > 0 ? lost / n : 0;
}

static void
read_map(const struct jtree *s, char map[SESSION_STATS_MAP_BYTES])
{
	const char *text = jtree_text(jtree_get(s, "chunk_map"));
	size_t n = text != NULL ? strlen(text) : 0;

	if (n < SESSION_STATS_MAP_BYTES && n > 0 && strspn(text, "0123456789abcdef") == n)
		memcpy(map, text, n + 1);
}

static void
read_all(const struct jtree *all, struct session_stats *out,
    void (*client)(void *arg, const struct session_stats_client *), void *arg)
{
	const struct jtree *s = jtree_at(jtree_get(all, "sessions"), 0);
	const char *error = jtree_text(jtree_get(all, "error"));
	const char *where = jtree_text(jtree_get(s, "address"));
	const char *colon = where != NULL ? strrchr(where, ':') : NULL;

	*out = (struct session_stats){ .bytes = (uint64_t)number(all, "image_bytes"),
		.mtime = (int64_t)number(all, "image_time") };
	out->clients_known = (uint32_t)number(s, "clients_known");
	out->clients_done = (uint32_t)number(s, "clients_done");
	out->chunks = (uint64_t)number(s, "chunks");
	out->blocks_sent = (uint64_t)number(s, "blocks_sent");
	out->blocks_resent = (uint64_t)number(s, "blocks_resent");
	out->rate = number(s, "rate_bits_per_s");
	read_map(s, out->chunk_map);
	if (error != NULL)
		err_set(&out->err, err_kind_of(jtree_text(jtree_get(all, "kind"))), "%s", error);
	if (colon != NULL)
		out->port = (uint16_t)strtoul(colon + 1, NULL, 10);
	/* A session that has failed may have been opened; its counters tell then. */
	out->serves = out->port != 0 && (is(s, "state", "open") || is(s, "state", "serving") ||
	                                    is(s, "state", "ended") || number(s, "seconds") > 0);
	read_clients(jtree_get(s, "clients"), out, client, arg);
}

static int
read_text(const char *path, char **text, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0 && errno == ENOENT)
		return err_set(e, ERR_ABSENT, "%s: there is none", path);
	if (fd < 0)
		return err_os(e, "%s", path);
	int rc = child_read_answer(fd, path, STATS_BYTES_MAX, text, e);
	close(fd);
	return rc;
}

int
session_stats_parse(const char *text, size_t bytes, struct session_stats *out,
    void (*client)(void *arg, const struct session_stats_client *), void *arg, struct err *e)
{
	struct jtree *all;

	if (jtree_read(&all, text, bytes, e) != 0)
		return -1;
	read_all(all, out, client, arg);
	jtree_free(all);
	return 0;
}

int
session_stats_read(const char *path, struct session_stats *out,
    void (*client)(void *arg, const struct session_stats_client *), void *arg, struct err *e)
{
	char *text;

	if (read_text(path, &text, e) != 0)
		return -1;
	int rc = session_stats_parse(text, strlen(text), out, client, arg, e);
	free(text);
	return rc == 0 ? 0 : err_ctx(e, "%s", path);
}
