/* budget.c: the shares of one rate (budget.h).  serve.c and mfrisbeed make or open the
 * budget; streams ask for their shares in their own threads, and a lock keeps the sums
 * consistent, also between processes. */
#include "frisbeed/serve/budget.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	EPOCH_US = 80000,      /* a member's demand is judged over at least this time */
	RESERVED_PERCENT = 5,  /* kept for all members together that begin to send */
	/* a member that sends at least this part of its share could use more */
	GREEDY_PERCENT = 75,
	SILENT_US = 2000000,   /* a member that has not asked for so long is stopped, or hangs */
	SLACK_BITS = 2 * 9000, /* a block more or less is no sign of anything */
	MEMBERS_MOST = 1 << 20,
};
static const uint64_t ALL = UINT64_MAX;
static const uint64_t MAGIC = UINT64_C(0x3174656764756246); /* "Fbudget1" */

struct member {
	bool used;
	pid_t process;          /* that it is in */
	uint64_t grant, demand; /* bits a second */
	uint64_t at_us, sent;   /* when the member was judged last; bits it had sent by then */
	uint64_t rate;          /* at which it really sent until then, bits a second */
};

/* What all processes see. */
struct table {
	uint64_t magic; /* written last */
	pthread_mutex_t lock;
	uint64_t total;
	unsigned max, n;
	struct member member[];
};

struct budget {
	struct table *t;
	size_t bytes;
	pid_t process; /* this one */
};

static size_t
bytes_of(unsigned members_max)
{
	return sizeof(struct table) + members_max * sizeof(struct member);
}

/* Maps n bytes of an open file, or memory of this process alone (fd -1).  NULL: errno
 * says why. */
static struct budget *
map(int fd, size_t n)
{
	struct budget *b = calloc(1, sizeof *b);
	int flags = fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
	void *at = MAP_FAILED;

	if (b != NULL)
		at = mmap(NULL, n, PROT_READ | PROT_WRITE, flags, fd, 0);
	if (at == MAP_FAILED) {
		free(b);
		return NULL;
	}
	*b = (struct budget){ at, n, getpid() };
	return b;
}

static void
begin(struct table *t, uint64_t bits_per_s, unsigned members_max)
{
	pthread_mutexattr_t a;

	pthread_mutexattr_init(&a);
	pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&t->lock, &a);
	pthread_mutexattr_destroy(&a);
	t->total = bits_per_s;
	t->max = members_max;
	t->magic = MAGIC;
}

struct budget *
budget_new(uint64_t bits_per_s, unsigned members_max)
{
	struct budget *b = map(-1, bytes_of(members_max));

	if (b != NULL)
		begin(b->t, bits_per_s, members_max);
	return b;
}

int
budget_make(struct budget **out, const char *file, uint64_t bits_per_s, unsigned members_max,
    struct err *e)
{
	size_t n = bytes_of(members_max);

	(void)unlink(file); /* whoever has it open keeps the old one */
	int fd = open(file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	*out = NULL;
	if (fd < 0)
		return err_os(e, "%s", file);
	/* What cannot be stored now would end the process that writes it. */
	errno = posix_fallocate(fd, 0, (off_t)n);
	if (errno == 0)
		*out = map(fd, n);
	int rc = *out != NULL ? 0 : err_os(e, "%s", file);
	close(fd);
	if (rc == 0)
		begin((*out)->t, bits_per_s, members_max);
	return rc;
}

static bool
is_whole(const struct budget *b)
{
	const struct table *t = b->t;

	return t->magic == MAGIC && t->max > 0 && t->max <= MEMBERS_MOST &&
	       bytes_of(t->max) == b->bytes;
}

int
budget_open(struct budget **out, const char *file, struct err *e)
{
	int fd = open(file, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;
	int rc = 0;

	*out = NULL;
	if (fd < 0 || fstat(fd, &st) != 0)
		rc = err_os(e, "%s", file);
	else if (!S_ISREG(st.st_mode) || st.st_size < (off_t)sizeof(struct table))
		rc = err_set(e, ERR_FORMAT, "%s: this is no rate that is shared", file);
	else if ((*out = map(fd, (size_t)st.st_size)) == NULL)
		rc = err_os(e, "%s", file);
	else if (!is_whole(*out)) {
		budget_free(*out);
		*out = NULL;
		rc = err_set(e, ERR_FORMAT, "%s: this is no rate that is shared", file);
	}
	if (fd >= 0)
		close(fd);
	return rc;
}

void
budget_free(struct budget *b)
{
	if (b == NULL)
		return;
	munmap(b->t, b->bytes);
	free(b);
}

/* Locks the table.  A process that was killed while it had the lock may have left a
 * wrong number of members. */
static struct table *
hold(struct budget *b)
{
	struct table *t = b->t;

	if (pthread_mutex_lock(&t->lock) == EOWNERDEAD) {
		t->n = 0;
		for (unsigned i = 0; i < t->max; i++)
			t->n += t->member[i].used;
		pthread_mutex_consistent(&t->lock);
	}
	return t;
}

static void
release(struct table *t)
{
	pthread_mutex_unlock(&t->lock);
}

/* The rate that a member keeps while it sends nothing, so that it is noticed when it
 * begins. */
static uint64_t
reserve(const struct table *t)
{
	uint64_t bits = t->total * RESERVED_PERCENT / 100 / t->n;

	return bits > SHARE_LEAST_BITS ? bits : SHARE_LEAST_BITS;
}

/* Share `left` among n members: those that want less than an equal part get what they
 * want, and the others share the rest in the same way. */
static uint64_t
fair_share(const struct table *t, uint64_t demand)
{
	uint64_t left = t->total, level = 0, below = 0;
	unsigned n = t->n;

	for (bool again = true; again && n > 0;) {
		again = false;
		level = left / n;
		uint64_t sum = 0;
		unsigned small = 0;
		for (unsigned i = 0; i < t->max; i++)
			if (t->member[i].used && t->member[i].demand <= level) {
				sum += t->member[i].demand;
				small++;
			}
		again = small != below;
		below = small;
		n = t->n - small;
		left = t->total > sum ? t->total - sum : 0;
	}
	/* When all members get what they want, the rest is shared equally, too. */
	if (n == 0)
		return demand + left / t->n;
	return demand < level ? demand : level;
}

static void
judge(struct table *t, struct member *m, uint64_t now_us, uint64_t sent_bits)
{
	uint64_t us = now_us - m->at_us, sent = sent_bits - m->sent;
	double could = (double)m->grant * (double)us / 1e6;

	m->at_us = now_us;
	m->sent = sent_bits;
	m->rate = (uint64_t)(1e6 * (double)sent / (double)us);
	bool greedy = sent > 0 &&
	              (double)sent + SLACK_BITS >= could * GREEDY_PERCENT / 100;
	m->demand = greedy ? ALL : 2 * m->rate + reserve(t);
}

/* A process that is stopped, or hangs, sends nothing: what was granted to it is for the others, until it
 * asks again. */
static void
pass_over(struct table *t, uint64_t now_us)
{
	for (unsigned i = 0; i < t->max; i++) {
		struct member *m = &t->member[i];
		if (m->used && now_us > m->at_us + SILENT_US)
			m->grant = m->demand = 0;
	}
}

/* Grant a member as much of its fair share as no other member still uses. */
static void
settle(struct table *t, struct member *m)
{
	uint64_t others = 0, want = fair_share(t, m->demand);

	for (unsigned i = 0; i < t->max; i++)
		if (t->member[i].used && &t->member[i] != m)
			others += t->member[i].grant;
	uint64_t room = t->total > others ? t->total - others : 0;
	m->grant = want < room ? want : room;
	if (m->grant < SHARE_LEAST_BITS)
		m->grant = SHARE_LEAST_BITS;
}

int
budget_enter(struct budget *b, uint64_t now_us)
{
	struct table *t = hold(b);
	int found = -1;

	for (unsigned i = 0; i < t->max && found < 0; i++)
		if (!t->member[i].used)
			found = (int)i;
	if (found >= 0) {
		struct member *m = &t->member[found];
		t->n++;
		*m = (struct member){ .used = true, .process = b->process, .at_us = now_us };
		/* A new member is taken to want everything, until it shows otherwise. */
		m->demand = ALL;
		settle(t, m);
	}
	release(t);
	return found;
}

void
budget_leave(struct budget *b, int member)
{
	struct table *t = hold(b);

	assert(t->member[member].used);
	t->member[member].used = false;
	t->n--;
	release(t);
}

void
budget_forget(struct budget *b, pid_t process)
{
	struct table *t = hold(b);

	for (unsigned i = 0; i < t->max; i++)
		if (t->member[i].used && t->member[i].process == process) {
			t->member[i].used = false;
			t->n--;
		}
	release(t);
}

uint64_t
budget_share(struct budget *b, int member, uint64_t now_us, uint64_t sent_bits)
{
	struct table *t = hold(b);
	struct member *m = &t->member[member];

	assert(m->used);
	/* The member begins to send: how much it can use is not known yet. */
	bool begins = m->rate == 0 && sent_bits > m->sent;
	if (now_us - m->at_us >= EPOCH_US)
		judge(t, m, now_us, sent_bits);
	if (begins)
		m->demand = ALL;
	pass_over(t, now_us);
	settle(t, m);
	uint64_t bits = m->grant;
	release(t);
	return bits;
}

uint64_t
budget_carried(struct budget *b, int member)
{
	struct table *t = hold(b);
	uint64_t sum = 0;
	unsigned greedy = 0;

	for (unsigned i = 0; i < t->max; i++) {
		const struct member *m = &t->member[i];
		if (!m->used)
			continue;
		sum += m->rate;
		greedy += m->demand == ALL || (int)i == member;
	}
	release(t);
	return greedy > 0 ? sum / greedy : 0;
}
