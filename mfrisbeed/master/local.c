/* local.c: requests of programs of this host, and their answers (local.h).  master.c
 * calls this, in the master's first thread; main.c listens before it. */
#include "mfrisbeed/master/local.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/hostport.h"
#include "common/base/log.h"
#include "common/base/number.h"
#include "common/base/statements.h"
#include "common/net/accepting.h"
#include "common/net/border.h"
#include "common/wire/addr.h"
#include "mfrisbeed/master/names.h"
#include "mfrisbeed/master/note.h"
#include "mfrisbeed/master/slots.h"
#include "mfrisbeed/master/storelist.h"

/* ANSWERED: by more than that it is done. */
enum { CALLERS_MAX = 32, FIRST_US = 10000000, ANSWERED = 2 };

struct local_caller {
	struct caller caller;
	size_t have;
	char in[LOCAL_LINE_BYTES];
	bool greeted, watches;
	bool waits; /* until the parent has answered, the store, or the history, to be told about `asked` */
	uint64_t ticket; /* of a question to the history; 0: it has asked the parent or the store */
	struct local_request asked;
	uint64_t told; /* sessions_changes() when it was told last */
	struct buf out;
	size_t sent;
};

struct local {
	struct border *border;
	const struct settings *settings;
	struct sessions *sessions;
	struct parents *parents;
	struct history *history;
	struct storelist *stored;
	uint64_t last_ticket;
};

/* --- what is asked --- */

static int
take_version(void *arg, const struct statement *l, struct err *e)
{
	struct local_request *q = arg;

	q->what = LOCAL_VERSION_IS;
	return number_uint(l->words[1], 1, UINT32_MAX, &q->version, e);
}

/* Takes the name of an image. */
static int
take_name(struct local_request *q, char *word, struct err *e)
{
	size_t n;

	if (names_decode(word, e) != 0)
		return -1;
	n = strlen(word);
	if (n < 1 || n > MASTER_NAME_MAX)
		return err_set(e, ERR_USAGE, "a name has 1 to %d bytes", MASTER_NAME_MAX);
	memcpy(q->name, word, n + 1);
	return 0;
}

/* Takes the word at=GROUP:PORT.  1: it was one; 0: it is none; -1: ERR_USAGE. */
static int
take_at(struct local_request *q, const char *word, struct err *e)
{
	const char *value = statement_value(word, "at");
	struct hostport at;

	if (value == NULL)
		return 0;
	if (hostport_read(&at, value, 1, 0, e) != 0 || addr_parse(at.host, q->group, e) != 0)
		return -1;
	q->port = at.port;
	return at.port != 0 ? 1 : err_set(e, ERR_USAGE, "%s names no port", word);
}

/* Takes the words behind the name of an image. */
static int
take_words(struct local_request *q, const struct statement *l, bool options, struct err *e)
{
	for (size_t i = 2; i < l->n; i++) {
		const char *holder = statement_value(l->words[i], "holder");
		int rc = options ? state_option(&q->options, l->words[i], e) : 0;
		if (rc == 0 && options)
			rc = take_at(q, l->words[i], e);
		if (rc < 0)
			return -1;
		if (rc > 0)
			continue;
		if (holder == NULL || !sessions_is_holder(holder))
			return statement_unknown(l, i, e);
		strcpy(q->holder, holder);
	}
	if (q->holder[0] == '\0')
		return err_set(e, ERR_USAGE, "it says no holder=");
	return 0;
}

static int
take_hold(void *arg, const struct statement *l, struct err *e)
{
	struct local_request *q = arg;

	q->what = strcmp(l->words[0], "begin") == 0 ? LOCAL_BEGIN : LOCAL_END;
	return take_name(q, l->words[1], e) == 0 ? take_words(q, l, q->what == LOCAL_BEGIN, e) : -1;
}

static int
take_members(void *arg, const struct statement *l, struct err *e)
{
	struct local_request *q = arg;
	const char *holder = statement_value(l->words[1], "holder");

	if (holder == NULL || !sessions_is_holder(holder))
		return statement_unknown(l, 1, e);
	q->what = LOCAL_MEMBERS;
	strcpy(q->holder, holder);
	return 0;
}

static int
take_word(void *arg, const struct statement *l, struct err *e)
{
	struct local_request *q = arg;
	(void)e;

	q->what = strcmp(l->words[0], "watch") == 0 ? LOCAL_WATCH : LOCAL_IMAGES;
	return 0;
}

static const struct statement_kind kinds[] = { { "version", 2, 2, take_version },
	{ "begin", 3, STATEMENT_WORDS_MAX, take_hold }, { "end", 3, 3, take_hold },
	{ "watch", 1, 1, take_word }, { "images", 1, 1, take_word }, { "members", 2, 2, take_members },
	{ 0 } };
static const char note[] = "note ";

int
local_read(struct local_request *q, const char *text, size_t bytes, struct err *e)
{
	*q = (struct local_request){ .what = LOCAL_NOTHING };
	if (memchr(text, '\n', bytes) != NULL)
		return err_set(e, ERR_USAGE, "request: it has several lines");
	if (bytes >= sizeof note && memcmp(text, note, sizeof note - 1) == 0) {
		q->what = LOCAL_NOTE;
		return note_read(&q->note, text + sizeof note - 1, bytes - (sizeof note - 1), e);
	}
	if (statements_parse(kinds, q, text, bytes, "request", e) != 0)
		return -1;
	return q->what != LOCAL_NOTHING
	           ? 0
	           : err_set(e, ERR_USAGE, "request: there is nothing in it");
}

/* --- what is answered --- */

static void
write_some(struct local_caller *c)
{
	ssize_t n = 0;

	if (c->out.len > c->sent)
		n = send(c->caller.watch.fd, c->out.base + c->sent, c->out.len - c->sent,
		    MSG_NOSIGNAL);
	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		shutdown(c->caller.watch.fd, SHUT_RDWR); /* the loop hangs up then */
		n = (ssize_t)(c->out.len - c->sent);
	}
	c->sent += n > 0 ? (size_t)n : 0;
	if (c->sent == c->out.len) {
		buf_free(&c->out);
		c->sent = 0;
	}
	border_want(&c->caller, EPOLLIN | (c->out.len > 0 ? EPOLLOUT : 0));
}

/* Sends a document on one line, and frees it. */
static void
send_json(struct local_caller *c, struct json *j)
{
	size_t n = 0;
	char *text = json_text(j, &n);

	if (text != NULL)
		buf_bytes(&c->out, text, n);
	if (text == NULL || !buf_ok(&c->out))
		shutdown(c->caller.watch.fd, SHUT_RDWR);
	free(text);
	write_some(c);
}

static void
answer(struct local_caller *c, const struct err *e)
{
	struct json *j = json_new();

	json_one_line(j);
	json_object(j, NULL);
	json_bool(j, "ok", e == NULL);
	if (e != NULL)
		json_string(j, "error", e->text);
	json_end(j);
	send_json(c, j);
}

/* Tells a caller that watches what the sessions do, unless it has not taken yet what
 * it was told before. */
static void
tell(struct local *x, struct local_caller *c)
{
	struct json *j;

	if (!c->watches || c->out.len > 0 || c->told == sessions_changes(x->sessions))
		return;
	c->told = sessions_changes(x->sessions);
	j = json_new();
	json_one_line(j);
	json_object(j, NULL);
	sessions_put(x->sessions, j);
	json_end(j);
	send_json(c, j);
}

/* 1: it begins; 0: the parent is being asked for the image; -1: the error says why not. */
static int
begin(struct local *x, const struct local_request *q, struct err *e)
{
	static const uint8_t here[4] = { 127, 0, 0, 1 };
	struct sessions_wish w = { .name = q->name, .options = &q->options, .holder = q->holder, .port = q->port };
	struct catalog_entry entry;

	int rc = parents_image(x->parents, x->settings, q->name, here, &entry, e);
	if (rc <= 0)
		return rc;
	w.entry = &entry;
	memcpy(w.group, q->group, sizeof w.group);
	rc = sessions_hold(x->sessions, &w, e);
	catalog_entry_free(&entry);
	return rc == 0 ? 1 : -1;
}

/* A version tells whether an image is another one now. */
static void
put_image(void *arg, const char *name, const struct catalog_entry *x)
{
	struct json *j = arg;
	char version[32];

	snprintf(version, sizeof version, "%lld", (long long)x->mtime);
	json_object(j, NULL);
	json_string(j, "name", name);
	if (x->store == NULL) {
		json_uint(j, "bytes", x->bytes);
		json_int(j, "modified", x->mtime);
		json_string(j, "version", version);
	} else {
		json_string(j, "store", x->place);
	}
	json_end(j);
}

static void
put_more(struct json *j, bool more, const struct err *away)
{
	json_end(j);
	json_bool(j, "more", more || away->kind != ERR_NONE);
	if (away->kind != ERR_NONE)
		json_string(j, "away", away->text);
	json_end(j);
}

/* Answers with all images, when the store has answered.  Errors of catalog_each(). */
static int
list(struct local *x, struct local_caller *c, struct err *e)
{
	const char *store = x->settings->store;
	const struct buf *stored = NULL;
	struct err away = { .kind = ERR_NONE };
	bool more;

	if (store != NULL && storelist_ask(x->stored, store, c->waits, &stored, &away) == 0)
		return 0;
	struct json *j = json_new();
	json_one_line(j);
	json_object(j, NULL);
	json_bool(j, "ok", true);
	json_array(j, "images");
	if (catalog_each(x->settings, stored, put_image, j, &more, e) != 0) {
		json_free(j);
		return -1;
	}
	put_more(j, more, &away);
	send_json(c, j);
	return ANSWERED;
}

static int
note_load(struct local *x, const struct history_event *v, struct err *e)
{
	return history_note(x->history, v) ? 1 : err_set(e, ERR_IO, "the history takes nothing now");
}

/* Asks for what was noted of a holder's nodes, which is on the disk when it is answered. */
static int
ask_members(struct local *x, struct local_caller *c, const char *holder, struct err *e)
{
	if (x->history == NULL || !history_ask(x->history, holder, x->last_ticket + 1))
		return err_set(e, ERR_IO, "the history does not answer now");
	c->ticket = ++x->last_ticket;
	return 0;
}

/* Answers with what was told of the nodes. */
static void
give_members(struct local_caller *c, const char *told, const struct err *e)
{
	static const char head[] = "{\"ok\": true,\"members\": ", tail[] = "}\n";

	if (told == NULL) {
		answer(c, e);
		return;
	}
	buf_bytes(&c->out, head, sizeof head - 1);
	buf_bytes(&c->out, told, strlen(told));
	buf_bytes(&c->out, tail, sizeof tail - 1);
	if (!buf_ok(&c->out))
		shutdown(c->caller.watch.fd, SHUT_RDWR);
	write_some(c);
}

static int
greet(struct local_caller *c, uint64_t version, struct err *e)
{
	if (version != LOCAL_VERSION)
		return err_set(e, ERR_UNSUPPORTED,
		    "this mfrisbeed understands requests of version %d, not %llu", LOCAL_VERSION,
		    (unsigned long long)version);
	c->greeted = true;
	border_known(&c->caller);
	return 1;
}

/* 1 or ANSWERED: it is done; 0: it has to wait for the parent, the store or the history; -1: the error says why
 * not. */
static int
act(struct local *x, struct local_caller *c, const struct local_request *q, struct err *e)
{
	if (q->what == LOCAL_VERSION_IS)
		return greet(c, q->version, e);
	if (!c->greeted)
		return err_set(e, ERR_USAGE, "request: \"version %d\" comes first", LOCAL_VERSION);
	if (q->what == LOCAL_IMAGES)
		return list(x, c, e);
	if (q->what == LOCAL_NOTE)
		return note_load(x, &q->note, e);
	if (q->what == LOCAL_MEMBERS)
		return ask_members(x, c, q->holder, e);
	if (q->what == LOCAL_BEGIN)
		return begin(x, q, e);
	if (q->what == LOCAL_END)
		return sessions_release(x->sessions, q->name, q->holder, e) == 0 ? 1 : -1;
	c->watches = true;
	c->told = UINT64_MAX;
	return 1;
}

/* Does what is asked, and answers it, unless that has to wait. */
static void
obey(struct local *x, struct local_caller *c)
{
	struct err e;
	int rc = act(x, c, &c->asked, &e);

	c->waits = rc == 0;
	if (!c->waits && rc != ANSWERED)
		answer(c, rc < 0 ? &e : NULL);
	tell(x, c);
}

static void
take_line(struct local *x, struct local_caller *c, const char *line, size_t n)
{
	struct err e;

	if (local_read(&c->asked, line, n, &e) == 0)
		obey(x, c);
	else
		answer(c, &e);
}

/* Takes the whole lines that have come, each when the answer to the one before was taken.  False: a line
 * is too long, or too many have come meanwhile. */
static bool
take_lines(struct local *x, struct local_caller *c)
{
	char *newline;

	while (!c->waits && c->out.len == 0 && (newline = memchr(c->in, '\n', c->have)) != NULL) {
		size_t n = (size_t)(newline - c->in);
		take_line(x, c, c->in, n);
		c->have -= n + 1;
		memmove(c->in, newline + 1, c->have);
	}
	return c->have < sizeof c->in;
}

void
local_again(struct local *x)
{
	for (struct caller *a = x != NULL ? border_first(x->border) : NULL, *next; a != NULL;
	     a = next) {
		struct local_caller *c = (struct local_caller *)a;
		next = a->next;
		if (!c->waits || c->ticket != 0)
			continue;
		obey(x, c);
		if (!take_lines(x, c))
			border_hang_up(a);
	}
}

static void
take_answer(struct local *x, uint64_t ticket, const char *told, const struct err *e)
{
	for (struct caller *a = border_first(x->border), *next; a != NULL; a = next) {
		struct local_caller *c = (struct local_caller *)a;
		next = a->next;
		if (c->ticket != ticket)
			continue;
		c->ticket = 0;
		c->waits = false;
		give_members(c, told, e);
		if (!take_lines(x, c))
			border_hang_up(a);
	}
}

void
local_tell(struct local *x)
{
	uint64_t ticket;
	struct err e;
	char *told;

	if (x == NULL)
		return;
	if (storelist_collect(x->stored))
		local_again(x);
	for (; history_answer(x->history, &ticket, &told, &e); free(told))
		take_answer(x, ticket, told, &e);
	for (struct caller *a = border_first(x->border), *next; a != NULL; a = next) {
		next = a->next;
		tell(x, (struct local_caller *)a);
	}
}

static void
ready(void *arg, struct caller *caller, uint32_t events)
{
	struct local_caller *c = (struct local_caller *)caller;
	ssize_t n;

	if ((events & EPOLLOUT) != 0) {
		write_some(c);
		if (!take_lines(arg, c)) {
			border_hang_up(caller);
			return;
		}
		tell(arg, c);
	}
	if ((events & ~(uint32_t)EPOLLOUT) == 0)
		return;
	n = recv(caller->watch.fd, c->in + c->have, sizeof c->in - c->have, 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		c->have += (size_t)n;
	if (n <= 0 || !take_lines(arg, c))
		border_hang_up(caller);
}

/* --- who asks --- */

static bool
came(void *arg, struct caller *caller)
{
	struct ucred user;
	socklen_t len = sizeof user;
	(void)arg;

	return getsockopt(caller->watch.fd, SOL_SOCKET, SO_PEERCRED, &user, &len) == 0 &&
	       (user.uid == 0 || user.uid == geteuid());
}

static void
gone(void *arg, struct caller *caller)
{
	(void)arg;
	buf_free(&((struct local_caller *)caller)->out);
}

int
local_listen(const char *path, struct err *e)
{
	struct accepting a;
	mode_t was = umask(0077);
	int rc = accepting_path(&a, path, e);

	umask(was);
	return rc == 0 ? a.listener : -1;
}

int
local_new(struct local **out, struct loop *loop, const char *path, int listener,
    const struct settings *settings, struct sessions *sessions, struct parents *parents,
    struct history *history, struct err *e)
{
	struct border_config border = { .what = "local requests",
		.path = path,
		.listener = listener,
		.limits = { CALLERS_MAX, CALLERS_MAX, FIRST_US },
		.caller_bytes = sizeof(struct local_caller),
		.came = came,
		.ready = ready,
		.gone = gone };
	struct local *x = calloc(1, sizeof *x);

	*out = NULL;
	if (x == NULL) {
		close(listener);
		return err_nomem(e, "the local requests");
	}
	*x = (struct local){ .settings = settings, .sessions = sessions, .parents = parents,
		.history = history };
	border.arg = x;
	if (storelist_new(&x->stored, loop, e) != 0 ||
	    border_open(&x->border, loop, &border, e) != 0) {
		storelist_free(x->stored);
		free(x);
		return -1;
	}
	*out = x;
	return 0;
}

void
local_free(struct local *x)
{
	if (x == NULL)
		return;
	border_close(x->border);
	storelist_free(x->stored);
	free(x);
}
