/* streamed.h: a disk that can be used while its contents are still arriving.
 *
 * A sector that the image stores is absent until it is on the disk; all others are present from
 * the beginning, and have the disk's own bytes.  A read of a sector that is absent is answered
 * with what the source has, which is checked first, and the data is written to the disk
 * afterwards.  Whatever is written goes to the disk alone, and the sectors are present then.  What
 * is absent is fetched in the background while nobody asks for anything.
 *
 * What was flushed survives a power cut, and so does what is known about which sectors are
 * present (stream/table).  The first 4 KiB are kept with the table, and a marker that says that
 * the disk is not complete stands in their place, until streamed_finish().
 */
#ifndef STREAM_DISK_STREAMED_H
#define STREAM_DISK_STREAMED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/image/format/order.h"
#include "stream/export/export.h"

enum {
	/* How long there must have been no request before the disk is filled.  20 ms are more
	 * than a busy program leaves between two requests. */
	STREAMED_IDLE_MS = 20,
};

/* Strings are borrowed until streamed_close(). */
struct streamed_config {
	const char *disk; /* a block device or a regular file */
	/* A file or device for the sector table; "memory": it is kept in memory alone, and a disk
	 * that is not complete begins anew; NULL: it is placed on the disk, where nothing else
	 * is. */
	const char *table;
	uint64_t table_memory_bytes; /* 0: TABLE_MEMORY_BYTES */
	/* The file of marks (marks.h), so that another program can go on when this one is killed,
	 * without loss; NULL: none.  If there are marks in it, they are taken over, and `anew` does
	 * not count.  Not with a table in memory. */
	const char *marks;
	/* Begin anew, whatever is on the disk; else a disk that was begun goes on, and one that is
	 * complete stays as it is. */
	bool anew;
	bool zero, discard; /* clear what the image does not store, when the disk begins */
	/* When the disk begins, its partitions are as large together as the disk, by a plan
	 * (placing.h), and no filesystem is enlarged. */
	bool fit;
	bool no_fill;       /* fetch only what is read */
	uint64_t fill_rate;  /* bytes a second; 0: no limit */
	uint64_t idle_ms;    /* before the disk is filled; 0: it is always filled */
	/* What is fetched before the rest, without waiting until the disk is idle; NULL: nothing.
	 * Borrowed until streamed_close(). */
	const struct order *order;
	const char *record;  /* the file for a record of what is read first; NULL: none */
	uint64_t timeout_ms; /* after which a read fails that cannot be fetched; 0: never */
	/* Called in any thread with a sentence for the log.  It must not wait for the disk. */
	void (*tell)(void *arg, const char *sentence);
	void *arg;
};

struct streamed;

/* Open a disk that is to become what `source` holds: one that was begun goes on.  *source is
 * borrowed until streamed_close().  ERR_USAGE: the disk is too small, or there is no place for the
 * table; ERR_REFUSED: the disk is in use, or its table belongs to another image or disk;
 * ERR_FORMAT: the table is damaged where data was written locally; ERR_IO; ERR_NOMEM; errors of
 * marks_open().  With cfg->fit, also errors of placing_make() and placing_check(). */
int streamed_open(
    struct streamed **, struct export *source, const struct streamed_config *, struct err *);
/* Start the threads that write what was read, and fill the disk.  They work for the owner of the
 * calling thread (cancel.h).  ERR_IO: no thread can be started. */
int streamed_start(struct streamed *, struct err *);
/* End the threads, flush, and free the device, when no request runs any more.  NULL is allowed.
 * Returns -1 when the flush fails; the device is freed all the same. */
int streamed_close(struct streamed *, struct err *);

/* The functions from here on may be called in any thread. */
uint64_t streamed_bytes(const struct streamed *);
/* Read bytes [at, at + n), which are on the disk.  ERR_IO; ERR_FORMAT: the source is damaged;
 * ERR_CANCELLED: the calling thread's work ends while the source does not answer. */
int streamed_read(struct streamed *, void *buf, size_t n, uint64_t at, struct err *);
/* Write bytes, or zeros, to [at, at + n).  Errors as of streamed_read(), since the rest of a sector
 * of which only a part is written may be absent.  ERR_REFUSED: the sector table is there. */
int streamed_write(struct streamed *, const void *buf, size_t n, uint64_t at, struct err *);
int streamed_zero(struct streamed *, uint64_t n, uint64_t at, struct err *);
/* Nobody needs what is in [at, at + n) any more: it is not fetched, and is discarded.  What is absent
 * there becomes zeros. */
int streamed_trim(struct streamed *, uint64_t n, uint64_t at, struct err *);
/* What was written before this call survives a power cut when it returns 0.  After a failure
 * the disk has lost writes, and every later flush fails, too. */
int streamed_flush(struct streamed *, struct err *);

/* Read bytes [at, at + n) of what the source has, for other machines: from the disk where nothing was
 * written locally, else from the source.  What is absent is put onto the disk, too.  What the image
 * does not store reads as zeros.  Errors as of streamed_read(). */
int streamed_read_image(struct streamed *, void *buf, size_t n, uint64_t at, struct err *);

struct streamed_status {
	uint64_t stored_bytes;  /* what the image stores */
	uint64_t present_bytes; /* how much of that is on the disk */
	uint64_t read_bytes, written_bytes; /* by clients */
	uint64_t fetched_bytes; /* of the source, for clients that waited */
	uint64_t awaited_bytes; /* that clients waited for while they were fetched for the order */
	uint64_t filled_bytes;  /* of the source, in the background */
	uint64_t ordered_bytes; /* of those, what the order has named */
	bool waiting;  /* the source does not answer at the moment */
	bool finished; /* streamed_finish() was called */
};

struct streamed_status streamed_status(struct streamed *);
/* Finish a disk on which everything is present: flush, put the first 4 KiB into their place, and
 * clear the sector table but for its headers, so that the disk is a disk like any other.  What
 * the disk shows does not change, and it can be used further.  The thread that fills the disk
 * calls this when nothing is absent any more, and so does streamed_close().  ERR_USAGE: something
 * is absent; ERR_IO. */
int streamed_finish(struct streamed *, struct err *);

#endif /* STREAM_DISK_STREAMED_H */
