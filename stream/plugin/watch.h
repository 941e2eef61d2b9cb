/* watch.h: nbdkit waits for requests before it ends; requests that wait for a network are
 * cancelled when nbdkit is about to end. */
#ifndef STREAM_PLUGIN_WATCH_H
#define STREAM_PLUGIN_WATCH_H

#include "common/base/cancel.h"

/* Start the thread that watches; it sets *c, which is borrowed, when nbdkit is about to end.
 * Returns 0 or an errno value. */
int watch_start(struct cancel *);
/* Stop the thread, when no request runs any more.  Does nothing if no thread was started. */
void watch_stop(void);
/* Call these before and after each request, in any thread. */
void watch_begin(void);
void watch_end(void);

#endif /* STREAM_PLUGIN_WATCH_H */
