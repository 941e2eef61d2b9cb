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
/* What disk= says; NULL: nothing. */
const char *streaming_disk(void);
/* Open the disk.  *source is borrowed until streaming_stop().  image: the place of the image, beside
 * which an order of reads may be.  Errors of streamed_open() and order_at(). */
int streaming_open(struct export *source, const char *image, struct err *);
/* This thread, and all threads that begin later, belong to a disk from now on: the kernel does not
 * make them wait for room in memory that they would have to make.  Called after nbdkit's fork,
 * before any thread is started. */
void streaming_be_io_flusher(void);
/* From now on the heap keeps what is freed, and begins with what requests need at a time: a request
 * for which memory had to be found might wait for pages that only this disk can take.  Called once,
 * before requests run. */
void streaming_keep_memory(void);
/* Threads that are started from now on have stacks of 1 MiB, if the system can do that. */
void streaming_limit_stacks(void);
/* Start the threads of the disk, its log and its status, after nbdkit's fork.  ERR_IO; what
 * status.h says. */
int streaming_start(struct err *);
/* End the threads that were started, flush and close the disk, when no request runs any more.
 * Called a second time, it does nothing. */
void streaming_stop(void);
/* Has the last flush failed, so that what was written may be lost? */
bool streaming_has_failed(void);
/* The disk, from streaming_open() on; NULL: there is none. */
struct streamed *streaming_device(void);

#endif /* STREAM_PLUGIN_STREAMING_H */
