/* web.h: the controller's web server: the JSON API, the events, the metrics and the page, as
 * docs/controller.md describes them. */
#ifndef CONTROLLER_HTTP_WEB_H
#define CONTROLLER_HTTP_WEB_H

#include "controller/engine/swap.h"
#include "controller/http/images.h"
#include "common/base/loop.h"
#include "controller/state/swapdb.h"

struct web;

struct web_config {
	uint8_t addr[4];
	uint16_t port; /* 0: any */
	const char *token_file;
	struct swap *w;
	struct swapdb *state;
	struct images *images;
	/* Save the engine, after something was changed by a call. */
	int (*save)(void *arg, struct err *);
	struct swap_now (*now)(void *arg);
	/* The numbers of reports that were taken and refused. */
	void (*reports)(void *arg, uint64_t *taken, uint64_t *refused);
	/* Asks mfrisbeed which images there are.  The number of the question: images_are_said(). */
	uint64_t (*ask_images)(void *arg);
	/* Asks mfrisbeed for what web_members_wanted() says, if that can be done now. */
	void (*ask)(void *arg);
	/* All that mfrisbeed sends: servers_sent(). */
	const struct jtree *(*sent)(void *arg);
	void *arg;
};

/* Listen.  The config is copied; what it points to must stay.  ERR_IO: the port is used by
 * another; ERR_NOMEM. */
int web_open(struct web **, struct loop *, const struct web_config *, struct err *);
/* NULL is allowed. */
void web_close(struct web *);
uint16_t web_port(const struct web *);
/* Do what is due: tell of changes.  To be called after each round of the
 * loop. */
void web_tick(struct web *);
/* The nodes are others now: every page is to ask for the lists again. */
void web_renew(struct web *);
/* The session of which a request waits for the nodes that mfrisbeed's history has; 0: none. */
uint32_t web_members_wanted(const struct web *);
/* What it has, which is taken over; NULL: `why` says why nothing of this session, or if that is 0 of none. */
void web_members(struct web *, uint32_t session, struct jtree *, const char *why);
/* In how many milliseconds web_tick() is to be called at the latest, at most `most`. */
int web_wait_ms(const struct web *, int most);

#endif /* CONTROLLER_HTTP_WEB_H */
