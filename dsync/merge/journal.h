/* journal.h: what is known of a target, in a file beside it, never in its bytes; and behind
 * that, the stream that is being merged.
 *
 * The file begins with two slots of 4 KiB, written in turn, so that one is always whole.
 * While the journal is open, no other program can open it.
 */
#ifndef DSYNC_MERGE_JOURNAL_H
#define DSYNC_MERGE_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/disk.h"
#include "dsync/stream/stream.h"

enum { JOURNAL_STREAM_AT = 8192 };

enum target_flags {
	TARGET_FUZZY = 1,      /* what was merged last is not one moment */
	TARGET_PENDING = 2,    /* the stream in the journal is whole, and is being applied */
	TARGET_INCOMPLETE = 4, /* a stream was being applied as it came, and had not ended */
};

struct target_state {
	uint64_t target_bytes;
	struct stream_id id;      /* the state that it has; none: not known */
	struct stream_id lineage; /* of that state; or none */
	uint32_t flags;           /* of enum target_flags */
	struct stream_id next;    /* pending or incomplete: the state that it is to have */
	struct stream_id next_lineage;
	bool next_fuzzy;
	uint64_t stream_bytes; /* pending: of the stream in the journal */
	uint64_t next_made_at;
	uint64_t made_at;   /* of the state: seconds since 1970, when it was extracted */
	uint64_t merged_at; /* and merged */
	uint8_t sample[SHA256_BYTES]; /* of the target, when it was merged (sample.h) */
};

struct journal;

/* Open or make the file.  ERR_REFUSED: another program has it.  ERR_FORMAT: it is something
 * else, or both slots are damaged. */
int journal_open(struct journal **, const char *path, struct err *);
/* journal_open() for looking: nothing is made or locked; ERR_ABSENT when it is not there. */
int journal_look(struct target_state *, const char *path, struct err *);
/* Removes a file that was made and says nothing. */
void journal_close(struct journal *); /* NULL is fine */
/* What the file says; all zeros when it was made. */
const struct target_state *journal_state(const struct journal *);
/* Say something else; returns when it is on the disk. */
int journal_say(struct journal *, const struct target_state *, struct err *);
/* The file, for the stream that begins at JOURNAL_STREAM_AT. */
struct disk *journal_disk(struct journal *);
/* Give the room of the stream back. */
int journal_empty(struct journal *, struct err *);

/* The journal of a target when none was named, into a new string: beside a file, or in
 * `folder` for a device, which is made.  NULL: *e says why. */
char *journal_path(const char *target, const char *folder, struct err *);

#endif /* DSYNC_MERGE_JOURNAL_H */
