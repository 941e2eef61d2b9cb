/* watch.h: nbdkit waits for requests before it ends; those that wait for a network are told
 * that it wants to end. */
#ifndef STREAM_PLUGIN_WATCH_H
#define STREAM_PLUGIN_WATCH_H

#include "common/base/cancel.h"

/* Start the thread that watches: 0, or the error. */
int watch_start(struct cancel *);
/* No request is there any more; also when nothing was started. */
void watch_stop(void);
/* Around each request, in any thread. */
void watch_begin(void);
void watch_end(void);

#endif /* STREAM_PLUGIN_WATCH_H */
