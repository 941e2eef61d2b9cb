/* job.h: one chunk on its way to the target: decoded, then written. */
#ifndef IMAGEUNZIP_INSTALL_JOB_H
#define IMAGEUNZIP_INSTALL_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/image/read/chunk.h"
#include "imageunzip/install/target.h"

struct job {
	struct chunk c;
	/* The chunk as the target has it: the image's header, or what target.only
	 * leaves of it (then in cut, which is owned). */
	const struct ndz_header *at;
	struct ndz_header *cut;
	bool apart; /* some of its data is not wanted */
	uint32_t number;
	const void *bytes;
	void (*released)(void *arg, const void *chunk);
	void *arg;
	void *raw; /* decoded data; the caller's */
	enum {
		JOB_WHOLE,    /* raw holds all data */
		JOB_PACKED,   /* all but the zero fragments */
		JOB_STREAMED, /* too large for raw: decoded again while writing */
	} how;
	bool *same;       /* JOB_PACKED: fragments that are there, or not wanted */
	bool partial;     /* with `same`: only the bytes of the other fragments are here */
	bool owes;        /* some of its free space waits to be filled (cover.h) */
	uint64_t ticket;  /* the ticket of its last write */
	struct job *next; /* in flight, behind it */
};

/* Take a chunk over: parse it and choose how it is decoded into raw_cap bytes. */
int job_new(struct job **, uint32_t number, const void *bytes, const struct target *,
    size_t raw_cap, void (*released)(void *arg, const void *chunk), void *arg,
    struct err *);
/* Can fragments that are on the target already be left out? */
bool job_can_skip(const struct chunk *, const struct target *, size_t raw_cap);
/* Find the fragments that are on the target already.  *same is the caller's to free, also
 * after an error. */
int job_compare(const struct chunk *, struct target *, bool **same, struct err *);
/* Releases the chunk's bytes, if that is still owed. */
void job_free(struct job *);
/* Check the chunk and decode it into job->raw; releases its bytes as soon as
 * they are not needed any more.  With --skip-same what the target has already
 * is not decoded. */
int job_decode(struct job *, struct target *, struct decoder *, struct err *);
/* Start to write it: until job_settle() its data must stay, also after a failure.
 * One thread does this. */
int job_launch(struct job *, struct target *, struct decoder *, struct err *);
/* Wait until it is written; then compare it, if that is wanted, and see to the free
 * space that it answers for. */
int job_settle(struct job *, struct target *, struct decoder *, struct err *);
/* Do both chunks answer for one sector? */
bool job_overlaps(const struct job *, const struct job *);

#endif /* IMAGEUNZIP_INSTALL_JOB_H */
