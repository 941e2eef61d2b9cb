/* master.h: a master server: clients ask it over TCP for images by name, and it serves them. */
#ifndef MFRISBEED_MASTER_MASTER_H
#define MFRISBEED_MASTER_MASTER_H

#include <stdint.h>

#include "mfrisbeed/master/settings.h"

struct master_config {
	const char *file; /* settings.h; read again when master_reload() says so */
	const char *addr; /* that it listens at; NULL: all */
	uint16_t port;
};

struct master;

/* Reads the settings, whose folder for the state exists, listens, and begins again what was served before a restart.  Errors as of
 * settings_read(), ERR_IO. */
int master_new(struct master **, const struct master_config *, struct err *);
/* Ends all sessions and uploads.  NULL is allowed. */
void master_free(struct master *);
/* The port that it listens at. */
uint16_t master_port(const struct master *);
/* Serves until this thread's work is to end (cancel.h): 0; -1 with the error. */
int master_run(struct master *, struct err *);
/* Read the settings again, soon.  From any thread, and from a signal handler. */
void master_reload(struct master *);

#endif /* MFRISBEED_MASTER_MASTER_H */
