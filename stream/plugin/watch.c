/* watch.c: finds out whether nbdkit is about to end.  nbdkit tells this only to a thread that
 * calls nbdkit_nanosleep(), and prints a message at the same time.  For this reason a thread of
 * its own calls it, and only while requests take long.  plugin.c calls these functions:
 * watch_start() and watch_stop() in one thread, the others in any thread. */
#define NBDKIT_API_VERSION 2
#include <nbdkit-plugin.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "common/base/clock.h"
#include "common/base/timed.h"
#include "stream/plugin/watch.h"

enum { LOOK_US = 250000 /* between two questions to nbdkit */ };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t news = PTHREAD_COND_INITIALIZER;
static pthread_t watcher;
static struct cancel *ending;
static bool watching, stopped;
static atomic_uint requests;
static atomic_bool idle; /* the watcher waits for a request, and has to be woken for one */

/* Wait for a request, or until watch_stop().  The caller holds the lock.  A request counts itself
 * first and then looks whether the watcher is idle; the watcher does it the other way round, so that
 * one of both sees the other. */
static void
wait_for_request(void)
{
	atomic_store(&idle, true);
	if (atomic_load(&requests) == 0 && !stopped)
		pthread_cond_wait(&news, &lock);
	atomic_store(&idle, false);
}

static void *
watch(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&lock);
	while (!stopped) {
		if (atomic_load(&requests) == 0) {
			wait_for_request();
			continue;
		}
		timed_wait(&news, &lock, clock_us() + LOOK_US);
		if (atomic_load(&requests) > 0 && !stopped && nbdkit_nanosleep(0, 1) != 0) {
			ending->signal = SIGTERM;
			break;
		}
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

int
watch_start(struct cancel *c)
{
	ending = c;
	int rc = pthread_create(&watcher, NULL, watch, NULL);
	watching = rc == 0;
	return rc;
}

void
watch_stop(void)
{
	if (!watching)
		return;
	pthread_mutex_lock(&lock);
	stopped = true;
	pthread_cond_signal(&news);
	pthread_mutex_unlock(&lock);
	pthread_join(watcher, NULL);
	watching = false;
}

/* While requests follow one another, the watcher looks every LOOK_US, and is not woken for each of
 * them; nor do they wait for one another. */
void
watch_begin(void)
{
	atomic_fetch_add(&requests, 1);
	if (!atomic_load(&idle))
		return;
	pthread_mutex_lock(&lock);
	pthread_cond_signal(&news);
	pthread_mutex_unlock(&lock);
}

void
watch_end(void)
{
	atomic_fetch_sub(&requests, 1);
}
