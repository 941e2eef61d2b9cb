/* border.h: the border to the network of a server: it listens, accepts connections,
 * and keeps them as long as guests.h lets it.  Whatever is said on them is its
 * owner's.  All functions are called in the thread of the loop.
 *
 * A border of a TCP port keeps guests by their IPv4 address, or by their network of
 * IPv6 (/64), one of a Unix socket by the user on the other side. */
#ifndef COMMON_NET_BORDER_H
#define COMMON_NET_BORDER_H

#include "common/base/loop.h"
#include "common/net/guests.h"

struct addrinfo;
struct border;

/* The beginning of its owner's struct for one connection. */
struct caller {
	struct guest guest;
	struct watch watch; /* its descriptor, which does not block */
	struct border *of;
	struct caller *next, *before;
	uint8_t from[4]; /* its address (of IPv6: a sum of its network); or its user */
};

struct border_config {
	const char *what;    /* who calls, as "reports", for the log; NULL: nothing is logged */
	uint8_t address[4];  /* 0.0.0.0: any */
	uint16_t port;       /* 0: any that is free */
	bool any;            /* if the port is taken, take another one */
	const struct addrinfo *at; /* not NULL: there, in place of the three above */
	const char *path;    /* not NULL: a Unix socket at this path, which is removed in the end */
	/* With `path`: above 0, it listens there already, and is taken over. */
	int listener;
	struct guests_limits limits;
	size_t caller_bytes; /* of the owner's struct; it is zero but for its beginning */
	/* A connection has come (may be NULL); false: it is closed again. */
	bool (*came)(void *arg, struct caller *);
	/* It is ready; at first for reading. */
	void (*ready)(void *arg, struct caller *, uint32_t events);
	/* Its time is over (may be NULL); true: the owner has given it another, or has hung up;
	 * otherwise it is sent away. */
	bool (*late)(void *arg, struct caller *);
	/* It will be closed and released, whoever wants it (may be NULL). */
	void (*gone)(void *arg, struct caller *);
	void *arg;
};

/* Listens.  The configuration is copied.  ERR_IO: the port or the path cannot be had; ERR_NOMEM. */
int border_open(struct border **, struct loop *, const struct border_config *, struct err *);
/* Hangs up on all.  NULL is allowed. */
void border_close(struct border *);
uint16_t border_port(const struct border *);

/* The first connection, and the one after it; NULL: there is none.  Hanging up on one leaves the
 * others as they are. */
struct caller *border_first(struct border *);

/* What it had to say has come: it has this time for what comes next. */
void border_heard(struct caller *, uint64_t us);
/* It is no guest any more: it has neither place nor time, but is still waited for. */
void border_known(struct caller *);
/* Waits for other events (loop_change()). */
void border_want(struct caller *, uint32_t events);
void border_hang_up(struct caller *);
/* Adds a connection that this side has opened, which is no guest.  The descriptor is taken over, also
 * after an error.  NULL: ERR_IO, ERR_NOMEM. */
struct caller *border_add(struct border *, int fd, uint32_t events, struct err *);
/* guests_may_log(). */
bool border_may_log(struct border *);

#endif /* COMMON_NET_BORDER_H */
