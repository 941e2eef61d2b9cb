/* recorder.h: records in which order a disk is read for the first time, into a file.
 *
 * A sector is recorded once.  One that was written first is never recorded, since
 * nobody needs what the image has there.  The recording ends after RECORDER_SECONDS, or
 * when the record is as large as an order may be.  The memory that it takes is
 * allocated when it begins, and no call waits for a disk: a thread of the recorder's
 * own writes the file, every few seconds and at the end.
 */
#ifndef STREAM_RECORD_RECORDER_H
#define STREAM_RECORD_RECORDER_H

#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/range.h"

/* A machine has started by then, also when its network is slow. */
enum { RECORDER_SECONDS = 900 };

struct recorder;

/* Start recording reads of a disk of this many sectors into the file `path`, which is
 * borrowed until recorder_end(); tell() gets a sentence for the log, in the recorder's
 * thread.  The file must not be on that disk.  ERR_NOMEM; ERR_IO: no thread can be
 * started. */
int recorder_start(struct recorder **, const char *path, uint64_t disk_sectors,
    void (*tell)(void *arg, const char *sentence), void *arg, struct err *);
/* These sectors, which lie within the disk, were read, or written.  May be called in
 * any thread. */
void recorder_read(struct recorder *, struct range sectors);
void recorder_written(struct recorder *, struct range sectors);
/* Write the file for the last time, end the thread, and free the recorder, which no
 * thread uses any more.  NULL is allowed. */
void recorder_end(struct recorder *);

#endif /* STREAM_RECORD_RECORDER_H */
