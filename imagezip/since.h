/* since.h: makes a delta without reading what has not changed (--changed-since): a source
 * of change of dsync says what has changed since the last image that was made with this
 * STATE.
 *
 * Beside the file STATE, which remembers which state of the device the last image has,
 * STATE.sig is the signature of that image.
 */
#ifndef IMAGEZIP_SINCE_H
#define IMAGEZIP_SINCE_H

#include "common/image/format/sig.h"
#include "imagezip/options.h"

struct since;

/* Begin: the tracker begins a new state, so that whatever is written from now on counts for
 * the next image.  Sets what.source to what is to be read (the source or a snapshot of it),
 * and, unless the image will be a full one, what.sig_old and what.changed; *warning is "" or
 * says why everything counts as changed.  What is set is valid until since_end().  Errors of
 * the source of change; ERR_REFUSED: another program uses STATE. */
int since_begin(struct since **, struct options *, char warning[512], struct err *);
/* Note the signature of the image, which is taken over: *sig is left empty. */
void since_note(struct since *, struct sig *sig);
/* Called when the image whose signature was noted last is complete and in its place: it
 * becomes the base of the next one.  ERR_IO. */
int since_keep(struct since *, struct err *);
void since_end(struct since *); /* NULL is fine */

#endif /* IMAGEZIP_SINCE_H */
