/* table_impl.h: what a struct table is made of; for the files of this folder only.
 *
 * The table on its disk is a sequence of frames of 4 KiB:
 *
 *	header, header, boot area, summary frames, frames of sectors
 *
 * A frame has eight pieces (piece.h).  The summary is in memory as a whole; frames of sectors
 * are read when they are needed, and the one that was not needed for the longest time is
 * forgotten.  A frame with marks that are not written stays in memory: it is protected in the
 * table of recent frames.
 *
 * Two things spare most reads of frames.  The counts of each frame are in memory
 * (frame_counts.c): a word that says how many of its sectors are absent, and is read
 * without the lock.  The runs of a frame that was forgotten are kept when few bytes are
 * enough for them (frame_runs.c). */
#ifndef STREAM_TABLE_TABLE_IMPL_H
#define STREAM_TABLE_TABLE_IMPL_H

#include <pthread.h>
#include <stdatomic.h>

#include "common/base/lru.h"
#include "stream/table/table.h"

enum {
	FRAME_BYTES = 4096,
	FRAME_PIECES = FRAME_BYTES / PIECE_BYTES,
	FRAME_BITS_BYTES = FRAME_PIECES * PIECE_BITS_BYTES,
	FRAME_SECTORS = FRAME_BITS_BYTES * 8,
	HEADER_FRAMES = 2,
	BOOT_FRAME = HEADER_FRAMES,
	SUMMARY_FRAME = BOOT_FRAME + 1, /* the first one */
};

struct frame {
	uint64_t number; /* among the frames of sectors */
	bool dirty;      /* has marks that no flush has taken */
	bool dirty_local; /* some of these are of data that was written locally */
	bool writing;    /* a flush has taken its marks, and has not written them yet */
	uint8_t local;   /* a bit for each piece: has local data */
	uint8_t bits[FRAME_BITS_BYTES];
};

/* The file of marks has them in this form (marks.h). */
_Static_assert(sizeof(struct frame) == MARKS_SLOT_BYTES, "a slot of marks is a frame");
_Static_assert(offsetof(struct frame, dirty) == 8 && offsetof(struct frame, dirty_local) == 9 &&
		       offsetof(struct frame, writing) == 10 &&
		       offsetof(struct frame, local) == 11 && offsetof(struct frame, bits) == 12,
    "a slot of marks has what a frame has");

enum { FRAME_RUNS_BOUNDS = 5 };

/* The bits of a frame that has few runs. */
struct frame_runs {
	uint32_t name; /* 1 + number of the frame; 0: these are the runs of none */
	uint8_t local; /* as in struct frame */
	uint8_t n : 7, first : 1; /* bounds; the first bit */
	uint16_t bounds[FRAME_RUNS_BOUNDS]; /* bits that differ from those in front of them */
};

struct table {
	struct disk *on; /* NULL: in memory alone */
	uint64_t at_bytes;
	struct table_header header; /* its sequence is that of the last flush */
	uint64_t header_sequence; /* of the headers on the disk */
	uint64_t nframes, nsummary; /* frames of sectors, and of the summary */
	bool failed;                /* a flush has failed */
	_Atomic uint32_t *counts; /* one for each frame; written with the lock, read without it */
	atomic_uint_least64_t present; /* written with the lock, read without it */
	atomic_uint ndirty; /* frames that are protected; written with the lock, read without it */
	pthread_mutex_t lock;       /* guards all that follows */
	struct lru recent;          /* of the frames in memory, by number */
	struct frame *frames; /* in `marks`, if there are some */
	struct marks *marks;  /* borrowed, or NULL */
	uint32_t max; /* frames that fit into memory; set once */
	struct frame_runs *runs; /* of the frame i at i % nruns */
	size_t nruns;         /* set once; 0: the table is in memory alone */
	uint64_t written; /* frames of sectors, by all flushes */
	/* FRAME_BITS_BYTES for each of its frames: which pieces on the medium have local data */
	uint8_t *summary;
	bool *summary_dirty;  /* for each of its frames */
	uint8_t boot[TABLE_BOOT_BYTES]; /* of a table in memory alone */
};

/* Byte of the disk where a frame begins, counted from the table's first frame. */
static inline uint64_t
frame_place(const struct table *t, uint64_t frame)
{
	return t->at_bytes + frame * FRAME_BYTES;
}

static inline uint64_t
frame_of_sectors(const struct table *t, uint64_t number)
{
	return SUMMARY_FRAME + t->nsummary + number;
}

static inline bool
bit_is_set(const uint8_t *bits, uint64_t i)
{
	return bits[i / 8] >> i % 8 & 1;
}

static inline void
bit_set(uint8_t *bits, uint64_t i)
{
	bits[i / 8] |= (uint8_t)(1 << i % 8);
}

/* An aligned buffer for n frames; NULL: no memory.  free() frees it. */
void *frames_buffer(size_t n);

/* frames.c.  The callers hold the lock. */

/* The frame with this number, if it is in memory, else NULL.  It stays there for as long as one
 * that frame_get() returns. */
struct frame *frame_find(struct table *, uint64_t number);
/* The frame with this number, read from the disk if it is not in memory; the lock is released while
 * it is read.  It stays in memory until the next call, until the lock is released, or as long as it
 * is protected. */
struct frame *frame_get(struct table *, uint64_t number, struct err *);
/* Decode what is on the disk for this frame, into an otherwise empty frame.  ERR_FORMAT: a piece
 * is damaged of which the summary says that it has local data. */
int frame_decode(struct table *, struct frame *, uint64_t number, const uint8_t *block,
    struct err *);
/* Encode a frame of sectors, or of the summary. */
void frame_encode(const struct table *, const struct frame *, uint8_t *block);
void summary_encode(const struct table *, uint64_t number, uint8_t *block);
/* Read one frame of the summary.  Where a piece is damaged, there may be local data. */
void summary_decode(struct table *, uint64_t number, const uint8_t *block);
/* Note which pieces of this frame, as it is on the medium, have local data: a bit for each. */
void summary_note(struct table *, uint64_t number, uint8_t local);
/* Note a change of the frame, which is protected from now on. */
void frame_dirty(struct table *, struct frame *, bool local);
/* A flush has taken the frame's marks; a flush has written them. */
void frame_taken(struct table *, struct frame *);
void frame_written(struct table *, struct frame *);

/* table.c */
/* How many bits from `at` on, `most` at most, are the same?  most > 0. */
uint64_t table_same_bits(const uint8_t *bits, uint64_t at, uint64_t most);

/* frame_counts.c.  Those that change counts are called with the lock, or before other
 * threads know the table. */

/* All of these sectors are absent. */
void frame_counts_begin(struct table *, const struct rangeset *stored);
/* The frame was read from the disk when the table was opened.  Returns how many of the stored
 * sectors are present. */
uint64_t frame_counts_read(struct table *, const struct frame *, const struct rangeset *stored);
/* Note that the frame has changed, and that became_present of its absent sectors are present now. */
void frame_counts_changed(struct table *, const struct frame *, uint64_t became_present);

/* frame_runs.c.  The callers hold the lock, or no other thread knows the table. */

/* All frames of a table on a disk are empty. */
void frame_runs_empty_all(struct table *);
/* Keep the runs of this frame, if they are few, instead of those that were kept before. */
void frame_runs_keep(struct table *, const struct frame *);
/* The runs that were kept of this frame; NULL: there are none. */
const struct frame_runs *frame_runs_find(const struct table *, uint64_t number);
/* Bit number `in` of the frame; *n: how many bits from there on, `most` at most, are the same. */
bool frame_runs_bit(const struct frame_runs *, uint64_t in, uint64_t most, uint64_t *n);
/* Make the frame that has these runs. */
void frame_runs_draw(const struct frame_runs *, struct frame *);

/* table_flush.c: write the frames of the summary that have changed.  block: a buffer of one frame.
 * The caller does not hold the lock.  Returns how many were written, or -1: ERR_IO. */
int summary_write(struct table *, uint8_t *block, struct err *);

#endif /* STREAM_TABLE_TABLE_IMPL_H */
