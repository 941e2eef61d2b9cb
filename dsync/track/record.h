/* record.h: what is remembered of one device that dm-era tracks: where it is, and whether what
 * dm-era has noted still tells all that was written.
 *
 * The record is a text file, which is replaced as a whole.  Its identity stays the same as long as
 * no write can have been missed; a source of change that finds another identity than at its
 * base takes everything as changed.
 */
#ifndef DSYNC_TRACK_RECORD_H
#define DSYNC_TRACK_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "dsync/run/mapper.h"
#include "dsync/stream/stream.h"

enum { RECORD_PATH_BYTES = 256 };

struct record {
	char *path; /* of the record's file; owned */
	int lock;   /* descriptor of the lock; -1: not locked */
	char device[RECORD_PATH_BYTES];   /* what is tracked */
	char metadata[RECORD_PATH_BYTES]; /* device for what dm-era notes */
	uint64_t block_sectors;           /* of the blocks whose changes are noted */
	uint64_t device_bytes;            /* size at the last activation; 0: never activated */
	bool beneath; /* the tracker has the device's own name, and its table lies beneath */
	struct stream_id identity;        /* zeros: never activated */
	struct stream_id generation;      /* in the metadata since the end; zeros: no clean end */
	char active[MAPPED_WORD_BYTES];   /* mapper_generation() of the activation; "-": none */
};

/* Begin a record for the device NAME of the device mapper, locked; all fields are empty.  `folder`
 * is that of all files of dsync.  make: the record may be a new one; otherwise nothing is created.
 * ERR_REFUSED: another program has it locked.  ERR_ABSENT: it is not there, and may not be new.
 * ERR_IO, ERR_NOMEM.  record_close() ends it in any case. */
int record_begin(
    struct record *, const char *folder, const char *name, bool make, struct err *);
/* Read the file of a record that record_begin() began.  ERR_ABSENT: there is none; ERR_FORMAT: it
 * is damaged; ERR_UNSUPPORTED: its version is not known; ERR_IO. */
int record_read(struct record *, struct err *);
/* Replace the file, so that its new contents survive a crash.  ERR_IO, ERR_NOMEM. */
int record_save(const struct record *, struct err *);
/* Remove the file.  ERR_IO. */
int record_remove(struct record *, struct err *);
void record_close(struct record *); /* free it and release the lock; zeros are allowed */

/* Write one word that names the history of the device NAME into `out`: it is the same only as long
 * as no write can have been missed.  That is the record's identity, where `dsync start` has
 * activated the device; otherwise a word that each activation changes.  ERR_IO, ERR_FORMAT. */
int record_identity(
    const char *folder, const char *name, char out[MAPPED_WORD_BYTES], struct err *);

/* Whether there is a record of this name, of a tracker that takes the name of its device.  No lock is
 * taken. */
bool record_beneath(const char *folder, const char *name);

#endif /* DSYNC_TRACK_RECORD_H */
