/* several.c: several sources of the same image as one.  Readers of the source call this, in
 * any thread.
 *
 * Each request to a member runs in a thread of its own, since the member may not answer.  When
 * a member takes too long, the next one is asked as well, and the first answer counts.  A member
 * that failed or was slow is asked last for some time.
 *
 * Such a thread may still wait for its member when the reader has the answer of another one, and
 * has ended.  For this reason it works for the source, and not for the reader's owner. */
#include "stream/sources/several.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/timed.h"
#include "common/image/read/chunk.h"

enum {
	PATIENCE_MS = 700,       /* until the next member is asked as well */
	AVOIDED_US = 10 * 1000000, /* how long a failed or slow member is asked last */
	CLOSING_US = 2 * 1000000,  /* how long close waits for members that do not answer */
};

struct member {
	struct source source;
	uint64_t avoid_until_us; /* until then it is asked last */
};

struct several {
	struct member *members;
	size_t n;
	struct source_info info;
	struct cancel cancel; /* ends the threads that ask a member */
	pthread_mutex_t lock; /* guards the members' times, `running`, and all races */
	pthread_cond_t news;
	unsigned running; /* threads that ask a member */
};

/* One request, given to one or more members.  The last user frees it. */
struct race {
	struct several *of;
	uint32_t chunk;
	struct blockmap need;
	unsigned users;   /* the reader, and the threads */
	unsigned running; /* threads that have no answer yet */
	uint8_t *won;     /* the chunk from the first member that had it */
	struct err why;   /* error of the first member that failed */
	bool failed; /* a member failed */
};

struct try {
	struct race *race;
	size_t member;
};

/* The member that this thread asks first, because the data of others was damaged. */
static _Thread_local struct {
	const struct several *of;
	size_t first;
} begin_with;

static void
leave(struct race *r)
{
	if (--r->users > 0)
		return;
	free(r->won);
	free(r);
}

/* Record the result of a member.  The caller holds the lock. */
static void
end_try(struct race *r, size_t member, int rc, uint8_t *bytes, const struct err *e)
{
	struct several *s = r->of;

	r->running--;
	s->running--;
	if (rc == 0 && r->won == NULL) {
		r->won = bytes;
		bytes = NULL;
	} else if (rc != 0) {
		s->members[member].avoid_until_us = clock_us() + AVOIDED_US;
		if (!r->failed)
			r->why = *e;
		r->failed = true;
	}
	free(bytes);
	leave(r);
	pthread_cond_broadcast(&s->news);
}

static void *
run_try(void *arg)
{
	struct try t = *(struct try *)arg;
	struct several *s = t.race->of;
	uint8_t *bytes = malloc(SOURCE_CHUNK_BYTES);
	struct err e;

	free(arg);
	cancel_work_for(&s->cancel);
	int rc = bytes != NULL ? source_read(&s->members[t.member].source, t.race->chunk,
				     &t.race->need, bytes, &e)
	                       : err_nomem(&e, "a chunk");
	cancel_work_for(NULL); /* *s may end with the last try */
	pthread_mutex_lock(&s->lock);
	end_try(t.race, t.member, rc, bytes, &e);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* Ask a member in a new thread.  The caller holds the lock. */
static int
ask(struct race *r, size_t member)
{
	struct try *t = malloc(sizeof *t);
	pthread_t thread;

	if (t == NULL)
		return -1;
	*t = (struct try){ r, member };
	r->users++;
	r->running++;
	r->of->running++;
	if (thread_start(&thread, run_try, t) == 0) {
		pthread_detach(thread);
		return 0;
	}
	free(t);
	r->users--;
	r->running--;
	r->of->running--;
	return -1;
}

/* Choose the next member among those that were not asked; s->n: all were.  The order begins with
 * the member that this thread asks first; members that are not avoided come before others.  The
 * caller holds the lock. */
static size_t
choose(const struct several *s, const bool *asked)
{
	size_t first = begin_with.of == s ? begin_with.first : 0, best = s->n;
	uint64_t now = clock_us();

	for (size_t k = 0; k < s->n; k++) {
		size_t i = (first + k) % s->n;
		uint64_t until = s->members[i].avoid_until_us;
		if (asked[i])
			continue;
		if (until <= now)
			return i;
		if (best == s->n || until < s->members[best].avoid_until_us)
			best = i;
	}
	return best;
}

/* Ask members until one has answered, all have failed, or the reader's work is to end.  The
 * caller holds the lock. */
static void
run_race(struct race *r, bool *asked)
{
	struct several *s = r->of;
	size_t i = s->n;
	uint64_t until = 0;

	while (r->won == NULL && cancel_signal() == 0) {
		bool slow = clock_us() >= until;
		if (slow && i < s->n && r->running > 0)
			s->members[i].avoid_until_us = clock_us() + AVOIDED_US;
		if ((slow || r->running == 0) && (i = choose(s, asked)) < s->n) {
			asked[i] = true;
			ask(r, i);
			until = clock_us() + PATIENCE_MS * 1000;
		} else if (r->running == 0)
			return;
		else
			timed_wait(&s->news, &s->lock,
			    i < s->n ? until : clock_us() + PATIENCE_MS * 1000);
	}
}

static void
copy_blocks(const struct blockmap *need, uint32_t first, const uint8_t *from, uint8_t *to)
{
	uint32_t n;

	for (uint32_t b = 0; (n = blockmap_next_run(need, &b)) > 0; b += n)
		memcpy(to + (size_t)(b - first) * SOURCE_BLOCK_BYTES,
		    from + (size_t)b * SOURCE_BLOCK_BYTES, (size_t)n * SOURCE_BLOCK_BYTES);
}

/* The result of a race, for its reader. */
static int
outcome(const struct race *r, struct err *e)
{
	if (r->won != NULL)
		return 0;
	if (cancel_check(e) != 0)
		return -1;
	if (!r->failed)
		return err_nomem(e, "threads");
	*e = r->why;
	return -1;
}

static int
read_blocks(void *self, uint32_t chunk, const struct blockmap *need, uint32_t first,
    void *to, struct err *e)
{
	struct several *s = self;
	struct race *r = calloc(1, sizeof *r);
	bool *asked = calloc(s->n, sizeof *asked);

	if (r == NULL || asked == NULL) {
		free(r);
		free(asked);
		return err_nomem(e, "a chunk");
	}
	*r = (struct race){ .of = s, .chunk = chunk, .need = *need, .users = 1 };
	pthread_mutex_lock(&s->lock);
	run_race(r, asked);
	int rc = outcome(r, e);
	if (rc == 0)
		copy_blocks(need, first, r->won, to);
	leave(r);
	pthread_mutex_unlock(&s->lock);
	free(asked);
	return rc;
}

static bool
other(void *self, unsigned attempt)
{
	const struct several *s = self;

	begin_with.of = s;
	begin_with.first = attempt % s->n;
	return attempt < s->n;
}

static const char *
name(void *self)
{
	const struct several *s = self;

	return source_name(&s->members[0].source);
}

static int
info(void *self, struct source_info *out, struct err *e)
{
	const struct several *s = self;

	(void)e;
	*out = s->info;
	return 0;
}

static void
cancel(void *self)
{
	struct several *s = self;

	s->cancel.signal = SIGTERM;
	for (size_t i = 0; i < s->n; i++)
		source_cancel(&s->members[i].source);
}

static void
close_all(void *self)
{
	struct several *s = self;
	uint64_t until = clock_us() + CLOSING_US;

	cancel(s);
	pthread_mutex_lock(&s->lock);
	while (s->running > 0 && clock_us() < until)
		timed_wait(&s->news, &s->lock, until);
	bool used = s->running > 0;
	pthread_mutex_unlock(&s->lock);
	if (used)
		return; /* threads that still run use *s: it is never freed */
	for (size_t i = 0; i < s->n; i++)
		source_close(&s->members[i].source);
	pthread_cond_destroy(&s->news);
	pthread_mutex_destroy(&s->lock);
	free(s->members);
	free(s);
}

/* What a chunk says of itself, and whether that is so. */
struct said {
	bool parsed, good, has_digest;
	uint8_t digest[EXT_DIGEST_BYTES];
	uint8_t uuid[NDZ_UUID_BYTES]; /* of the image, which the digest does not cover */
};

static struct said
said_of(const uint8_t *bytes)
{
	struct said s = { 0 };
	struct chunk c;
	struct err ignored;

	if (chunk_parse(&c, bytes, &ignored) != 0)
		return s;
	s.parsed = true;
	s.good = chunk_check_digest(&c, bytes, &ignored) == 0;
	s.has_digest = c.ext.has_digest;
	if (s.has_digest)
		memcpy(s.digest, c.ext.digest, sizeof s.digest);
	if (c.ext.has_uuid)
		memcpy(s.uuid, c.ext.uuid, sizeof s.uuid);
	chunk_free(&c);
	return s;
}

enum verdict { SAME, OTHER, DAMAGED /* so that it cannot be told */ };

/* Of the same chunk, one may be damaged: whoever reads it then asks another member. */
static enum verdict
judge(const uint8_t *a, const uint8_t *b)
{
	if (memcmp(a, b, SOURCE_CHUNK_BYTES) == 0)
		return SAME;
	struct said x = said_of(a), y = said_of(b);
	if (x.has_digest && y.has_digest &&
	    memcmp(x.digest, y.digest, sizeof x.digest) == 0 &&
	    memcmp(x.uuid, y.uuid, sizeof x.uuid) == 0)
		return SAME;
	return x.parsed == y.parsed && x.good == y.good ? OTHER : DAMAGED;
}

static int
refuse(struct several *s, size_t i, const char *why, struct err *e)
{
	return err_set(e, ERR_FORMAT, "%s: %s as %s", source_name(&s->members[i].source),
	    why, name(s));
}

/* Compare member i with the first one: the first chunk, or else the next one, and the last. */
static int
compare_member(struct several *s, size_t i, uint8_t *a, uint8_t *b, struct err *e)
{
	uint32_t last = s->info.chunks - 1, next = 0;
	enum verdict v = DAMAGED;

	for (uint32_t chunk = 0; chunk <= last; chunk = next) {
		if (source_read(&s->members[0].source, chunk, NULL, a, e) != 0 ||
		    source_read(&s->members[i].source, chunk, NULL, b, e) != 0)
			return -1;
		enum verdict now = judge(a, b);
		if (now == OTHER)
			return refuse(s, i, "is not the same image", e);
		v = now == SAME ? SAME : v;
		next = v == SAME && chunk < last ? last : chunk + 1;
	}
	return v == SAME ? 0
	                 : refuse(s, i, "is too damaged to be known for the same image", e);
}

static int
compare(struct several *s, struct err *e)
{
	struct source_info info;
	uint8_t *two = malloc(2 * SOURCE_CHUNK_BYTES);
	int rc = two != NULL ? source_info(&s->members[0].source, &s->info, e)
	                     : err_nomem(e, "chunks");

	for (size_t i = 1; rc == 0 && i < s->n; i++) {
		rc = source_info(&s->members[i].source, &info, e);
		if (rc == 0 && info.bytes != s->info.bytes)
			rc = err_set(e, ERR_FORMAT, "%s: is not as long as %s",
			    source_name(&s->members[i].source), name(s));
	}
	if (rc == 0 && s->info.in_order)
		rc = err_set(e, ERR_UNSUPPORTED, "%s: is read in order alone", name(s));
	for (size_t i = 1; rc == 0 && s->info.chunks > 0 && i < s->n; i++)
		rc = compare_member(s, i, two, two + SOURCE_CHUNK_BYTES, e);
	free(two);
	return rc;
}

static struct several *
new_several(struct source *sources, size_t n)
{
	struct several *s = calloc(1, sizeof *s);

	if (s == NULL)
		return NULL;
	s->members = calloc(n, sizeof *s->members);
	if (s->members == NULL) {
		free(s);
		return NULL;
	}
	s->n = n;
	s->cancel.whole = cancel_owner();
	for (size_t i = 0; i < n; i++)
		s->members[i].source = sources[i];
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->news, NULL);
	return s;
}

int
source_of_several(struct source *out, struct source *members, size_t n, struct err *e)
{
	static const struct source_ops ops = { .name = name,
		.info = info,
		.read = read_blocks,
		.other = other,
		.cancel = cancel,
		.close = close_all };
	struct several *s = new_several(members, n);

	if (s == NULL) {
		for (size_t i = 0; i < n; i++)
			source_close(&members[i]);
		return err_nomem(e, "sources");
	}
	if (compare(s, e) != 0) {
		close_all(s);
		return -1;
	}
	*out = (struct source){ &ops, s };
	return 0;
}
