/* job_impl.h: what the files of a job share: job.c has the steps of a job, job_cursor.c
 * finds where its data is written, job_compare.c finds what the target has already. */
#ifndef IMAGEUNZIP_INSTALL_JOB_IMPL_H
#define IMAGEUNZIP_INSTALL_JOB_IMPL_H

#include "common/image/read/fragments.h"
#include "imageunzip/install/job.h"

/* Bytes that are read at once to compare: the size of the largest fragment. */
enum { COMPARE_BYTES = CODEC_WINDOWS_MAX * FRAGMENT_WINDOW_BYTES };

/* Where the data of a chunk goes, piece by piece, in order. */
struct cursor {
	struct target *t;
	const struct ndz_header *h;
	const struct maps *maps; /* of the target */
	/* What is done with the data: it is written or compared. */
	target_put_fn *put;
	struct ledger_parts *parts; /* for put(), or NULL */
	unsigned region;
	uint64_t region_at; /* bytes of that region that are done */
	uint64_t raw_at;    /* bytes of the chunk's data that are done */
};

/* job_cursor.c */

/* A cursor at the beginning of the chunk's data. */
struct cursor cursor_of(const struct chunk *, struct target *, target_put_fn *put);
/* Apply the relocations that lie in data[n], which begins at c->raw_at. ERR_FORMAT: a
 * relocation lies only partly in it. */
int cursor_relocate(const struct cursor *c, uint8_t *data, size_t n, struct err *);
/* Go on by up to n > 0 bytes that lie side by side on the disk.  Returns how many, and puts
 * into *sector where they begin. */
uint64_t cursor_advance(struct cursor *, uint64_t n, uint64_t *sector);
/* Put the next n bytes of the chunk's data to their places; p NULL: they are zeros. */
int cursor_put(struct cursor *, const uint8_t *p, uint64_t n, struct err *);
/* Pass over n bytes that the target has already. They are counted when writing. */
int cursor_put_same(struct cursor *, uint64_t n, struct err *);
/* For chunk_pieces(), with a cursor as its arg: relocate the next n bytes, and put them. */
int cursor_put_piece(void *cursor, void *data, size_t n, struct err *);

/* job_compare.c */

/* Which fragments need not be decoded, into j->same: those that are not wanted, and with
 * --skip-same those that are on the disk already. */
int job_find_same(struct job *j, struct target *, struct err *);
/* --skip-same without fragment digests: write the data that the target does not have. */
int job_write_differing(struct target *, uint64_t sector, const void *data,
    uint64_t bytes, struct ledger_parts *, struct err *);

#endif /* IMAGEUNZIP_INSTALL_JOB_IMPL_H */
