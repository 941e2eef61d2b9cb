/* slots.c: one session, from its start to its end (slots.h).  start() runs in a thread of
 * its own for each start, because opening an image, and asking whether another server has
 * its group, takes a quarter of a second and more.  sessions.c calls the rest, in the
 * master's first thread. */
#include "mfrisbeed/master/slots.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/base/log.h"
#include "common/wire/addr.h"
#include "mfrisbeed/master/fetch.h"

void
slot_group(const struct settings *s, uint32_t index, uint8_t group[4])
{
	uint32_t first;

	memcpy(&first, s->group, sizeof first);
	first = htonl(ntohl(first) + index);
	memcpy(group, &first, sizeof first);
}

/* Begins to load an image that only the parent has; the source stays empty when the image is
 * here. */
static int
fetch(struct slot *x, struct source *source, struct err *e)
{
	x->bytes = x->entry.bytes;
	x->mtime = x->entry.mtime;
	if (!x->entry.at_parent || fetch_is_whole(&x->entry))
		return 0;
	if (x->tries > 0 && fetch_pause(x->tries, e) != 0)
		return -1;
	return fetch_begin(source, &x->parent, x->name, x->entry.place,
	    (unsigned)(x - x->of->slots), &x->bytes, &x->mtime, e);
}

static int
serve_slot(struct slot *x, struct err *e)
{
	char addr[ADDR_TEXT_MAX], port[8];
	struct net_options net = { .iface = x->iface[0] != '\0' && !x->unicast ? x->iface
									       : NULL,
		.unicast = x->unicast };
	struct source source = { NULL, NULL };
	struct serve_stats st;
	struct place *p;

	if (fetch(x, &source, e) != 0)
		return -1;
	addr_text(x->group, addr);
	snprintf(port, sizeof port, "%u", x->port);
	net.addr = addr;
	net.port = port;
	if (places_one(&p, x->entry.place, &net, e) != 0) {
		source_close(&source);
		return -1;
	}
	p->store = x->entry.store;
	p->device = x->entry.device;
	p->inode = x->entry.inode;
	int rc = serve_add_source(x->of->serve, p, source.ops != NULL ? &source : NULL,
	    &x->number, e);
	places_free(p, 1);
	if (rc == 0)
		rc = serve_stats(x->of->serve, x->number, &st, e);
	const char *colon = rc == 0 ? strrchr(st.where, ':') : NULL;
	if (colon != NULL)
		x->port_got = (uint16_t)strtoul(colon + 1, NULL, 10);
	return rc;
}

static void *
start(void *arg)
{
	struct slot *x = arg;

	x->err = (struct err){ 0 };
	x->number = 0;
	/* What failed and was tried again with success is no failure. */
	if (serve_slot(x, &x->err) == 0)
		x->err = (struct err){ 0 };
	mailbox_put(x->of->started, SLOT_STARTED, (uint32_t)(x - x->of->slots));
	return NULL;
}

int
slot_start(struct slot *x, struct err *e)
{
	struct cancel *mine = cancel_owner();

	cancel_work_for(&x->of->cancel);
	int rc = thread_start(&x->thread, start, x);
	cancel_work_for(mine);
	if (rc == 0)
		return 0;
	e->os = rc;
	return err_set(e, ERR_IO, "%s: cannot start a thread: %s", x->name, strerror(rc));
}

void
slot_started(struct slot *x)
{
	char addr[ADDR_TEXT_MAX];

	pthread_join(x->thread, NULL);
	if (x->err.kind != ERR_NONE) {
		x->state = SESSIONS_FAILED;
		return;
	}
	x->state = SESSIONS_RUNNING;
	x->not_known = false;
	x->entry.bytes = x->bytes;
	x->entry.mtime = x->mtime;
	x->port = x->port_got;
	log_info("image is served name=%s group=%s port=%u", x->name,
	    addr_text(x->group, addr), x->port);
}

void
slot_clear(struct slot *x)
{
	free(x->name);
	catalog_entry_free(&x->entry);
	*x = (struct slot){ .of = x->of };
}
