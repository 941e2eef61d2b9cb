/* stream.h: the stream of changed blocks, as docs/dsync-format.md lays it out: a head, records
 * in ascending order, and an end that counts them and has a digest over all.
 *
 * A record is checked by its own digest before any of its data is given out.  What concerns all
 * records together (their number, their chain of digests, whether a full copy covers the
 * device) is checked when the end is read; only after that the stream is known to be whole.
 */
#ifndef DSYNC_STREAM_STREAM_H
#define DSYNC_STREAM_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/sha256.h"
#include "common/disk/disk.h"
#include "common/disk/range.h"

enum {
	STREAM_ID_BYTES = 16,
	STREAM_ID_TEXT = 2 * STREAM_ID_BYTES + 1, /* in hex digits, with the NUL */
	STREAM_TOP_BYTES = 288,   /* the head with its digest */
	STREAM_KIND_BYTES = 16,   /* with the NUL */
	STREAM_BASES_MAX = 8,
	STREAM_DATA_MAX = 1 << 20, /* bytes of one data record; zeros have no limit */
	STREAM_RECORD_HEAD = 32,
	STREAM_RECORD_EXTRA = STREAM_RECORD_HEAD + SHA256_BYTES, /* beside the payload */
	STREAM_END_PAYLOAD = 72,
	STREAM_END_BYTES = STREAM_RECORD_EXTRA + STREAM_END_PAYLOAD,
	STREAM_BLOCK_MAX = 1 << 30,
};

/* The name of a state of a device: random bytes.  All zeros: no state. */
struct stream_id {
	uint8_t bytes[STREAM_ID_BYTES];
};

/* Make a new name. */
void stream_id_make(struct stream_id *);
static inline bool
stream_id_same(const struct stream_id *a, const struct stream_id *b)
{
	return memcmp(a, b, sizeof *a) == 0;
}
/* Whether it names a state. */
bool stream_id_set(const struct stream_id *);
/* Print the name as 32 hex digits into `out`.  Returns `out`. */
const char *stream_id_text(const struct stream_id *, char out[STREAM_ID_TEXT]);
/* Read a name from 32 hex digits.  ERR_USAGE. */
int stream_id_get(struct stream_id *, const char *text, struct err *);

enum stream_flags {
	/* The records cover every byte of the device. */
	STREAM_FULL = 1,
	/* The records have whatever was written since the bases, also what was written and
	 * then written back, whether or not a state between is a base. */
	STREAM_CUMULATIVE = 2,
};

struct stream_head {
	uint64_t device_bytes;
	uint32_t block_bytes; /* unit of changes, a power of two */
	uint32_t flags;       /* of enum stream_flags */
	struct stream_id id;      /* of the state that the records lead to */
	struct stream_id lineage; /* of all states of one source for one target; or none */
	unsigned nbases;          /* 0: the base is not known, or a full copy has none */
	struct stream_id bases[STREAM_BASES_MAX]; /* any of them leads to `id` */
	uint64_t made_at;                         /* seconds since 1970 */
	char kind[STREAM_KIND_BYTES];             /* of the source of change, with a NUL */
};

enum stream_type { STREAM_DATA = 1, STREAM_ZEROS = 2, STREAM_END = 3 };
enum stream_encoding { STREAM_RAW = 0, STREAM_ZSTD = 1 };

struct stream_record {
	enum stream_type type; /* STREAM_DATA, STREAM_ZEROS */
	struct range bytes;    /* of the device */
	const void *data;      /* bytes.len bytes of STREAM_DATA, valid until the next call */
};

/* The totals of all records. */
struct stream_totals {
	uint64_t data_records, zero_records;
	uint64_t data_bytes, zero_bytes;
	uint8_t chain[SHA256_BYTES]; /* chain of all digests so far */
};

struct stream_end {
	struct stream_totals totals;
	bool fuzzy; /* the data may not be consistent: the device may have been written meanwhile */
};

/* Writing. */

/* Encode a head; *t begins with it. */
void stream_put_head(const struct stream_head *, uint8_t out[STREAM_TOP_BYTES],
    struct stream_totals *);
/* Finish the record at `at`: its payload of `stored` bytes is already at
 * at + STREAM_RECORD_HEAD, with room for a digest behind it.  Returns the bytes of the record. */
size_t stream_put_record(uint8_t *at, enum stream_type, enum stream_encoding,
    struct range bytes, size_t stored);
/* Count a finished record of `bytes` bytes.  Call this in the order in which records are
 * written. */
void stream_count(struct stream_totals *, const uint8_t *at, size_t bytes);
void stream_put_end(const struct stream_end *, uint8_t out[STREAM_END_BYTES]);

/* Reading. */

struct stream_in;

/* Begin to read a stream from `from`, which is borrowed, at byte `at`, and not beyond byte `end`
 * (UINT64_MAX: to its own end).  The head is read and checked now.  ERR_FORMAT: it is no
 * stream or is damaged; ERR_UNSUPPORTED: its version or a flag is not known; ERR_IO. */
int stream_in_open(struct stream_in **, struct disk *from, uint64_t at, uint64_t end,
    struct err *);
void stream_in_close(struct stream_in *); /* NULL is fine */
const struct stream_head *stream_in_head(const struct stream_in *);
/* From now on, call copy() with every byte that was checked, in order, beginning with the head.
 * When copy() fails, reading fails with its error. */
void stream_in_copy(struct stream_in *,
    int (*copy)(void *arg, const void *bytes, size_t n, struct err *), void *arg);
/* Read the next record.  Returns 1: *r is the record; 0: the end was read, and the stream is
 * whole; -1: ERR_FORMAT: the stream is damaged, ends early, or goes on behind its end;
 * ERR_UNSUPPORTED: this build cannot decompress it; ERR_IO. */
int stream_in_next(struct stream_in *, struct stream_record *, struct err *);
/* What the end says, after stream_in_next() has returned 0. */
const struct stream_end *stream_in_end(const struct stream_in *);

#endif /* DSYNC_STREAM_STREAM_H */
