/* upload.h: images that clients send: each over a connection of its own, whose bytes are the image and
 * whose end is its end.
 *
 * An upload is written beside its name, looked at as a whole when it has ended, and gets its name
 * only when it is an image, undamaged, and as long as was announced.  Whatever stops it leaves nothing.
 * All functions are called in one thread; each upload has a thread of its own. */
#ifndef MFRISBEED_MASTER_UPLOAD_H
#define MFRISBEED_MASTER_UPLOAD_H

#include <stdint.h>

#include "mfrisbeed/master/history.h"
#include "mfrisbeed/master/settings.h"

enum { UPLOADS_MAX = 16 };

struct uploads;

struct upload_request {
	const char *name;
	const char *path;     /* where it will be */
	uint8_t from[4];      /* the only host that is heard */
	uint8_t here[4];      /* our address, at which it is awaited */
	uint64_t bytes;       /* announced; 0: not */
	uint64_t bytes_max;
	uint32_t timeout_s;   /* without a byte; 0: the usual */
};

/* history: of what was uploaded; NULL: none. */
int uploads_new(struct uploads **, struct history *, struct err *);
/* Ends those that run.  NULL is allowed. */
void uploads_free(struct uploads *);
/* Await an upload at *port.  ERR_REFUSED: too many run, or one of this name does (then the client may
 * try again later); ERR_IO. */
int uploads_begin(
    struct uploads *, const struct upload_request *, uint16_t *port, struct err *);
/* Take over those that have ended. */
void uploads_collect(struct uploads *);
/* Does one of this name run? */
bool uploads_has(struct uploads *, const char *name);

#endif /* MFRISBEED_MASTER_UPLOAD_H */
