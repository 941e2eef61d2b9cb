/* route.h: which call an HTTP request is (docs/controller.md). */
#ifndef CONTROLLER_HTTP_ROUTE_H
#define CONTROLLER_HTTP_ROUTE_H

#include <stdint.h>

#include "controller/engine/swap.h"

enum route_call {
	ROUTE_NONE,  /* there is nothing here */
	ROUTE_WRONG, /* there is, but not with this method */
	ROUTE_SESSIONS,
	ROUTE_SESSION,
	ROUTE_START,
	ROUTE_STOP,
	ROUTE_NODES,
	ROUTE_NODE,
	ROUTE_IMAGES,
	ROUTE_SENT,
	ROUTE_HISTORY,
	ROUTE_TOKEN,
	ROUTE_EVENTS,
	ROUTE_METRICS,
	ROUTE_PAGE, /* whatever else: a file of the page, or nothing */
};

struct route {
	enum route_call call;
	uint32_t id;                /* of ROUTE_SESSION and ROUTE_STOP */
	char name[SWAP_NAME_BYTES]; /* of ROUTE_NODE and ROUTE_PAGE; without a slash */
	const char *allow;          /* of ROUTE_WRONG: the method that there is */
};

/* method and path as HTTP has them, the path without its query and with %XX decoded. */
void route_find(const char *method, const char *path, struct route *);

#endif /* CONTROLLER_HTTP_ROUTE_H */
