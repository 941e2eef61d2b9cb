/* track.h: sets up dm-era for a device, so that it is known what is written to it, and activates
 * and ends the tracker such that no write is missed between the two.
 *
 * A tracker stands either on the device, and is used as /dev/mapper/NAME in the device's place;
 * or, where the device is a mapped device that is in use, it takes the device's own name.  What
 * it stands on is /dev/mapper/NAME-below: the device as it is, or the table that the mapped
 * device had.
 */
#ifndef DSYNC_TRACK_TRACK_H
#define DSYNC_TRACK_TRACK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "dsync/track/cost.h"
#include "dsync/track/record.h"

struct track_config {
	/* All strings are borrowed. */
	const char *folder;   /* of all files of dsync */
	const char *device;   /* what is to be tracked */
	const char *metadata; /* a device for what dm-era notes */
	const char *name;     /* of the mapped device; NULL: chosen */
	uint64_t block_bytes; /* of the blocks whose changes are noted; 0: 64 KiB */
	bool force;           /* replace whatever the metadata device holds, and a record */
};

struct track_report {
	char name[MAPPED_WORD_BYTES]; /* of the mapped device */
	bool beneath;                 /* it has the name that the device had before */
	bool there;   /* /dev/mapper/NAME exists */
	bool tracked; /* and what is written to it is noted */
	bool anew;    /* what was noted before does not count any more */
	char why[512]; /* why it counts no more, or why nothing is noted; or "" */
};

/* What a tracker of this device would take; nothing is changed.  ERR_UNSUPPORTED: it is no block device;
 * ERR_IO. */
int track_cost(const struct track_config *, struct track_cost *, struct err *);
/* Track a device from now on: write its record, and activate the tracker.  A device that is in use
 * and is no mapped device cannot be tracked now: only its record is written, and report->there
 * is false.  ERR_USAGE: a name or a path has blanks; ERR_REFUSED: the device is tracked already, or there
 * is a record, and `force` is not set; the metadata device holds something, and `force` is
 * not set, or is in use, or has too little room; ERR_IO. */
int track_new(const struct track_config *, struct track_report *, struct err *);
/* Activate the tracker NAME, of which there is a record.  Where the metadata cannot be used, or has too
 * little room, the mapped device is made without a tracker, and report->tracked is false.  ERR_ABSENT: there is
 * no record, or the device is not there; ERR_REFUSED: the device is in use without its tracker;
 * ERR_IO. */
int track_start(const char *folder, const char *name, struct track_report *, struct err *);
/* End the tracker NAME, and write a generation into its metadata, by which track_start() knows
 * that nobody has activated it in between.  If it is not active, what is left of it is removed.
 * ERR_REFUSED: the device is in use; ERR_ABSENT, ERR_IO. */
int track_stop(const char *folder, const char *name, struct err *);
/* End the tracker NAME without a generation, and remove its record.  Errors as track_stop(). */
int track_forget(const char *folder, const char *name, struct err *);

#endif /* DSYNC_TRACK_TRACK_H */
