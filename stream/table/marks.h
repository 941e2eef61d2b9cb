/* marks.h: the marks of a sector table that are not on the disk yet, in a file in memory that
 * outlives the program that serves the disk.
 *
 * The frames of the table that are in memory (table_impl.h) lie in this file, which is mapped: a
 * mark is in the file as soon as it is set.  When the program is killed, the next one reads the
 * frames that no flush had written, and goes on with them.  It makes a file of its own, which
 * takes the place of the former one when all that was taken over is in it; so it may be killed,
 * too, at any time.
 *
 * The file never leaves the machine, nor survives its end: it has to be on tmpfs or ramfs, since
 * the marks would otherwise outlive data that a power cut takes.  An empty file means that a
 * run begins; whoever starts the program for the first time makes one.
 *
 *	0     header, 512 bytes: "NDZMARKS", version 1, CRC-32C, sequence (common/base/slots.h);
 *	      24 id of the table[16], 40 u64 frames of sectors in the table, 48 u32 slots,
 *	      52 u32 bytes of a slot, zeros; little-endian
 *	512   u8 1: a flush has failed, so that what was written may be lost
 *	4096  slots: 0 u64 number of a frame, 8 u8 has marks that no flush has taken,
 *	      9 u8 some of them are local, 10 u8 has marks that a flush has taken and not written,
 *	      11 u8 a bit for each piece: has local data, 12 bits[3840], 3852 zeros[4]; numbers as the
 *	      machine has them
 *
 * The sequence is that of the table's headers while this run serves the disk: marks of an earlier
 * run are refused.  All functions but marks_note_failure() are called in one thread.
 */
#ifndef STREAM_TABLE_MARKS_H
#define STREAM_TABLE_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/range.h"
#include "stream/table/piece.h"

enum {
	MARKS_HEAD_BYTES = 4096,
	MARKS_SLOT_BYTES = 3856,
	MARKS_FRAME_BYTES = 8 * PIECE_BITS_BYTES,
};

/* What the head of the file says. */
struct marks_head {
	uint8_t id[TABLE_ID_BYTES];
	uint64_t sequence; /* from 1 on */
	uint64_t frames;
	uint32_t slots;
	bool failed;
};

/* A frame with marks that are not on the disk. */
struct marks_frame {
	uint64_t number;
	uint8_t local;
	uint8_t bits[MARKS_FRAME_BYTES];
};

/* Write the head of a file into out[MARKS_HEAD_BYTES]. */
void marks_head_put(const struct marks_head *, uint8_t *out);
/* Read the head of a file of file_bytes bytes from head[len].  false: it is damaged, and *h is not
 * set. */
bool marks_head_get(
    struct marks_head *h, const void *head, size_t len, uint64_t file_bytes);
/* Read slot[len].  1: *f has marks; 0: there are none; -1: it is damaged. */
int marks_slot_get(
    struct marks_frame *f, const struct marks_head *, const void *slot, size_t len);

struct marks;

/* Open the file, which must be there, and keep other programs from using it.  ERR_ABSENT: there is
 * none, so what was written may be lost; ERR_USAGE: it is not in memory; ERR_REFUSED: another
 * program serves the disk, or a flush had failed; ERR_FORMAT: it is damaged; ERR_IO; ERR_NOMEM. */
int marks_open(struct marks **, const char *path, struct err *);
/* Are there marks of an earlier program? */
bool marks_were_there(const struct marks *);
/* Are they those of this table, as it is on the disk now?  ERR_REFUSED: they are not. */
int marks_check(const struct marks *, const struct table_header *, struct err *);
/* Call take() for each run of sectors that is marked, until it fails.  local: some of the run's piece
 * were written locally.  The runs may be anywhere, also where the image stores nothing.  ERR_FORMAT,
 * ERR_IO. */
int marks_each(struct marks *,
    int (*take)(void *arg, struct range, bool local, struct err *), void *arg, struct err *);
/* Room for the frames of a new table, which are zeros, and stay until marks_close().  NULL: ERR_IO,
 * ERR_NOMEM. */
void *marks_room(struct marks *, uint32_t slots, struct err *);
/* From now on, what is in the room counts, and the earlier marks do not.  Of the head `slots` is
 * not used. */
int marks_serve(struct marks *, const struct marks_head *, struct err *);
/* Note that a flush has failed.  NULL is allowed; called in any thread. */
void marks_note_failure(struct marks *);
/* Free the memory and unlock the file.  closed: all marks are on the disk, so that the file becomes
 * empty; else it stays as it is.  NULL is allowed. */
void marks_close(struct marks *, bool closed);

#endif /* STREAM_TABLE_MARKS_H */
