/* state.c: keeps the list of running sessions in a file for a restarted master, with a line
 * "session NAME GROUP PORT" for each (slots.h).  The file is replaced as a
 * whole.  sessions.c and master.c call it, in the master's first thread. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/base/lock.h"
#include "common/base/number.h"
#include "common/base/path.h"
#include "common/base/replace.h"
#include "common/base/statements.h"
#include "common/wire/addr.h"
#include "common/wire/master.h"
#include "mfrisbeed/master/names.h"
#include "mfrisbeed/master/slots.h"

static int
write_all(const struct sessions *x, struct buf *text, struct err *e)
{
	char group[ADDR_TEXT_MAX], name[NAMES_ENCODED_BYTES];

	for (unsigned i = 0; i < SLOTS_MAX; i++) {
		const struct slot *at = &x->slots[i];
		/* A session that is begun again has a port, and clients that wait there. */
		if (at->name == NULL || at->state == SESSIONS_FAILED || at->port == 0)
			continue;
		names_encode(at->name, name);
		if (statements_write(text, e, "session %s %s %u", name,
			addr_text(at->group, group), at->port) != 0)
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
	int (*each)(void *arg, const char *name, const uint8_t group[4], uint16_t port,
	    struct err *);
	void *arg;
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

static int
take_session(void *arg, const struct statement *l, struct err *e)
{
	const struct reading *r = arg;
	uint8_t group[4];
	uint64_t port;

	if (names_decode(l->words[1], e) != 0 || check_name(l->words[1], e) != 0 ||
	    addr_parse(l->words[2], group, e) != 0 ||
	    number_uint(l->words[3], 1, UINT16_MAX, &port, e) != 0)
		return -1;
	return r->each(r->arg, l->words[1], group, (uint16_t)port, e);
}

int
state_read(const struct settings *s,
    int (*each)(void *arg, const char *name, const uint8_t group[4], uint16_t port,
	struct err *),
    void *arg, struct err *e)
{
	static const struct statement_kind kinds[] = { { "session", 4, 4, take_session },
		{ 0 } };
	struct reading r = { each, arg };
	char path[PATH_BYTES];

	if (path_in(path, s->state, "sessions", e) != 0)
		return -1;
	if (access(path, F_OK) != 0 && errno == ENOENT)
		return 0;
	return statements_read(kinds, &r, path, e);
}
