/* plugin_log.c: prints the plugin's log in a thread of its own.  plugin.c calls
 * plugin_log_start() and plugin_log_stop() in one thread, and plugin_log_print() in any.
 *
 * One failure makes many requests fail, each with the same sentence.  The sentence is printed
 * once a minute, with the number of those that were left out since. */
#define NBDKIT_API_VERSION 2
#include <nbdkit-plugin.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/limiter.h"
#include "common/base/timed.h"
#include "stream/plugin/plugin_log.h"

enum {
	WAITING_MAX = 64, /* sentences; one that comes while all of these wait is lost */
	SENTENCE_BYTES = 600,
	END_US = 2000000, /* for the last sentences: a log on the disk that is served may hang */
	RECENT_MAX = 8, /* sentences that are compared with new ones */
	REPEAT_US = 60 * 1000000,
};

/* A sentence that was printed. */
static struct recent {
	char sentence[SENTENCE_BYTES];
	struct limiter printed;
} recent[RECENT_MAX];
static unsigned next_recent;

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

/* Is this sentence to be printed now?  *left_out: how often it was not, since it was printed last.
 * The caller holds the lock. */
static bool
is_news(const char *sentence, unsigned *left_out)
{
	struct recent *r = recent;

	while (r < recent + RECENT_MAX &&
	       strncmp(r->sentence, sentence, SENTENCE_BYTES - 1) != 0)
		r++;
	if (r == recent + RECENT_MAX) {
		r = &recent[next_recent++ % RECENT_MAX];
		r->printed = (struct limiter){ 0 };
		snprintf(r->sentence, sizeof r->sentence, "%s", sentence);
	}
	return limiter_may(&r->printed, clock_us(), REPEAT_US, 1, left_out);
}

int
plugin_log_start(void)
{
	int rc = pthread_create(&thread, NULL, print, NULL);

	running = rc == 0;
	return rc;
}

void
plugin_log_stop(void)
{
	if (!running)
		return;
	pthread_mutex_lock(&lock);
	ending = true;
	pthread_cond_signal(&news);
	pthread_mutex_unlock(&lock);
	running = !timed_join(thread, clock_us() + END_US);
}

/* Let the thread print this.  The caller holds the lock. */
static void
put(const char *text)
{
	if (n < WAITING_MAX)
		snprintf(waiting[(first + n++) % WAITING_MAX], SENTENCE_BYTES, "%s", text);
	else
		lost++;
	pthread_cond_signal(&news);
}

void
plugin_log_print(const char *sentence)
{
	char text[SENTENCE_BYTES];
	unsigned left_out;

	pthread_mutex_lock(&lock);
	bool is = is_news(sentence, &left_out);
	if (left_out > 0)
		snprintf(text, sizeof text, "%.500s (%u times more since the last time)", sentence,
		    left_out);
	else
		snprintf(text, sizeof text, "%s", sentence);
	if (is && running)
		put(text);
	pthread_mutex_unlock(&lock);
	if (is && !running)
		nbdkit_error("%s", text);
}
