/* streamed_impl.h: what a struct streamed is made of; for the files of this folder only. */
#ifndef STREAM_DISK_STREAMED_IMPL_H
#define STREAM_DISK_STREAMED_IMPL_H

#include <pthread.h>
#include <stdatomic.h>

#include "common/base/cancel.h"
#include "common/disk/maps.h"
#include "common/disk/ptable.h"
#include "common/disk/rangeset.h"
#include "stream/disk/below.h"
#include "stream/disk/fill_ahead.h"
#include "stream/disk/image_view.h"
#include "stream/disk/streamed.h"
#include "stream/disk/holds.h"
#include "stream/record/recorder.h"
#include "stream/table/table.h"

/* Data that was fetched for a client, and is not on the disk yet. */
struct fetched {
	struct fetched *next;
	struct range sectors;
	uint8_t data[];
};

/* What waits to be written behind the answers (behind.c). */
struct behind {
	pthread_t thread;
	bool running, ending;
	pthread_mutex_t lock; /* guards all but `thread` and `running` */
	pthread_cond_t news;
	struct fetched *first, **last;
	size_t bytes; /* of all that waits */
};

enum { FILL_HINTS = 16 };

/* What fills the disk (fill.c). */
struct fill {
	pthread_t thread;
	bool running;
	struct cancel cancel; /* ends the thread */
	pthread_mutex_t lock; /* guards the next two */
	uint64_t hints[FILL_HINTS]; /* sectors behind which the machine read; UINT64_MAX: none */
	unsigned next_hint;
	/* Only the thread uses what follows. */
	uint64_t cursor; /* the sector from which disk order goes on */
};

struct placing;

struct streamed {
	struct streamed_config cfg;
	struct export *source;  /* borrowed */
	struct disk *disk;      /* owned */
	struct disk *table_on;  /* owned; NULL: the table is on the disk, or in memory */
	struct table *table;
	struct marks *marks;    /* owned; NULL: they end with the process */
	struct range table_at;  /* sectors of the disk that the table has; length 0: none */
	bool cut;               /* the disk that is shown ends in front of the table */
	/* Where the sectors of the image are on the disk.  All else here, and the table, counts
	 * sectors of the disk. */
	struct maps maps;
	struct placing *placing; /* owned, while the disk is opened; NULL: all are where they were */
	struct rangeset stored; /* sectors for which the image stores something */
	uint64_t stored_sectors, bytes; /* of the disk that is shown */
	bool opened; /* streamed_open() has succeeded */
	bool hidden; /* the kernel's devices of its partitions were taken away */
	struct below below;
	struct holds holds;
	struct behind behind;
	struct fill fill;
	struct fill_ahead ahead;
	struct image_view view;
	struct recorder *recorder; /* NULL: nothing is recorded */
	pthread_mutex_t flush_lock; /* guards the next four lines */
	pthread_cond_t flush_ended;
	bool flushing, flush_failed;
	uint64_t flushes_begun, flushes_done;
	uint64_t all_done; /* the number of the last flush that has written all marks */
	atomic_uint requests;        /* of clients, now */
	_Atomic uint64_t last_request_us; /* when the last one ended */
	atomic_uint fetching;        /* reads of clients that wait for the source, or look whether
	                              * they have to wait for a fetch of the order */
	atomic_uint waiting;         /* fetches that are being tried again */
	atomic_bool finished;
	_Atomic uint64_t read_bytes, written_bytes, fetched_bytes, filled_bytes, ordered_bytes;
	_Atomic uint64_t awaited_bytes;
};

/* streamed.c */
/* Are the first sectors of r (r.len > 0) absent?  *n: how many of them have the same answer. */
int streamed_absent_run(
    struct streamed *, struct range r, bool *absent, uint64_t *n, struct err *);
/* Call present() with each run of stored sectors that are present, in order, until it fails.  Returns
 * -1 then, and when the sector table cannot be read. */
int streamed_each_present(struct streamed *,
    int (*present)(struct streamed *, struct range, struct err *), struct err *);
/* Mark those of these sectors that the image stores, and that nobody else writes to meanwhile. */
int streamed_mark(struct streamed *, struct range, bool local, struct err *);
/* Write what is marked in the sector table, before more of it is marked than fits into memory. */
int streamed_make_room(struct streamed *, struct err *);
/* Write those of these sectors that are absent, with data of the source, and mark them.
 * *written: how many. */
int streamed_put(struct streamed *, struct range, const uint8_t *data, uint64_t *written,
    struct err *);
void streamed_tell(struct streamed *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* streamed_flush(), which with all set also writes marks of what was fetched. */
int streamed_flush_some(struct streamed *, bool all, struct err *);

/* streamed_open.c: streamed_open() with disks that are open, which are taken over, also on failure; NULL:
 * they are opened by their names.  Tests use it. */
int streamed_open_on(struct streamed **, struct export *source, const struct streamed_config *,
    struct disk *disk, struct disk *table_on, struct err *);

/* stored.c */
/* Find for which sectors of the disk the image stores something, by the maps.  ERR_NOMEM. */
int stored_place(struct streamed *, struct err *);
/* The same, and refuse a disk that is too small.  ERR_USAGE; errors of enough_check() and of reading
 * the source. */
int stored_find(struct streamed *, struct err *);
/* Sectors 0 to this number - 1 have all that is stored. */
uint64_t stored_end(const struct streamed *);

/* cut_off.c: the disk of a table that was not closed goes on: whatever is present may have been written
 * locally, and is marked so.  Errors of reading and writing the table. */
int cut_off_goes_on(struct streamed *, struct err *);

/* clear.c: clear what the image does not store, before the table is made; wipe signatures of an
 * earlier use, when the disk can be used.  Errors of reading and writing. */
int clear_free(struct streamed *, struct err *);
int clear_stale(struct streamed *, struct err *);

/* streamed_before.c: what was on a disk that has no marker?  boot: its boot area.  All return 0, or
 * ERR_REFUSED; the first two also errors of reading. */

/* This header says that a disk of this size is complete.  If it names another identity, the disk is
 * the same all the same where it has what the image stores, which is told.  ERR_REFUSED: that was
 * another disk.  Errors of reading. */
int streamed_before_check_disk(
    struct streamed *, const uint8_t *boot, const struct table_header *, struct err *);
/* There is no header at byte table_at of the disk, where a complete disk has one.  ERR_REFUSED: a
 * partition is there now, and the disk is one that became what the image holds, or a copy of it. */
int streamed_before_check_place(
    struct streamed *, const uint8_t *boot, uint64_t table_at, struct err *);
/* This header says that a disk of another size is complete.  ERR_REFUSED: that was this disk. */
int streamed_before_check_size(
    struct streamed *, const uint8_t *boot, const struct table_header *, struct err *);

/* fetch.c */
/* Read what the source has for bytes [at, at + n) of the disk, or of the image; again and again while
 * it does not answer.  Errors as of streamed_read(). */
int streamed_fetch(struct streamed *, void *buf, size_t n, uint64_t at, struct err *);
int streamed_fetch_image(struct streamed *, void *buf, size_t n, uint64_t at, struct err *);
/* streamed_fetch(), without trying again.  Errors of export_read(). */
int streamed_fetch_once(struct streamed *, void *buf, size_t n, uint64_t at, struct err *);

/* behind.c: streamed_start() and streamed_close() call the first two. */
int behind_start(struct streamed *, struct err *);
void behind_end(struct streamed *);
/* Have fetched data written to the disk later.  If too much waits already, it is not written. */
void behind_put(struct streamed *, struct range sectors, const uint8_t *data);

/* fill.c */
int fill_start(struct streamed *, struct err *);
void fill_end(struct streamed *);
/* A client has read what begins with this sector, and it was absent. */
void fill_hint(struct streamed *, uint64_t sector);

/* fill_ahead.c */
/* Before the disk is filled.  fill_ahead_free() is for when fill_ahead_end() has returned, or nothing
 * was started. */
void fill_ahead_init(struct streamed *);
void fill_ahead_free(struct streamed *);
/* Start the threads that fetch what the order names.  They work for the owner of the calling thread,
 * which ends them. */
void fill_ahead_start(struct streamed *);
/* Are they still at work? */
bool fill_ahead_runs(struct streamed *);
/* Wait until they have ended. */
void fill_ahead_end(struct streamed *);
/* A client wants these sectors, which are absent.  If some of them are being fetched for the order,
 * wait until they are there, or could not be fetched, or the source does not answer, or the calling
 * thread's work is to end.  Returns whether it waited. */
bool fill_ahead_await(struct streamed *, struct range);

/* room.c: find the place for a table of this many bytes on the disk.  The sectors of the image's
 * partitions, of `stored`, and of all that belongs to a partition table are left alone.
 * ERR_USAGE: there is no place; errors of room_partitions(). */
int room_find(struct export *source, const struct rangeset *stored, uint64_t disk_bytes,
    uint64_t bytes, uint64_t *at_bytes, struct err *);

/* The partition table of the image's disk: 1, and the caller frees *p; 0: there is one that cannot be
 * trusted; -1: ERR_NOMEM, or errors of reading the source. */
int room_partitions(struct ptable *p, struct export *source, struct err *e);

/* cut.c: a disk without any place for the table is shown as a shorter one that ends in front of it. */

/* How long can a disk of disk_bytes bytes be shown, with a table of this many bytes behind that?
 * ERR_USAGE: the image's partitions, or what it stores elsewhere, reach into the table's place;
 * ERR_REFUSED: something that has an owner lies there (common/behind); errors of
 * room_partitions(). */
int cut_find(struct export *source, uint64_t disk_bytes, uint64_t bytes, uint64_t *shown_bytes,
    struct err *e);
/* Take out of `stored`, which is sealed, what belongs to the end of the image's disk: the backup of a
 * GPT, and the tail.  Errors of room_partitions(). */
int cut_drop_end(struct rangeset *stored, struct export *source, struct err *e);
/* Write the backup of a GPT to the end of the disk that is shown.  Errors of streamed_write(). */
int cut_fit(struct streamed *, struct err *e);
/* Open the disk that is shown, as long as the one below, to be read and written in the thread that
 * opens it. */
int streamed_as_disk(struct disk **, struct streamed *, struct err *e);

#endif /* STREAM_DISK_STREAMED_IMPL_H */
