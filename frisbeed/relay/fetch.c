/* fetch.c: fetches images of a parent master (fetch.h).  frisbeed's daemon.c begins it
 * in the program's first thread, and mfrisbeed asks in threads of its own; keep() runs
 * in the thread of the load. */
#include "frisbeed/relay/fetch.h"

#include <errno.h>
#include <fcntl.h>
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

enum {
	TRY_AGAIN_US = 2000000, /* a parent that is restarted is there again after seconds */
	/* After this silence a load ends, and the parent is asked again, since it may
	 * serve the image elsewhere by now. */
	SILENCE_S = 30,
};
/* How long a parent may tell us to try again: its own parent may just be sending the
 * image. */
#define PATIENCE_US UINT64_C(60000000)

/* Asks with the token that is in its file now.  Without one the parent is not asked: whoever needs a
 * token must not be taken for somebody who has none. */
static int
ask_parent(const struct fetch_parent *p, const struct master_get *m,
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
fetch_ask(const struct fetch_parent *p, const char *name, bool status_only,
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

int64_t
fetch_mtime(const struct master_get_reply *r)
{
	struct rd at = rd_from(r->signature.bytes, sizeof r->signature.bytes);

	return r->signature.type == MASTER_SIGNATURE_MTIME ? (int64_t)rd_be32(&at) : 0;
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
new_fetched(const char *name, const char *place, int64_t mtime)
{
	struct fetched *f = calloc(1, sizeof *f);

	if (f == NULL)
		return NULL;
	f->name = strdup(name);
	f->place = strdup(place);
	f->mtime = mtime;
	if (asprintf(&f->arriving, "%s%s%d", place, FETCH_ARRIVING, (int)getpid()) < 0)
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

static int
rest(struct err *e)
{
	timed_pause(clock_us() + TRY_AGAIN_US);
	return cancel_check(e);
}

/* Asks the parent at which group and port it serves the image, repeatedly while the reply
 * is to try again. */
static int
locate(const struct fetch_parent *p, const char *name, struct master_get_reply *r,
    struct err *e)
{
	uint64_t until = clock_us() + PATIENCE_US;

	while (fetch_ask(p, name, false, r, e) != 0) {
		if (e->kind == ERR_REFUSED && clock_us() >= until)
			e->kind = ERR_IO; /* it was asked often enough */
		if (e->kind != ERR_REFUSED)
			return -1;
		if (rest(e) != 0)
			return -1;
	}
	if (ask_check_place(r, MASTER_MULTICAST, e) != 0)
		return err_ctx(e, "%s: the answer of the parent %s", name, p->host);
	return 0;
}

int
fetch_begin(struct source *s, const struct fetch_parent *p, const char *name,
    const char *place, uint64_t *bytes, int64_t *mtime, struct err *e)
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
	*mtime = fetch_mtime(&r);
	struct fetched *f = new_fetched(name, place, *mtime);
	if (f == NULL)
		return err_nomem(e, name);
	c.arg = f;
	char *path = strdup(f->arriving); /* the load may end, and free `f`, at any time */
	int rc = path != NULL ? source_of_load(s, &c, path, r.bytes, e) : err_nomem(e, name);
	if (rc != 0)
		free_fetched(f);
	free(path);
	return rc;
}
