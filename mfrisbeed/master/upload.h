/* upload.h: images that clients send, each over a connection of its own that carries the
 * image and nothing else.
 *
 * An upload is written into a temporary file, checked as a whole when it has ended, and gets
 * its name only when it is an undamaged image, or a signature, of the announced length.  An upload that fails
 * leaves no file.  When UPLOADS_MAX are awaited, who gives way is decided by guests.h: the oldest
 * of the host that has most of them, and first one of which nothing has come.  All functions are called in one thread; each upload has a thread of its
 * own. */
#ifndef MFRISBEED_MASTER_UPLOAD_H
#define MFRISBEED_MASTER_UPLOAD_H

#include <stdint.h>

#include "mfrisbeed/master/history.h"
#include "mfrisbeed/master/settings.h"

enum { UPLOADS_MAX = 16 }; /* each has a thread, and writes to the same disk */

struct uploads;
struct loop;

struct upload_request {
	const char *name;
	const char *path;     /* where the image will be; it ends with the name */
	bool signature;       /* it is no image, but the signature of one */
	uint8_t from[4];      /* address of the only host that may send it */
	uint8_t here[4];      /* address of this host at which it is awaited */
	uint64_t bytes;       /* announced length; 0: not announced */
	uint64_t bytes_max;   /* longest upload that is allowed */
	uint32_t mtime;       /* of the image, seconds since 1970; 0: that of its arrival */
	uint32_t timeout_s;   /* seconds without a byte, at most an hour; 0: the default */
};

/* Makes a table without uploads.  Uploads are noted in the history; the loop is woken
 * when one has ended.  Both are borrowed; NULL: there is none.  ERR_NOMEM. */
int uploads_new(struct uploads **, struct history *, struct loop *, struct err *);
/* Ends the uploads that run.  NULL is allowed. */
void uploads_free(struct uploads *);
/* Awaits an upload at *port; the request is copied.  The signature beside an image is removed just
 * before an upload replaces the image.  ERR_REFUSED: too many uploads run, or one of this
 * image or of its signature, and the client may try again later; ERR_USAGE: the name leads through
 * a link or a file; ERR_IO; ERR_NOMEM. */
int uploads_begin(
    struct uploads *, const struct upload_request *, uint16_t *port, struct err *);
/* Takes over the uploads that have ended, and notes them in the history.  True: some have ended
 * since the last call. */
bool uploads_collect(struct uploads *);
/* Is an image with this name being uploaded? */
bool uploads_has(struct uploads *, const char *name);

#endif /* MFRISBEED_MASTER_UPLOAD_H */
