/* status.h: tells other programs how far a streaming disk is: whoever connects to a socket gets one
 * JSON document. */
#ifndef STREAM_PLUGIN_STATUS_H
#define STREAM_PLUGIN_STATUS_H

#include "stream/disk/streamed.h"

/* Make the socket, and start the thread that answers.  The path is borrowed; a socket that is there
 * is replaced.  ERR_IO, also when there is another file; ERR_USAGE: the path is too long. */
int status_start(const char *path, struct streamed *, struct err *);
/* End the thread, and remove the socket, before the device is closed.  Does nothing if
 * status_start() was not called, or has failed. */
void status_stop(void);

#endif /* STREAM_PLUGIN_STATUS_H */
