/* table.h: the sector table: which sectors of a disk are present, kept through power cuts.
 *
 * The table has a bit for each sector that the image may store; the others are always present,
 * and have no bit that anybody asks for.  It lies on a disk or in a file, and only as much of it
 * is in memory as fits into a given size; or all of it is in memory, and it ends with the
 * process.  Where all sectors of a part are present, it is asked without a lock, and nothing is
 * read.  docs/stream-format.md is its format.
 *
 * Marks reach the medium by table_flush() alone.  What it writes describes only data that was
 * flushed before.  All functions from table_run() on may be called from any thread.
 */
#ifndef STREAM_TABLE_TABLE_H
#define STREAM_TABLE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/disk.h"
#include "common/disk/rangeset.h"
#include "stream/table/marks.h"
#include "stream/table/piece.h"

enum {
	TABLE_BOOT_BYTES = 4096, /* room in the table for the first bytes of the disk */
	TABLE_MEMORY_BYTES = 64 << 20,
	TABLE_MEMORY_BYTES_MIN = 1 << 20,
};

struct table;

struct table_config {
	struct disk *on;   /* borrowed; NULL: the table is in memory alone */
	uint64_t at_bytes; /* byte of `on` where it begins, a multiple of 4096 */
	uint64_t memory_bytes; /* for the part that is in memory; TABLE_MEMORY_BYTES_MIN at least */
	struct marks *marks;   /* has the marks; borrowed until table_close(); NULL: they end with
	                        * the process */
};

/* The size in bytes of a table of this many sectors, a multiple of 4096. */
uint64_t table_bytes(uint64_t sectors);

/* Is there room for a table of this many sectors?  Nothing is written.  ERR_NOMEM: a table in memory
 * alone does not fit into memory_bytes; ERR_USAGE: the disk is too small for it. */
int table_check_room(const struct table_config *, uint64_t sectors, struct err *);
/* Make a table in which no sector of `stored` is present, write it, and flush it.  Of the header
 * `sequence` is not used.  ERR_NOMEM, ERR_IO; errors of table_check_room(). */
int table_create(struct table **, const struct table_config *, const struct table_header *,
    const struct rangeset *stored, struct err *);
/* Open a table that is on cfg->on, and read all of it that concerns `stored` sectors.
 * ERR_FORMAT: it is no table, or so damaged that data which was written locally might be lost;
 * ERR_IO; ERR_NOMEM. */
int table_open(struct table **, const struct table_config *, const struct rangeset *stored,
    struct err *);
/* Open a table that somebody else may be using, to ask it table_untouched() alone: nothing is
 * written.  What was flushed before this call is seen, and later marks may be.  Errors as of
 * table_open(). */
int table_open_to_look(struct table **, const struct table_config *, struct err *);
/* Does a table begin at byte at_bytes of this disk?  1, 0, or -1: errors of reading. */
int table_is_there(struct disk *, uint64_t at_bytes, struct table_header *, struct err *);
/* Let other programs on this machine know, as long as cfg->on is open, that the disk of this table is
 * served, and that its flush brings into the table whatever was written.  Nothing is done where
 * cfg->on is no file or device, or cannot be locked. */
void table_be_served(struct table *);
/* Has another program called table_be_served() for the table that this one was opened to look
 * at? */
bool table_is_served(const struct table *);
/* Free the table.  What was not flushed is forgotten.  NULL is allowed. */
void table_close(struct table *);
const struct table_header *table_header(const struct table *);
/* From now on the marks of this table outlive the process: those of an earlier one are in it.  Nothing
 * is done for a table without struct marks.  Errors of marks_serve(). */
int table_serve_marks(struct table *, struct err *);
/* Are the earlier marks those of this table, which was opened?  Errors of marks_check(). */
int table_check_marks(const struct table *, struct err *);
/* A program serves the disk without the marks of the one before, which count no more: the headers
 * get another sequence, and are flushed. */
int table_leave_marks(struct table *, struct err *);
/* Note that the disk has its marker: what is on the disk counts from now on.  The header is
 * written and flushed. */
int table_set_begun(struct table *, struct err *);
/* Note whether all marks are written and the disk is not written to from now on.  Where this is not
 * noted already, the header is written and flushed.  Whoever writes to the disk sets it to false
 * before: a table that is found without it may lack marks of what was written locally. */
int table_set_closed(struct table *, bool closed, struct err *);
/* Note that nothing is absent any more, and on which disk; the header is written and flushed. */
int table_set_complete(struct table *, const uint8_t disk[TABLE_DISK_BYTES], struct err *);
/* Write zeros over all but the headers, which say that the disk is complete. */
int table_clear(struct table *, struct err *);

/* Read or write the TABLE_BOOT_BYTES that the table has room for.  A table in memory alone has
 * them in memory. */
int table_read_boot(struct table *, void *buf, struct err *);
int table_write_boot(struct table *, const void *buf, struct err *);
/* Flush what table_write_boot() has written. */
int table_sync(struct table *, struct err *);

/* The next two take no lock and read nothing; r.len > 0, and r may reach beyond the table. */

/* Returns how many sectors from r.off on, r.len at most, are known at once to have nothing absent, which
 * stays so.  0 may also mean that a sector nearby is absent.  The run is as long as it can be: whoever
 * goes through a disk looks at each word in memory once. */
uint64_t table_whole_run(const struct table *, struct range r);
/* Is it known at once that table_mark() with r, local, would change nothing?  That stays so. */
bool table_is_settled(const struct table *, struct range r);
/* Are the first sectors of r (r.len > 0, inside the table, and stored by the image) present?  *n: how
 * many of them have the same answer.  ERR_IO, ERR_FORMAT: a part of the table cannot be read. */
int table_run(struct table *, struct range r, bool *present, uint64_t *n, struct err *);
/* Is it certain that nobody has written the first sectors of r (r.len > 0, inside the table, and
 * stored by the image) locally?  They are absent, or were fetched together with all present
 * sectors of their piece.  *n: how many of them have the same answer.  Errors as of table_run(). */
int table_untouched(struct table *, struct range r, bool *untouched, uint64_t *n, struct err *);
/* From now on these sectors, which are inside the table and stored by the image, are present.
 * local: they were written locally, and are not what the source has.  Errors as of table_run();
 * ERR_NOMEM: too much was marked since the last flush. */
int table_mark(struct table *, struct range, bool local, struct err *);
/* How many sectors are present. */
uint64_t table_present(const struct table *);
/* Were so many sectors marked since the last flush that table_flush() should be called soon? */
bool table_is_crowded(const struct table *);
/* Is anything marked that no flush has written? */
bool table_is_dirty(const struct table *);

/* Call sync(arg), which flushes the disk that the table describes; then write what was marked
 * before the call, and flush it.  With all unset, parts of the table are left out in which
 * nothing was marked as local since they were written.  When nothing is to be written, sync() is
 * all that is done.  One thread at a time may call this.  Errors of sync() and of writing; the
 * table may then not be flushed any more (asserted). */
int table_flush(struct table *, bool all, int (*sync)(void *arg, struct err *), void *arg,
    struct err *);

#endif /* STREAM_TABLE_TABLE_H */
