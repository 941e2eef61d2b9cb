/* job.h: one chunk on its way to the target: it is decoded, then written. */
#ifndef IMAGEUNZIP_INSTALL_JOB_H
#define IMAGEUNZIP_INSTALL_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/image/read/chunk.h"
#include "common/image/read/prove.h"
#include "imageunzip/install/target.h"

struct place;

struct job {
	struct place *place; /* where it is installed; whoever makes the job sets it */
	struct proved *proved; /* the job is one of its holders */
	struct chunk c;        /* as proved_parsed(): what it leads to is borrowed */
	/* The header of what is written: the chunk's own header, or, with target.only,
	 * `cut`, which is owned. */
	const struct ndz_header *at;
	struct ndz_header *cut;
	bool apart; /* some of its data is not wanted */
	uint32_t number;
	const void *bytes; /* until the job was decoded, or, when streamed, freed */
	void *raw; /* decoded data, raw_cap bytes; the caller's */
	bool decoded; /* raw holds the data of a JOB_WHOLE already, which was its proof */
	enum {
		JOB_WHOLE,    /* raw holds all data */
		JOB_PACKED,   /* raw holds all data but the zero fragments */
		JOB_STREAMED, /* too large for raw: decoded again while writing */
	} how;
	bool *same;       /* JOB_PACKED: fragments that the target has, or that are not wanted */
	bool partial;     /* with `same`: only the bytes of the other fragments are here */
	bool owes;        /* some of its free space waits to be filled (free_space.h) */
	uint64_t ticket;  /* the ticket of its last write */
	struct ledger_parts parts; /* what was written of it, with --read-back */
	struct job *next; /* the next job in flight */
};

/* Make a job of a chunk, of which the job becomes a holder, and choose how it is decoded
 * into raw_cap bytes. ERR_FORMAT, ERR_NOMEM. */
int job_new(struct job **, struct proved *, const struct target *, size_t raw_cap,
    struct err *);
/* Can fragments that are on the target already be left out? */
bool job_can_skip(const struct chunk *, const struct target *, size_t raw_cap);
/* Find the fragments that are on the target already.  *same is the caller's to free, also
 * after an error. */
int job_compare(const struct chunk *, struct target *, bool **same, struct err *);
/* Is all that the chunk stores on the target already, so that installing it would change
 * nothing?  1, 0 (also when its table does not tell), or -1. */
int job_is_there(const struct chunk *, struct target *, struct err *);
/* Free the job; releases the chunk's bytes, if that was not done. */
void job_free(struct job *);
/* Decode the chunk into job->raw, if it was not decoded; releases its bytes as soon as they
 * are not needed any more. With --skip-same, fragments that the target has already are not
 * decoded. */
int job_decode(struct job *, struct target *, struct decoder *, struct err *);
/* Start to write the decoded data, which must not change until job_settle(), also after a
 * failure. Only one thread calls this. */
int job_launch(struct job *, struct target *, struct decoder *, struct err *);
/* Wait until the data is written; then fill the free space that the chunk answers for. */
int job_settle(struct job *, struct target *, struct err *);
/* At the end, with a job that was decoded once more: compare the target with it, and
 * write once more what differs. */
int job_mend(struct job *, struct target *, struct decoder *, struct err *);
/* Do both chunks answer for one sector? */
bool job_overlaps(const struct job *, const struct job *);

#endif /* IMAGEUNZIP_INSTALL_JOB_H */
