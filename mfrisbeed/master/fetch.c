/* fetch.c: fetches images of the parent master (fetch.h).  parents.c asks in threads of its own,
 * slots.c fetches in the thread that starts a session, and sessions.c calls the rest in the
 * master's first thread; keep() runs in the thread of the load. */
#include "mfrisbeed/master/fetch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/keyfile.h"
#include "common/base/log.h"
#include "common/base/rd.h"
#include "common/base/replace.h"
#include "common/base/timed.h"
#include "common/net/ask.h"
#include "common/net/netopts.h"
#include "common/wire/addr.h"
#include "frisbee/load/load_source.h"
#include "mfrisbeed/master/names.h"

enum {
	TRY_AGAIN_S = 2,  /* a parent that is restarted is there again after seconds */
	/* After this silence a load ends, and the parent is asked again, since it may serve the
	 * image elsewhere by now. */
	SILENCE_S = 30,
};
/* How long a parent may tell us to try again: its own parent may just be sending the image. */
#define PATIENCE_US UINT64_C(60000000)
/* Part of the name of a file that still arrives.  No encoded name has it (names.h). */
static const char arriving[] = "%arriving-";
enum { NUMBER_DIGITS = 10 };

/* Asks with the token that is in its file now.  Without one the parent is not asked: whoever needs a
 * token must not be taken for somebody who has none. */
static int
ask_parent(const struct settings_parent *p, const struct master_get *m,
    struct master_get_reply *r, struct err *e)
{
	uint8_t token[MASTER_TOKEN_BYTES];

	if (p->token_file[0] == '\0')
		return ask_get(p->host, m, NULL, r, e);
	int rc = keyfile_read_secret(p->token_file, KEYFILE_TOKEN, token, e);
	if (rc == 0)
		rc = ask_get(p->host, m, token, r, e);
	explicit_bzero(token, sizeof token);
	return rc;
}

int
fetch_ask(const struct settings_parent *p, const char *name, bool status_only,
    struct master_get_reply *r, struct err *e)
{
	struct master_get m = { .methods = MASTER_MULTICAST, .status_only = status_only };

	strcpy(m.name, name);
	if (ask_parent(p, &m, r, e) != 0)
		return -1;
	if (r->error == MASTER_OK)
		return 0;
	return err_set(e,
	    r->error == MASTER_NO_IMAGE    ? ERR_ABSENT
	    : r->error == MASTER_TRY_AGAIN ? ERR_REFUSED
					   : ERR_UNSUPPORTED,
	    "%s: the parent %s %s", name, p->host, master_error_text(r->error));
}

static int64_t
mtime_of(const struct master_get_reply *r)
{
	struct rd at = rd_from(r->signature.bytes, sizeof r->signature.bytes);

	return r->signature.type == MASTER_SIGNATURE_MTIME ? (int64_t)rd_be32(&at) : 0;
}

static int
place_of(char **path, const char *folder, const char *name, struct err *e)
{
	char file[NAMES_ENCODED_BYTES];

	names_encode(name, file);
	if (strlen(file) + sizeof arriving + NUMBER_DIGITS > NAME_MAX)
		return err_set(e, ERR_USAGE,
		    "%s: the name is too long for a file that the parent's image is kept in",
		    name);
	return asprintf(path, "%s/%s", folder, file) < 0 ? err_nomem(e, name) : 0;
}

int
fetch_entry(struct catalog_entry *x, const char *folder, const char *name,
    const struct master_get_reply *r, struct err *e)
{
	*x = (struct catalog_entry){ .at_parent = true,
		.bytes = r->bytes,
		.mtime = mtime_of(r) };
	return place_of(&x->place, folder, name, e);
}

bool
fetch_kept(struct catalog_entry *x, const char *folder, const char *name)
{
	struct err ignored;
	struct stat st;

	*x = (struct catalog_entry){ .at_parent = true };
	if (place_of(&x->place, folder, name, &ignored) != 0)
		return false;
	if (stat(x->place, &st) != 0 || !S_ISREG(st.st_mode)) {
		catalog_entry_free(x);
		return false;
	}
	x->bytes = (uint64_t)st.st_size;
	x->mtime = st.st_mtim.tv_sec;
	return true;
}

/* An image of which the time is not known, as an image of a store, may change without notice, and
 * never counts as whole. */
bool
fetch_is_whole(const struct catalog_entry *x)
{
	struct stat st;

	return x->mtime != 0 && stat(x->place, &st) == 0 && S_ISREG(st.st_mode) &&
	       (uint64_t)st.st_size == x->bytes && st.st_mtim.tv_sec == x->mtime;
}

/* What keep() needs to know when the load ends. */
struct fetched {
	char *name, *arriving, *place;
	int64_t mtime;
};

static void
free_fetched(struct fetched *f)
{
	if (f == NULL)
		return;
	free(f->name);
	free(f->arriving);
	free(f->place);
	free(f);
}

static struct fetched *
new_fetched(const char *name, const char *place, unsigned number, int64_t mtime)
{
	struct fetched *f = calloc(1, sizeof *f);

	if (f == NULL)
		return NULL;
	f->name = strdup(name);
	f->place = strdup(place);
	f->mtime = mtime;
	if (asprintf(&f->arriving, "%s%s%u", place, arriving, number) < 0)
		f->arriving = NULL;
	if (f->name != NULL && f->place != NULL && f->arriving != NULL)
		return f;
	free_fetched(f);
	return NULL;
}

/* The load has ended: a whole image gets its time and its name. */
static void
keep(void *arg, int rc, const struct err *why)
{
	struct fetched *f = arg;
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = f->mtime } };
	struct err e;

	if (rc != 0)
		log_warn("image was not fetched from the parent name=%s: %s", f->name,
		    why->text);
	else if (f->mtime != 0 && utimensat(AT_FDCWD, f->arriving, times, 0) != 0)
		log_warn("image was fetched but not kept name=%s: %s: %s", f->name,
		    f->arriving, strerror(errno));
	else if (replace_name(f->arriving, f->place, 0, &e) != 0)
		log_warn("image was fetched but not kept name=%s: %s", f->name, e.text);
	else
		log_info("image was fetched from the parent name=%s", f->name);
	free_fetched(f);
}

int
fetch_pause(unsigned seconds, struct err *e)
{
	timed_pause(clock_us() + seconds * UINT64_C(1000000));
	return cancel_check(e);
}

/* Asks the parent at which group and port it serves the image, repeatedly while the reply
 * is to try again. */
static int
locate(const struct settings_parent *p, const char *name, struct master_get_reply *r,
    struct err *e)
{
	uint64_t until = clock_us() + PATIENCE_US;

	while (fetch_ask(p, name, false, r, e) != 0) {
		if (e->kind == ERR_REFUSED && clock_us() >= until)
			e->kind = ERR_IO; /* it was asked often enough */
		if (e->kind != ERR_REFUSED)
			return -1;
		if (fetch_pause(TRY_AGAIN_S, e) != 0)
			return -1;
	}
	if (ask_check_place(r, MASTER_MULTICAST, e) != 0)
		return err_ctx(e, "%s: the answer of the parent %s", name, p->host);
	return 0;
}

int
fetch_begin(struct source *s, const struct settings_parent *p, const char *name,
    const char *place, unsigned number, uint64_t *bytes, int64_t *mtime, struct err *e)
{
	struct load_config c = { .has_server = true,
		.silence_us = SILENCE_S * UINT64_C(1000000),
		.ended = keep };
	char addr[ADDR_TEXT_MAX], port[8];
	struct net_options net = { .addr = addr, .port = port };
	struct master_get_reply r;

	if (locate(p, name, &r, e) != 0)
		return -1;
	net.iface = p->iface[0] != '\0' ? p->iface : NULL;
	addr_text(r.addr, addr);
	snprintf(port, sizeof port, "%u", r.port);
	memcpy(c.server, r.server, sizeof c.server);
	if (net_options_resolve(&net, &c.net, e) != 0)
		return -1;
	*bytes = r.bytes;
	*mtime = mtime_of(&r);
	struct fetched *f = new_fetched(name, place, number, *mtime);
	if (f == NULL)
		return err_nomem(e, name);
	c.arg = f;
	char *path = strdup(f->arriving); /* the load may end, and free `f`, at any time */
	int rc = path != NULL ? source_of_load(s, &c, path, e) : err_nomem(e, name);
	if (rc != 0)
		free_fetched(f);
	free(path);
	return rc;
}

int
fetch_clean(const char *folder, struct err *e)
{
	DIR *d = opendir(folder);
	struct dirent *x;

	if (d == NULL)
		return err_os(e, "%s", folder);
	while ((x = readdir(d)) != NULL)
		if (strstr(x->d_name, arriving) != NULL)
			(void)unlinkat(dirfd(d), x->d_name, 0);
	closedir(d);
	return 0;
}
