/* master.h: a master server: clients ask it over TCP for images by name, and it serves them. */
#ifndef MFRISBEED_MASTER_MASTER_H
#define MFRISBEED_MASTER_MASTER_H

#include <stdint.h>

#include "common/base/starter.h"
#include "mfrisbeed/master/settings.h"

struct master_config {
	const char *file; /* configuration (settings.h), which master_reload() reads again */
	const char *addr; /* address at which it listens; NULL: all */
	uint16_t port;    /* 0: any free one */
	struct starter *starter; /* of the sessions; taken over by master_new() in any case */
	const char *local; /* the path of a socket for programs of this host (local.h); NULL: none */
	int local_fd;      /* that listens there */
	bool only_local;   /* nobody else is heard */
	bool debug, quiet, syslog; /* what sessions log, and where */
};

struct master;

/* Reads the settings, whose state folder must exist, listens, and begins again the sessions
 * that ran before a restart.  The configuration stays the caller's until master_free().
 * Errors of settings_read(); ERR_REFUSED: another master uses the state folder; ERR_IO;
 * ERR_NOMEM. */
int master_new(struct master **, const struct master_config *, struct err *);
/* Ends all sessions and uploads.  NULL is allowed. */
void master_free(struct master *);
/* The port at which it listens; 0: at none. */
uint16_t master_port(const struct master *);
/* Serves until a signal ends this thread's work (cancel.h).  ERR_IO: no session can be begun any
 * more, because the starter has ended. */
int master_run(struct master *, struct err *);
/* Makes master_run() read the settings again, soon.  It may be called in any thread and in a
 * signal handler. */
void master_reload(struct master *);

#endif /* MFRISBEED_MASTER_MASTER_H */
