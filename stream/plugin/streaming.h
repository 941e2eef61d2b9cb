/* streaming.h: the parameters of the plugin that make a disk of this machine become the image, and
 * that disk. */
#ifndef STREAM_PLUGIN_STREAMING_H
#define STREAM_PLUGIN_STREAMING_H

#include "stream/disk/streamed.h"

/* Take a parameter.  1: it is one of a streaming disk; 0: it is none; -1: its value is wrong, and
 * nbdkit_error() was called.  Called in nbdkit's first thread, as the next two are. */
int streaming_config(const char *key, const char *value);
/* Check the parameters together.  0; -1: nbdkit_error() was called. */
int streaming_check(void);
/* Was disk= given? */
bool streaming_wanted(void);
/* Open the disk.  *source is borrowed until streaming_close().  Errors of streamed_open(). */
int streaming_open(struct export *source, struct err *);
/* Start the threads of the disk, its log and its status, after nbdkit's fork.  ERR_IO; what
 * status.h says. */
int streaming_start(struct err *);
/* End the threads, flush and close the disk, when no request runs any more. */
void streaming_stop(void);
/* The disk, from streaming_open() on; NULL: there is none. */
struct streamed *streaming_device(void);
/* Close the disk if it is still open, because nbdkit ends before it has served anything. */
void streaming_close(void);

#endif /* STREAM_PLUGIN_STREAMING_H */
