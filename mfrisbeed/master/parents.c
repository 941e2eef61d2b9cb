/* parents.c: questions to the parent master and their answers (parents.h).  Each question is
 * asked in a thread of its own (ask()); answer.c, local.c and master.c call the rest, in the master's
 * first thread. */
#include "mfrisbeed/master/parents.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mailbox.h"
#include "common/base/test_times.h"
#include "common/net/ask.h"
#include "common/net/guests.h"
#include "mfrisbeed/master/fetched.h"

/* How long an answer is used (usual).  Clients that come together are answered with one
 * question. */
#define FRESH_US UINT64_C(5000000)

enum {
	QUESTIONS_MAX = 32, /* each has a thread while it waits for the parent */
	QUESTIONS_OF_ONE = 8, /* of one address */
};
enum question_state { QUESTION_FREE, QUESTION_ASKED, QUESTION_ANSWERED };
enum { QUESTION_ENDED };

/* In the state QUESTION_ASKED it belongs to its thread, except name and state. */
struct question {
	struct guest guest; /* of the address that has asked first, in the state QUESTION_ASKED */
	enum question_state state;
	char name[MASTER_NAME_MAX + 1];
	struct fetch_parent parent; /* a copy */
	pthread_t thread;
	struct parents *of;
	/* The outcome: */
	int rc;
	struct err err;
	struct master_get_reply reply;
	uint64_t answered_us;
};

struct parents {
	struct cancel cancel; /* of the threads of all questions */
	struct mailbox *ended;
	struct guests *guests;
	struct question each[QUESTIONS_MAX];
};

int
parents_new(struct parents **out, struct err *e)
{
	static const struct guests_limits limits = { QUESTIONS_MAX, QUESTIONS_OF_ONE, UINT32_MAX };
	struct parents *x = calloc(1, sizeof *x);

	if (x == NULL || guests_new(&x->guests, &limits, e) != 0) {
		free(x);
		return err_nomem(e, "the parent");
	}
	x->cancel.whole = cancel_owner();
	for (unsigned i = 0; i < QUESTIONS_MAX; i++)
		x->each[i].of = x;
	if (mailbox_new(&x->ended, QUESTIONS_MAX, e) != 0) {
		guests_free(x->guests);
		free(x);
		return -1;
	}
	*out = x;
	return 0;
}

void
parents_free(struct parents *x)
{
	if (x == NULL)
		return;
	atomic_store(&x->cancel.signal, SIGTERM);
	for (unsigned i = 0; i < QUESTIONS_MAX; i++)
		if (x->each[i].state == QUESTION_ASKED)
			pthread_join(x->each[i].thread, NULL);
	mailbox_free(x->ended);
	guests_free(x->guests);
	free(x);
}

static void *
ask(void *arg)
{
	struct question *q = arg;

	q->rc = fetch_ask(&q->parent, q->name, true, &q->reply, &q->err);
	mailbox_put(q->of->ended, QUESTION_ENDED, (uint32_t)(q - q->of->each));
	return NULL;
}

static struct question *
find(struct parents *x, const struct settings *s, const char *name)
{
	for (unsigned i = 0; i < QUESTIONS_MAX; i++) {
		struct question *q = &x->each[i];
		if (q->state != QUESTION_FREE && strcmp(q->name, name) == 0 &&
		    strcmp(q->parent.host, s->parent.host) == 0)
			return q;
	}
	return NULL;
}

/* A free place, or the place of the oldest answer; NULL: all questions are being asked. */
static struct question *
place_for_one(struct parents *x)
{
	struct question *oldest = NULL;

	for (unsigned i = 0; i < QUESTIONS_MAX; i++) {
		struct question *q = &x->each[i];
		if (q->state == QUESTION_FREE)
			return q;
		if (q->state == QUESTION_ANSWERED &&
		    (oldest == NULL || q->answered_us < oldest->answered_us))
			oldest = q;
	}
	return oldest;
}

static int
begin(struct parents *x, struct question *q, const struct settings *s, const char *name,
    const uint8_t from[4], struct err *e)
{
	struct cancel *mine = cancel_owner();

	if (!guests_come(x->guests, &q->guest, from, clock_us()))
		return err_set(e, ERR_REFUSED,
		    "%s: the parent is already asked for %d names by this host", name,
		    QUESTIONS_OF_ONE);
	q->state = QUESTION_ASKED;
	q->parent = s->parent;
	strcpy(q->name, name);
	cancel_work_for(&x->cancel);
	int rc = thread_start(&q->thread, ask, q);
	cancel_work_for(mine);
	if (rc == 0)
		return 0;
	q->state = QUESTION_FREE;
	guests_go(x->guests, &q->guest);
	e->os = rc;
	return err_set(e, ERR_IO, "%s: cannot start a thread: %s", name, strerror(rc));
}

/* Makes an entry from an answer.  Also when the parent gives no image, an image that was fetched
 * before is found. */
static int
judge(const struct question *q, const struct settings *s, struct catalog_entry *x,
    struct err *e)
{
	if (q->rc == 0)
		return fetched_entry(x, s->parent_folder, q->name, &q->reply, e);
	if (fetched_find(x, s->parent_folder, q->name)) {
		log_warn("serving what was fetched before name=%s: %s", q->name,
		    q->err.text);
		return 0;
	}
	*e = q->err;
	return -1;
}

int
parents_find(struct parents *x, const struct settings *s, const char *name,
    const uint8_t from[4], struct catalog_entry *entry, struct err *e)
{
	struct question *q = find(x, s, name);

	if (q != NULL && q->state == QUESTION_ASKED)
		return 0;
	if (q != NULL && clock_us() < q->answered_us + test_time_us("parent", FRESH_US))
		return judge(q, s, entry, e) == 0 ? 1 : -1;
	if (q == NULL)
		q = place_for_one(x);
	if (q == NULL)
		return err_set(e, ERR_REFUSED,
		    "%s: the parent is already asked for %d names", name,
		    QUESTIONS_MAX);
	return begin(x, q, s, name, from, e) == 0 ? 0 : -1;
}

int
parents_image(struct parents *x, const struct settings *s, const char *name,
    const uint8_t from[4], struct catalog_entry *entry, struct err *e)
{
	if (catalog_find(entry, s, name, e) == 0)
		return 1;
	if (e->kind != ERR_ABSENT || s->parent_folder == NULL)
		return -1;
	return parents_find(x, s, name, from, entry, e);
}

int
parents_fd(const struct parents *x)
{
	return mailbox_fd(x->ended);
}

bool
parents_collect(struct parents *x)
{
	struct event ev;
	bool any = false;

	while (mailbox_take(x->ended, &ev)) {
		struct question *q = &x->each[ev.n];
		pthread_join(q->thread, NULL);
		q->state = QUESTION_ANSWERED;
		guests_go(x->guests, &q->guest);
		q->answered_us = clock_us();
		any = true;
	}
	return any;
}
