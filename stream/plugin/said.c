/* said.c: prints the plugin's log in a thread of its own.  plugin.c calls said_start() and
 * said_stop() in one thread, and said() in any. */
#define NBDKIT_API_VERSION 2
#include <nbdkit-plugin.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include "stream/plugin/said.h"

enum { WAITING_MAX = 64, SENTENCE_BYTES = 600, END_S = 2 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t news = PTHREAD_COND_INITIALIZER;
static char waiting[WAITING_MAX][SENTENCE_BYTES];
static unsigned first, n, lost;
static atomic_bool running;
static bool ending;
static pthread_t thread;

/* Take the oldest sentence, or the number of those that were lost, or wait.  false: the thread is
 * to end. */
static bool
take(char sentence[SENTENCE_BYTES])
{
	pthread_mutex_lock(&lock);
	while (n == 0 && lost == 0 && !ending)
		pthread_cond_wait(&news, &lock);
	bool any = n > 0 || lost > 0;
	if (n > 0) {
		snprintf(sentence, SENTENCE_BYTES, "%s", waiting[first]);
		first = (first + 1) % WAITING_MAX;
		n--;
	} else if (lost > 0) {
		snprintf(sentence, SENTENCE_BYTES, "%u messages were left out of this log", lost);
		lost = 0;
	}
	pthread_mutex_unlock(&lock);
	return any;
}

static void *
print(void *arg)
{
	char sentence[SENTENCE_BYTES];

	(void)arg;
	while (take(sentence))
		nbdkit_error("%s", sentence);
	return NULL;
}

int
said_start(void)
{
	int rc = pthread_create(&thread, NULL, print, NULL);

	running = rc == 0;
	return rc;
}

void
said_stop(void)
{
	struct timespec until;

	if (!running)
		return;
	pthread_mutex_lock(&lock);
	ending = true;
	pthread_cond_signal(&news);
	pthread_mutex_unlock(&lock);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += END_S;
	running = pthread_timedjoin_np(thread, NULL, &until) != 0;
}

void
said(const char *sentence)
{
	if (!running) {
		nbdkit_error("%s", sentence);
		return;
	}
	pthread_mutex_lock(&lock);
	if (n < WAITING_MAX)
		snprintf(waiting[(first + n++) % WAITING_MAX], SENTENCE_BYTES, "%s", sentence);
	else
		lost++;
	pthread_cond_signal(&news);
	pthread_mutex_unlock(&lock);
}
