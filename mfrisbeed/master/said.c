/* said.c: reads what a session's frisbeed says of itself (said.h).  slots.c calls
 * this, in the master's first thread. */
#include "mfrisbeed/master/said.h"

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

static bool
is(const struct jtree *o, const char *key, const char *text)
{
	const char *has = jtree_text(jtree_get(o, key));

	return has != NULL && strcmp(has, text) == 0;
}

/* A word, and what it stands for; a table ends with NULL, which stands for any other word. */
struct word {
	const char *text;
	int means;
};

static const struct word outcomes[] = { { "done", HISTORY_DONE }, { "failed", HISTORY_FAILED },
	{ "left", HISTORY_LEFT }, { NULL, HISTORY_GONE } };
/* The kinds that make a difference to clients of the master. */
static const struct word kinds[] = { { "absent", ERR_ABSENT }, { "usage", ERR_USAGE },
	{ "refused", ERR_REFUSED }, { NULL, ERR_IO } };

static int
meaning(const struct jtree *o, const char *key, const struct word *table)
{
	while (table->text != NULL && !is(o, key, table->text))
		table++;
	return table->means;
}

/* False: it has no address. */
static bool
read_client(const struct jtree *c, struct said_client *out)
{
	const char *address = jtree_text(jtree_get(c, "address"));
	const struct jtree *last = jtree_get(c, "last_load");
	struct err ignored;

	*out = (struct said_client){ .ending = (uint32_t)number(last, "number"),
		.how = (enum history_outcome)meaning(last, "outcome", outcomes),
		.began_us = (uint64_t)number(last, "began_us"),
		.ended_us = (uint64_t)number(last, "ended_us"),
		.seconds = (uint32_t)number(last, "seconds"),
		.bytes_written = (uint64_t)number(last, "bytes_written"),
		.loading = number(c, "joins") > 0 && !jtree_true(jtree_get(c, "has_left")) &&
		           !is(c, "state", "gone"),
		.loading_since_us = (uint64_t)number(c, "began_us"),
		.heard_us = (uint64_t)number(c, "heard_us") };
	return address != NULL && addr_parse(address, out->ip, &ignored) == 0;
}

static void
read_all(const struct jtree *all, struct said *out,
    void (*client)(void *arg, const struct said_client *), void *arg)
{
	const struct jtree *s = jtree_at(jtree_get(all, "sessions"), 0);
	const char *error = jtree_text(jtree_get(all, "error"));
	const char *where = jtree_text(jtree_get(s, "address"));
	const char *colon = where != NULL ? strrchr(where, ':') : NULL;
	struct said_client c;

	*out = (struct said){ .bytes = (uint64_t)number(all, "image_bytes"),
		.mtime = (int64_t)number(all, "image_time") };
	out->clients_known = (uint32_t)number(s, "clients_known");
	out->clients_done = (uint32_t)number(s, "clients_done");
	out->blocks_sent = (uint64_t)number(s, "blocks_sent");
	out->rate = number(s, "rate_bits_per_s");
	if (error != NULL)
		err_set(&out->err, (enum err_kind)meaning(all, "kind", kinds), "%s",
		    error);
	if (colon != NULL)
		out->port = (uint16_t)strtoul(colon + 1, NULL, 10);
	/* A session that has failed may have been opened; its counters tell then. */
	out->serves = out->port != 0 && (is(s, "state", "open") || is(s, "state", "serving") ||
	                                    is(s, "state", "ended") || number(s, "seconds") > 0);
	const struct jtree *clients = jtree_get(s, "clients");
	for (size_t i = 0; i < jtree_count(clients); i++)
		if (read_client(jtree_at(clients, i), &c))
			client(arg, &c);
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
said_read(const char *path, struct said *out,
    void (*client)(void *arg, const struct said_client *), void *arg, struct err *e)
{
	struct jtree *all;
	char *text;

	if (read_text(path, &text, e) != 0)
		return -1;
	int rc = jtree_read(&all, text, strlen(text), e);
	free(text);
	if (rc != 0)
		return err_ctx(e, "%s", path);
	read_all(all, out, client, arg);
	jtree_free(all);
	return 0;
}
