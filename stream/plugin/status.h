/* status.h: tells other programs how far a streaming disk is: whoever connects to a socket gets one
 * JSON document. */
#ifndef STREAM_PLUGIN_STATUS_H
#define STREAM_PLUGIN_STATUS_H

#include "stream/disk/streamed.h"

/* Can a socket be made at this absolute path?  Nothing is made.  ERR_USAGE: the path is too long;
 * ERR_IO: there is another file, or its folder is not there or cannot be written.  Called before
 * the disk begins, since nothing is to be written to it for a program that does not start. */
int status_check(const char *path, struct err *);
/* Make the socket, and start the thread that answers.  The path is borrowed; a socket that is there
 * is replaced.  ERR_IO, also when there is another file; ERR_USAGE: the path is too long. */
int status_start(const char *path, struct streamed *, struct err *);
/* End the thread, and remove the socket, before the device is closed.  Does nothing if
 * status_start() was not called, or has failed. */
void status_stop(void);

#endif /* STREAM_PLUGIN_STATUS_H */
