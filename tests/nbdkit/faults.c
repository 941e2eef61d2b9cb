/* faults.c: an nbdkit filter for tests: a disk that fails, delays, and at a moment loses power.
 *
 *	faults-crash-at=N	the N-th write or flush is the last request that reaches the disk:
 *				each write that was not flushed is lost, kept, or torn, so that
 *				of its sectors of 512 bytes some are kept and others lost; from
 *				then on nothing is answered
 *	faults-seed=N		which of them
 *	faults-mark=FILE	is made when that has happened
 *	faults-fail-at=N	the N-th request of any kind fails with EIO
 *	faults-fail=N		so do N of 1000, by the seed
 *	faults-delay-ms=N	each request waits for up to N ms, by the seed
 *
 * What is written stays in memory until it is flushed, or its client leaves in order.  nbdkit
 * calls all of this in one thread at a time. */
#include <nbdkit-filter.h>

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../random.h"

enum { SECTOR_BYTES = 512 };

struct pending {
	struct pending *next;
	uint64_t at;
	uint32_t bytes;
	uint8_t data[];
};

static uint64_t crash_at, fail_at, fail_of_1000, delay_ms;
static const char *mark;
static uint64_t changes, requests; /* so far */
static struct pending *first, **last = &first;
static bool crashed;

static int
faults_config(nbdkit_next_config *next, nbdkit_backend *nxdata, const char *key,
    const char *value)
{
	static const struct {
		const char *key;
		uint64_t *to;
	} numbers[] = { { "faults-crash-at", &crash_at }, { "faults-fail-at", &fail_at },
		{ "faults-fail", &fail_of_1000 }, { "faults-delay-ms", &delay_ms },
		{ "faults-seed", &draw_seed } };

	for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
		if (strcmp(key, numbers[i].key) == 0)
			return nbdkit_parse_uint64_t(key, value, numbers[i].to);
	if (strcmp(key, "faults-mark") == 0) {
		mark = nbdkit_absolute_path(value);
		return mark != NULL ? 0 : -1;
	}
	return next(nxdata, key, value);
}

static int
faults_thread_model(void)
{
	return NBDKIT_THREAD_MODEL_SERIALIZE_ALL_REQUESTS;
}

/* Until the client or nbdkit has had enough. */
static int
answer_nothing(int *err)
{
	while (nbdkit_nanosleep(3600, 0) == 0)
		;
	*err = ESHUTDOWN;
	return -1;
}

/* What each request meets first. */
static int
meet(int *err)
{
	if (crashed)
		return answer_nothing(err);
	requests++;
	if (delay_ms > 0)
		nbdkit_nanosleep(0, (unsigned)draw(delay_ms * 1000000 + 1) % 1000000000);
	if (requests != fail_at && (fail_of_1000 == 0 || draw(1000) >= fail_of_1000))
		return 0;
	nbdkit_error("faults: request %" PRIu64 " fails", requests);
	*err = EIO;
	return -1;
}

static void
forget(void)
{
	struct pending *p;

	while ((p = first) != NULL) {
		first = p->next;
		free(p);
	}
	last = &first;
}

/* All that was written reaches the disk. */
static int
settle(nbdkit_next *next, int *err)
{
	for (const struct pending *p = first; p != NULL; p = p->next)
		if (next->pwrite(next, p->data, p->bytes, p->at, 0, err) != 0)
			return -1;
	forget();
	return next->can_flush(next) == 1 ? next->flush(next, 0, err) : 0;
}

/* Some of the sectors of one write. */
static int
tear(nbdkit_next *next, const struct pending *p, int *err)
{
	uint32_t n;

	for (uint32_t at = 0; at < p->bytes; at += n) {
		n = SECTOR_BYTES - (p->at + at) % SECTOR_BYTES;
		n = n < p->bytes - at ? n : p->bytes - at;
		if (draw(2) == 0 &&
		    next->pwrite(next, p->data + at, n, p->at + at, 0, err) != 0)
			return -1;
	}
	return 0;
}

static int
crash(nbdkit_next *next, int *err)
{
	enum { LOST, KEPT, TORN, FATES };
	int rc = 0;

	for (const struct pending *p = first; rc == 0 && p != NULL; p = p->next) {
		uint64_t fate = draw(FATES);
		if (fate == KEPT)
			rc = next->pwrite(next, p->data, p->bytes, p->at, 0, err);
		else if (fate == TORN)
			rc = tear(next, p, err);
	}
	forget();
	crashed = true;
	nbdkit_debug("faults: crashed at request %" PRIu64, requests);
	FILE *f = mark != NULL ? fopen(mark, "w") : NULL;
	if (f != NULL)
		fclose(f);
	return rc == 0 ? answer_nothing(err) : -1;
}

static bool
is_last(void)
{
	return ++changes == crash_at;
}

static int
faults_pread(nbdkit_next *next, void *handle, void *buf, uint32_t count, uint64_t offset,
    uint32_t flags, int *err)
{
	uint64_t end = offset + count;

	(void)handle;
	if (meet(err) != 0 || next->pread(next, buf, count, offset, flags, err) != 0)
		return -1;
	for (const struct pending *p = first; p != NULL; p = p->next) {
		uint64_t from = p->at > offset ? p->at : offset;
		uint64_t to = p->at + p->bytes < end ? p->at + p->bytes : end;
		if (from < to)
			memcpy((uint8_t *)buf + (from - offset), p->data + (from - p->at),
			    to - from);
	}
	return 0;
}

static int
faults_pwrite(nbdkit_next *next, void *handle, const void *buf, uint32_t count,
    uint64_t offset, uint32_t flags, int *err)
{
	(void)handle;
	if (meet(err) != 0)
		return -1;
	struct pending *p = malloc(sizeof *p + count);
	if (p == NULL) {
		*err = ENOMEM;
		return -1;
	}
	*p = (struct pending){ .at = offset, .bytes = count };
	memcpy(p->data, buf, count);
	*last = p;
	last = &p->next;
	if (is_last())
		return crash(next, err);
	return flags & NBDKIT_FLAG_FUA ? settle(next, err) : 0;
}

static int
faults_flush(nbdkit_next *next, void *handle, uint32_t flags, int *err)
{
	(void)handle, (void)flags;
	if (meet(err) != 0)
		return -1;
	return is_last() ? crash(next, err) : settle(next, err);
}

static int
faults_finalize(nbdkit_next *next, void *handle)
{
	int err = 0;

	(void)handle;
	return crashed ? 0 : settle(next, &err);
}

static int
yes(nbdkit_next *next, void *handle)
{
	(void)next, (void)handle;
	return 1;
}

/* What was not flushed is known here alone. */
static int
no(nbdkit_next *next, void *handle)
{
	(void)next, (void)handle;
	return 0;
}

static int
faults_can_zero(nbdkit_next *next, void *handle)
{
	(void)next, (void)handle;
	return NBDKIT_ZERO_EMULATE;
}

static int
faults_can_fua(nbdkit_next *next, void *handle)
{
	(void)next, (void)handle;
	return NBDKIT_FUA_NATIVE;
}

static struct nbdkit_filter filter = {
	.name = "faults",
	.longname = "a disk that fails, for tests",
	.config = faults_config,
	.config_help = "faults-crash-at=N faults-seed=N faults-mark=FILE faults-fail-at=N\n"
		       "faults-fail=N faults-delay-ms=N",
	.thread_model = faults_thread_model,
	.finalize = faults_finalize,
	.unload = forget,
	.can_flush = yes,
	.can_fua = faults_can_fua,
	.can_zero = faults_can_zero,
	.can_trim = no,
	.can_extents = no,
	.can_multi_conn = yes,
	.pread = faults_pread,
	.pwrite = faults_pwrite,
	.flush = faults_flush,
};

/* nbdkit calls this function, which the macro defines. */
struct nbdkit_filter *filter_init(void);
NBDKIT_REGISTER_FILTER(filter)
