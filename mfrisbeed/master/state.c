/* state.c: keeps the list of running sessions in a file for a restarted master, with a line
 * "session NAME GROUP PORT" for each, and "next INDEX" (slots.h).  The file is replaced as a
 * whole.  sessions.c and master.c call it, in the master's first thread. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/lock.h"
#include "common/base/number.h"
#include "common/base/path.h"
#include "common/base/replace.h"
#include "common/base/statements.h"
#include "common/wire/addr.h"
#include "common/wire/master.h"
#include "frisbeed/server/server.h"
#include "mfrisbeed/master/names.h"
#include "mfrisbeed/master/slots.h"

enum { REST_BYTES = 3600 };

/* The words of holders and options, each behind a blank. */
static void
write_options(const struct slot *x, char out[REST_BYTES])
{
	const struct sessions_options *o = &x->options;
	char name[NAMES_ENCODED_BYTES];
	int n = 0;

	out[0] = '\0';
	for (int i = 0; i < SESSIONS_HOLDERS; i++)
		if (x->holder[i][0] != '\0')
			n += sprintf(out + n, "%s%s", n == 0 ? " holders=" : ",", x->holder[i]);
	if (x->asked)
		n += sprintf(out + n, " asked");
	if (x->begun)
		n += sprintf(out + n, " begun");
	if (o->rate != 0)
		n += sprintf(out + n, " rate=%" PRIu64, o->rate);
	if (o->wait != 0)
		n += sprintf(out + n, " wait=%u", o->wait);
	if (o->until != 0)
		n += sprintf(out + n, " until=%u", o->until);
	names_encode(o->group_key, name);
	if (o->group_key[0] != '\0')
		n += sprintf(out + n, " group-key=%s", name);
	names_encode(o->orders, name);
	if (o->orders[0] != '\0')
		sprintf(out + n, " orders=%s", name);
}

static int
write_all(const struct sessions *x, struct buf *text, struct err *e)
{
	char group[ADDR_TEXT_MAX], name[NAMES_ENCODED_BYTES], rest[REST_BYTES];

	if (x->next_group != 0 && statements_write(text, e, "next %u", x->next_group) != 0)
		return -1;
	for (unsigned i = 0; i < SLOTS_MAX; i++) {
		const struct slot *at = &x->slots[i];
		/* A session that is begun again has a port, and clients that wait there.  One that ends,
		 * because nobody holds it, has not. */
		if (at->name == NULL || at->ends || at->state == SESSIONS_FAILED || at->port == 0)
			continue;
		names_encode(at->name, name);
		write_options(at, rest);
		if (statements_write(text, e, "session %s %s %u%s", name,
			addr_text(at->group, group), at->port, rest) != 0)
			return -1;
	}
	return 0;
}

int
state_save(const struct sessions *x, struct err *e)
{
	struct buf text = { 0 };
	char path[PATH_BYTES];
	int rc = path_in(path, x->settings->state, "sessions", e);

	if (rc == 0)
		rc = write_all(x, &text, e);
	if (rc == 0)
		rc = replace_file(path, text.base, text.len, 0644, 0, e);
	buf_free(&text);
	return rc;
}

int
state_lock(const struct settings *s, struct err *e)
{
	char path[PATH_BYTES];

	if (path_in(path, s->state, "lock", e) != 0)
		return -1;
	int fd;
	lock_file(&fd, path, s->state, "another mfrisbeed uses this folder", e);
	return fd;
}

struct reading {
	int (*each)(void *arg, const struct state_session *, struct err *);
	void *arg;
	uint32_t *next;
};

/* A name in the list must not be longer than in a request, because its users have room
 * for no more bytes. */
static int
check_name(const char *name, struct err *e)
{
	size_t n = strlen(name);

	if (n >= 1 && n <= MASTER_NAME_MAX)
		return 0;
	return err_set(e, ERR_USAGE, "a name has 1 to %d bytes", MASTER_NAME_MAX);
}

/* Takes the name of a file or a folder, which is encoded. */
static int
take_path(char to[MASTER_NAME_MAX + 1], char *text, struct err *e)
{
	if (names_decode(text, e) != 0 || check_name(text, e) != 0)
		return -1;
	strcpy(to, text);
	return 1;
}

static int
take_count(uint32_t *to, const char *text, struct err *e)
{
	uint64_t n;

	if (number_uint(text, 1, SERVER_CLIENTS_MAX, &n, e) != 0)
		return -1;
	*to = (uint32_t)n;
	return 1;
}

int
state_option(struct sessions_options *o, char *word, struct err *e)
{
	char *value = strchr(word, '=');

	if (value == NULL)
		return 0;
	value++;
	if (statement_value(word, "rate") != NULL)
		return number_rate(value, 10000, UINT64_C(1000000000000), &o->rate, e) == 0 ? 1
		                                                                             : -1;
	if (statement_value(word, "wait") != NULL)
		return take_count(&o->wait, value, e);
	if (statement_value(word, "until") != NULL)
		return take_count(&o->until, value, e);
	if (statement_value(word, "group-key") != NULL)
		return take_path(o->group_key, value, e);
	if (statement_value(word, "orders") != NULL)
		return take_path(o->orders, value, e);
	return 0;
}

/* Takes the labels of holders, with commas between them.  False: one is none, or there are too
 * many. */
static bool
take_holders(struct state_session *s, char *list)
{
	char *rest = list, *one;
	unsigned n = 0;

	while ((one = strsep(&rest, ",")) != NULL) {
		if (n == SESSIONS_HOLDERS || !sessions_is_holder(one))
			return false;
		strcpy(s->holder[n++], one);
	}
	return true;
}

/* Takes a word behind the place of a session. */
static int
take_word(struct state_session *s, const struct statement *l, size_t i, struct err *e)
{
	static const char holders[] = "holders=";
	int rc = state_option(&s->options, l->words[i], e);

	if (rc != 0)
		return rc < 0 ? -1 : 0;
	bool asked = strcmp(l->words[i], "asked") == 0, begun = strcmp(l->words[i], "begun") == 0;
	s->asked |= asked;
	s->begun |= begun;
	if (asked || begun)
		return 0;
	if (strncmp(l->words[i], holders, sizeof holders - 1) != 0 ||
	    !take_holders(s, l->words[i] + sizeof holders - 1))
		return statement_unknown(l, i, e);
	return 0;
}

static int
take_session(void *arg, const struct statement *l, struct err *e)
{
	const struct reading *r = arg;
	struct state_session s = { .name = l->words[1] };
	uint64_t port;

	if (names_decode(l->words[1], e) != 0 || check_name(l->words[1], e) != 0 ||
	    addr_parse(l->words[2], s.group, e) != 0 ||
	    number_uint(l->words[3], 1, UINT16_MAX, &port, e) != 0)
		return -1;
	s.port = (uint16_t)port;
	for (size_t i = 4; i < l->n; i++)
		if (take_word(&s, l, i, e) != 0)
			return -1;
	return r->each(r->arg, &s, e);
}

static int
take_next(void *arg, const struct statement *l, struct err *e)
{
	const struct reading *r = arg;
	uint64_t next;

	if (number_uint(l->words[1], 0, UINT32_MAX, &next, e) != 0)
		return -1;
	*r->next = (uint32_t)next;
	return 0;
}

int
state_read(const struct settings *s, uint32_t *next,
    int (*each)(void *arg, const struct state_session *, struct err *), void *arg,
    struct err *e)
{
	static const struct statement_kind kinds[] = {
		{ "session", 4, STATEMENT_WORDS_MAX, take_session }, { "next", 2, 2, take_next }, { 0 }
	};
	struct reading r = { each, arg, next };
	char path[PATH_BYTES];

	if (path_in(path, s->state, "sessions", e) != 0)
		return -1;
	if (access(path, F_OK) != 0 && errno == ENOENT)
		return 0;
	return statements_read(kinds, &r, path, e);
}
