/* web_client.c: makes requests of web servers, several at a time, and tries them again as
 * long as that may help.  http.c, s3_call.c, s3_role.c and swapin call this, in any
 * thread.  */
#include "common/net/web/web_client.h"

#include <pthread.h>
#include <stdlib.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/net/web/web_try.h"

enum {
	/* Threads that request at the same time; others wait.  A streaming disk has 16
	 * for its clients, and 8 for what an order of reads names. */
	LINES_MAX = 24,
	PARALLEL = 8, /* requests of one thread that run at the same time */
	LOOK_MS = 50, /* between two looks whether the work is still wanted */
};

/* The connections of one thread while it requests; they are kept for the next thread. */
struct web_line {
	struct web_line *next;
	CURLM *multi;
};

struct web_client {
	struct web_client_config config;
	pthread_mutex_t lock; /* guards the lines */
	pthread_cond_t idle_again;
	struct web_line *idle;
	unsigned lines;
};

static struct web_line *
new_line(void)
{
	struct web_line *l = calloc(1, sizeof *l);

	if (l != NULL && (l->multi = curl_multi_init()) != NULL)
		return l;
	free(l);
	return NULL;
}

static struct web_line *
take_line(struct web_client *w)
{
	pthread_mutex_lock(&w->lock);
	while (w->idle == NULL && w->lines == LINES_MAX)
		pthread_cond_wait(&w->idle_again, &w->lock);
	struct web_line *l = w->idle;
	if (l != NULL)
		w->idle = l->next;
	else if ((l = new_line()) != NULL)
		w->lines++;
	pthread_mutex_unlock(&w->lock);
	return l;
}

static void
give_line(struct web_client *w, struct web_line *l)
{
	pthread_mutex_lock(&w->lock);
	l->next = w->idle;
	w->idle = l;
	pthread_cond_signal(&w->idle_again);
	pthread_mutex_unlock(&w->lock);
}

/* The calls of one web_perform(). */
struct batch {
	struct web_client *w;
	struct web_line *line;
	struct web_call *calls, *failed; /* failed: for good; NULL: none */
	size_t n;
	size_t first;   /* all calls before this one are done */
	size_t running; /* how many of PARALLEL */
};

/* A try has not begun, or is over. */
static void
end_try(struct batch *b, struct web_call *c, CURLcode code)
{
	web_try_end(c, code);
	c->done = web_judge(c) == WEB_GOOD;
	if (!c->done && !web_try_again(&b->w->config, c) && b->failed == NULL)
		b->failed = c;
}

static void
start(struct batch *b, struct web_call *c)
{
	if (web_try_begin(&b->w->config, c) != 0 ||
	    curl_multi_add_handle(b->line->multi, c->easy) != CURLM_OK)
		end_try(b, c, CURLE_OUT_OF_MEMORY);
	else
		b->running++;
}

static void
start_some(struct batch *b)
{
	uint64_t now = clock_boot_us();

	while (b->first < b->n && b->calls[b->first].done)
		b->first++;
	for (size_t i = b->first; i < b->n && b->running < PARALLEL; i++) {
		struct web_call *c = &b->calls[i];
		if (!c->done && c->easy == NULL && c->retry.due_us <= now)
			start(b, c);
	}
}

static void
stop(struct batch *b, struct web_call *c, CURLcode code)
{
	curl_multi_remove_handle(b->line->multi, c->easy);
	b->running--;
	end_try(b, c, code);
}

static void
end_some(struct batch *b)
{
	struct web_call *c;
	CURLMsg *m;
	int left;

	while ((m = curl_multi_info_read(b->line->multi, &left)) != NULL)
		if (m->msg == CURLMSG_DONE) {
			CURLcode code = m->data.result; /* *m goes with the handle */
			curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &c);
			stop(b, c, code);
		}
}

/* Until all are done, one has failed for good, or none is wanted any more. */
static void
run(struct batch *b)
{
	int running;

	start_some(b);
	while (b->first < b->n && b->failed == NULL && cancel_signal() == 0) {
		if (curl_multi_perform(b->line->multi, &running) != CURLM_OK)
			break;
		end_some(b);
		start_some(b);
		if (b->first < b->n && b->failed == NULL)
			curl_multi_poll(b->line->multi, NULL, 0, LOOK_MS, NULL);
	}
	for (size_t i = b->first; i < b->n; i++)
		if (b->calls[i].easy != NULL)
			stop(b, &b->calls[i], CURLE_ABORTED_BY_CALLBACK);
	if (b->first < b->n && b->failed == NULL)
		b->failed = &b->calls[b->first];
}

struct web_call *
web_perform(struct web_client *w, struct web_call *calls, size_t n, struct err *e)
{
	struct batch b = { .w = w, .line = take_line(w), .calls = calls, .n = n };

	if (b.line == NULL) {
		err_nomem(e, calls[0].name);
		return &calls[0];
	}
	run(&b);
	give_line(w, b.line);
	if (b.failed != NULL && cancel_check(e) != 0)
		err_ctx(e, "%.300s", b.failed->name);
	else if (b.failed != NULL)
		web_error(&w->config, b.failed, e);
	return b.failed;
}

int
web_client_open(
    struct web_client **out, const struct web_client_config *config, struct err *e)
{
	if (curl_lib_load(e) != 0)
		return -1;
	struct web_client *w = calloc(1, sizeof *w);
	if (w == NULL)
		return err_nomem(e, "requests of web servers");
	w->config = *config;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->idle_again, NULL);
	*out = w;
	return 0;
}

void
web_client_close(struct web_client *w)
{
	struct web_line *l;

	if (w == NULL)
		return;
	while ((l = w->idle) != NULL) {
		w->idle = l->next;
		curl_multi_cleanup(l->multi);
		free(l);
	}
	pthread_cond_destroy(&w->idle_again);
	pthread_mutex_destroy(&w->lock);
	free(w);
}
