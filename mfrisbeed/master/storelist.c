/* storelist.c: asks a store which images it has (storelist.h).  The question is asked in a thread of
 * its own (ask()); local.c calls the rest, in the master's first thread. */
#include "mfrisbeed/master/storelist.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "emustore/store/store.h"
#include "mfrisbeed/master/catalog.h"

enum { MOST_S = 2, SECOND_US = 1000000 };

struct storelist {
	struct loop *loop;
	struct deadline deadline;
	struct cancel cancel; /* of the thread */
	pthread_t thread;
	char *url;       /* of the last question */
	bool asked;      /* the thread runs; `fresh` and `outcome` are its own until `done` */
	bool late, fell_due;
	uint64_t until_us;
	atomic_bool done;
	struct buf fresh, names;
	struct err outcome, why;
};

/* --- in the thread --- */

struct reading {
	struct buf *names;
	unsigned n;
	char last[STORE_NAME_MAX + 1];
};

static int
put_image(void *arg, const struct index_image *i, struct err *e)
{
	struct reading *r = arg;
	const struct store_name *x = &i->about.name;
	char text[STORE_NAME_MAX + 16];
	(void)e;

	if (strcmp(r->last, x->name) != 0) {
		strcpy(r->last, x->name);
		buf_bytes(r->names, x->name, strlen(x->name) + 1);
		r->n++;
	}
	int n = snprintf(text, sizeof text, "%s:%" PRIu32, x->name, x->version);
	buf_bytes(r->names, text, (size_t)n + 1);
	return ++r->n > CATALOG_MOST ? 1 : 0;
}

static int
put_all(struct store *s, void *arg, struct err *e)
{
	struct reading r = { .names = arg };

	buf_free(r.names); /* what an index that had to be healed has said */
	int rc = index_each_image(s->index, put_image, &r, e);
	if (rc >= 0 && !buf_ok(r.names))
		rc = err_nomem(e, "the list of a store");
	return rc < 0 ? -1 : 0;
}

int
storelist_read(struct buf *names, const char *url, struct err *e)
{
	struct store s;

	if (store_open(&s, url, STORE_READ, e) != 0)
		return -1;
	int rc = store_try(&s, put_all, names, e);
	if (rc == 0 && s.unreadable_images > 0)
		rc = err_set(e, ERR_FORMAT, "%s: images that cannot be read: %" PRIu64 "; the first one: %.300s",
		    store_title(&s), s.unreadable_images, s.first_unreadable);
	store_close(&s);
	return rc;
}

static void *
ask(void *arg)
{
	struct storelist *x = arg;

	x->outcome.kind = ERR_NONE;
	(void)storelist_read(&x->fresh, x->url, &x->outcome);
	atomic_store(&x->done, true);
	loop_wake(x->loop);
	return NULL;
}

/* --- in the first thread --- */

static uint64_t
late_at(void *arg)
{
	const struct storelist *x = arg;

	return x->asked && !x->late ? x->until_us : UINT64_MAX;
}

static void
late(void *arg, uint64_t now_us)
{
	struct storelist *x = arg;
	(void)now_us;

	x->late = x->fell_due = true;
}

int
storelist_new(struct storelist **out, struct loop *loop, struct err *e)
{
	struct storelist *x = calloc(1, sizeof *x);

	*out = x;
	if (x == NULL)
		return err_nomem(e, "the list of a store");
	x->loop = loop;
	x->cancel.whole = cancel_owner();
	x->deadline = (struct deadline){ .when = late_at, .due = late, .arg = x };
	loop_expect(loop, &x->deadline);
	return 0;
}

void
storelist_free(struct storelist *x)
{
	if (x == NULL)
		return;
	atomic_store(&x->cancel.signal, SIGTERM);
	if (x->asked)
		pthread_join(x->thread, NULL);
	loop_cancel(x->loop, &x->deadline);
	buf_free(&x->fresh);
	buf_free(&x->names);
	free(x->url);
	free(x);
}

static int
begin(struct storelist *x, const char *url, struct err *e)
{
	struct cancel *mine = cancel_owner();

	if (x->url != NULL && strcmp(x->url, url) != 0)
		buf_free(&x->names); /* of another store */
	free(x->url);
	x->url = strdup(url);
	if (x->url == NULL)
		return err_nomem(e, "the list of a store");
	x->late = false;
	atomic_store(&x->done, false);
	x->until_us = clock_us() + MOST_S * (uint64_t)SECOND_US;
	cancel_work_for(&x->cancel);
	int rc = thread_start(&x->thread, ask, x);
	cancel_work_for(mine);
	x->asked = rc == 0;
	return rc == 0 ? 0 : err_set(e, ERR_IO, "cannot start a thread: %s", strerror(rc));
}

int
storelist_ask(struct storelist *x, const char *url, bool waited, const struct buf **names,
    struct err *why)
{
	static const struct buf none;
	bool same = x->url != NULL && strcmp(x->url, url) == 0;

	*names = same ? &x->names : &none;
	*why = x->why;
	if (x->asked && !x->late)
		return 0;
	if (x->asked) {
		err_set(why, ERR_IO, "%s: it has not answered within %d s", x->url, MOST_S);
		return 1;
	}
	return waited && same ? 1 : begin(x, url, why) != 0;
}

bool
storelist_collect(struct storelist *x)
{
	bool again = x->fell_due;

	x->fell_due = false;
	if (!x->asked || !atomic_load(&x->done))
		return again;
	pthread_join(x->thread, NULL);
	x->asked = false;
	if (x->outcome.kind == ERR_NONE || x->fresh.len > 0) {
		buf_free(&x->names);
		x->names = x->fresh;
		x->fresh = (struct buf){ 0 };
	}
	x->why = x->outcome;
	return true;
}
