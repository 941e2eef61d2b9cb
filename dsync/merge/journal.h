/* journal.h: what is known of a target, in a file beside it, never in the target's own bytes.
 * Behind that, the file holds the stream that is being merged.
 *
 * The file begins with two slots of 4 KiB, written in turn, so that one is always whole.
 * While one program has the journal open, no other program can open it.
 */
#ifndef DSYNC_MERGE_JOURNAL_H
#define DSYNC_MERGE_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/disk.h"
#include "dsync/merge/sample.h"
#include "dsync/stream/stream.h"

enum { JOURNAL_STREAM_AT = 8192 /* byte behind both slots */ };

enum target_flags {
	TARGET_FUZZY = 1,      /* the state is not consistent */
	TARGET_PENDING = 2,    /* the stream in the journal is whole, and is being applied */
	TARGET_INCOMPLETE = 4, /* a stream is being applied as it arrives; its end is missing */
	TARGET_MIXED = 8,      /* incomplete by more than one stream */
};

struct target_state {
	uint64_t target_bytes;
	struct stream_id id;      /* the state that the target has; all zeros: not known */
	struct stream_id lineage; /* lineage of that state; or all zeros */
	uint32_t flags;           /* of enum target_flags */
	struct stream_id next;    /* pending or incomplete: the state that the target will have */
	struct stream_id next_lineage;
	bool next_fuzzy;
	uint64_t stream_bytes; /* pending: length of the stream in the journal */
	uint64_t next_made_at; /* seconds since 1970 */
	uint64_t made_at;   /* when the state was extracted, in seconds since 1970 */
	uint64_t merged_at; /* when it was merged, in seconds since 1970 */
	uint8_t sample[SHA256_BYTES]; /* of the target after the merge (sample.h) */
	struct sample_marks marks; /* pending: of the target before the merge; all zeros: not known */
};

struct journal;

/* Open or make the file.  ERR_REFUSED: another program has it open.  ERR_FORMAT: it is no
 * journal, or both slots are damaged.  ERR_UNSUPPORTED: it is no regular file. */
int journal_open(struct journal **, const char *path, struct err *);
/* Read the state without making or locking the file.  ERR_ABSENT: there is no file; other errors
 * as journal_open(). */
int journal_look(struct target_state *, const char *path, struct err *);
/* Close the journal.  A file that journal_open() made and that holds no state is removed. */
void journal_close(struct journal *); /* NULL is fine */
/* The state that the file holds; all zeros when the file is new. */
const struct target_state *journal_state(const struct journal *);
/* Write another state.  Returns when it is on the disk.  ERR_IO. */
int journal_say(struct journal *, const struct target_state *, struct err *);
/* Write n bytes of the stream, from its byte `at` on, in large parts, and in order.  They survive a
 * crash only when journal_disk() was flushed.  ERR_IO. */
int journal_store(struct journal *, const void *bytes, size_t n, uint64_t at, struct err *);
/* Give back the room that was reserved behind a stream of `bytes` bytes: the target may need it.
 * ERR_IO. */
int journal_trim(struct journal *, uint64_t bytes, struct err *);
/* The journal's file, for the stream that begins at JOURNAL_STREAM_AT; it is borrowed. */
struct disk *journal_disk(struct journal *);
/* Free the room that the stream takes.  ERR_IO. */
int journal_empty(struct journal *, struct err *);

/* The path of a target's journal when the user named none: beside a file, to which symbolic links may
 * lead; for a device in `folder`, which is created.  A device of the device mapper has one path,
 * whichever of its names was used.  Returns a new string, which the caller frees; NULL on failure:
 * ERR_IO, ERR_NOMEM. */
char *journal_path(const char *target, const char *folder, struct err *);

#endif /* DSYNC_MERGE_JOURNAL_H */
