/* slots.c: one session, from its start to its end.  slot_start() has a thread of its own, since opening an
 * image, and asking whether another server has its group, takes a quarter of a second and more.
 * Everything else runs in the master's first thread. */
#include "mfrisbeed/master/slots.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/base/log.h"
#include "common/wire/addr.h"

void
slot_group(const struct settings *s, uint32_t index, uint8_t group[4])
{
	uint32_t first;

	memcpy(&first, s->group, sizeof first);
	first = htonl(ntohl(first) + index);
	memcpy(group, &first, sizeof first);
}

static int
serve_slot(struct slot *x, struct err *e)
{
	char addr[ADDR_TEXT_MAX], port[8];
	struct net_options net = x->of->each.net;
	struct serve_stats st;
	struct place *p;

	addr_text(x->group, addr);
	snprintf(port, sizeof port, "%u", x->port);
	net.addr = addr;
	net.port = port;
	if (places_one(&p, x->entry.place, &net, e) != 0)
		return -1;
	p->store = x->entry.store;
	int rc = serve_add(x->of->serve, p, &x->number, e);
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
	serve_slot(x, &x->err);
	mailbox_put(x->of->started, SLOT_STARTED, (uint32_t)(x - x->of->slots));
	return NULL;
}

int
slot_start(struct slot *x, struct err *e)
{
	int rc = thread_start(&x->thread, start, x);

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
		log_warn("image cannot be served name=%s: %s", x->name, x->err.text);
		return;
	}
	x->state = SESSIONS_RUNNING;
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
